"""Road: whether a plan reads whole tables into memory or looks up single rows by index."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import StrEnum

from omnigraph.data.derived.memory import MOST_DECISIONS
from omnigraph.data.derived.topology import Place, Topology
from omnigraph.frozen import dataclass
from omnigraph.query.expr import Bm25, Expr, Predicate, PropertyRef, TextMatch, parts
from omnigraph.query.parsing.ast import Hops
from omnigraph.query.plan import (
    AntiJoin,
    Expand,
    Filter,
    Mark,
    NodeScan,
    Operator,
    Optional,
    Path,
    Rank,
    ReadPlan,
    Union,
    flatten,
    reads_of,
    types_gone_through,
)
from omnigraph.read.pushdown import pick_indexed
from omnigraph.read.reader import BACKWARDS
from omnigraph.schema.catalog import EdgeType, StoredType
from omnigraph.versioning.snapshot import Snapshot

# Looking up one row takes about as long as numbering this many.
LOOKUP_ROWS = 1_500
# Numbers of rows that are stored beside the graph are read so many times as fast as they are made,
# and those of edges, which have no ids.
_STORED_ROWS, _STORED_EDGES = 80, 300
# Reads of single rows number a table only where that takes at most a quarter of the memory for
# what is derived; a row is thought to take so many bytes, which is rather too many.
_NUMBERED_BYTES = 64
_NUMBERED_PART = 4
# The rows that a condition on an indexed column is assumed to let through.
_NARROWED_ROWS = 100
_MOST_STEPS = 32


class Road(StrEnum):
    """The two ways to an answer; the answer is the same."""

    ADJACENCY = "adjacency"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class RoadChoice:
    """The road of a plan and why: rows to look up one by one, and rows to number first.

    `lookups` is None when the plan cannot look rows up. `missing` names what is not numbered yet.
    """

    road: Road
    lookups: int | None
    unread: int
    missing: tuple[Hashable, ...] = ()

    def __str__(self) -> str:
        if self.road is Road.INDEX:
            return f"index: about {self.lookups:,} look-ups, not {self.unread:,} rows to read"
        return f"adjacency: {self.unread:,} rows to read first" if self.unread else "adjacency"


@dataclass(frozen=True, slots=True)
class _SettledChoice:
    """The choice for a plan that has nothing left to number.

    It stays the same, also after commits, as long as nothing is dropped from memory.
    """

    plan: ReadPlan
    choice: RoadChoice

    @property
    def nbytes(self) -> int:
        return 4096  # more than it takes


def choose_road(plan: ReadPlan, snapshot: Snapshot, topology: Topology) -> RoadChoice:
    """Return the road that takes less time.

    What look-ups cost earlier counts as well: a graph that is asked a lot is numbered before its
    look-ups have cost more than the numbering, so it costs at most twice the optimum.
    """
    key = ("road", id(plan), topology.cache.losses)
    ready = topology.cache.peek(key)
    if isinstance(ready, _SettledChoice) and ready.plan is plan:
        return ready.choice
    choice = compare_roads(plan, snapshot, topology)
    if not choice.unread:
        topology.cache.get(
            key, lambda: _SettledChoice(plan, choice), family="road", most=MOST_DECISIONS
        )
    return choice


def compare_roads(plan: ReadPlan, snapshot: Snapshot, topology: Topology) -> RoadChoice:
    """Return the road that takes less time, by what both of them would read now."""
    estimate = _Estimate(snapshot, topology)
    estimate.add(plan.operators, 1.0)
    missing = tuple(estimate.unread)
    unread, lookups = sum(estimate.unread.values()), estimate.lookups
    if lookups is None:
        return RoadChoice(Road.ADJACENCY, None, unread, missing)
    is_small = estimate.held * _NUMBERED_BYTES * _NUMBERED_PART <= topology.cache.most_bytes
    counts_noted = estimate.follows or is_small
    cost = lookups * LOOKUP_ROWS + (topology.noted_cost(missing) if counts_noted else 0)
    road = Road.INDEX if cost < unread else Road.ADJACENCY
    return RoadChoice(road, round(lookups), unread, missing)


def find_columns_read(plan: ReadPlan, snapshot: Snapshot) -> Mapping[str, tuple[str, ...]]:
    """Return for each type the columns that a plan reads of single rows."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    types: dict[str, tuple[str, ...]] = {}
    for read in reads_of(plan)[1:]:
        for kind, names in find_columns_read(read, snapshot).items():
            found[kind] |= dict.fromkeys(names)
    for operator in flatten(plan.operators):
        for name, kinds, columns in _bindings(operator):
            types[name] = kinds
            for kind in kinds:
                found[kind] |= dict.fromkeys(columns)
    for operator in flatten(plan.operators):
        for ref in _own_properties(operator):
            for kind in types.get(ref.variable or "", ()):
                found[kind][ref.property] = None
    stored = snapshot.catalog.stored
    return {
        kind: tuple(name for name in names if _has(stored(kind), name))
        for kind, names in found.items()
    }


def count_rows_read(plan: ReadPlan, snapshot: Snapshot) -> int:
    """Return how many rows the tables hold that a plan goes through."""
    stored = map(snapshot.catalog.stored, types_gone_through(plan.operators))
    return sum(snapshot.state(each.identity).row_count for each in stored if each is not None)


def _has(stored: StoredType | None, name: str) -> bool:
    return stored is not None and stored.column(name) is not None


