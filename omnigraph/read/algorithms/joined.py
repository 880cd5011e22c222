"""Joined: which nodes are joined by edges, whatever the direction."""

import numpy as np

from omnigraph.data.derived.numbering import Numbers
from omnigraph.spark.deadline import Deadline


def join_nodes(count: int, sources: Numbers, targets: Numbers, deadline: Deadline) -> Numbers:
    """Return for each node the first of those that it is joined with.

    Each node points to one before it, or to itself. The ends of an edge make the nodes that they
    point to point to the lower one of both, and then all take what their own points to; the rounds
    grow with the logarithm of the nodes.
    """
    firsts = np.arange(count)
    while True:
        deadline.check()
        one, other = firsts[sources], firsts[targets]
        apart = np.flatnonzero(one != other)
        if not len(apart):
            return firsts
        sources, targets, one, other = sources[apart], targets[apart], one[apart], other[apart]
        np.minimum.at(firsts, np.maximum(one, other), np.minimum(one, other))
        while not np.array_equal(following := firsts[firsts], firsts):
            firsts = following
