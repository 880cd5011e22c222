"""Labels: communities by labels that neighbours pass on.

This is the semi-synchronous label propagation of Cordasco and Gargano. Nodes are coloured so that
no two neighbours have one colour; colour by colour, each node takes the label that most of its
neighbours have, and of several the one it has, or else the last one by id. It ends when all nodes
have such a label.
"""

import numpy as np

from omnigraph.data.derived.numbering import Numbers
from omnigraph.read.algorithms.network import Links
from omnigraph.spark.deadline import Deadline

# Nodes that are coloured between two looks at the time.
_BLOCK = 1_000


def propagate_labels(links: Links, deadline: Deadline) -> Numbers:
    """Return the label of each node; `links` has every pair from both ends, loops once."""
    offsets = links.offsets
    colours = _colour(links, offsets, deadline)
    groups = [np.flatnonzero(colours == each) for each in range(int(colours.max(initial=-1)) + 1)]
    labels, joined = np.arange(links.count), np.flatnonzero(np.diff(offsets))
    while True:
        for nodes in groups:
            deadline.check()
            labels[nodes] = _next_labels(links, offsets, labels, nodes)
        if np.array_equal(_next_labels(links, offsets, labels, joined), labels[joined]):
            return labels


def number_groups(labels: Numbers) -> Numbers:
    """Return the same groups, numbered from 0 by the first of their nodes."""
    _, first, groups = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[groups]


def _colour(links: Links, offsets: Numbers, deadline: Deadline) -> Numbers:
    """Return a colour for each node: the first that no neighbour has, by most neighbours first."""
    loops = np.bincount(links.sources[links.sources == links.targets], minlength=links.count)
    order = np.argsort(-(np.diff(offsets) + loops), kind="stable")
    colours = np.full(links.count, -1)
    for place, node in enumerate(order):
        if place % _BLOCK == 0:
            deadline.check()
        near = colours[links.targets[offsets[node] : offsets[node + 1]]]
        taken = np.zeros(len(near) + 1, bool)
        taken[near[(near >= 0) & (near < len(taken))]] = True
        colours[node] = int(np.argmin(taken))
    return colours


def _next_labels(links: Links, offsets: Numbers, labels: Numbers, nodes: Numbers) -> Numbers:
    """Return the label that each of some nodes has next; a node without links keeps its own."""
    counts = offsets[nodes + 1] - offsets[nodes]
    owners = np.repeat(np.arange(len(nodes)), counts)
    before = np.cumsum(counts) - counts
    places = np.arange(len(owners)) + np.repeat(offsets[nodes] - before, counts)
    keys, times = np.unique(
        owners * links.count + labels[links.targets[places]], return_counts=True
    )
    owners, near = np.divmod(keys, max(links.count, 1))
    most = np.zeros(len(nodes), np.int64)
    np.maximum.at(most, owners, times)
    best = times == most[owners]
    found = labels[nodes]
    last = np.full(len(nodes), -1)
    np.maximum.at(last, owners[best], near[best])
    keeps = np.zeros(len(nodes), bool)
    keeps[owners[best & (near == found[owners])]] = True
    return np.where(keeps | (last < 0), found, last)
