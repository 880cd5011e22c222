"""Similar: for each node the nodes with the most similar neighbours."""

import numpy as np

from omnigraph.data.derived.numbering import Numbers
from omnigraph.frozen import dataclass
from omnigraph.read.algorithms.network import Links
from omnigraph.spark.deadline import Deadline

LIMIT = 10
# Pairs of nodes with a common neighbour that are counted at a time.
_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class SimilarPairs:
    """Pairs of nodes, by the first of them and the most similar first."""

    nodes: Numbers
    others: Numbers
    scores: "np.ndarray"


@dataclass(frozen=True, slots=True)
class _Shared:
    """Pairs as single numbers, how many neighbours both have, and which of these are a loop's."""

    keys: Numbers
    counts: Numbers
    own: Numbers


def find_similar(
    links: Links,
    wanted: "np.ndarray",
    deadline: Deadline,
    limit: int | None = None,
    least: float | None = None,
) -> SimilarPairs:
    """Return the nodes that are most similar to each node of a mask, at most `limit` for each.

    Two nodes are as similar as the part of their neighbours that both have (Jaccard); without any
    common neighbour they are not. Neither of them counts as a neighbour that both have. Equally
    similar nodes come by their ids.
    """
    back = np.argsort(links.targets, kind="stable")
    reached = np.concatenate([[0], np.cumsum(np.bincount(links.targets, minlength=links.count))])
    paths = np.diff(reached)[links.targets] * wanted[links.sources]
    offsets = links.offsets
    # The paths by way of each node's neighbours, which are done in blocks of whole nodes.
    total = np.concatenate([[0], np.cumsum(paths)])[offsets]
    parts: list[SimilarPairs] = []
    first = 0
    while first < links.count:
        deadline.check_bytes(8 * 8 * _BLOCK)
        last = max(int(np.searchsorted(total, total[first] + _BLOCK, side="right")) - 1, first + 1)
        mine = slice(int(offsets[first]), int(offsets[last]))
        deadline.check_bytes(8 * 8 * int(total[last] - total[first]))
        counts = paths[mine]
        owners = np.repeat(links.sources[mine], counts)
        starts = reached[links.targets[mine]] - (np.cumsum(counts) - counts)
        places = np.arange(len(owners)) + np.repeat(starts, counts)
        others = links.sources[back[places]]
        keys, at, shared = np.unique(
            owners * links.count + others, return_inverse=True, return_counts=True
        )
        via = np.repeat(links.targets[mine], counts)
        own = np.bincount(at[(via == owners) | (via == others)], minlength=len(keys))
        parts.append(_best(np.diff(offsets), _Shared(keys, shared, own), limit, least))
        first = last
    return SimilarPairs(
        np.concatenate([np.empty(0, np.int64), *(part.nodes for part in parts)]),
        np.concatenate([np.empty(0, np.int64), *(part.others for part in parts)]),
        np.concatenate([np.empty(0), *(part.scores for part in parts)]),
    )


def _best(degrees: Numbers, found: _Shared, limit: int | None, least: float | None) -> SimilarPairs:
    """Return the best of the pairs of some nodes."""
    nodes, others = np.divmod(found.keys, len(degrees))
    either = degrees[nodes] + degrees[others] - found.counts
    scores = (found.counts - found.own) / either
    kept = (nodes != others) & (scores > 0) & (scores >= (least or 0.0))
    nodes, others, scores = nodes[kept], others[kept], scores[kept]
    order = np.lexsort((others, -scores, nodes))
    nodes, others, scores = nodes[order], others[order], scores[order]
    begins = np.searchsorted(nodes, nodes)
    top = np.arange(len(nodes)) - begins < (limit or LIMIT)
    return SimilarPairs(nodes[top], others[top], scores[top])
