"""Networks: graphs of networkx, and one graph that holds each of them as types of its own."""

from pathlib import Path
from typing import Any

import networkx as nx

from omnigraph.api.graph import Graph, init


def _random(seed: int) -> Any:
    found = nx.gnp_random_graph(60, 0.04, seed=seed, directed=True)
    found.add_edges_from([(3, 3), (7, 7)])
    return nx.MultiDiGraph(found)


def _parallel() -> Any:
    found = nx.MultiDiGraph(_random(3))
    found.add_edges_from([(0, 1), (0, 1), (0, 1), (1, 0), (5, 5), (5, 5), (9, 2), (9, 2)])
    return found


def _directed(found: Any) -> Any:
    """Return an undirected graph with one edge for each of its own, from the first end."""
    made = nx.MultiDiGraph()
    made.add_nodes_from(found.nodes)
    made.add_edges_from(found.edges(data=True))
    return made


def _alone() -> Any:
    found = nx.MultiDiGraph()
    found.add_nodes_from(range(5))
    return found


def _apart() -> Any:
    found = nx.MultiDiGraph([(0, 1), (1, 2), (2, 0), (5, 6), (8, 8)])
    found.add_nodes_from(range(10))
    return nx.MultiDiGraph(nx.relabel_nodes(found, {}))


NETWORKS = {
    "Karate": _directed(nx.karate_club_graph()),
    "Miserables": _directed(nx.les_miserables_graph()),
    "Davis": _directed(nx.davis_southern_women_graph()),
    "Loose": _random(1),
    "Tangled": _random(2),
    "Parallel": _parallel(),
    "Alone": _alone(),
    "Apart": _apart(),
    "Empty": nx.MultiDiGraph(),
}
SCHEMA = "\n".join(
    f"node {name} {{ slug: String @key  score: F64?  group: I64?  small: F32?  label: String? }}\n"
    f"edge In{name}: {name} -> {name} {{ weight: F64? }}"
    for name in NETWORKS
)


def ids_of(name: str) -> dict[Any, str]:
    """Return the id of each node, in the order in which networkx has them."""
    return {node: f"n{place:03}" for place, node in enumerate(NETWORKS[name])}


def named(name: str) -> Any:
    """Return a network whose nodes are ids, in their order."""
    return nx.relabel_nodes(NETWORKS[name], ids_of(name))


def weights_of(name: str) -> list[float]:
    """Return a weight for each edge, in order."""
    data = enumerate(NETWORKS[name].edges(data=True))
    return [float(about.get("weight", place % 5 + 1)) for place, (*_, about) in data]


def make(path: Path) -> Graph:
    """Return a graph with all networks."""
    graph = init(path, SCHEMA)
    rows: dict[str, list[dict[str, Any]]] = {}
    for name, network in NETWORKS.items():
        ids = ids_of(name)
        # Not in the order of their ids, on which nothing may depend.
        rows[name] = [{"slug": each} for each in sorted(ids.values(), key=lambda x: (x[-1], x))]
        rows[f"In{name}"] = [
            {"from": ids[one], "to": ids[other], "weight": weight}
            for (one, other), weight in zip(network.edges(), weights_of(name), strict=True)
        ]
    graph.load({name: each for name, each in rows.items() if each})
    return graph
