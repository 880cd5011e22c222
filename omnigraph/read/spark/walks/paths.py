"""Paths: the shortest paths between nodes, found on Spark one hop at a time.

As in a walk, each hop is a job of its own: every path that was found last goes on by one edge, and
of those from one node to another the best is kept. A path is the list of its ids, in its own
direction, so that the least list is the first path.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, reduce
from math import isinf
from typing import TYPE_CHECKING

from pyspark.sql import functions as fn

from omnigraph.errors import ExpressionError
from omnigraph.frozen import dataclass
from omnigraph.query.expr import EntityKind, EntityType, PathPart, path_column
from omnigraph.query.plan import Path
from omnigraph.read.execution import Execution
from omnigraph.read.operators.paths import unusable_sum, unusable_weight
from omnigraph.read.operators.project import object_fields
from omnigraph.read.reader import Reader
from omnigraph.read.spark.frames import SnapshotFrames
from omnigraph.read.spark.matches import (
    ID,
    TYPE,
    ComputedColumn,
    EntityColumns,
    FrameMatches,
    TypedProperty,
    join,
)
from omnigraph.schema.types import I64
from omnigraph.span import Source

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def find_paths(
    execution: Execution,
    frames: SnapshotFrames,
    matches: FrameMatches,
    path: Path,
    shown: Iterable[PathPart],
) -> FrameMatches:
    """Return a row for each path from the source of a row to its target, or to each it reaches.

    Of what is shown of a path, the rows have whole nodes and edges.
    """
    kind = _node_kind(frames.reader, path)
    ends = [matches.entities[path.source]]
    ends += [matches.entities[path.target]] if path.closes else []
    number, rows = fn.lit(frames.reader.number(kind.types[0])), matches.frame
    for end in ends:
        rows = rows.filter(fn.col(end.type) == number)
    starts = rows.select(ends[0].id).distinct()
    wanted = rows.select([end.id for end in ends]).distinct() if path.closes else None
    found = _PathSearch(frames, path, starts, wanted, execution.source).find()
    columns, name = dict(matches.columns), path.path.name
    for part in shown:
        found, column = _add_objects(frames, found, part)
        columns[path_column(name, part.part)] = ComputedColumn(part.type, column)
    length, end_type = frames.names.new_list(2)
    more = [fn.size(found.edges).cast("bigint").alias(length), number.alias(end_type)]
    columns[path_column(name, "length")] = ComputedColumn(I64, length)
    # Paths between the same nodes are as long as each other, and ordered by their nodes.
    columns[path_column(name, "number")] = ComputedColumn(None, found.nodes)
    on = list(zip((end.id for end in ends), (found.start, found.end), strict=False))
    frame = join(rows, found.frame.select("*", *more), on)
    joined = replace(matches, frame=frame, columns=columns, most=None)
    if path.closes:
        return joined
    execution.bind(path.target, kind.types)
    return joined.bind(frame, path.target, EntityColumns(kind, found.end, end_type))


@dataclass(frozen=True, slots=True)
class _PathFrame:
    """A frame of paths: the ids of both ends as they were searched, of the nodes and the edges.

    The end is the node that was reached; an edge is a struct of its id and its type's number, a
    cost one of the sum of weights and of what floats lose of it.
    """

    frame: "DataFrame"
    start: str
    end: str
    nodes: str
    edges: str
    cost: str


@dataclass(frozen=True)
class _PathSearch:
    """The search for the paths of one operator; all nodes are of one type.

    `starts` has the ids of the nodes to search from. `wanted` has these with the ids of the nodes
    to be reached; without it every node is.
    """

    frames: SnapshotFrames
    path: Path
    starts: "DataFrame"
    wanted: "DataFrame | None"
    source: Source | None

    @cached_property
    def names(self) -> list[str]:
        """The columns of all frames of paths: start, end, nodes, edges and cost."""
        return self.frames.names.new_list(5)

    def find(self) -> _PathFrame:
        """Return the paths within the hops, from every start to every node that is wanted."""
        found = self._by_hops() if self.path.path.weight is None else self._by_weight()
        return _PathFrame(self._asked(found), *self.names)

    def _asked(self, paths: "DataFrame") -> "DataFrame":
        """Return the paths to nodes that are wanted."""
        if self.wanted is None:
            return paths
        asked = self.frames.names.new_list(2)
        on = list(zip(self.names[:2], asked, strict=True))
        return join(paths, self.wanted.toDF(*asked), on, "left_semi")

    def _by_hops(self) -> "DataFrame":
        """Return the paths of the fewest edges: the first hop that meets a node reaches it."""
        hops, level = self.path.hops, self._begin()
        levels, distance = [level], 0
        onward = level
        while hops.maximum is None or distance < hops.maximum:
            fresh = self._without(self._step(onward), levels)
            if not self.path.path.keeps_all:
                fresh = self._best(fresh)
            level = fresh.localCheckpoint(eager=False)
            levels.append(level)
            onward = self._unfinished(level, levels)
            distance += 1
            if onward.isEmpty():
                break
        return reduce(_union, levels[hops.minimum :], levels[0].limit(0))

    def _by_weight(self) -> "DataFrame":
        """Return the lightest paths: every one that became lighter goes on, hop by hop."""
        hops, best = self.path.hops, self._begin()
        frontier, distance, is_heavy = best, 0, False
        while hops.maximum is None or distance < hops.maximum:
            self._check_weights(frontier)
            reached = self._best(self._step(frontier))
            frontier = self._lighter(reached, best).localCheckpoint(eager=False)
            distance += 1
            heaviest = frontier.agg(fn.max(self.names[4])).collect()[0][0]
            if heaviest is None:
                break
            is_heavy = is_heavy or isinf(heaviest["sum"])
            rest = self._without(best, [frontier])
            best = rest.unionAll(frontier).localCheckpoint(eager=False)
        found = best.filter(fn.size(self.names[3]) >= hops.minimum)
        if is_heavy:
            self._check_sums(found)
        return found

    def _begin(self) -> "DataFrame":
        """Return the path of no edges from each start to itself."""
        node = fn.col(self.starts.columns[0])
        edges = fn.array().cast("array<struct<id:string,type:int>>")
        first = self.starts.select(
            node, node, fn.array(node), edges, _cost(fn.lit(0.0), fn.lit(0.0))
        )
        return first.toDF(*self.names).localCheckpoint(eager=False)

    def _step(self, paths: "DataFrame") -> "DataFrame":
        """Return paths with one more edge each."""
        start, end, nodes, edges, cost = self.names
        source, target, edge, weight, _ = self._edges.columns
        further = join(paths, self._edges, [(end, source)])
        columns = [
            fn.col(start),
            fn.col(target),
            self._extended(nodes, fn.col(target)),
            self._extended(edges, fn.col(edge)),
            _add_weight(cost, fn.col(weight)),
        ]
        return further.select(columns).toDF(*self.names)

    def _extended(self, items: str, item: "Column") -> "Column":
        one, own = fn.array(item), fn.col(items)
        return fn.concat(one, own) if self.path.backwards else fn.concat(own, one)

    def _best(self, paths: "DataFrame") -> "DataFrame":
        """Return one path from each start to each node: the lightest, and the first of those."""
        start, end, nodes, edges, cost = self.names
        best = fn.min(fn.struct(cost, nodes, edges)).alias("best")
        kept = paths.groupBy(start, end).agg(best)
        parts = (fn.col(f"best.{name}").alias(name) for name in (nodes, edges, cost))
        return kept.select(start, end, *parts)

    def _lighter(self, paths: "DataFrame", known: "DataFrame") -> "DataFrame":
        """Return the paths that are lighter than what is known between their ends."""
        start, end, *_, cost = self.names
        others = self.frames.names.new_list(3)
        before = known.select(start, end, cost).toDF(*others)
        joined = join(paths, before, [(start, others[0]), (end, others[1])], "left")
        # NaN is more than infinity: a sum that is infinite stays where there is no other.
        least = fn.coalesce(fn.col(others[2]), _cost(fn.lit(float("nan")), fn.lit(0.0)))
        return joined.filter(fn.col(cost) < least).select(self.names)

    def _without(self, paths: "DataFrame", levels: "list[DataFrame]") -> "DataFrame":
        """Return the paths between nodes that none of some other paths joins."""
        others = self.frames.names.new_list(2)
        on = list(zip(self.names[:2], others, strict=True))
        return join(paths, self._ends(levels).toDF(*others), on, "left_anti")

    def _ends(self, levels: "list[DataFrame]") -> "DataFrame":
        ends = (each.select(self.names[:2]) for each in levels)
        return reduce(_union, ends)

    def _unfinished(self, level: "DataFrame", levels: "list[DataFrame]") -> "DataFrame":
        """Return the paths of a level from the starts that have not met all they want."""
        if self.wanted is None:
            return level
        asked, met = self.frames.names.new_list(2), self.frames.names.new_list(2)
        wanted = self.wanted.toDF(*asked)
        on = list(zip(asked, met, strict=True))
        open_pairs = join(wanted, self._ends(levels).toDF(*met), on, "left_anti")
        return join(level, open_pairs, [(self.names[0], asked[0])], "left_semi")

    def _check_weights(self, paths: "DataFrame") -> None:
        """Raise ExpressionError if an edge that paths go on by has no weight."""
        *_, worst = self._edges.columns
        met = join(paths, self._edges, [(self.names[1], self._edges.columns[0])])
        found = met.filter(fn.col(worst).isNotNull()).select(worst).limit(1).collect()
        if found:
            name = self.path.path.weight
            assert name is not None
            raise ExpressionError([unusable_weight(name, found[0][0])], source=self.source)

    def _check_sums(self, paths: "DataFrame") -> None:
        """Raise ExpressionError if nodes are wanted that no path with a finite sum reaches."""
        name = self.path.path.weight
        is_lost = fn.col(f"{self.names[4]}.sum") == fn.lit(float("inf"))
        if name is not None and not self._asked(paths.filter(is_lost)).isEmpty():
            raise ExpressionError([unusable_sum(name)], source=self.source)

    @cached_property
    def _edges(self) -> "DataFrame":
        """The best edge from one node to another, what it weighs, and a weight that is none."""
        fields = list(self._weights)
        node = _node_kind(self.frames.reader, self.path)
        linked = self.frames.edges(self.path.steps, node, node, fields)
        edge = linked.edge
        assert edge is not None
        own = fn.struct(fn.col(edge.id).alias(ID), fn.col(edge.type).alias(TYPE))
        values = [fn.col(edge.properties[item]).cast("double") for item in fields]
        weight = fn.coalesce(*values) if values else fn.lit(0.0)
        known = fn.coalesce(weight, fn.lit(float("nan")))
        is_usable = (known >= 0) & ~fn.isnan(known)
        ranked = fn.struct(known.alias("weight"), own.alias("edge"))
        joined = linked.frame.groupBy(linked.start.id, linked.end.id).agg(
            fn.min(ranked).alias("best"), fn.min(fn.when(~is_usable, known)).alias("worst")
        )
        chosen = joined.select(linked.start.id, linked.end.id, "best.edge", "best.weight", "worst")
        return chosen.toDF(*self.frames.names.new_list(5)).localCheckpoint(eager=False)

    @property
    def _weights(self) -> dict[TypedProperty, None]:
        """The property that paths are weighed by, with the type that each edge type gives it."""
        name = self.path.path.weight
        if name is None:
            return {}
        kinds = (self.frames.reader.edge(step.edge).column(name) for step in self.path.steps)
        return {(name, kind): None for kind in kinds if kind is not None}


def _node_kind(reader: Reader, path: Path) -> EntityType:
    """Return the one type that all nodes of some paths have."""
    return EntityType(EntityKind.NODE, (reader.edge(path.steps[0].edge).source,))


def _add_objects(
    frames: SnapshotFrames, paths: _PathFrame, shown: PathPart
) -> tuple[_PathFrame, str]:
    """Return paths with a column of their nodes, or of their edges, as lists of whole objects.

    A path of no edges has null instead of an empty list.
    """
    kind, is_node = shown.type.item, shown.part == "nodes"
    assert isinstance(kind, EntityType)
    items = paths.nodes if is_node else paths.edges
    key, place, item, objects, *identity = frames.names.new_list(6)
    fields = object_fields(kind, frames.reader.snapshot.catalog)
    found = frames.scan(kind, fields.items())
    lists = paths.frame.select(fn.col(items).alias(key)).distinct()
    each = lists.select(key, fn.posexplode(key).alias(place, item))
    known = [fn.col(item)] if is_node else [fn.col(f"{item}.{name}") for name in (ID, TYPE)]
    named = identity[: len(known)]
    flat = each.select(key, place, *known).toDF(key, place, *named)
    joined = join(flat, found.frame, list(zip(named, found.entity.identity, strict=False)))
    own, *rest = (fn.col(found.entity.column_of(field)) for field in fields.items())
    values = [value.alias(f"p{at}") for at, value in enumerate(rest)]
    whole = fn.struct(own.alias(ID), fn.col(found.entity.type).alias(TYPE), *values)
    placed = fn.sort_array(fn.collect_list(fn.struct(fn.col(place), whole.alias("whole"))))
    made = joined.groupBy(key).agg(placed.alias(objects))
    made = made.select(key, fn.col(f"{objects}.whole").alias(objects))
    return replace(paths, frame=join(paths.frame, made, [(items, key)], "left")), objects


def _union(one: "DataFrame", other: "DataFrame") -> "DataFrame":
    return one.unionAll(other)


def _cost(total: "Column", rest: "Column") -> "Column":
    return fn.struct(total.alias("sum"), rest.alias("rest"))


def _add_weight(cost: str, weight: "Column") -> "Column":
    """Return a cost with a weight added, computed as in the engine."""
    total = fn.col(f"{cost}.sum")
    rough = total + weight
    added = rough - total
    rest = fn.col(f"{cost}.rest") + ((total - (rough - added)) + (weight - added))
    found = rough + rest
    # Of an infinite sum, the rest is NaN.
    is_finite = rough < fn.lit(float("inf"))
    return _cost(
        fn.when(is_finite, found).otherwise(rough),
        fn.when(is_finite, rest - (found - rough)).otherwise(fn.lit(0.0)),
    )
