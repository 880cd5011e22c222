"""Counting: variables that nothing reads multiply the weights of a frame's rows."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as fn

from omnigraph.frozen import dataclass
from omnigraph.query.expr import EntityKind, EntityType
from omnigraph.query.plan import Expand, NodeScan
from omnigraph.read.spark.frames import EntityFrame, LinkFrame, SnapshotFrames, Starts
from omnigraph.read.spark.matches import EntityColumns, FrameMatches, add_ids, join
from omnigraph.read.spark.overflow import check_count, sum_counts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# At most this many rows are made of one at a time.
_BLOCK = 65_536
# Up to this many nodes with their counts are sent to all tasks. Spark does not know how few they
# are, and would move all rows that they are joined with.
_MOST_SENT = 1 << 17
# Fewer edges than these from each node are not worth to be counted before they are joined.
_FEW_EACH = 4


class PatternFrames(Protocol):
    """Where counted operators get their frames from."""

    frames: SnapshotFrames

    def find_nodes(self, scan: NodeScan) -> FrameMatches:
        """Return the nodes that a scan finds."""

    def link(self, expand: Expand, starts: Starts) -> LinkFrame:
        """Return where an expand leads from some nodes, as far as its filters hold."""

    def keep_point(self, matches: FrameMatches, scan: NodeScan) -> FrameMatches:
        """Return the rows whose node is the one that a scan wants, if it wants one."""

    def add_properties(self, matches: FrameMatches, variable: str) -> FrameMatches:
        """Return the rows with the properties of a variable that the plan reads."""

    def is_one(self, matches: FrameMatches) -> bool:
        """Return whether the rows are the one row that every plan begins with."""


@dataclass(frozen=True, slots=True)
class _Led:
    """Rows that begin at nodes, one for each edge; each stands for as many as `times`, or one."""

    frame: "DataFrame"
    start: EntityColumns
    times: "Column | None" = None

    @property
    def total(self) -> "Column":
        """How many rows a group of these stands for."""
        return fn.count(fn.lit(1)) if self.times is None else sum_counts(self.times)

    def multiply(self, entity: EntityColumns, worth: "_Worth") -> "_Led":
        """Return the rows multiplied by how often each of some nodes counts."""
        times = fn.col(worth.times)
        product = times if self.times is None else check_count(self.times * times)
        return _Led(
            join(self.frame, worth.frame, entity.pair_with(worth.node)), self.start, product
        )


@dataclass(frozen=True, slots=True)
class _Worth:
    """Nodes, and a column with how often each counts."""

    frame: "DataFrame"
    node: EntityColumns
    times: str


class FrameCounter:
    """The counted operators of a pattern, as trees that hang from variables or stand alone."""

    def __init__(self, steps: PatternFrames) -> None:
        self._frames = steps
        self._roots: list[NodeScan] = []
        self._children: dict[str, list[Expand]] = {}
        self._counted: set[str] = set()

    @property
    def is_pending(self) -> bool:
        """Whether there are operators that the rows have not been multiplied by."""
        return bool(self._roots or self._children)

    def begins(self, matches: FrameMatches) -> bool:
        """Return whether the rows are still to be made by an operator that was noted."""
        return matches.every is not None and matches.every.variable in self._children

    def add(self, operator: NodeScan | Expand) -> None:
        """Note a counted operator; nothing is computed yet."""
        if isinstance(operator, NodeScan):
            self._roots.append(operator)
            self._counted.add(operator.variable)
        else:
            self._children.setdefault(operator.source, []).append(operator)
            self._counted.add(operator.target)

    def apply(self, matches: FrameMatches) -> FrameMatches:
        """Return the rows multiplied by everything that was noted."""
        if matches.every is not None:
            matches = self._begin(matches.every)
        for root in self._roots:
            total = self._count_root(root)
            frame = total if self._frames.is_one(matches) else matches.frame.crossJoin(total)
            matches = self._multiply(matches, frame, fn.col(total.columns[0]))
        for name in sorted(self._children.keys() - self._counted):
            entity = matches.entities[name]
            children = self._children[name]
            for worth in self._weigh_all(children, EntityFrame(matches.frame, entity), once=True):
                frame = join(matches.frame, worth.frame, entity.pair_with(worth.node))
                matches = self._multiply(matches, frame, fn.col(worth.times))
        self._roots, self._children = [], {}
        return matches

    def _begin(self, scan: NodeScan) -> FrameMatches:
        """Return the nodes of a scan that an expand leads on from, with the weights it gives."""
        first, *rest = self._children.pop(scan.variable)
        if rest:
            self._children[scan.variable] = rest
        kind = EntityType(EntityKind.NODE, scan.types)
        worth = self._weigh_expand(first, kind)
        found = FrameMatches(worth.frame, {scan.variable: worth.node}, weight=worth.times)
        found = self._frames.keep_point(found, scan)
        return self._frames.add_properties(found, scan.variable)

    def _multiply(self, matches: FrameMatches, frame: "DataFrame", times: "Column") -> FrameMatches:
        weight = self._frames.frames.names.new()
        product = times if matches.weight is None else fn.col(matches.weight) * times
        return replace(matches, frame=frame.withColumn(weight, check_count(product)), weight=weight)

    def _count_root(self, root: NodeScan) -> "DataFrame":
        """Return in one row how often a variable that stands alone, with all below it, occurs."""
        name, children = self._frames.frames.names.new(), self._children.get(root.variable, [])
        if not children:
            frame = self._frames.find_nodes(root).frame.agg(fn.count(fn.lit(1)).alias(name))
        else:
            led = self._lead_from_root(root, children)
            frame = led.frame.agg(led.total.alias(name))
        return frame.filter(fn.col(name) > 0)

    def _lead_from_root(self, root: NodeScan, children: Sequence[Expand]) -> _Led:
        """Return a row for each edge that leads on from a variable, with all below both."""
        first, *rest = children
        if not root.filters and all(each.hops.is_single for each in children):
            # An edge never begins at a node that is not there.
            starts: Starts = EntityType(EntityKind.NODE, root.types)
            led = self._lead(first, starts)
            rows = FrameMatches(led.frame, {root.variable: led.start})
            led = replace(led, frame=self._frames.keep_point(rows, root).frame)
        else:
            matches = self._frames.find_nodes(root)
            entity = matches.entities[root.variable]
            starts = EntityFrame(matches.frame.select(list(entity.bare)), entity)
            led = self._lead(first, starts)
            on = entity.pair_with(led.start)
            led = replace(led, frame=join(starts.frame, led.frame, on))
        for worth in self._weigh_all(rest, starts, once=False):
            led = led.multiply(led.start, worth)
        return led

    def _lead(self, expand: Expand, starts: Starts) -> _Led:
        """Return where an expand leads, with how often everything below its target occurs."""
        linked = self._frames.link(expand, starts)
        led = _Led(linked.frame, linked.start)
        children = self._children.get(expand.target, ())
        ends = EntityFrame(linked.frame, linked.end)
        is_single = self._is_single(expand, linked)
        for worth in self._weigh_all(children, ends, once=False, single=is_single):
            led = led.multiply(linked.end, worth)
        return led

    def _weigh_all(
        self, expands: Sequence[Expand], starts: Starts, *, once: bool, single: bool = False
    ) -> "Iterator[_Worth]":
        """Yield for nodes how often each of some expands leads on from them.

        With `once` no node is there twice. With `single` the rows to multiply have each node once.
        """
        for at, expand in enumerate(expands):
            kind = starts if isinstance(starts, EntityType) else starts.entity.kind
            nodes = self._count(kind.types)
            if not once and at == 0 and (single or self._is_light(expand, nodes)):
                led = self._lead(expand, starts)
                times = fn.lit(1).cast("bigint") if led.times is None else led.times
                yield self._named(led.frame, led.start, times)
            else:
                worth = self._weigh_expand(expand, starts)
                few = nodes <= _MOST_SENT
                yield replace(worth, frame=worth.frame.hint("broadcast")) if few else worth

    def _is_light(self, expand: Expand, nodes: int) -> bool:
        """Return whether the edges from each of so many nodes are few, and lead no further."""
        is_last = expand.hops.is_single and expand.target not in self._children
        return is_last and self._count({step.edge for step in expand.steps}) < _FEW_EACH * nodes

    def _is_single(self, expand: Expand, linked: LinkFrame) -> bool:
        """Return whether an expand leads to no node twice, by so few edges that they are sent.

        What leads on from there is then not counted before it is joined: the join only gives each
        row its start.
        """
        edges = self._count({step.edge for step in expand.steps})
        return edges <= _MOST_SENT and linked.most is not None and linked.most[1] <= 1

    def _count(self, types: Iterable[str]) -> int:
        return sum(map(self._frames.frames.reader.count, types))

    def _weigh_expand(self, expand: Expand, starts: Starts) -> _Worth:
        """Return for nodes how often an expand leads on from each; others are missing."""
        led, name = self._lead(expand, starts), self._frames.frames.names.new()
        start = led.start
        # Of one type, a shorter key tells nodes apart, and takes less time.
        keys = (start.key, start.type) if len(start.kind.types) > 1 else (start.key,)
        counted = led.frame.groupBy(*keys).agg(led.total.alias(name))
        return self._named(counted, start, fn.col(name))

    def _named(self, frame: "DataFrame", start: EntityColumns, times: "Column") -> _Worth:
        """Return nodes with how often each counts, under new names."""
        frames, kinds = self._frames.frames, start.kind.types
        number = start.type if len(kinds) > 1 else str(frames.reader.number(kinds[0]))
        *bare, name = frames.names.new_list(len(start.bare) + 1)
        node = start.rename(dict(zip(start.bare, bare, strict=True)))
        keys = (f"{start.key} as {node.key}", f"{number} as {node.type}")
        rows = frame.select(*map(fn.expr, keys), times.alias(name))
        return _Worth(add_ids(rows, node), node, name)


def repeat_rows(matches: FrameMatches) -> FrameMatches:
    """Return every row as often as its weight says."""
    if matches.weight is None:
        return matches
    weight = fn.col(matches.weight)
    kept = [name for name in matches.frame.columns if name != matches.weight]
    blocks = fn.explode(fn.sequence(fn.lit(0), fn.floor((weight - 1) / _BLOCK))).alias("block")
    some = matches.frame.select("*", blocks)
    rest = fn.least(fn.lit(_BLOCK).cast("bigint"), weight - fn.col("block") * _BLOCK)
    each = fn.explode(fn.sequence(fn.lit(1).cast("bigint"), rest)).alias("each")
    frame = some.select(*kept, each).select(kept)
    return replace(matches, frame=frame, weight=None)
