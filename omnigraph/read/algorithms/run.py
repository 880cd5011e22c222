"""Run: runs an algorithm on a snapshot and returns a row for each node."""

from dataclasses import replace
from math import isfinite

import numpy as np
import pyarrow as pa

from omnigraph.errors import InputError
from omnigraph.query.checked import Direction
from omnigraph.read.algorithms.apart import run_task
from omnigraph.read.algorithms.asked import Algorithm, AlgorithmCall, Method, Scope
from omnigraph.read.algorithms.joined import join_nodes
from omnigraph.read.algorithms.labels import number_groups, propagate_labels
from omnigraph.read.algorithms.native import NativeTask
from omnigraph.read.algorithms.network import Links, Network, read_network, weights_too_large
from omnigraph.read.algorithms.ranking import rank_pages
from omnigraph.read.algorithms.similar import find_similar
from omnigraph.read.dense_reader import DenseReader
from omnigraph.spark.deadline import Deadline

# Bytes for each node and edge while arrays are made of them.
_NODE_BYTES = 64
_EDGE_BYTES = 96


def run_algorithm(call: AlgorithmCall, reader: DenseReader, deadline: Deadline) -> pa.Table:
    """Return what an algorithm says of each node, by id; of similarity, of pairs of nodes.

    It is kept with what is derived from the tables, so that asking again costs nothing.
    """
    scope = call.on(reader.snapshot.catalog)
    names = (*scope.nodes, *(edge.name for edge in scope.edges))
    versions = tuple(reader.table(name).key for name in names)
    key = ("algorithm", replace(call, edges=names, types=scope.shown), versions)
    return reader.cache.get(key, lambda: _run(call, scope, reader, deadline), family=key[0])


def _run(call: AlgorithmCall, scope: Scope, reader: DenseReader, deadline: Deadline) -> pa.Table:
    nodes = sum(reader.count(name) for name in scope.nodes)
    edges = sum(reader.count(edge.name) for edge in scope.edges)
    deadline.check_bytes(_NODE_BYTES * nodes + _EDGE_BYTES * edges)
    network = read_network(reader, scope, call.weight)
    deadline.check()
    shown = np.zeros(len(network), bool)
    for name in scope.shown:
        shown[network.domain.of_type(name, network.codes)] = True
    if call.algorithm is Algorithm.SIMILARITY:
        return _similar_nodes(call, network, shown, deadline)
    places = np.flatnonzero(shown)
    values = _values(call, network, deadline)[places]
    types, ids = network.ids(places)
    return pa.table({"type": types, "id": ids, call.column: values})


def _values(call: AlgorithmCall, network: Network, deadline: Deadline) -> "np.ndarray":
    """Return a number for each node."""
    match call.algorithm:
        case Algorithm.PAGERANK:
            links = network.links(call.followed)
            _check_sum(links, call)
            return rank_pages(links, deadline, call.damping, call.tolerance)
        case Algorithm.BETWEENNESS:
            return _betweenness(call, network, deadline)
        case Algorithm.COMPONENTS if call.followed is Direction.BOTH:
            ends = network.sources, network.targets
            return number_groups(join_nodes(len(network), *ends, deadline))
        case Algorithm.COMPONENTS:
            task = NativeTask("strong", network.links(call.followed), directed=True)
            return number_groups(_run_if_any(task, deadline))
        case Algorithm.COMMUNITIES if call.method is Method.LOUVAIN:
            links = network.pairs()
            _check_sum(links, call)
            links = links.keep(links.weights > 0)
            settings = {"resolution": call.resolution}
            task = NativeTask("louvain", links, weighted=True, settings=settings)
            return number_groups(_run_if_any(task, deadline))
        case Algorithm.COMMUNITIES:
            return number_groups(propagate_labels(network.links(Direction.BOTH), deadline))
        case _:
            links = network.pairs()
            links = links.keep(links.sources != links.targets)
            name = "cores" if call.algorithm is Algorithm.K_CORE else "triangles"
            return _run_if_any(NativeTask(name, links), deadline)


def _check_sum(links: Links, call: AlgorithmCall) -> None:
    """Raise InputError if the weights of edges cannot be added."""
    with np.errstate(over="ignore"):
        total = float(links.weights.sum())
    if call.weight is not None and not isfinite(total):
        raise weights_too_large(call.weight)


def _betweenness(call: AlgorithmCall, network: Network, deadline: Deadline) -> "np.ndarray":
    is_directed, is_weighted = call.followed is not Direction.BOTH, call.weight is not None
    if is_directed:
        links = network.links(call.followed, least=is_weighted)
    else:
        links = network.pairs(least=is_weighted)
    links = links.keep(links.sources != links.targets)
    if not (links.weights > 0).all():
        raise InputError(f"'{call.weight}' is 0 on some edge, and a distance is not")
    settings = {"samples": call.samples, "seed": call.seed}
    task = NativeTask("betweenness", links, is_directed, is_weighted, settings)
    return _run_if_any(task, deadline).astype(float)


def _run_if_any(task: NativeTask, deadline: Deadline) -> "np.ndarray":
    """Return the answer of a task; without any links nothing has to be computed."""
    if len(task.links):
        return run_task(task, deadline)
    is_parted = task.name in ("strong", "louvain")
    return np.arange(task.links.count) if is_parted else np.zeros(task.links.count, np.int64)


def _similar_nodes(
    call: AlgorithmCall, network: Network, shown: "np.ndarray", deadline: Deadline
) -> pa.Table:
    links = network.links(call.followed)
    found = find_similar(links, shown, deadline, call.limit, call.least)
    types, ids = network.ids(found.nodes)
    other_types, others = network.ids(found.others)
    return pa.table(
        {
            "type": types,
            "id": ids,
            "other_type": other_types,
            "other": others,
            call.column: found.scores,
        }
    )
