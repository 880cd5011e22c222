"""Counting: variables that nothing reads multiply the weights of a frame's rows."""

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as fn

from omnigraph.query.plan import Expand, NodeScan
from omnigraph.read.spark.frames import EntityFrame, LinkFrame, SnapshotFrames
from omnigraph.read.spark.matches import FrameMatches, join
from omnigraph.read.spark.overflow import check_count, sum_counts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# At most this many rows are made of one at a time.
_BLOCK = 65_536


class PatternFrames(Protocol):
    """Where counted operators get their frames from."""

    frames: SnapshotFrames

    def find_nodes(self, scan: NodeScan) -> FrameMatches:
        """Return the nodes that a scan finds."""

    def link(self, expand: Expand, starts: EntityFrame) -> LinkFrame:
        """Return where an expand leads from some nodes, as far as its filters hold."""


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
        for root in self._roots:
            total = self._count_root(root)
            frame = matches.frame.crossJoin(total)
            matches = self._multiply(matches, frame, fn.col(total.columns[0]))
        for name in sorted(self._children.keys() - self._counted):
            entity = matches.entities[name]
            worth = self._weigh_below(name, EntityFrame(matches.frame, entity))
            assert worth is not None
            on = list(zip(entity.identity, worth.columns[:2], strict=True))
            frame = join(matches.frame, worth, on)
            matches = self._multiply(matches, frame, fn.col(worth.columns[2]))
        self._roots, self._children = [], {}
        return matches

    def _multiply(self, matches: FrameMatches, frame: "DataFrame", times: "Column") -> FrameMatches:
        weight = self._frames.frames.names.new()
        product = times if matches.weight is None else fn.col(matches.weight) * times
        return replace(matches, frame=frame.withColumn(weight, check_count(product)), weight=weight)

    def _count_root(self, root: NodeScan) -> "DataFrame":
        """Return in one row how often a variable that stands alone, with all below it, occurs."""
        matches = self._frames.find_nodes(root)
        entity = matches.entities[root.variable]
        starts = EntityFrame(matches.frame.select(list(entity.identity)), entity)
        worth = self._weigh_below(root.variable, starts)
        name = self._frames.frames.names.new()
        if worth is None:
            frame = starts.frame.agg(fn.count(fn.lit(1)).alias(name))
        else:
            on = list(zip(entity.identity, worth.columns[:2], strict=True))
            frame = join(starts.frame, worth, on).agg(
                sum_counts(fn.col(worth.columns[2])).alias(name)
            )
        return frame.filter(fn.col(name) > 0)

    def _weigh_below(self, variable: str, starts: EntityFrame) -> "DataFrame | None":
        """Return for nodes, by id and type, how often everything below a variable occurs."""
        found: DataFrame | None = None
        for child in self._children.get(variable, ()):
            more = self._weigh_expand(child, starts)
            if found is None:
                found = more
                continue
            on = list(zip(found.columns[:2], more.columns[:2], strict=True))
            one, other = (fn.col(each.columns[2]) for each in (found, more))
            name = self._frames.frames.names.new()
            both = join(found, more, on)
            found = both.select(*found.columns[:2], check_count(one * other).alias(name))
        return found

    def _weigh_expand(self, expand: Expand, starts: EntityFrame) -> "DataFrame":
        """Return for nodes how often an expand leads on from each; others are missing."""
        linked = self._frames.link(expand, starts)
        worth = self._weigh_below(expand.target, EntityFrame(linked.frame, linked.end))
        frame, total = linked.frame, fn.count(fn.lit(1))
        if worth is not None:
            on = list(zip(linked.end.identity, worth.columns[:2], strict=True))
            frame, total = join(frame, worth, on), sum_counts(fn.col(worth.columns[2]))
        names, start = self._frames.frames.names.new_list(3), linked.start
        if len(start.kind.types) > 1:
            return frame.groupBy(*start.identity).agg(total).toDF(*names)
        # Of one type, the ids are all that tells nodes apart, and a shorter key takes less time.
        number = fn.lit(self._frames.frames.reader.number(start.kind.types[0]))
        found = frame.groupBy(start.id).agg(total.alias(names[2]))
        return found.select(fn.col(start.id).alias(names[0]), number.alias(names[1]), names[2])


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
