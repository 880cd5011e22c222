"""Ranking: PageRank, by iteration until the ranks settle."""

import numpy as np

from omnigraph.read.algorithms.network import Links
from omnigraph.spark.deadline import Deadline

DAMPING = 0.85
TOLERANCE = 1e-9


def rank_pages(
    links: Links, deadline: Deadline, damping: float | None = None, tolerance: float | None = None
) -> "np.ndarray":
    """Return the rank of each node; all of them together are 1.

    A node passes its rank on along its links by their weights, and one without links to all nodes
    alike. It ends when the ranks of all nodes together change by less than the tolerance.
    """
    count = links.count
    damping = DAMPING if damping is None else damping
    tolerance = TOLERANCE if tolerance is None else tolerance
    given = np.bincount(links.sources, weights=links.weights, minlength=count)
    ends = given == 0
    shares = links.weights / np.where(ends, 1, given)[links.sources]
    ranks = np.full(count, 1 / max(count, 1))
    change = np.inf if count else 0.0
    while change >= tolerance:
        deadline.check()
        passed = np.bincount(links.targets, weights=ranks[links.sources] * shares, minlength=count)
        common = (damping * ranks[ends].sum() + 1 - damping) / count
        following = damping * passed + common
        change = float(np.abs(following - ranks).sum())
        ranks = following
    return ranks