def _bindings(operator: Operator) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield the variables that an operator binds, their types, and the columns read later."""
    match operator:
        case NodeScan():
            yield operator.variable, operator.types, operator.columns
        case Expand():
            if not operator.closes:
                yield operator.target, operator.types, operator.columns
            if operator.edge_variable is not None:
                edges = tuple(step.edge for step in operator.steps)
                yield operator.edge_variable, edges, operator.edge_columns


def _own_properties(operator: Operator) -> Iterator[PropertyRef]:
    """Yield the properties that an operator reads itself."""
    for each in pattern_expressions(operator):
        yield from (part for part in parts(each) if isinstance(part, PropertyRef))


def pattern_expressions(operator: Operator) -> Sequence[Expr | Predicate]:
    """Return what an operator evaluates itself, on the rows that it binds."""
    match operator:
        case NodeScan(filters=own):
            return own
        case Expand(filters=own, edge_filters=edge):
            return (*own, *edge)
        case Filter(predicate):
            return (predicate,)
        case Rank(ranking=ranking):
            return (ranking,)
        case _:
            return ()


class _Estimate:
    """Adds up, operator by operator, what both roads would read."""

    def __init__(self, snapshot: Snapshot, topology: Topology) -> None:
        self._snapshot = snapshot
        self._topology = topology
        self.lookups: float | None = 0.0
        self.follows = False
        self.unread: dict[Hashable, int] = {}
        # The rows that would be in memory then and are not yet.
        self.held = 0

    def add(self, operators: Sequence[Operator], rows: float) -> None:
        """Add what operators read when they start with about `rows` rows."""
        for operator in operators:
            match operator:
                case NodeScan():
                    rows *= self._scan(operator)
                case Expand():
                    rows = self._expand(operator, rows)
                case AntiJoin(inner=inner) | Optional(inner=inner) | Mark(inner=inner):
                    self.add(inner, rows)
                case Path():
                    self.lookups = None
                    for step in operator.steps:
                        edge = self._stored(step.edge)
                        assert isinstance(edge, EdgeType)
                        self._add_numbering(edge.source)
                        for backwards in BACKWARDS[step.direction]:
                            self._add_adjacency(edge, backwards, named=False)
                case Union(reads):
                    for read in reads:
                        self.add(read.operators, 1.0)
                case Filter() | Rank():
                    pass
                case _:
                    return
            if _searches(operator):
                self.lookups = None

    def _scan(self, scan: NodeScan) -> float:
        narrowed = 0.0
        for name in scan.types:
            stored = self._stored(name)
            if scan.counted and scan.point is None and not scan.filters:
                narrowed += self._count(name)
                continue
            self._add_numbering(name)
            if scan.point is not None:
                narrowed += 1
            elif pick_indexed(scan.filters, stored):
                narrowed += min(_NARROWED_ROWS, self._count(name))
            else:
                self.lookups = None
                narrowed += self._count(name)
        self._add_lookups(narrowed)
        return narrowed

    def _expand(self, expand: Expand, rows: float) -> float:
        self.follows = True
        degree = 0.0
        for step in expand.steps:
            edge = self._stored(step.edge)
            assert isinstance(edge, EdgeType)
            for name in (edge.source, edge.target):
                self._add_numbering(name)
            for backwards in BACKWARDS[step.direction]:
                self._add_adjacency(edge, backwards, named=expand.edge_variable is not None)
                start = edge.target if backwards else edge.source
                degree += self._count(step.edge) / max(self._count(start), 1)
        most = float(sum(self._count(name) for name in expand.types)) or rows * degree
        return self._add_hops(expand.hops, rows, degree, most, closes=expand.closes)

    def _add_hops(
        self, hops: Hops, rows: float, degree: float, most: float, *, closes: bool
    ) -> float:
        """Add the look-ups of all hops; return about how many rows come out."""
        reached = rows
        for _ in range(min(hops.maximum or _MOST_STEPS, _MOST_STEPS)):
            self._add_lookups(reached)
            reached = min(reached * degree, max(most, rows))
        return rows if closes else reached

    def _add_lookups(self, rows: float) -> None:
        if self.lookups is not None:
            self.lookups += rows

    def _add_numbering(self, name: str) -> None:
        """Add the rows of a type, unless they are numbered already."""
        table = self._snapshot.table(self._stored(name).identity)
        if not table.takes_conditions:
            self.lookups = None
        where, rows = self._topology.where_numbering(table), self._count(name)
        self._add_missing(name, where, rows, rows // _STORED_ROWS)

    def _add_adjacency(self, edge: EdgeType, backwards: bool, *, named: bool) -> None:
        """Add the edges of a type, unless the adjacency is built already."""
        table = self._snapshot.table(edge.identity)
        if not table.takes_conditions:
            self.lookups = None
        where = self._topology.where_adjacency(table, backwards=backwards, named=named)
        edges = self._count(edge.name)
        self._add_missing((edge.name, backwards, named), where, edges, edges // _STORED_EDGES)

    def _add_missing(self, thing: Hashable, where: Place, rows: int, stored: int) -> None:
        """Add what it takes to have something in memory: less, where it is stored in a file."""
        if where is Place.MEMORY:
            return
        self.held += rows
        cost = stored if where is Place.DISK else rows
        if cost:
            self.unread[thing] = cost

    def _count(self, name: str) -> int:
        return self._snapshot.state(self._stored(name).identity).row_count

    def _stored(self, name: str) -> StoredType:
        found = self._snapshot.catalog.stored(name)
        assert found is not None
        return found


def _searches(operator: Operator) -> bool:
    """Return whether an operator searches texts, which takes a whole table."""
    nodes = (part for each in pattern_expressions(operator) for part in parts(each))
    return any(isinstance(node, TextMatch | Bm25) for node in nodes)
