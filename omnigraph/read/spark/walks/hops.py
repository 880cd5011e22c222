"""Hops: which nodes are within so many hops of others, found on Spark one hop at a time.

Each hop is a job of its own, and Spark keeps its pairs in memory or on disk: a walk ends when
nothing new is reached, and no hop is computed twice. Few edges are walked by tasks in one job.
"""

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as fn

from omnigraph.query.expr import EntityType
from omnigraph.query.plan import Expand
from omnigraph.read.reader import DirectedEdge
from omnigraph.read.spark.frames import EntityFrame, LinkFrame, SnapshotFrames
from omnigraph.read.spark.matches import EntityColumns, join
from omnigraph.read.spark.walks.held_hops import HeldWalk, is_held

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def walk(
    scans: SnapshotFrames, starts: EntityFrame, expand: Expand, target: EntityType
) -> LinkFrame:
    """Return every different start with each node whose shortest distance is within the hops.

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
        kinds = self._starts.entity.kind, self._target
        names = self._names
        start, end = (
            EntityColumns(kinds[0], names[0], names[1]),
            EntityColumns(kinds[1], names[2], names[3]),
        )
        first, onward = (
            self._frames.ways(self._expand.steps, each, self._target) for each in kinds
        )
        held = is_held(self._frames.reader, [*first, *onward])
        return LinkFrame(self._in_tasks(first, onward) if held else self._by_jobs(), start, end)

    def _in_tasks(
        self, first: Sequence[DirectedEdge], onward: Sequence[DirectedEdge]
    ) -> "DataFrame":
        """Return the pairs from one job, each of whose tasks holds all edges."""
        starts = self._bound().select(list(self._starts.entity.identity)).distinct()
        walk = HeldWalk.along(
            self._frames.reader, (first, onward), self._numbers, self._expand.hops
        )
        kinds = ("string", "int", "string", "int")
        columns = (f"{name} {kind}" for name, kind in zip(self._names, kinds, strict=True))
        return starts.mapInArrow(walk, ", ".join(columns))

    @property
    def _numbers(self) -> list[int]:
        return [self._frames.reader.number(name) for name in self._target.types]

    def _by_jobs(self) -> "DataFrame":
        """Return the pairs from a job for each hop."""
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
        return _union(found) if found else own.limit(0)

    def _start(self) -> "DataFrame":
        """Return each start paired with itself."""
        columns = [fn.col(name) for name in self._starts.entity.identity]
        return self._bound().select(*columns, *columns).toDF(*self._names).distinct()

    def _bound(self) -> "DataFrame":
        """Return the rows that have a start."""
        return self._starts.frame.filter(fn.col(self._starts.entity.id).isNotNull())

    def _own_pairs(self, begun: "DataFrame") -> "DataFrame":
        """Return each start paired with itself, if the target can have its type."""
        return begun.filter(fn.col(self._names[3]).isin(self._numbers))

    def _step(self, pairs: "DataFrame", kind: EntityType) -> "DataFrame":
        """Return the pairs that one more step leads to."""
        step = self._frames.pairs(self._expand.steps, kind, self._target, repeated=True)
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
