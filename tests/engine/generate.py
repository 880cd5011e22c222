"""Generate: random reads, as text, that fit the schema of a world and use all of the language."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeAlias, TypeVar

from omnigraph.query.functions import FUNCTIONS, negative_type, operation_type
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.schema.types import (
    BOOL,
    DATE,
    DATETIME,
    F64,
    FLOATS,
    I32,
    I64,
    NUMBERS,
    STRING,
    U32,
    EnumType,
    ListType,
    ScalarType,
    ValueType,
    is_number,
    is_ordered,
    is_single,
    is_text,
)
from omnigraph.syntax.literal import literal_text
from tests.engine.worlds import EXTREME_NAMES, EXTREMES, IDS, World, pool_of

T = TypeVar("T")

_HOPS = ("{1,2}", "{2}", "{1,3}", "{2,}", "{1,}", "{0,2}", "{0,1}", "{2,3}", "{3}", "{1}", "{0,}")
_EQUALITIES = ("=", "!=")
_ORDERINGS = ("<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Block:
    """`not { … }`, `optional { … }`, or `exists { … }` with what stands before it."""

    word: str
    clauses: tuple["Clause", ...]

    def __str__(self) -> str:
        return f"{self.word} {{ {'  '.join(map(str, self.clauses))} }}"


Clause: TypeAlias = str | Block


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomQuery:
    """The parts of a read, each of which can be left out to make a smaller one."""

    params: Mapping[str, tuple[str, object]] = field(default_factory=dict)
    clauses: tuple[Clause, ...] = ()
    distinct: bool = False
    projections: tuple[Clause, ...] = ()
    having: tuple[Clause, ...] = ()
    order: tuple[Clause, ...] = ()
    skip: str | None = None
    limit: str | None = None
    union: str | None = None
    others: tuple[Clause, ...] = ()

    def __str__(self) -> str:
        body = self._body()
        kinds = [f"${name}: {self.params[name][0]}" for name in self._used(body)]
        return f"query q({', '.join(kinds)}) {{\n{body}\n}}"

    @property
    def given(self) -> dict[str, object]:
        """The parameters to call it with; one that is null is left out."""
        used = {name: self.params[name][1] for name in self._used(self._body())}
        return {name: value for name, value in used.items() if value is not None}

    @property
    def values(self) -> dict[str, object]:
        """The value of every parameter, null included."""
        return {name: value for name, (_, value) in self.params.items()}

    def smaller(self) -> "Iterator[RandomQuery]":
        """Return the same query with one part less, in every way."""
        for shorter in _shorter(self.clauses):
            yield replace(self, clauses=shorter)
        for having in _shorter(self.having):
            yield replace(self, having=having)
        for order in _shorter(self.order):
            yield replace(self, order=order)
        for projections in _shorter(self.projections):
            yield replace(self, projections=projections)
        changed = [
            replace(self, skip=None),
            replace(self, limit=None),
            replace(self, distinct=False),
            replace(self, union=None, others=()),
        ]
        for shorter in _shorter(self.others):
            yield replace(self, others=shorter)
        yield from (each for each in changed if each != self)

    def _body(self) -> str:
        lines = self._read(self.clauses)
        if self.union is not None:
            lines += [f"  {self.union}", *self._read(self.others)]
        if self.order:
            lines.append(f"  order {{ {', '.join(map(str, self.order))} }}")
        lines += [] if self.skip is None else [f"  skip {self.skip}"]
        lines += [] if self.limit is None else [f"  limit {self.limit}"]
        return "\n".join(lines)

    def _read(self, clauses: tuple[Clause, ...]) -> list[str]:
        lines = ["  match {", *(f"    {each}" for each in clauses), "  }"]
        distinct = "distinct " if self.distinct else ""
        lines.append(f"  return {distinct}{{ {', '.join(map(str, self.projections))} }}")
        if self.having:
            lines.append(f"  having {{ {'  '.join(map(str, self.having))} }}")
        return lines

    def _used(self, body: str) -> list[str]:
        return [name for name in self.params if f"${name}" in body]


def _shorter(clauses: tuple[Clause, ...]) -> Iterator[tuple[Clause, ...]]:
    """Return the clauses without one of them, at any depth."""
    for at, clause in enumerate(clauses):
        before, after = clauses[:at], clauses[at + 1 :]
        yield (*before, *after)
        if isinstance(clause, Block):
            for inner in _shorter(clause.clauses):
                yield (*before, replace(clause, clauses=inner), *after)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, the types it can have and the properties of it that can be read."""

    name: str
    types: tuple[str, ...]
    properties: Mapping[str, ValueType]
    is_node: bool = True
    interface: bool = False
    typed: bool = False

    @property
    def pairs(self) -> list[tuple[str, ValueType]]:
        """The names and types of the properties."""
        return list(self.properties.items())

    def __str__(self) -> str:
        return f"${self.name}"


