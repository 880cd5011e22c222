"""Random well-typed queries over one rich schema, as syntax trees."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import TypeAlias, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from omnigraph import compile_schema
from omnigraph.query.parsing import ast
from omnigraph.query.parsing.ast import Operator
from omnigraph.schema import types as schema_types
from omnigraph.schema.catalog import EdgeType, NodeType, Property
from omnigraph.schema.parsing.type_parser import TypeRef
from omnigraph.syntax.literal import Literal, LiteralValue, Name
from tests.properties.schemas import texts
from tests.properties.trees import SPAN

T = TypeVar("T")
Steps: TypeAlias = tuple[ast.EdgeName, ...]
Stored: TypeAlias = NodeType | EdgeType

CATALOG = compile_schema("""
interface Named { name: String @index }
interface Dated { born: Date? }
node Person implements Named, Dated {
  slug: String @key  age: I32?  score: F64?  order: I64?  big: U64  ok: Bool?
  status: enum(active, left)  tags: [String]?  nums: [I64]?  seen: DateTime?
  bio: String?  photo: Blob?  vec: Vector(3)? @embed("bio")
}
node Company implements Named { code: String  country: String  size: U32?  @key(code, country) }
node Doc implements Dated { title: String  text: String  in: I32?  vec: Vector(3) }
edge Knows: Person -> Person { since: Date?  weight: F32? }
edge Likes: Person -> Person
edge WorksAt: Person -> Company @card(0..1) { role: String? }
edge Wrote: Person -> Doc
edge Cites: Doc -> Doc { page: I32? }
edge Contains: Doc -> Doc
edge In: Person -> Company
edge Owns: Company -> Company { share: F32  @key(src, dst) }
""")
_ORDERINGS = (Operator.LESS, Operator.LESS_EQUAL, Operator.GREATER, Operator.GREATER_EQUAL)
_EQUALITIES = (Operator.EQUAL, Operator.NOT_EQUAL)


@dataclass(frozen=True, slots=True)
class Readable:
    """A variable and the properties of it that can be read."""

    name: str
    types: tuple[str, ...]
    properties: tuple[tuple[str, schema_types.ValueType], ...]
    is_node: bool = True

    def of(self, *kinds: schema_types.ValueType) -> list[ast.PropertyAccess]:
        return [access(self.name, name) for name, kind in self.properties if kind in kinds]


@dataclass(slots=True)
class Writer:
    """Draws the parts of one query and remembers what is bound and declared so far."""

    draw: DrawFn
    params: dict[str, TypeRef] = field(default_factory=dict)
    fresh: int = 0

    def pick(self, items: Sequence[T]) -> T:
        return self.draw(st.sampled_from(items))

    def chance(self) -> bool:
        return self.draw(st.booleans())

    def new(self, prefix: str) -> str:
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def param(self, kind: schema_types.ValueType, *, nullable: bool | None = None) -> ast.Variable:
        name = self.new("p")
        self.params[name] = TypeRef(kind, self.chance() if nullable is None else nullable)
        return variable(name)

    def operand(self, kind: schema_types.ValueType, *, nullable: bool | None = None) -> ast.Expr:
        """Return a value of a type: a literal, a parameter or `now()`."""
        if self.chance():
            return self.param(kind, nullable=nullable)
        if kind == schema_types.DATETIME and self.chance():
            return ast.FunctionCall("now", (), SPAN)
        return literal(self.draw(values(kind)))

    # Patterns

    def pattern(self) -> tuple[list[ast.Clause], list[Readable]]:
        """Return the clauses of a match block and what can be read after it."""
        clauses: list[ast.Clause] = []
        bound: list[Readable] = []
        for _ in range(self.draw(st.integers(1, 2))):
            name = self.new("v")
            bound.append(node(name, self.pick(["Person", "Person", "Company", "Doc"])))
            clauses.append(self.binding(bound[-1]))
        if self.chance():
            name, interface = self.new("v"), self.pick(["Named", "Dated"])
            clauses.append(ast.Binding(variable(name), named(interface)))
            bound.append(interface_node(name, interface))
        clauses += self.traversals(bound, self.draw(st.integers(0, 3)))
        optional = [self.optional(bound) for _ in range(self.draw(st.integers(0, 1)))]
        readable = bound + [each for _, found in optional for each in found]
        filters = [ast.Filter(self.predicate(readable)) for _ in range(self.pick((0, 1, 2)))]
        negations = [self.negation(bound, 1) for _ in range(self.draw(st.integers(0, 1)))]
        return [*clauses, *filters, *negations, *(clause for clause, _ in optional)], readable

    def binding(self, bound: Readable) -> ast.Binding:
        pairs = [pair for pair in bound.properties if schema_types.is_single(pair[1])]
        chosen = self.draw(st.lists(st.sampled_from(pairs), max_size=2, unique=True))
        given = tuple((named(name), self.operand(kind)) for name, kind in chosen)
        return ast.Binding(variable(bound.name), named(bound.types[0]), given)

    def traversals(self, bound: list[Readable], count: int) -> list[ast.Clause]:
        """Return traversals that start at what is bound, and bind what they reach."""
        clauses: list[ast.Clause] = []
        for _ in range(count):
            starts = [each for each in bound if each.is_node and len(each.types) == 1]
            clauses.append(self.traversal(self.pick(starts), bound))
        return clauses

    def traversal(self, start: Readable, bound: list[Readable]) -> ast.Traversal:
        kind = start.types[0]
        edges = [e for e in CATALOG.edges.values() if kind in (e.source, e.target)]
        edge = self.pick(edges)
        reached = edge.target if kind == edge.source else edge.source
        target, is_new = self.target(reached, bound)
        hops = ast.Hops()
        steps: Steps = (ast.EdgeName(named(_written(edge)), self.undirected(edge)),)
        edge_variable = None
        if self.chance():
            edge_variable = variable(self.new("e"))
            bound.append(edge_row(edge_variable.name, edge))
        else:
            steps, hops = self.several(edge, steps)
        if is_new and target != "_":
            bound.append(node(target, reached))
        ends = [variable(start.name), variable(target)]
        if not edge.chains and self.chance():
            ends.reverse()
        return ast.Traversal(
            source=ends[0], edges=steps, target=ends[1], hops=hops, edge_variable=edge_variable
        )

    def several(self, edge: EdgeType, steps: Steps) -> tuple[Steps, ast.Hops]:
        """Return more edges of the same ends, and hops where the edge chains."""
        twins = {"Knows": "likes", "Likes": "knows", "Cites": "contains", "WorksAt": "in"}
        if edge.name in twins and self.chance():
            steps = (*steps, ast.EdgeName(named(twins[edge.name])))
        if not edge.chains:
            return steps, ast.Hops()
        least = self.draw(st.integers(1, 3))
        most = self.pick((None, least, least + 2))
        return steps, ast.Hops(least, most) if self.chance() else ast.Hops()

    def undirected(self, edge: EdgeType) -> bool:
        return edge.chains and self.chance()

    def target(self, kind: str, bound: list[Readable]) -> tuple[str, bool]:
        """Return a bound variable of a type, a new one or the anonymous one."""
        known = [each.name for each in bound if each.is_node and each.types == (kind,)]
        choice = self.draw(st.integers(0, 3))
        if choice == 0 and known:
            return self.pick(known), False
        return ("_", True) if choice == 1 else (self.new("v"), True)

    def optional(self, bound: list[Readable]) -> tuple[ast.OptionalMatch, list[Readable]]:
        inner = list(bound)
        clauses = self.traversals(inner, self.draw(st.integers(1, 2)))
        if self.chance():
            clauses.append(ast.Filter(self.predicate(inner)))
        if len(inner) == len(bound):
            clauses.append(ast.Binding(ast.Variable("_", SPAN), Name("Company", SPAN)))
        return ast.OptionalMatch(tuple(clauses), SPAN), inner[len(bound) :]

    def negation(self, bound: list[Readable], depth: int) -> ast.Negation:
        inner = list(bound)
        clauses = self.traversals(inner, 1)
        if self.chance():
            clauses.append(ast.Filter(self.predicate(inner)))
        if depth < 2 and self.chance():
            clauses.append(self.negation(inner, depth + 1))
        return ast.Negation(tuple(clauses), SPAN)

    # Predicates

    def predicate(self, readable: list[Readable], depth: int = 0) -> ast.Predicate:
        form = self.draw(st.integers(0, 5)) if depth < 2 else 5
        if form > 2:
            return self.test(readable)
        if form == 2:
            return ast.Not(self.predicate(readable, depth + 1), SPAN)
        both = (self.predicate(readable, depth + 1), self.predicate(readable, depth + 1))
        return (ast.And if form else ast.Or)(both)

    def test(self, readable: list[Readable]) -> ast.Predicate:
        one = self.pick(readable)
        twins = [
            each for each in readable if (each.types, each.is_node) == (one.types, one.is_node)
        ]
        if len(twins) > 1 and self.draw(st.integers(0, 4)) == 0:
            other = self.pick(twins)
            return compare(variable(one.name), self.pick(_EQUALITIES), variable(other.name))
        name, kind = self.pick(one.properties)
        return self.test_of(access(one.name, name), kind, readable)

    def test_of(
        self, side: ast.Expr, kind: schema_types.ValueType, readable: list[Readable] | None = None
    ) -> ast.Predicate:
        """Return a test of an expression that suits its type."""
        if (
            self.draw(st.integers(0, 5)) == 0
            or isinstance(kind, schema_types.VectorType)
            or kind == schema_types.BLOB
        ):
            return ast.NullTest(side, self.chance(), SPAN)
        if isinstance(kind, schema_types.ListType):
            item = self.operand(schema_types.ScalarType(kind.item))
            return compare(side, Operator.CONTAINS, item)
        if self.draw(st.integers(0, 4)) == 0:
            return compare(side, Operator.IN, self.members(kind))
        if kind == schema_types.STRING and isinstance(side, ast.PropertyAccess) and self.chance():
            return self.text_test(side)
        operators = (*_EQUALITIES, *_ORDERINGS) if schema_types.is_ordered(kind) else _EQUALITIES
        others = [found for each in readable or () for found in each.of(kind)]
        right = self.pick(others) if others and self.chance() else self.operand(kind)
        return compare(side, self.pick(operators), right)

    def members(self, kind: schema_types.ValueType) -> ast.Expr:
        if isinstance(kind, schema_types.ScalarType) and self.chance():
            return self.param(schema_types.ListType(kind.scalar))
        items = self.draw(st.lists(values(kind), max_size=3))
        return ast.ListExpr(tuple(map(literal, items)), SPAN)

    def text_test(self, side: ast.PropertyAccess) -> ast.Predicate:
        function = self.pick(("search", "fuzzy", "match_text", "contains", "starts_with"))
        query = self.operand(schema_types.STRING)
        if function in ("contains", "starts_with"):
            return compare(side, Operator(function), query)
        edits = (literal(1),) if function == "fuzzy" and self.chance() else ()
        return ast.FunctionCall(function, (side, query, *edits), SPAN)

    # What follows the match

    def read(self) -> ast.Read:
        clauses, readable = self.pattern()
        mode = self.pick(("rows", "rows", "groups", "distinct"))
        read = ast.Read(match=tuple(clauses), projections=(), distinct=mode == "distinct")
        if mode == "groups":
            return self.groups(read, readable)
        return self.rows(read, readable)

    def rows(self, read: ast.Read, readable: list[Readable]) -> ast.Read:
        shown = self.columns(readable, self.draw(st.integers(1, 3)), single=read.distinct)
        having = [
            self.test_of(named(alias), kind) for _, alias, kind in shown if kind and self.chance()
        ]
        order = [self.ordering(expr) for expr, _, kind in shown if _sorts(kind) and self.chance()]
        projections = [ast.Projection(expr, named(alias)) for expr, alias, _ in shown]
        limit = self.bound() if self.chance() else None
        ranking = self.ranking(readable) if not read.distinct and self.chance() else None
        if ranking is not None:
            projections.append(ast.Projection(ranking, named("rank")))
            written: ast.Expr = ranking if self.chance() else named("rank")
            order.append(ast.Ordering(written, self.pick((None, True))))
            limit = limit or literal(10)
        if not read.distinct and self.chance():
            order.append(self.ordering(self.sorting(readable)))
        skip = self.bound() if self.chance() else None
        return replace(
            read,
            projections=tuple(projections),
            having=tuple(having),
            order=tuple(order),
            skip=skip,
            limit=limit,
        )

    def columns(
        self, readable: list[Readable], count: int, *, single: bool
    ) -> list[tuple[ast.Expr, str, schema_types.ValueType | None]]:
        """Return expressions with an alias and their type, which a whole row has not.

        Single ones can be told apart, as groups and distinct rows need it.
        """
        found: list[tuple[ast.Expr, str, schema_types.ValueType | None]] = []
        for _ in range(count):
            one, alias = self.pick(readable), self.new("c")
            if self.draw(st.integers(0, 3)) == 0:
                found.append((variable(one.name), alias, None))
            else:
                pairs = [
                    pair for pair in one.properties if not single or schema_types.is_single(pair[1])
                ]
                name, kind = self.pick(pairs)
                found.append((access(one.name, name), alias, kind))
        return found

    def sorting(self, readable: list[Readable]) -> ast.Expr:
        one = self.pick(readable)
        return access(one.name, self.pick([n for n, kind in one.properties if _sorts(kind)]))

    def ordering(self, expr: ast.Expr) -> ast.Ordering:
        return ast.Ordering(expr, self.pick((None, True, False)))

    def groups(self, read: ast.Read, readable: list[Readable]) -> ast.Read:
        keys = self.columns(readable, self.draw(st.integers(0, 2)), single=True)
        counted = [self.aggregate(self.pick(readable)) for _ in range(self.pick((1, 2)))]
        named_counts = [(call, self.new("n"), kind) for call, kind in counted]
        projections = [
            ast.Projection(expr, named(alias)) for expr, alias, _ in (*keys, *named_counts)
        ]
        having = [self.test_of(named(alias), kind) for _, alias, kind in named_counts]
        order = [self.ordering(e if self.chance() else named(a)) for e, a, _ in named_counts]
        order += [self.ordering(expr) for expr, _, kind in keys if _sorts(kind)]
        return replace(
            read,
            projections=tuple(projections),
            having=tuple(having) if self.chance() else (),
            order=tuple(order) if self.chance() else (),
            limit=self.bound() if self.chance() else None,
        )

    def aggregate(self, one: Readable) -> tuple[ast.FunctionCall, schema_types.ValueType]:
        if self.chance():
            return ast.FunctionCall(
                "count", (variable(one.name),), SPAN, self.chance()
            ), schema_types.I64
        name, kind = self.pick([pair for pair in one.properties if schema_types.is_single(pair[1])])
        functions = ["count"]
        functions += ["min", "max"] if schema_types.is_ordered(kind) else []
        functions += ["sum", "avg"] if kind in schema_types.NUMBERS else []
        function = self.pick(functions)
        distinct = schema_types.is_single(kind) and self.chance()
        result = kind if function in ("min", "max") else schema_types.I64
        return ast.FunctionCall(function, (access(one.name, name),), SPAN, distinct), result

    def ranking(self, readable: list[Readable]) -> ast.FunctionCall | None:
        texts_of = [
            found for each in readable for found in each.of(schema_types.STRING) if each.is_node
        ]
        texts_of = [each for each in texts_of if each.key.text != "id"]
        vectors = [found for each in readable for found in each.of(schema_types.VectorType(3))]
        ranked = [self.score("bm25", self.pick(texts_of))] if texts_of else []
        ranked += [self.score("nearest", self.pick(vectors))] if vectors else []
        if len(ranked) == 2 and self.chance():
            k = (
                (self.pick((literal(60), self.param(schema_types.I64, nullable=False))),)
                if self.chance()
                else ()
            )
            return ast.FunctionCall("rrf", (*ranked, *k), SPAN)
        return self.pick(ranked) if ranked else None

    def score(self, function: str, side: ast.PropertyAccess) -> ast.FunctionCall:
        vector = function == "nearest" and self.chance()
        query = self.param(schema_types.VectorType(3) if vector else schema_types.STRING)
        return ast.FunctionCall(function, (side, query), SPAN)

    def bound(self) -> ast.RowBound:
        if self.chance():
            return literal(self.draw(st.integers(0, 50)))
        return self.param(self.pick(sorted(schema_types.INTEGERS, key=str)), nullable=False)

    # Mutations

    def mutation(self) -> ast.Mutation:
        stored: list[Stored] = [*CATALOG.nodes.values(), *CATALOG.edges.values()]
        count = self.draw(st.integers(1, 3))
        if self.chance():
            return ast.Mutation(tuple(self.delete(self.pick(stored)) for _ in range(count)))
        return ast.Mutation(tuple(self.write(self.pick(stored)) for _ in range(count)))

    def delete(self, kind: Stored) -> ast.Delete:
        return ast.Delete(named(kind.name), self.where(kind))

    def write(self, kind: Stored) -> ast.Statement:
        changeable = [p for p in kind.properties.values() if p.name not in kind.key]
        if changeable and self.chance():
            chosen = self.draw(st.lists(st.sampled_from(changeable), min_size=1, unique_by=id))
            return ast.Update(named(kind.name), self.assigned(chosen), self.where(kind))
        needed = [p for p in kind.properties.values() if not p.nullable or self.chance()]
        ends = [
            (named(end), self.operand(schema_types.STRING, nullable=False))
            for end in ("from", "to")
        ]
        given = self.assigned(needed)
        verb = ast.Insert if self.chance() else ast.Replace
        return verb(named(kind.name), (*ends, *given) if _is_edge(kind) else given)

    def assigned(self, properties: list[Property]) -> ast.Assignments:
        return tuple(
            (named(item.name), self.stored(item.type, nullable=item.nullable))
            for item in properties
        )

    def stored(self, kind: schema_types.ValueType, *, nullable: bool = False) -> ast.Expr:
        if isinstance(kind, schema_types.ListType | schema_types.VectorType) and self.chance():
            return ast.ListExpr(tuple(map(literal, self.draw(_items(kind)))), SPAN)
        if (
            isinstance(kind, schema_types.ListType | schema_types.VectorType)
            or kind == schema_types.BLOB
        ):
            return self.param(kind, nullable=nullable)
        return self.operand(kind, nullable=nullable)

    def where(self, kind: Stored) -> ast.Predicate:
        pairs = [("id", schema_types.STRING), *((p.name, p.type) for p in kind.properties.values())]
        name, found = self.pick(pairs)
        test = self.test_of(named(name), found)
        return ast.Not(test, SPAN) if self.chance() else test


@st.composite
def read_trees(draw: DrawFn) -> ast.Query:
    """Return reads that compile against `CATALOG`."""
    writer = Writer(draw)
    return _query(writer, writer.read())


@st.composite
def mutation_trees(draw: DrawFn) -> ast.Query:
    """Return mutations that compile against `CATALOG`."""
    writer = Writer(draw)
    return _query(writer, writer.mutation())


def values(kind: schema_types.ValueType) -> SearchStrategy[LiteralValue]:
    """Return the literals that compare with a type."""
    match kind:
        case schema_types.EnumType(allowed):
            return st.sampled_from(allowed)
        case schema_types.ScalarType() if kind in schema_types.INTEGER_BOUNDS:
            return st.integers(*schema_types.INTEGER_BOUNDS[kind])
        case schema_types.ScalarType() if kind in schema_types.FLOATS:
            return st.floats(-1e30, 1e30, allow_nan=False)
    if kind == schema_types.BOOL:
        return st.booleans()
    if kind == schema_types.DATE:
        return st.dates()
    if kind == schema_types.DATETIME:
        return st.datetimes(timezones=st.just(UTC)).map(lambda time: time.replace(microsecond=0))
    return texts


def access(name: str, key: str) -> ast.PropertyAccess:
    return ast.PropertyAccess(variable(name), named(key))


def variable(name: str) -> ast.Variable:
    return ast.Variable(name, SPAN)


def named(text: str) -> Name:
    return Name(text, SPAN)


def literal(value: LiteralValue) -> Literal:
    return Literal(value, SPAN)


def compare(left: ast.Expr, operator: Operator, right: ast.Expr) -> ast.Comparison:
    return ast.Comparison(left, operator, right, SPAN)


def node(name: str, kind: str) -> Readable:
    properties = [(p.name, p.type) for p in CATALOG.nodes[kind].properties.values()]
    return Readable(name, (kind,), (("id", schema_types.STRING), *properties))


def interface_node(name: str, interface: str) -> Readable:
    properties = [(p.name, p.type) for p in CATALOG.interfaces[interface].properties.values()]
    nodes = CATALOG.nodes_by_interface[interface]
    return Readable(name, nodes, (("id", schema_types.STRING), *properties))


def edge_row(name: str, edge: EdgeType) -> Readable:
    properties = [(p.name, p.type) for p in edge.properties.values()]
    ends = [(end, schema_types.STRING) for end in ("id", "src", "dst", "from", "to")]
    return Readable(name, (edge.name,), (*ends, *properties), is_node=False)


def _query(writer: Writer, body: ast.Read | ast.Mutation) -> ast.Query:
    params = tuple(ast.Param(named(name), kind) for name, kind in writer.params.items())
    return ast.Query(name=named("q"), params=params, body=body)


def _items(
    kind: schema_types.ListType | schema_types.VectorType,
) -> SearchStrategy[list[LiteralValue]]:
    if isinstance(kind, schema_types.VectorType):
        return st.lists(values(schema_types.I64), min_size=kind.dimension, max_size=kind.dimension)
    return st.lists(values(schema_types.ScalarType(kind.item)), max_size=3)


def _sorts(kind: schema_types.ValueType | None) -> bool:
    return kind is None or schema_types.is_single(kind)


def _written(edge: EdgeType) -> str:
    return edge.name[0].lower() + edge.name[1:]


def _is_edge(kind: Stored) -> bool:
    return isinstance(kind, EdgeType)
