"""Walk: which nodes are within so many hops of others, each at its shortest distance."""

import numpy as np

from omnigraph.data.derived.adjacency import Followed
from omnigraph.data.derived.numbering import Numbers
from omnigraph.query.plan import Expand
from omnigraph.read.execution import Run
from omnigraph.read.reader import Domain

# So many pairs of a start and a node are marked at a time.
_MOST_MARKS = 1 << 26


def walked(
    run: Run, starts: Numbers, expand: Expand, source: Domain, target: Domain
) -> tuple[Numbers, Numbers]:
    """Give every start, by its place, with each node whose shortest distance is within the hops.

    A start itself is reached by no hops, or else by a self-loop only, at distance 1.
    """
    width = len(target)
    places, nodes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    size = max(1, _MOST_MARKS // max(width, 1))
    for first in range(0, len(starts) if width else 0, size):
        keys = _Walk(run, starts[first : first + size], expand, source, target).keys()
        found, reached = np.divmod(keys, width)
        places.append(found + first)
        nodes.append(reached)
        run.check(sum(map(len, nodes)), 2)
    return np.concatenate(places), np.concatenate(nodes)


class _Walk:
    """A walk from some starts, all at once.

    A pair of a start and a node is one number, its key: the place of the start times the width
    of the target's domain plus the code of the node.
    """

    def __init__(
        self, run: Run, starts: Numbers, expand: Expand, source: Domain, target: Domain
    ) -> None:
        self._run = run
        self._starts = starts
        self._expand = expand
        self._source = source
        self._target = target
        self._width = len(target)
        self._seen = np.zeros(len(starts) * self._width, bool)
        self._slots = np.empty(len(self._seen), np.int32)

    def keys(self) -> Numbers:
        """Give the keys of all pairs within the hops, in their order."""
        hops, steps = self._expand.hops, self._expand.steps
        found = np.zeros(len(self._seen), bool)
        room = self._run.room(2)
        first = self._run.reader.follow(steps, self._source, self._target, self._starts, check=room)
        level, own = self._led_to(np.arange(len(self._starts)), first), self._own()
        if hops.minimum == 0:
            found[own] = True
        if hops.minimum <= 1:
            found[level] = True
        self._seen[own] = True
        frontier, distance = self._unseen(level), 1
        while len(frontier) and (hops.maximum is None or distance < hops.maximum):
            distance += 1
            self._run.check(len(frontier), 2)
            owners, nodes = np.divmod(frontier, self._width)
            further = self._run.reader.follow(steps, self._target, self._target, nodes, check=room)
            frontier = self._unseen(self._led_to(owners, further))
            if distance >= hops.minimum:
                found[frontier] = True
        return np.flatnonzero(found)

    def _led_to(self, starts: Numbers, followed: Followed) -> Numbers:
        """Give the keys that one more step leads to; some may be there many times."""
        owners, nodes, _ = followed
        return starts[owners] * self._width + nodes

    def _unseen(self, keys: Numbers) -> Numbers:
        """Give each key that was not seen before once; it is seen from here on."""
        fresh = keys[~self._seen[keys]]
        self._seen[fresh] = True
        order = np.arange(len(fresh), dtype=np.int32)
        self._slots[fresh] = order
        found: Numbers = fresh[self._slots[fresh] == order]
        return found

    def _own(self) -> Numbers:
        """Give the keys of each start with itself, as far as it is in the target's domain."""
        codes = self._target.codes_of(self._source, self._starts)
        places = np.flatnonzero(codes >= 0)
        return places * self._width + codes[places]
