"""Walk: which nodes are within so many hops of others, each at its shortest distance."""

from dataclasses import replace

import numpy as np

from omnigraph.data.derived.adjacency import Neighbours
from omnigraph.data.derived.numbering import Numbers
from omnigraph.query.parsing.ast import Hops
from omnigraph.read.execution import Execution
from omnigraph.read.reader import Leg

# Pairs of a start and a node that are marked at a time.
_MOST_MARKS = 1 << 26


def walk(execution: Execution, starts: Numbers, hops: Hops, leg: Leg) -> tuple[Numbers, Numbers]:
    """Return every start, by place, with each node whose shortest distance is within the hops.

    A start reaches itself by no hops, or else only by a self-loop, at distance 1.
    """
    width = len(leg.target)
    size = max(1, _MOST_MARKS // max(width, 1))
    if width and 0 < len(starts) <= size:
        return _ArrayWalk(execution, starts, hops, leg).find_pairs()
    places, nodes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for first in range(0, len(starts) if width else 0, size):
        found, reached = _ArrayWalk(execution, starts[first : first + size], hops, leg).find_pairs()
        places.append(found + first)
        nodes.append(reached)
        execution.check(sum(map(len, nodes)), 2)
    return np.concatenate(places), np.concatenate(nodes)


class _ArrayWalk:
    """A walk from some starts, all at once.

    A pair of a start and a node is one number, its key: the place of the start times the width of
    the target's domain, plus the code of the node.
    """

    def __init__(self, execution: Execution, starts: Numbers, hops: Hops, leg: Leg) -> None:
        self._execution = execution
        self._starts = starts
        self._hops = hops
        self._leg = leg
        self._width = len(leg.target)
        self._seen = np.zeros(len(starts) * self._width, bool)
        self._slots = np.empty(len(self._seen), np.int32)

    def find_pairs(self) -> tuple[Numbers, Numbers]:
        """Return the place of the start and the node of all pairs within the hops, sorted."""
        hops, onward = self._hops, replace(self._leg, source=self._leg.target)
        found = np.zeros(len(self._seen), bool)
        room = self._execution.room(2)
        first = self._execution.reader.follow(self._leg, self._starts, check=room)
        level, own = self._step_keys(np.arange(len(self._starts)), first), self._own_keys()
        if hops.minimum == 0:
            found[own] = True
        if hops.minimum <= 1:
            found[level] = True
        self._seen[own] = True
        frontier, distance = self._mark_unseen(level), 1
        while len(frontier) and (hops.maximum is None or distance < hops.maximum):
            distance += 1
            self._execution.check(len(frontier), 2)
            owners, nodes = self._split_keys(frontier)
            further = self._execution.reader.follow(onward, nodes, check=room)
            frontier = self._mark_unseen(self._step_keys(owners, further))
            if distance >= hops.minimum:
                found[frontier] = True
        keys = np.flatnonzero(found)
        self._execution.check(len(keys), 2)
        return self._split_keys(keys)

    def _split_keys(self, keys: Numbers) -> tuple[Numbers, Numbers]:
        """Return the place of the start and the node of each key; that of one start is 0."""
        if len(self._starts) == 1:
            return np.zeros(len(keys), np.int64), keys
        return np.divmod(keys, self._width)

    def _step_keys(self, starts: Numbers, neighbours: Neighbours) -> Numbers:
        """Return the keys that one more step leads to; a key may occur many times."""
        owners, nodes, _ = neighbours
        return starts[owners] * self._width + nodes

    def _mark_unseen(self, keys: Numbers) -> Numbers:
        """Return each key that was not seen before once, and mark it as seen."""
        fresh = keys[~self._seen[keys]]
        self._seen[fresh] = True
        order = np.arange(len(fresh), dtype=np.int32)
        self._slots[fresh] = order
        found: Numbers = fresh[self._slots[fresh] == order]
        return found

    def _own_keys(self) -> Numbers:
        """Return the key of each start with itself, for those in the target's domain."""
        codes = self._leg.target.codes_of(self._leg.source, self._starts)
        places = np.flatnonzero(codes >= 0)
        return places * self._width + codes[places]