@dataclass(frozen=True, slots=True)
class Shown:
    """A projection: its expression, its alias, and its type unless it is a whole variable."""

    expr: str
    alias: str
    kind: ValueType | None
    variable: Variable | None = None


def random_query(random: Random, world: World) -> RandomQuery:
    """Make a read that most likely compiles; types with many rows are read more often."""
    nodes = {name: len(rows) for name, rows in world.data.nodes.items()}
    edges = {name: len(rows) for name, rows in world.data.edges.items()}
    return _Writer(random, world.catalog, nodes, edges).query()


@dataclass(slots=True)
class _Writer:
    """Makes the parts of one query, and remembers names and parameters."""

    random: Random
    catalog: Catalog
    node_counts: Mapping[str, int]
    edge_counts: Mapping[str, int]
    params: dict[str, tuple[str, object]] = field(default_factory=dict)
    names: int = 0
    depth: int = 0
    paths: list[str] = field(default_factory=list)
    reads_paths: bool = False

    def pick(self, items: Sequence[T]) -> T:
        return self.random.choice(items)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def weighed(self, counts: Mapping[str, int]) -> str:
        """Return a type, most likely one with many rows."""
        return self.random.choices(list(counts), [count + 0.2 for count in counts.values()])[0]

    def new(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def query(self) -> RandomQuery:
        scope: list[Variable] = []
        clauses = self.match(scope)
        tails = (self.rows, self.rows, self.groups, self.groups, self.distinct)
        self.reads_paths = True
        tail = self.pick(tails)(scope)
        skip = self.bound(3) if self.chance(0.2) else None
        limit = self.bound(6) if self.chance(0.35) else None
        found = replace(tail, params=self.params, clauses=tuple(clauses), skip=skip, limit=limit)
        return self.united(found) if self.chance(0.07) else found

    def united(self, query: RandomQuery) -> RandomQuery:
        """Return a query of two reads: with the same columns, and with other rows."""
        others = list(query.clauses)
        places = [at for at, each in enumerate(others) if _is_condition(each)]
        if places and self.chance(0.8):
            del others[self.pick(places)]
        shown = [str(each).rpartition(" as ") for each in query.projections]
        aliases = [alias for _, word, alias in shown if word]
        order = []
        if aliases and self.chance(0.5):
            form = self.pick(("{}", "{}", "{}", "length({})", "{} + 1"))
            order = [f"{form.format(self.pick(aliases))}{self.pick(('', ' desc'))}"]
        word = self.pick(("union", "union all"))
        return replace(query, union=word, others=tuple(others), order=tuple(order))

    # Patterns

    def match(self, scope: list[Variable]) -> list[Clause]:
        roots = self.pick((0, 1, 1, 1, 1, 2))
        clauses: list[Clause] = [self.binding(scope) for _ in range(roots)]
        for _ in range(self.pick((0, 1, 1, 1, 2, 3)) if scope else 1):
            clauses += self.traversal(scope)
        self.depth = 1
        blocks = [self.optional(scope, 1) for _ in range(self.pick((0, 0, 0, 1, 1, 2)))]
        clauses += [self.predicate(scope) for _ in range(self.pick((0, 0, 0, 0, 1, 1, 2)))]
        clauses += [self.negation(scope, 1) for _ in range(self.pick((0, 0, 0, 0, 1)))]
        clauses += [self.exists(scope, 1) for _ in range(self.pick((0, 0, 0, 0, 0, 1, 2)))]
        self.random.shuffle(clauses)
        # Which block sees the variables of which depends on the order in which they stand.
        for block in reversed(blocks):
            clauses.insert(self.random.randint(0, len(clauses)) if len(blocks) == 1 else 0, block)
        return clauses

    def binding(self, scope: list[Variable]) -> str:
        name = self.new("v")
        if self.chance(0.3):
            bound = self.interface(name)
        else:
            bound = self.node(name, (self.weighed(self.node_counts),))
        bound = replace(bound, typed=True)
        scope.append(bound)
        kind = "Named" if bound.interface else bound.types[0]
        return f"{bound}: {kind}{self.inline(bound)}"

    def inline(self, bound: Variable) -> str:
        if not self.chance(0.08):
            return ""
        single = [pair for pair in bound.pairs if is_single(pair[1])]
        chosen = self.random.sample(single, min(len(single), self.pick((1, 1, 2))))
        given = [f"{name}: {self.constant(kind, name)}" for name, kind in chosen]
        return f" {{ {', '.join(given)} }}"

    def traversal(self, scope: list[Variable]) -> list[str]:
        """Return a traversal that starts at a variable in scope, if there is one."""
        nodes = [each for each in scope if each.is_node]
        starts = [(each, edge) for each in nodes for edge in self.edges_of(each.types)]
        busy = [pair for pair in starts if self.edge_counts[pair[1].name]]
        starts = busy if self.chance(0.9) else starts
        if not starts:
            edge = self.catalog.edges[self.weighed(self.edge_counts)]
            start = self.node(self.new("v"), (edge.source,))
            scope.append(start)
        else:
            start, edge = self.pick(starts)
        forth = edge.source in start.types and (edge.target not in start.types or self.chance(0.6))
        used = [edge, *(self.twins(edge, start) if forth else ())]
        mine = {each.source for each in used} if forth else {edge.target}
        types = {each.target for each in used} if forth else {edge.source}
        if set(start.types) != mine:
            start = self.narrowed(start, mine, scope)
        edges, hops, named = self.steps(used)
        target, more = self.target(tuple(sorted(types)), scope)
        if named is not None:
            scope.append(named)
        label = "" if named is None else f"{named}:"
        ends = [f"{start}", target]
        if named is None:
            label, path = self.path(used, hops)
        else:
            path = ""
        alone = len(used) == 1 and not edge.chains and start.typed
        if not forth or (alone and self.chance(0.2)):
            ends.reverse()
        return [f"{ends[0]} {label}{edges}{hops} {ends[1]}{path}", *more]

    def path(self, used: list[EdgeType], hops: str) -> tuple[str, str]:
        """Return a name for edges, and one for their paths, sometimes; none in a block."""
        if self.depth or not used[0].chains or not self.chance(0.4 if hops else 0.04):
            return "", ""
        self.paths.append(f"$w{len(self.paths)}")
        is_weighed = all("weight" in each.properties for each in used)
        if is_weighed and not hops.startswith((" {2", " {3")) and self.chance(0.8):
            edge = f"$x{len(self.paths)}"
            return f"{edge}:", f" as {self.paths[-1]} shortest by {edge}.weight"
        return "", f" as {self.paths[-1]} {self.pick(('shortest', 'shortest', 'all shortest'))}"

    def twins(self, edge: EdgeType, start: Variable) -> list[EdgeType]:
        """Return another edge that leads out of a variable, sometimes."""
        others = [each for each in self.catalog.edges.values() if each is not edge]
        leading = [each for each in others if each.source in start.types]
        return [self.pick(leading)] if leading and self.chance(0.25) else []

    def steps(self, used: list[EdgeType]) -> tuple[str, str, Variable | None]:
        """Return the edges of a traversal as text, the hops, and sometimes a named edge."""
        chained = used[0].chains and len({(each.source, each.target) for each in used}) == 1
        words = [f"<{_written(e)}>" if e.chains and self.chance(0.2) else _written(e) for e in used]
        hops, named = "", None
        if self.chance(0.25):
            named = self.edge(self.new("e"), tuple(each.name for each in used))
        elif chained and self.chance(0.4):
            hops = " " + self.pick(_HOPS)
        elif len(used) == 1 and self.chance(0.1):
            hops = " {1,3}"
        return "|".join(words), hops, named

    def target(self, types: tuple[str, ...], scope: list[Variable]) -> tuple[str, list[str]]:
        """Return what a traversal leads to: a new variable, a known one, or one without a name."""
        known = [each for each in scope if each.is_node and set(each.types) == set(types)]
        chance = self.random.random()
        if chance < 0.13 and known:
            return str(self.pick(known)), []
        if chance < 0.35:
            return "$_", []
        bound = self.node(self.new("v"), types)
        scope.append(bound)
        if len(types) == 1 and self.chance(0.25):
            return str(bound), [f"{bound}: {types[0]}{self.inline(bound)}"]
        return str(bound), []

    def closing(self, scope: list[Variable]) -> list[str]:
        """Return a traversal between two variables of the blocks around, sometimes."""
        known = {name: [v for v in scope if v.types == (name,)] for name in self.catalog.nodes}
        joined = [e for e in self.catalog.edges.values() if known[e.source] and known[e.target]]
        if not joined or not self.chance(0.15):
            return []
        edge = self.pick(joined)
        hops = self.pick(("", "", " {1,2}", " {0,1}")) if edge.chains else ""
        source, target = self.pick(known[edge.source]), self.pick(known[edge.target])
        return [f"{source} {_written(edge)}{hops} {target}"]

    def optional(self, scope: list[Variable], depth: int) -> Block:
        inner = list(scope)
        clauses: list[Clause] = []
        if self.chance(0.2):
            clauses.append(self.binding(inner))
        else:
            for _ in range(self.pick((1, 1, 2))):
                clauses += self.traversal(inner)
        clauses += self.closing(scope)
        nested = [self.optional(inner, depth + 1)] if depth < 3 and self.chance(0.25) else []
        clauses += self.tests(inner, depth)
        if all(each.name in {v.name for v in scope} for each in inner):
            clauses.append(f"$_: {self.pick(list(self.catalog.nodes))}")
        known = {each.name for each in scope}
        scope += [each for each in inner if each.name not in known]
        return Block("optional", (*clauses, *nested))

    def negation(self, scope: list[Variable], depth: int) -> Block:
        inner = list(scope)
        clauses: list[Clause] = []
        if self.chance(0.85):
            clauses += self.traversal(inner)
        elif self.chance(0.5):
            clauses.append(self.binding(inner))
        clauses += [*self.closing(scope), *self.tests(inner, depth)]
        text = " ".join(map(str, clauses))
        if not any(re.search(rf"\${each.name}\b", text) for each in scope):
            clauses.append(f"{self.pick(scope)} is not null")
        nested = [self.optional(inner, depth + 1)] if depth < 3 and self.chance(0.1) else []
        return Block("not", (*clauses, *nested))

    def tests(self, scope: list[Variable], depth: int) -> list[Clause]:
        clauses: list[Clause] = []
        if self.chance(0.4):
            clauses.append(self.predicate(scope))
        if depth < 3 and self.chance(0.15):
            clauses.append(self.negation(scope, depth + 1))
        if depth < 3 and self.chance(0.1):
            clauses.append(self.exists(scope, depth + 1))
        return clauses

    def exists(self, scope: list[Variable], depth: int) -> Block:
        """Return a condition of which `exists { … }` is a part."""
        inner = self.negation(scope, depth)
        before = self.pick(("", "", "not ", f"({self.predicate(scope)}) or "))
        if self.chance(0.15):
            before = f"not ({self.predicate(scope)}) and not "
        elif self.chance(0.1):
            before = f"{self.negation(scope, 3)} or not ".replace("not {", "exists {", 1)
        return replace(inner, word=f"{before}exists")

    def edges_of(self, types: tuple[str, ...]) -> list[EdgeType]:
        edges = self.catalog.edges.values()
        return [each for each in edges if each.source in types or each.target in types]

    def narrowed(self, start: Variable, types: set[str], scope: list[Variable]) -> Variable:
        """Return a variable that a traversal leaves fewer types, from here on."""
        left = tuple(each for each in start.types if each in types)
        found = replace(self.node(start.name, left), typed=start.typed)
        if start.interface:
            found = replace(start, types=left)
        scope[[each.name for each in scope].index(start.name)] = found
        return found

    def node(self, name: str, types: tuple[str, ...]) -> Variable:
        known = [self.catalog.nodes[each].properties for each in types]
        shared = {
            item.name: item.type
            for item in known[0].values()
            if all(item.name in each and each[item.name].type == item.type for each in known)
        }
        return Variable(name, types, {"id": STRING, **shared})

    def interface(self, name: str) -> Variable:
        properties = self.catalog.interfaces["Named"].properties.values()
        shared = {"id": STRING, **{item.name: item.type for item in properties}}
        types = self.catalog.nodes_by_interface["Named"]
        return Variable(name, types, shared, interface=True)

    def edge(self, name: str, types: tuple[str, ...]) -> Variable:
        known = [self.catalog.edges[each].properties for each in types]
        shared = {
            item.name: item.type
            for item in known[0].values()
            if all(item.name in each and each[item.name].type == item.type for each in known)
        }
        ends = dict.fromkeys(("id", "src", "dst", "from", "to"), STRING)
        return Variable(name, types, {**ends, **shared}, is_node=False)

    # Predicates

    def predicate(self, scope: list[Variable], depth: int = 0) -> str:
        form = self.random.random() if depth < 2 else 1.0
        if form > 0.45:
            return self.test(scope)
        one = self.predicate(scope, depth + 1)
        if form < 0.15:
            return f"not ({one})"
        return f"({one} {self.pick(('and', 'or'))} {self.predicate(scope, depth + 1)})"

    def test(self, scope: list[Variable]) -> str:
        one = self.pick(scope)
        alike = [
            each
            for each in scope
            if each.is_node == one.is_node and set(each.types) & set(one.types)
        ]
        chance = self.random.random()
        if chance < 0.1:
            return f"{one} {self.pick(_EQUALITIES)} {self.pick(alike)}"
        if chance < 0.17:
            return f"{one} is {self.pick(('null', 'not null', 'not null'))}"
        if chance < 0.19:
            any_kind = self.pick((I64, STRING))
            both = [self.constant(any_kind) for _ in range(2)]
            return f"{both[0]} {self.pick(_EQUALITIES)} {both[1]}"
        if chance < 0.3:
            computed, of = self.computed(scope)
            return self.test_of(computed, of, "", scope)
        extreme = [pair for pair in one.pairs if pair[0] in EXTREME_NAMES]
        name, kind = self.pick(extreme if extreme and self.chance(0.25) else one.pairs)
        return self.test_of(f"{one}.{name}", kind, name, scope)

    def test_of(self, side: str, kind: ValueType, name: str, scope: list[Variable]) -> str:
        """Return a test of a value that suits its type."""
        if self.chance(0.15):
            return f"{side} is {self.pick(('null', 'not null', 'not null'))}"
        if isinstance(kind, ListType):
            return f"{side} contains {self.operand(ScalarType(kind.item), name, scope)}"
        if self.chance(0.15):
            return f"{side} in {self.members(kind, name, scope)}"
        if is_text(kind) and self.chance(0.3):
            part = self.operand(STRING, name, scope)
            return f"{side} {self.pick(('contains', 'starts_with'))} {part}"
        operators = (*_EQUALITIES, "!=", *_ORDERINGS) if is_ordered(kind) else _EQUALITIES
        both = [side, self.operand(kind, name, scope)]
        if self.chance(0.15):
            both.reverse()
        return f"{both[0]} {self.pick(operators)} {both[1]}"

    def operand(self, kind: ValueType, name: str, scope: list[Variable]) -> str:
        """Return something to compare with: a constant, or a property of a variable."""
        wanted: Callable[[ValueType], bool] = (
            is_number if is_number(kind) else (lambda k: k == kind)
        )
        if is_text(kind):
            wanted = is_text if kind == STRING else lambda found: found in (kind, STRING)
        known = [(f"{each}.{key}", found) for each in scope for key, found in each.pairs]
        others = [text for text, found in known if wanted(found)]
        if others and self.chance(0.3):
            return self.pick(others)
        if kind == DATETIME and self.chance(0.2):
            return "now()"
        if name in EXTREME_NAMES and self.chance(0.5):
            return self.constant(self.pick(sorted(EXTREMES, key=str)), name)
        if is_number(kind) and self.chance(0.25):
            return self.constant(self.pick(sorted(NUMBERS, key=str)))
        return self.constant(kind, name)

    # What is computed

    def computed(self, scope: list[Variable], depth: int = 0) -> tuple[str, ValueType]:
        """Return something that is computed from properties, and its type."""
        known = [(f"{each}.{key}", kind) for each in scope for key, kind in each.pairs]
        if self.reads_paths:
            known += [(f"length({each})", I64) for each in self.paths]
        makers = [self.of_numbers, self.of_numbers, self.of_texts, self.of_dates, self.first_known]
        return self.pick(makers)(known, scope, depth)

    def argument(
        self,
        known: list[tuple[str, ValueType]],
        kinds: Callable[[ValueType], bool],
        usual: ValueType,
    ) -> tuple[str, ValueType]:
        fitting = [pair for pair in known if kinds(pair[1])]
        if fitting and self.chance(0.75):
            return self.pick(fitting)
        return literal_text(self.value(usual)), usual  # type: ignore[arg-type]  # plain values

    def of_numbers(
        self, known: list[tuple[str, ValueType]], scope: list[Variable], depth: int
    ) -> tuple[str, ValueType]:
        one, kind = self.argument(known, is_number, self.pick((I64, F64)))
        if self.chance(0.25):
            name = self.pick(("abs", "round", "floor", "ceil"))
            made = FUNCTIONS[name].type_of([kind])
            assert made is not None
            return f"{name}({one})", made
        if self.chance(0.1):
            text = self.argument(known, is_text, STRING)[0]
            return f"length({text})", I64
        if self.chance(0.1) and (made := negative_type(kind)) is not None:
            return f"-({one})", made
        other, theirs = self.argument(known, is_number, self.pick((I64, F64)))
        if depth < 2 and self.chance(0.3):
            more, found = self.of_numbers(known, scope, depth + 1)
            other, theirs = f"({more})", found
        made = operation_type("+", kind, theirs)
        assert made is not None
        return f"{one} {self.pick(('+', '-', '*', '/', '%'))} {other}", made

    def of_texts(
        self, known: list[tuple[str, ValueType]], _: list[Variable], __: int
    ) -> tuple[str, ValueType]:
        text = self.argument(known, is_text, STRING)[0]
        other = self.argument(known, is_text, STRING)[0]
        forms = (
            f"lower({text})",
            f"upper({text})",
            f"trim({text})",
            f"{text} + {other}",
            f"substring({text}, {self.random.randint(-1 if self.chance(0.1) else 0, 3)})",
            f"substring({text}, {self.random.randint(0, 2)}, length({other}))",
        )
        return self.pick(forms), STRING

    def of_dates(
        self, known: list[tuple[str, ValueType]], scope: list[Variable], depth: int
    ) -> tuple[str, ValueType]:
        dates = [pair for pair in known if pair[1] in (DATE, DATETIME)]
        if not dates:
            return self.of_numbers(known, scope, depth)
        one, kind = self.pick(dates)
        if self.chance(0.5):
            return f"{self.pick(('year', 'month', 'day'))}({one})", I64
        same = [text for text, other in dates if kind == other == DATE]
        if same and self.chance(0.3):
            return f"{one} - {self.pick(same)}", I64
        return f"{one} {self.pick(('+', '-'))} {self.random.randint(-400, 400)}", kind

    def first_known(
        self, known: list[tuple[str, ValueType]], scope: list[Variable], depth: int
    ) -> tuple[str, ValueType]:
        if self.chance(0.5):
            texts = [self.argument(known, is_text, STRING)[0] for _ in range(2)]
            return f"coalesce({', '.join(texts)}, {literal_text('none')})", STRING
        one, kind = self.argument(known, is_number, I64)
        other, theirs = self.of_numbers(known, scope, depth + 1)
        made = FUNCTIONS["coalesce"].type_of([kind, theirs])
        assert made is not None
        return f"coalesce({one}, {other})", made

    def members(self, kind: ValueType, name: str, scope: list[Variable]) -> str:
        lists = [
            f"{each}.{key}"
            for each in scope
            for key, found in each.pairs
            if isinstance(found, ListType)
            and (ScalarType(found.item) == kind or (is_number(kind) and found.item != "String"))
        ]
        if lists and self.chance(0.4):
            return self.pick(lists)
        if isinstance(kind, ScalarType) and self.chance(0.4):
            items = tuple(self.value(kind, name) for _ in range(self.pick((0, 1, 2, 3))))
            return self.param(str(ListType(kind.scalar)), items)
        count = self.pick((0, 1, 2, 3))
        return f"[{', '.join(self.constant(self.like(kind), name) for _ in range(count))}]"

    def like(self, kind: ValueType) -> ValueType:
        """Return the type, or sometimes another one of numbers."""
        if is_number(kind) and self.chance(0.3):
            return self.pick(sorted(NUMBERS, key=str))
        return kind

    def constant(self, kind: ValueType, name: str = "") -> str:
        """Return a literal or a parameter."""
        if self.chance(0.3):
            return self.param(str(kind), self.value(kind, name))
        value = self.value(kind, name)
        if is_number(kind) and isinstance(value, float) and value.is_integer() and self.chance(0.3):
            value = int(value) if abs(value) < 2**53 else value
        return literal_text(value)  # type: ignore[arg-type]  # pools hold what can be written

    def value(self, kind: ValueType, name: str = "") -> object:
        if name in ("id", "src", "dst", "from", "to"):
            return self.pick(IDS)
        return self.pick(pool_of(kind, extreme=name in EXTREME_NAMES and kind in EXTREMES))

    def param(self, kind: str, value: object) -> str:
        name = self.new("p")
        nullable = self.chance(0.3)
        missing = nullable and self.chance(0.4)
        self.params[name] = (f"{kind}?" if nullable else kind, None if missing else value)
        return f"${name}"

    def bound(self, most: int) -> str:
        count = self.random.randint(0, most)
        if self.chance(0.7):
            return str(count)
        name = self.new("p")
        self.params[name] = (str(self.pick((I64, I32, U32))), count)
        return f"${name}"

    # What follows the match

    def rows(self, scope: list[Variable]) -> RandomQuery:
        shown = [self.column(scope, single=False) for _ in range(self.pick((1, 2, 2, 3)))]
        having = [self.shown_test(shown, scope) for _ in range(self.pick((0, 0, 0, 0, 1)))]
        order = [self.sorting(shown, scope) for _ in range(self.pick((0, 0, 1, 1, 2, 3)))]
        return self.tail([*shown, *self.whole(scope, single=False)], having, order)

    def distinct(self, scope: list[Variable]) -> RandomQuery:
        shown = [self.column(scope, single=True) for _ in range(self.pick((1, 2, 2, 3)))]
        having = [self.shown_test(shown, scope) for _ in range(self.pick((0, 0, 0, 0, 1)))]
        order = [self.sorting(shown, []) for _ in range(self.pick((0, 0, 1, 2)))]
        shown += self.whole(scope, single=True)
        return replace(self.tail(shown, having, order), distinct=True)

    def groups(self, scope: list[Variable]) -> RandomQuery:
        keys = [self.column(scope, single=True) for _ in range(self.pick((0, 1, 1, 2)))]
        counted = [self.aggregate(scope) for _ in range(self.pick((1, 1, 2, 3)))]
        shown = [*keys, *counted]
        having = [self.shown_test(shown, []) for _ in range(self.pick((0, 0, 0, 1)))]
        order = [self.sorting(shown, []) for _ in range(self.pick((0, 0, 1, 2)))]
        if self.chance(0.1):
            hidden = self.aggregate(scope)
            order.append(f"{hidden.expr}{self.pick(('', ' desc'))}")
        self.reads_paths = False
        shown += self.whole(scope, single=True)
        shown += [self.collected(scope) for _ in range(self.pick((0, 0, 0, 1, 1)))]
        self.random.shuffle(shown)
        return replace(self.tail(shown, having, order), distinct=self.chance(0.1))

    def whole(self, scope: list[Variable], *, single: bool) -> list[Shown]:
        """Return all properties of a variable, sometimes; single ones as groups need them."""
        fitting = [v for v in scope if not single or all(is_single(kind) for _, kind in v.pairs)]
        if not fitting or not self.chance(0.06):
            return []
        return [Shown(f"{self.pick(fitting)}.*", "", None)]

    def collected(self, scope: list[Variable]) -> Shown:
        return Shown(self.list_of(scope), self.new("l"), None)

    def list_of(self, scope: list[Variable], depth: int = 1) -> str:
        """Return a list of values or of objects, which may have lists in them."""
        distinct = self.chance(0.25)
        if self.chance(0.5):
            item = self.column(scope, single=distinct)
            while item.expr.startswith("["):
                item = self.column(scope, single=distinct)
            text = item.expr
        else:
            plain = [self.column(scope, single=distinct) for _ in range(self.pick((1, 1, 2)))]
            fields = [f"f{at}: {each.expr}" for at, each in enumerate(plain)]
            if depth < 3 and not distinct and self.chance(0.4):
                fields.append(f"inner: {self.list_of(scope, depth + 1)}")
            text = f"{{ {', '.join(fields)} }}"
        text = f"distinct {text}" if distinct else text
        if self.chance(0.4):
            keys = [self.item_key(scope) for _ in range(self.pick((1, 1, 2)))]
            text += f" order {{ {', '.join(keys)} }}"
        if self.chance(0.3):
            text += f" limit {self.bound(3)}"
        return f"collect({text})"

    def item_key(self, scope: list[Variable]) -> str:
        """Return what the items of a list are sorted by."""
        one, direction = self.pick(scope), self.pick(("", " desc"))
        if self.chance(0.25):
            return f"{self.computed(scope)[0]}{direction}"
        names = [name for name, kind in one.pairs if is_single(kind)]
        return f"{one}.{self.pick(names)}{direction}"

    def tail(self, shown: list[Shown], having: list[str], order: list[str]) -> RandomQuery:
        projections = tuple(
            f"{each.expr} as {each.alias}" if each.alias else each.expr for each in shown
        )
        return RandomQuery(projections=projections, having=tuple(having), order=tuple(order))

    def column(self, scope: list[Variable], *, single: bool) -> Shown:
        """Return a projection; single ones can be told apart, as groups need it."""
        one, alias, chance = self.pick(scope), self.new("c"), self.random.random()
        if self.paths and self.reads_paths and self.chance(0.4):
            path = self.pick(self.paths)
            if single or self.chance(0.5):
                return Shown(f"length({path})", alias, I64)
            return Shown(f"{self.pick(('nodes', 'edges'))}({path})", alias, ListType(I64.scalar))
        if chance < 0.25:
            return Shown(str(one), alias, None, one)
        if chance < 0.32:
            plain = self.pick((I64, STRING, BOOL))
            return Shown(self.constant(plain), alias, plain)
        if chance < 0.34:
            items = ", ".join(self.constant(I64) for _ in range(2))
            return Shown(f"[{items}]", alias, ListType(I64.scalar))
        if chance < 0.5:
            computed, of = self.computed(scope)
            return Shown(computed, alias, of)
        pairs = [pair for pair in one.pairs if not single or is_single(pair[1])]
        name, kind = self.pick(pairs)
        return Shown(f"{one}.{name}", alias, kind)

    def shown_test(self, shown: list[Shown], scope: list[Variable]) -> str:
        """Return a test of what is shown."""
        if scope and self.chance(0.3):
            return self.predicate(scope)
        one = self.pick(shown)
        side = one.alias if self.chance(0.7) else one.expr
        whole = [each for each in shown if each.variable is not None]
        if one.kind is None:
            other = self.pick(whole)
            tests = (f"{side} = {other.alias}", f"{side} != {other.expr}", f"{side} is null")
            return self.pick(tests)
        name = one.expr.rpartition(".")[2]
        test = self.test_of(side, one.kind, name, [])
        return f"not ({test})" if self.chance(0.2) else test

    def sorting(self, shown: list[Shown], scope: list[Variable]) -> str:
        direction = self.pick(("", "", " asc", " desc", " desc"))
        if scope and self.chance(0.5):
            one = self.pick(scope)
            if self.chance(0.2):
                return f"{self.computed(scope)[0]}{direction}"
            names = [name for name, kind in one.pairs if is_single(kind)]
            return f"{one}{self.pick(('', '.' + self.pick(names)))}{direction}"
        sortable = [each for each in shown if each.kind is None or is_single(each.kind)]
        if not sortable:
            return f"1{direction}"
        one_shown = self.pick(sortable)
        if one_shown.variable is not None and self.chance(0.5):
            pairs = one_shown.variable.pairs
            name = self.pick([name for name, kind in pairs if is_single(kind)])
            return f"{one_shown.variable}.{name}{direction}"
        return f"{self.pick((one_shown.alias, one_shown.expr))}{direction}"

    def aggregate(self, scope: list[Variable]) -> Shown:
        one, alias = self.pick(scope), self.new("n")
        distinct = "distinct " if self.chance(0.3) else ""
        function = self.pick(("count", "count", "count", "sum", "avg", "min", "max"))
        pairs = [pair for pair in one.pairs if _takes(function, *pair)]
        if function in ("count", "min", "max") and self.chance(0.15):
            computed, of = self.computed(scope)
            return Shown(
                f"{function}({distinct}{computed})", alias, I64 if function == "count" else of
            )
        if self.chance(0.1):
            return Shown(f"count({distinct}{one}) * 2 + 1", alias, I64)
        if self.chance(0.1):
            return Shown("count(*)", alias, I64)
        if function == "count" and self.chance(0.6):
            return Shown(f"count({distinct}{one})", alias, I64)
        if not pairs:
            return Shown(f"count({distinct}{one}.id)", alias, I64)
        name, kind = self.pick(pairs)
        distinct = distinct if is_single(kind) else ""
        given = {"count": I64, "avg": ScalarType(next(iter(FLOATS)).scalar)}.get(function, kind)
        if function == "sum":
            given = I64
        return Shown(f"{function}({distinct}{one}.{name})", alias, given)


def _is_condition(clause: Clause) -> bool:
    """Tell whether a clause binds nothing, so that another read can do without it."""
    if isinstance(clause, Block):
        return clause.word != "optional"
    return re.match(r"\$\w+( |:)", clause) is None


def _takes(function: str, name: str, kind: ValueType) -> bool:
    """Tell whether an aggregate can take a property and gives what nobody had to round."""
    if function == "count":
        return True
    if function in ("min", "max"):
        return is_ordered(kind)
    if name in EXTREME_NAMES:
        return function == "sum" and is_number(kind) and kind not in FLOATS
    return is_number(kind) and not isinstance(kind, EnumType)


def _written(edge: EdgeType) -> str:
    return edge.name[0].lower() + edge.name[1:]
