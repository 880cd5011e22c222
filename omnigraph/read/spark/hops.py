"""Hops: which nodes are within so many hops of others, found on Spark one hop at a time.

Each hop is a job of its own, and Spark keeps its pairs in memory or on disk: a walk ends when
nothing new is reached, and no hop is computed twice.
"""

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as fn

from omnigraph.query.expr import EntityType
from omnigraph.query.plan import Expand
from omnigraph.read.spark.frames import EntityFrame, LinkFrame, SnapshotFrames
from omnigraph.read.spark.matches import EntityColumns, join

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def walk(
    scans: SnapshotFrames, starts: EntityFrame, expand: Expand, target: EntityType
) -> LinkFrame:
    """Return every start with each node whose shortest distance is within the hops.

    A start reaches itself by no hops, or else only by a self-loop, at distance 1.
    """
    return _FrameWalk(scans, starts, expand, target).find_pairs()


class _FrameWalk:
    """A walk from some starts, all at once; a pair is a start and a node, by id and type."""

    def __init__(
        self, scans: SnapshotFrames, starts: EntityFrame, expand: Expand, target: EntityType
    ) -> None:
        self._frames = scans
        self._starts = starts
        self._expand = expand
        self._target = target
        self._names = scans.names.new_list(4)

    def find_pairs(self) -> LinkFrame:
        """Return all pairs within the hops, each once."""
        hops, source = self._expand.hops, self._starts.entity.kind
        begun = _checkpoint(self._start())
        own = self._own_pairs(begun)
        first = _checkpoint(self._step(begun, source))
        frontier = self._without(first, own)
        found = [own] if hops.minimum == 0 else []
        if hops.minimum <= 1:
            found.append(frontier if hops.minimum == 0 else first)
        seen, distance = [own, frontier], 1
        while (hops.maximum is None or distance < hops.maximum) and not frontier.isEmpty():
            distance += 1
            further = self._step(frontier, self._target)
            frontier = _checkpoint(self._without(further, _union(seen)))
            seen.append(frontier)
            if distance >= hops.minimum:
                found.append(frontier)
        frame = _union(found) if found else own.limit(0)
        names = self._names
        start, end = (
            EntityColumns(source, names[0], names[1]),
            EntityColumns(self._target, names[2], names[3]),
        )
        return LinkFrame(frame, start, end)

    def _start(self) -> "DataFrame":
        """Return each start paired with itself."""
        columns = [fn.col(name) for name in self._starts.entity.identity]
        return self._starts.frame.select(*columns, *columns).toDF(*self._names)

    def _own_pairs(self, begun: "DataFrame") -> "DataFrame":
        """Return each start paired with itself, if the target can have its type."""
        numbers = [self._frames.reader.number(name) for name in self._target.types]
        return begun.filter(fn.col(self._names[3]).isin(numbers))

    def _step(self, pairs: "DataFrame", kind: EntityType) -> "DataFrame":
        """Return the pairs that one more step leads to."""
        step = self._frames.pairs(self._expand.steps, kind, self._target)
        on = list(zip(self._names[2:], step.start.identity, strict=True))
        further = join(pairs, step.frame, on)
        reached = [*self._names[:2], *step.end.identity]
        return further.select(reached).distinct().toDF(*self._names)

    def _without(self, pairs: "DataFrame", seen: "DataFrame") -> "DataFrame":
        others = self._frames.names.new_list(4)
        on = list(zip(self._names, others, strict=True))
        return join(pairs, seen.toDF(*others), on, "left_anti")


def _checkpoint(frame: "DataFrame") -> "DataFrame":
    """Return a frame whose rows are kept by the first job that reads them."""
    return frame.localCheckpoint(eager=False)


def _union(frames: "list[DataFrame]") -> "DataFrame":
    return reduce(lambda one, other: one.unionAll(other), frames)
