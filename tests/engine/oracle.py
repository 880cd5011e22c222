"""Oracle: what a read means, as nested loops over plain values; slow, simple and on its own.

It starts from the checked query, so that lowering, rewriting and the whole engine are under test,
and shares nothing with them. Text and vector search are not part of it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeAlias

from omnigraph.query import expr
from omnigraph.query.checked import (
    CheckedRead,
    CheckedUnion,
    Direction,
    Link,
    OrderKey,
    Pattern,
    RowCount,
    Step,
)
from omnigraph.query.parsing.ast import Operator
from omnigraph.query.planning.explain import predicate_text
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.types import BLOB, I64, VectorType
from tests.engine.computed import called, converted

Values: TypeAlias = Mapping[str, object]
Truth: TypeAlias = bool | None

MOST_ROWS = 10_000
_LARGEST = 2**63 - 1
_COMPARE: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.LESS_EQUAL: le,
    Operator.GREATER: gt,
    Operator.GREATER_EQUAL: ge,
}


class Overflow(Exception):
    """A sum does not fit 64 bits."""


class TooManyRows(Exception):
    """More rows than nested loops should go through."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge of some type: its id, the ids of both ends, and its properties."""

    id: str
    src: str
    dst: str
    values: Values


@dataclass(frozen=True, slots=True)
class Data:
    """A whole graph: nodes by type and id, edges by type."""

    nodes: Mapping[str, Mapping[str, Values]]
    edges: Mapping[str, Sequence[Edge]]


@dataclass(frozen=True, slots=True)
class Entity:
    """A node or an edge. The same id in two types is two entities."""

    type: str
    id: str


# The variables of a row, and for each `exists { … }` something if it has a match.
Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[Row]
_SOME = Entity("", "")


@dataclass(frozen=True, slots=True)
class Path:
    """The nodes of a path, and the edges between them."""

    nodes: tuple[Entity, ...]
    edges: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The names of a result's columns, and its rows in their order."""

    columns: list[str]
    rows: list[tuple[object, ...]]


