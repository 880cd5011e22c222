"""Native: what networkit computes, from arrays and to arrays.

Each computation is done by one thread, so that sums of floats are always made in one order.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from omnigraph.errors import UnavailableError, hint_install
from omnigraph.frozen import dataclass
from omnigraph.read.algorithms.network import Links

if TYPE_CHECKING:
    import networkit

# The seed of networkit is one for the whole process.
_seeding = Lock()


@dataclass(frozen=True, slots=True)
class NativeTask:
    """A computation by its name, the links it runs on, and its settings."""

    name: str
    links: Links
    directed: bool = False
    weighted: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def nanoseconds(self) -> float:
        """About how long it takes."""
        return _COSTS[self.name] * (len(self.links) + self.links.count) * self._rounds

    @property
    def nbytes(self) -> int:
        """About how many bytes it holds."""
        return 48 * len(self.links) + 256 * self.links.count

    @property
    def _rounds(self) -> int:
        if self.name != "betweenness":
            return 1
        return int(self.settings.get("samples") or self.links.count)


def run_native(task: NativeTask) -> "np.ndarray":
    """Return a number for each node; raise UnavailableError without the extra `algorithms`."""
    networkit = _networkit()
    networkit.setNumberOfThreads(1)
    links = task.links
    ends = links.sources.astype(np.uint64), links.targets.astype(np.uint64)
    graph = networkit.GraphFromCoo(
        (links.weights, ends) if task.weighted else ends,
        n=links.count,
        weighted=task.weighted,
        directed=task.directed,
    )
    return _RUNS[task.name](graph, task)


def check_installed() -> None:
    """Raise UnavailableError without the extra `algorithms`."""
    _networkit()


def _networkit() -> Any:  # noqa: ANN401 - a module
    try:
        import networkit
    except ImportError:
        hint = hint_install("algorithms")
        raise UnavailableError("the package networkit is not installed", hint=hint) from None
    return networkit


def _strong(graph: "networkit.Graph", _: NativeTask) -> "np.ndarray":
    found = _networkit().components.StronglyConnectedComponents(graph).run()
    return np.array(found.getPartition().getVector())


def _cores(graph: "networkit.Graph", _: NativeTask) -> "np.ndarray":
    core = _networkit().centrality.CoreDecomposition(graph, enforceBucketQueueAlgorithm=True)
    return np.array(core.run().scores()).astype(np.int64)


def _triangles(graph: "networkit.Graph", task: NativeTask) -> "np.ndarray":
    """Count by the part of each node's pairs of neighbours that are neighbours themselves."""
    found = _networkit().centrality.LocalClusteringCoefficient(graph, turbo=True).run()
    ends = np.concatenate([task.links.sources, task.links.targets])
    degrees = np.bincount(ends, minlength=task.links.count).astype(float)
    pairs = degrees * (degrees - 1) / 2
    counts: np.ndarray = np.rint(np.array(found.scores()) * pairs)
    return counts.astype(np.int64)


def _louvain(graph: "networkit.Graph", task: NativeTask) -> "np.ndarray":
    gamma = task.settings.get("resolution")
    found = _networkit().community.PLM(
        graph, refine=True, gamma=1.0 if gamma is None else gamma, par="none"
    )
    return np.array(found.run().getPartition().getVector())


def _betweenness(graph: "networkit.Graph", task: NativeTask) -> "np.ndarray":
    """Return which part of the pairs of other nodes have shortest paths by way of a node."""
    networkit, samples = _networkit(), task.settings.get("samples")
    if samples is None:
        found = np.array(networkit.centrality.Betweenness(graph).run().scores())
    else:
        with _seeding:
            networkit.setSeed(seed=int(task.settings.get("seed") or 0), useThreadId=False)
            estimate = networkit.centrality.EstimateBetweenness(graph, samples)
            found = np.array(estimate.run().scores())
    count = task.links.count
    return found / ((count - 1) * (count - 2)) if count > 2 else np.zeros(count)


_RUNS: Mapping[str, Callable[["networkit.Graph", NativeTask], "np.ndarray"]] = {
    "strong": _strong,
    "cores": _cores,
    "triangles": _triangles,
    "louvain": _louvain,
    "betweenness": _betweenness,
}
# Nanoseconds for each node and link.
_COSTS = {
    "strong": 400,
    "cores": 800,
    "triangles": 1_200,
    "louvain": 4_000,
    "betweenness": 20,
}
