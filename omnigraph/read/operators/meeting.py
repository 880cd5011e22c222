"""Meeting: the shortest paths between two nodes, searched from both of them until they meet."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from omnigraph.data.derived.numbering import Numbers
from omnigraph.frozen import dataclass

# Leads on from some nodes: the place of the node that each entry is of, and where it leads.
Follow: TypeAlias = Callable[[Numbers], tuple[Numbers, Numbers]]
# Returns the numbers by which nodes are ordered.
Rank: TypeAlias = Callable[[Numbers], Numbers]


def find_levels(
    onward: Follow, back: Follow, ends: tuple[int, int], size: int, most: int | None
) -> list[Numbers] | None:
    """Return the nodes of all shortest paths from one node to another, by distance from the first.

    None when there is no path of at most so many edges. Nodes are numbers below `size`.
    """
    sides = (_Side.at(ends[0], onward, size), _Side.at(ends[1], back, size))
    met = np.array([ends[0]]) if ends[0] == ends[1] else np.empty(0, np.int64)
    while not len(met):
        hops = len(sides[0].levels) + len(sides[1].levels) - 2
        if (most is not None and hops >= most) or not all(len(side.front) for side in sides):
            return None
        one, other = sorted(sides, key=lambda side: len(side.front))
        one.go_on()
        met = one.front[other.distance[one.front] >= 0]
    before = sides[0].trace(met, back)
    after = sides[1].trace(met, onward)
    return [*reversed(before), met, *after]


def first_path(levels: list[Numbers], onward: Follow, ranks: Rank) -> Numbers:
    """Return the path whose nodes have the least ranks, compared from its start."""
    path = levels[0]
    for level in levels[1:]:
        _, nodes = onward(path[-1:])
        open_nodes = nodes[np.isin(nodes, level)]
        best = open_nodes[[np.argmin(ranks(open_nodes))]]
        path = np.concatenate([path, best])
    return path


def grow_paths(
    levels: list[Numbers],
    onward: Follow,
    ranks: Rank,
    check: Callable[[int, int], None],
    *,
    from_end: bool = False,
) -> "Iterator[np.ndarray]":
    """Yield all paths of no edge through the levels, then those of one edge, and so on.

    A path is a row. Paths are in the order of the ranks of their nodes, compared from the start, or
    from the end. `check` is asked before as many rows and columns are made.
    """
    paths = levels[0].reshape(1, 1)
    yield paths
    for level in levels[1:]:
        owners, nodes = onward(paths[:, -1])
        kept = np.isin(nodes, level)
        owners, nodes = owners[kept], nodes[kept]
        own = ranks(nodes)
        order = np.lexsort((owners, own) if from_end else (own, owners))
        owners, nodes = owners[order], nodes[order]
        is_new = np.ones(len(nodes), bool)
        is_new[1:] = (owners[1:] != owners[:-1]) | (nodes[1:] != nodes[:-1])
        owners, nodes = owners[is_new], nodes[is_new]
        check(len(nodes), paths.shape[1] + 1)
        paths = np.column_stack((paths[owners], nodes))
        yield paths


@dataclass(slots=True)
class _Side:
    """The nodes that are met from one end, by distance."""

    follow: Follow
    distance: Numbers
    levels: list[Numbers]

    @classmethod
    def at(cls, node: int, follow: Follow, size: int) -> "_Side":
        distance = np.full(size, -1)
        distance[node] = 0
        return cls(follow, distance, [np.array([node])])

    @property
    def front(self) -> Numbers:
        """The nodes that were met last."""
        return self.levels[-1]

    def go_on(self) -> None:
        """Meet the nodes that are one hop further away."""
        _, nodes = self.follow(self.front)
        fresh = np.unique(nodes[self.distance[nodes] < 0])
        self.distance[fresh] = len(self.levels)
        self.levels.append(fresh)

    def trace(self, met: Numbers, homeward: Follow) -> list[Numbers]:
        """Return the nodes on the way from some that were met to this end, the nearest first."""
        found, current = [], met
        for distance in range(int(self.distance[met[0]]) - 1, -1, -1):
            _, nodes = homeward(current)
            current = np.unique(nodes[self.distance[nodes] == distance])
            found.append(current)
        return found