@dataclass(frozen=True)
class Oracle:
    """Answers checked reads on one graph."""

    catalog: Catalog
    data: Data
    params: Mapping[str, object]
    now: datetime
    _near: dict[tuple[Entity, tuple[Step, ...]], dict[Entity, int]] = field(default_factory=dict)
    _steps: dict[tuple[Step, ...], defaultdict[Entity, set[Entity]]] = field(default_factory=dict)
    _made: list[int] = field(default_factory=lambda: [0])

    def answer(self, read: CheckedRead | CheckedUnion) -> Answer:
        """Return the rows of a read, or of a union of several."""
        if isinstance(read, CheckedUnion):
            return self._united(read)
        found = self._kept_groups(read)
        return Answer(
            [column.name for column in read.columns], [self._shown(*pair) for pair in found]
        )

    def _united(self, union: CheckedUnion) -> Answer:
        """Return the rows of several reads, each with its values as they are compared."""
        rows = [
            (tuple(group.value(column.expr) for column in read.columns), self._shown(read, group))
            for each in union.reads
            for read, group in self._kept_groups(each)
        ]
        if not union.keeps_all:
            rows = list({values: (values, shown) for values, shown in reversed(rows)}.values())
            rows.sort(key=lambda row: [self.sorts(value) for value in row[0]])
        names = [column.name for column in union.reads[0].columns]
        for key in reversed(union.order):
            keys = [_Group(self, [self._named(names, row[0])]).value(key.expr) for row in rows]
            order = sorted(
                range(len(rows)), key=lambda at: self.sorts(keys[at]), reverse=key.descending
            )
            rows = [rows[at] for at in order]
        skip, limit = self.count(union.skip) or 0, self.count(union.limit)
        kept = rows[skip:] if limit is None else rows[skip : skip + limit]
        return Answer(names, [shown for _, shown in kept])

    def _named(self, names: list[str], values: tuple[object, ...]) -> Row:
        """Return a row of a union, whose columns are read by their names."""
        return dict(zip(names, values, strict=True))

    def _kept_groups(self, read: CheckedRead) -> "list[tuple[CheckedRead, _Group]]":
        if not read.grouped:
            # Conditions on rows as they are matched, wherever they stand.
            filters = (*read.pattern.filters, *read.having)
            read = replace(read, pattern=replace(read.pattern, filters=filters), having=())
        found = self.matches(read.pattern, {})
        groups = self._groups(read, found)
        for test in _last_those_that_fail(read.having):
            groups = [each for each in groups if each.truth(test)]
        skip, limit = self.count(read.skip) or 0, self.count(read.limit)
        ordered = self._ordered(read, groups)
        kept = ordered[skip:] if limit is None else ordered[skip : skip + limit]
        return [(read, group) for group in kept]

    # Patterns

    def matches(self, pattern: Pattern, row: Row) -> Rows:
        """Return a row with every way to match a pattern."""
        rows, waiting = self._linked([row], list(pattern.links), set(row))
        known = set(row)
        for each in pattern.bound:
            if each.is_node:
                known.add(each.name)
                nodes = list(self._nodes(each.type))
                rows = [{**found, each.name: node} for found in rows for node in nodes]
                self._made[0] += len(rows)
                if self._made[0] > MOST_ROWS:
                    raise TooManyRows
                rows, waiting = self._linked(rows, waiting, known)
        tests = [each for test in pattern.filters for each in expr.conjuncts(test)]
        known = {*row, *(each.name for each in pattern.bound)}
        rows = self._kept(pattern, tests, rows, known)
        for optional in pattern.optionals:
            rows = [found for row in rows for found in self._optional(optional, row)]
            known |= set(bound_by(optional))
            rows = self._kept(
                pattern, tests, rows, known, negates=optional is pattern.optionals[-1]
            )
        asked: set[str] = set()
        for name, inner in pattern.marks:
            rows = [
                {**found, name: _SOME if self.matches(inner, found) else None} for found in rows
            ]
            asked.add(name)
            for test in tests:
                if not expr.may_fail(test) and name in _marks(test) <= asked:
                    rows = [found for found in rows if _Group(self, [found]).truth(test)]
        for test in _last_those_that_fail(tests):
            if expr.may_fail(test):
                rows = [found for found in rows if _Group(self, [found]).truth(test)]
        return rows

    def _kept(
        self,
        pattern: Pattern,
        tests: list[expr.Predicate],
        rows: Rows,
        known: set[str],
        *,
        negates: bool = True,
    ) -> Rows:
        """Return the rows that pass the conditions on what is known; first what cannot fail."""
        for each in tests:
            is_known = expr.variables(each) <= known and not _marks(each)
            if is_known and not expr.may_fail(each):
                rows = [found for found in rows if _Group(self, [found]).truth(each)]
        for negation in pattern.negations if negates else ():
            if set(negation.outer) <= known:
                rows = [found for found in rows if not self.matches(negation, found)]
        return rows

    def _optional(self, pattern: Pattern, row: Row) -> Rows:
        return self.matches(pattern, row) or [{**row, **dict.fromkeys(bound_by(pattern))}]

    def _nodes(self, kind: expr.EntityType) -> Iterator[Entity]:
        for name in kind.types:
            for each in self.data.nodes[name]:
                yield Entity(name, each)

    def _linked(self, rows: Rows, links: list[Link], known: set[str]) -> tuple[Rows, list[Link]]:
        """Follow the links whose ends are both known; give the rows and the other links."""
        waiting = []
        for link in links:
            if link.source in known and link.target in known:
                rows = [found for row in rows for found in self._followed(link, row)]
            else:
                waiting.append(link)
        return rows, waiting

    def _followed(self, link: Link, row: Row) -> Rows:
        source, target = row[link.source], row[link.target]
        if source is None or target is None:
            return []
        if link.path is not None:
            return [{**row, link.path.name: path} for path in self._paths(source, target, link)]
        if link.edge_variable is None:
            return [row] if self._reaches(source, target, link) else []
        return [
            {**row, link.edge_variable: Entity(step.edge, edge.id)}
            for step in link.steps
            for edge in self.data.edges[step.edge]
            if (source, target) in self._ways(step, edge)
        ]

    def _paths(self, source: Entity, target: Entity, link: Link) -> "list[Path]":
        """Return the shortest paths, in the order of the ids of their nodes, or the lightest."""
        assert link.path is not None
        if link.path.weight is not None:
            return self._lightest(source, target, link, link.path.weight)
        distance = self._distances(source, link.steps).get(target)
        if distance is None or distance < link.hops.minimum:
            return []
        most = distance if link.hops.maximum is None else min(distance, link.hops.maximum)
        found = self._simple(source, target, link.steps, most)
        found.sort(key=lambda path: [node.id for node in path.nodes])
        return found if link.path.keeps_all else found[:1]

    def _lightest(self, source: Entity, target: Entity, link: Link, weight: str) -> "list[Path]":
        """Return the path of the least weight, with the fewest edges of those."""

        def rank(path: Path) -> tuple[Any, ...]:
            total = sum(self._weight(edge, weight) for edge in path.edges)
            return total, len(path.edges), [node.id for node in path.nodes]

        most = len(self.data.nodes[source.type]) if link.hops.maximum is None else link.hops.maximum
        found = self._simple(source, target, link.steps, most, weight)
        best = min(found, key=rank, default=None)
        return [] if best is None or len(best.edges) < link.hops.minimum else [best]

    def _weight(self, edge: Entity, name: str) -> float:
        found = self.property(edge, name)
        assert isinstance(found, int | float)
        return found

    def _simple(
        self,
        source: Entity,
        target: Entity,
        steps: tuple[Step, ...],
        most: int,
        weight: str | None = None,
    ) -> "list[Path]":
        """Return every path without a repeated node; of parallel edges the lightest, or first."""
        done, open_paths = [], [Path((source,), ())]
        while open_paths:
            path = open_paths.pop()
            if path.nodes[-1] == target:
                done.append(path)
                continue
            self._made[0] += 1
            if self._made[0] > MOST_ROWS:
                raise TooManyRows
            if len(path.edges) < most:
                open_paths += [
                    Path((*path.nodes, node), (*path.edges, edge))
                    for node, edge in self._onward(path.nodes[-1], steps, weight)
                    if node not in path.nodes
                ]
        return done

    def _onward(
        self, node: Entity, steps: tuple[Step, ...], weight: str | None
    ) -> list[tuple[Entity, Entity]]:
        def rank(edge: Entity) -> tuple[Any, ...]:
            return 0 if weight is None else self._weight(edge, weight), self.sorts(edge)

        found: dict[Entity, Entity] = {}
        for step in steps:
            for edge in self.data.edges[step.edge]:
                for source, target in self._ways(step, edge):
                    if source == node:
                        other = Entity(step.edge, edge.id)
                        known = found.setdefault(target, other)
                        found[target] = min(known, other, key=rank)
        return list(found.items())

    def _ways(self, step: Step, edge: Edge) -> list[tuple[Entity, Entity]]:
        """Return the pairs of nodes that an edge leads from and to."""
        kind = self.catalog.edges[step.edge]
        source, target = Entity(kind.source, edge.src), Entity(kind.target, edge.dst)
        match step.direction:
            case Direction.OUT:
                return [(source, target)]
            case Direction.IN:
                return [(target, source)]
            case Direction.BOTH:
                return [(source, target), (target, source)]

    def _reaches(self, source: Entity, target: Entity, link: Link) -> bool:
        """Tell whether the shortest distance is within the hops; to itself, a loop is one hop."""
        least, most = link.hops.minimum, link.hops.maximum
        distances = self._distances(source, link.steps)
        distance: int | None = distances.get(target)
        if source == target and least > 0:
            distance = 1 if source in self._next(link.steps)[source] else None
        return distance is not None and least <= distance and (most is None or distance <= most)

    def _distances(self, source: Entity, steps: tuple[Step, ...]) -> dict[Entity, int]:
        if (source, steps) not in self._near:
            found, frontier = {source: 0}, [source]
            for node in frontier:
                for other in self._next(steps)[node]:
                    if other not in found:
                        found[other] = found[node] + 1
                        frontier.append(other)
            self._near[source, steps] = found
        return self._near[source, steps]

    def _next(self, steps: tuple[Step, ...]) -> defaultdict[Entity, set[Entity]]:
        """Return where one step leads from each node."""
        if steps not in self._steps:
            found: defaultdict[Entity, set[Entity]] = defaultdict(set)
            for step in steps:
                for edge in self.data.edges[step.edge]:
                    for source, target in self._ways(step, edge):
                        found[source].add(target)
            self._steps[steps] = found
        return self._steps[steps]

    # What follows the match

    def _groups(self, read: CheckedRead, rows: Rows) -> "list[_Group]":
        """Return the rows in groups: by their keys, by columns when distinct, or one by one."""
        if _is_by_row(read):
            return [_Group(self, [row]) for row in rows]
        keys = [each.expr for each in read.columns if _is_key(each.expr, grouped=read.grouped)]
        found: dict[tuple[object, ...], Rows] = {}
        for row in rows:
            one = _Group(self, [row])
            found.setdefault(tuple(one.value(key) for key in keys), []).append(row)
        if read.grouped and not found and not any(expr.reads_rows(key) for key in keys):
            found[()] = []
        groups = [_Group(self, members) for members in found.values()]
        for group in groups:
            for aggregate in _aggregates(read):
                group.value(aggregate)
            for value in _collected(read):
                for row in group.rows:
                    _Group(self, [row]).value(value)
        return groups

    def _ordered(self, read: CheckedRead, groups: "list[_Group]") -> "list[_Group]":
        for tie in reversed(self._ties(read)):
            groups = sorted(groups, key=tie)
        for key in reversed(read.order):
            groups = sorted(groups, key=self._key(key), reverse=key.descending)
        return groups

    def _ties(self, read: CheckedRead) -> "list[_Sorting]":
        """Return what sorts rows of equal keys: the ids of the variables, or the columns."""
        if _is_by_row(read):
            return [self._id(name) for name in bound_by(read.pattern)]
        exprs = [column.expr for column in read.columns]
        kept = [
            each for each in exprs if expr.reads_rows(each) and _is_key(each, grouped=read.grouped)
        ]
        return [self._key(OrderKey(each, descending=False)) for each in kept]

    def _id(self, variable: str) -> "_Sorting":
        return lambda group: self.sorts(group.rows[0][variable])

    def _key(self, key: OrderKey) -> "_Sorting":
        return lambda group: self.sorts(group.value(key.expr))

    def sorts(self, value: object) -> tuple[Any, ...]:
        """Return what a value sorts by: null before all others, entities by id."""
        if value is None:
            return (0,)
        if isinstance(value, Entity):
            types = [*self.catalog.nodes, *self.catalog.edges]
            return (1, value.id, types.index(value.type))
        return (1, value)

    def count(self, given: RowCount | None) -> int | None:
        """Return a number of rows."""
        if given is None:
            return None
        found = given.value if isinstance(given, expr.Constant) else self.params[given.name]
        assert isinstance(found, int)
        return found

    def _shown(self, read: CheckedRead, group: "_Group") -> tuple[object, ...]:
        return tuple(self._cell(column.expr, group.value(column.expr)) for column in read.columns)

    def shown(self, shown_as: expr.Expr, value: object) -> object:
        """Return an item of a list as a result shows it."""
        if isinstance(shown_as, expr.ObjectOf):
            assert isinstance(value, dict)
            return {name: self.shown(each, value[name]) for name, each in shown_as.fields}
        return self._cell(shown_as, value)

    def _cell(self, shown_as: expr.Expr, value: Any) -> object:
        """Return a value as a result shows it: an entity as an object, a list as a list."""
        if isinstance(shown_as, expr.PathPart):
            kind = shown_as.type.item
            assert isinstance(kind, expr.EntityType)
            return [self._cell(expr.VariableRef("", kind), each) for each in value]
        if isinstance(value, tuple):
            return list(value)
        if not isinstance(value, Entity):
            return value
        assert isinstance(shown_as, expr.VariableRef)
        is_edge = value.type in self.catalog.edges
        shown: dict[str, object] = {"id": value.id}
        if is_edge:
            shown |= {"from": self.property(value, "src"), "to": self.property(value, "dst")}
        for name in self._shared(shown_as.type):
            found = self.property(value, name)
            shown[name] = list(found) if isinstance(found, tuple) else found
        return shown

    def _shared(self, kind: expr.EntityType) -> Iterator[str]:
        """Return the properties that all types have and an object shows."""
        stored = [self.catalog.stored(name) for name in kind.types]
        known = [each.properties for each in stored if each is not None]
        for name, item in known[0].items():
            same = all(name in each and each[name].type == item.type for each in known)
            if same and item.type != BLOB and not isinstance(item.type, VectorType):
                yield name

    def property(self, entity: Entity, name: str) -> object:
        """Return a property of a node or an edge; null when it has none."""
        if name == "id":
            return entity.id
        if entity.type in self.data.nodes:
            return self.data.nodes[entity.type][entity.id].get(name)
        (edge,) = [each for each in self.data.edges[entity.type] if each.id == entity.id]
        ends = {"src": edge.src, "dst": edge.dst}
        return ends[name] if name in ends else edge.values.get(name)


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows that are one row of the result; what is no aggregate is the same in all of them."""

    oracle: Oracle
    rows: Rows

    def value(self, node: expr.Expr) -> Any:
        match node:
            case expr.Constant(value, _):
                return value
            case expr.ParamRef(name, _):
                return self.oracle.params[name]
            case expr.Now():
                return self.oracle.now
            case expr.ListOf(items, _):
                return tuple(self.value(item) for item in items)
            case expr.VariableRef(variable, _):
                return self.rows[0][variable]
            case expr.PropertyRef(variable, name, _):
                assert variable is not None
                entity = self.rows[0][variable]
                return None if entity is None else self.oracle.property(entity, name)
            case expr.ColumnRef() | expr.PathPart():
                return self._computed(node)
            case expr.Aggregate():
                return self._aggregate(node)
            case expr.EveryRow():
                return True
            case expr.Collect():
                return self._collect(node)
            case expr.Call("coalesce", arguments, kind):
                found = (self.value(each) for each in arguments)
                known = next((each for each in found if each is not None), None)
                return None if known is None else converted(known, kind)
            case expr.Call(function, arguments, kind):
                values = [self.value(each) for each in arguments]
                return None if None in values else called(function, values, kind)
            case _:
                raise AssertionError(f"the oracle knows no {node}")

    def _computed(self, node: expr.ColumnRef | expr.PathPart) -> Any:
        """Return whether something exists, or a part of a path."""
        row = self.rows[0]
        if isinstance(node, expr.PathPart):
            return getattr(row[node.path], node.part)
        if node.column.startswith(expr.MARK):
            return row[node.column] is not None
        if node.column in row:
            return row[node.column]
        return len(row[node.column[1:].removesuffix(".length")].edges)

    def truth(self, predicate: expr.Predicate) -> Truth:
        """Return true, false, or None for unknown."""
        match predicate:
            case expr.And(items):
                return self._all(items, self.truth)
            case expr.Or(items):
                return _not(self._all(items, lambda item: _not(self.truth(item))))
            case expr.Not(item):
                return _not(self.truth(item))
            case expr.NullTest(operand, negated):
                return (self.value(operand) is None) != negated
            case expr.Comparison(left, operator, right):
                return _compared(self.value(left), operator, self.value(right))
            case _:
                raise AssertionError(f"the oracle knows no {predicate}")

    def _all(
        self, items: Sequence[expr.Predicate], truth: Callable[[expr.Predicate], Truth]
    ) -> Truth:
        found: Truth = True
        for item in _last_those_that_fail(items):
            if found is False and expr.may_fail(item):
                return False
            found = _both(found, truth(item))
        return found

    def _collect(self, collect: expr.Collect) -> list[object]:
        """Return the items of the rows, each as a result shows it."""
        rows = self.rows
        for tie in reversed(collect.ties):
            rows = sorted(rows, key=lambda row: self.oracle.sorts(row[tie.variable]))
        items = [_Group(self.oracle, members) for members in _alike(collect.item, rows)]
        found = [(each, each.item(collect.item)) for each in items]
        there = [pair for pair in found if pair[0].has(collect.item, pair[1])]
        if collect.distinct:
            kept: list[tuple[_Group, object]] = []
            for one in there:
                if not any(one[1] == other[1] for other in kept):
                    kept.append(one)
            there = kept
        for key in reversed(collect.order):
            there = sorted(
                there,
                key=lambda pair: self.oracle.sorts(pair[0].value(key.expr)),
                reverse=key.descending,
            )
        limit = self.oracle.count(collect.limit)
        return [self.oracle.shown(collect.item, value) for _, value in there[:limit]]

    def item(self, item: expr.Expr) -> object:
        if isinstance(item, expr.ObjectOf):
            return {name: self.value(value) for name, value in item.fields}
        return self.value(item)

    def has(self, item: expr.Expr, value: object) -> bool:
        """Tell whether an item takes part: it is not null, or an object of something bound."""
        if not isinstance(item, expr.ObjectOf):
            return value is not None
        names = _plain_variables(item)
        return not names or any(self.rows[0][name] is not None for name in names)

    def _aggregate(self, aggregate: expr.Aggregate) -> object:
        each = [_Group(self.oracle, [row]).value(aggregate.argument) for row in self.rows]
        known = [value for value in each if value is not None]
        if aggregate.distinct:
            known = list(dict.fromkeys(known))
        if aggregate.function == "count":
            return len(known)
        if not known:
            return None
        if aggregate.function in ("min", "max"):
            return min(known) if aggregate.function == "min" else max(known)
        total = sum(known)
        if aggregate.function == "avg":
            return total / len(known)
        if aggregate.type == I64 and not -_LARGEST - 1 <= total <= _LARGEST:
            raise Overflow
        return total


_Sorting: TypeAlias = Callable[[_Group], tuple[Any, ...]]


def _marks(test: expr.Predicate) -> set[str]:
    """Return the `exists { … }` that a condition asks."""
    return {name for name in expr.columns_of(test) if name.startswith(expr.MARK)}


def bound_by(pattern: Pattern) -> Iterator[str]:
    """Return the variables that a pattern binds, those of optional parts last."""
    yield from (each.name for each in pattern.bound)
    for optional in pattern.optionals:
        yield from bound_by(optional)


def _alike(item: expr.Expr, rows: Rows) -> list[Rows]:
    """Return the rows of each item: one, or with inner lists those of the same entities."""
    fields = item.fields if isinstance(item, expr.ObjectOf) else ()
    if not any(isinstance(value, expr.Collect) for _, value in fields):
        return [[row] for row in rows]
    found: dict[tuple[object, ...], Rows] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in _plain_variables(item)), []).append(row)
    return list(found.values())


def _plain_variables(item: expr.Expr) -> list[str]:
    fields = item.fields if isinstance(item, expr.ObjectOf) else ()
    plain = [value for _, value in fields if not isinstance(value, expr.Collect)]
    return sorted({name for value in plain for name in expr.variables(value)})


def _is_key(node: expr.Expr, *, grouped: bool) -> bool:
    """Tell whether rows are grouped by an expression, which holds no aggregate."""
    if any(isinstance(part, expr.Aggregate | expr.Collect) for part in expr.parts(node)):
        return False
    return not (grouped and isinstance(node, expr.Call) and not expr.reads_rows(node))


def _last_those_that_fail(items: Sequence[expr.Predicate]) -> list[expr.Predicate]:
    """Return conditions, those that can fail last: the fewest divisions first, then by text."""

    def order(item: expr.Predicate) -> tuple[bool, int, int, str]:
        calls = [each for each in expr.parts(item) if isinstance(each, expr.Call)]
        failing = [each.function for each in calls if each.can_fail]
        cuts = sum(map(failing.count, ("/", "%", "substring")))
        return (bool(failing), cuts, len(failing), predicate_text(item) if failing else "")

    return sorted(items, key=order)


def _is_by_row(read: CheckedRead) -> bool:
    return not read.grouped and not read.distinct


def _aggregates(read: CheckedRead) -> Iterator[expr.Aggregate]:
    nodes: Iterable[expr.Expr | expr.Predicate] = [
        *(column.expr for column in read.columns),
        *read.having,
        *(key.expr for key in read.order),
    ]
    return (part for node in nodes for part in expr.parts(node) if isinstance(part, expr.Aggregate))


def _collected(read: CheckedRead) -> Iterator[expr.Expr]:
    """Return what lists are made of and sorted by, which has to have a value in every row."""
    found = [column.expr for column in read.columns if isinstance(column.expr, expr.Collect)]
    for collect in found:
        yield from (key.expr for key in collect.order)
        fields = collect.item.fields if isinstance(collect.item, expr.ObjectOf) else ()
        found += [value for _, value in fields if isinstance(value, expr.Collect)]
        yield from (value for _, value in fields if not isinstance(value, expr.Collect))
        if not isinstance(collect.item, expr.ObjectOf):
            yield collect.item


def _both(one: Truth, other: Truth) -> Truth:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _not(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _compared(left: Any, operator: Operator, right: Any) -> Truth:
    if operator is Operator.IN:
        return _member(left, right)
    if operator is Operator.CONTAINS and isinstance(left, tuple):
        return _member(right, left)
    if left is None or right is None:
        return None
    if operator is Operator.CONTAINS:
        return right in left
    if operator is Operator.STARTS_WITH:
        return bool(left.startswith(right))
    return _COMPARE[operator](left, right)


def _member(item: object, members: tuple[object, ...] | None) -> Truth:
    """Tell whether an item equals any member; nothing is among none, not even null."""
    if members is None:
        return None
    if not members:
        return False
    if item is not None and item in members:
        return True
    return None if item is None or None in members else False
