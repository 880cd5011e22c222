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
        samples = self.settings.get("samples")
        if samples is None:
            return self.links.count
        return 2 * int(samples) if self.directed else int(samples)


def run_native(task: NativeTask) -> "np.ndarray":
    """Return a number for each node; raise UnavailableError without the extra `algorithms`."""
    _networkit().setNumberOfThreads(1)
    return _RUNS[task.name](_graph(task), task)


def _graph(task: NativeTask, *, backwards: bool = False) -> "networkit.Graph":
    links = task.links
    ends = links.sources.astype(np.uint64), links.targets.astype(np.uint64)
    if backwards:
        ends = ends[::-1]
    return _networkit().GraphFromCoo(
        (links.weights, ends) if task.weighted else ends,
        n=links.count,
        weighted=task.weighted,
        directed=task.directed,
    )


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
    if task.settings.get("samples") is None:
        found = np.array(_networkit().centrality.Betweenness(graph).run().scores())
    else:
        found = _estimate(graph, task)
    count = task.links.count
    return found / ((count - 1) * (count - 2)) if count > 2 else np.zeros(count)


def _estimate(graph: "networkit.Graph", task: NativeTask) -> "np.ndarray":
    """Return about how many shortest paths lead through a node.

    networkit counts a path by how far along it the node is. That of a path and that of the same
    path backwards add up to one, so a directed graph is sampled in both directions.
    """
    found = _sample(graph, task)
    if not task.directed:
        return found
    both: np.ndarray = found + _sample(_graph(task, backwards=True), task)
    return both / 2


def _sample(graph: "networkit.Graph", task: NativeTask) -> "np.ndarray":
    networkit, samples = _networkit(), int(task.settings["samples"])
    with _seeding:
        networkit.setSeed(seed=int(task.settings.get("seed") or 0), useThreadId=False)
        scores = networkit.centrality.EstimateBetweenness(graph, samples).run().scores()
    # networkit takes one sample more than it divides by.
    found: np.ndarray = np.array(scores) * (samples / (samples + 1))
    return found


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
