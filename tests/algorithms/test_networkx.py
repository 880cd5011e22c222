"""Networkx: what each algorithm says of nodes is what networkx says, on graphs of its own."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import networkx as nx
import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.view import View
from tests.algorithms.networks import NETWORKS, ids_of, make, named, weights_of

ALL = pytest.mark.parametrize("name", NETWORKS)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return make(tmp_path_factory.mktemp("networks") / "g")


@pytest.fixture
def view(graph: Graph) -> View:
    return graph.at()


def values(result: Any) -> dict[str, Any]:
    """Return the last column by id; ids are in their order."""
    rows = list(result)
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    return {row["id"]: row[result.columns[-1]] for row in rows}


def groups(labels: Mapping[str, int]) -> set[frozenset[str]]:
    found = defaultdict(set)
    for node, label in labels.items():
        found[label].add(node)
    return {frozenset(each) for each in found.values()}


def undirected(name: str) -> Any:
    """Return a network as pairs of different nodes, without a direction."""
    found = nx.Graph()
    found.add_nodes_from(named(name).nodes)
    found.add_edges_from(each for each in named(name).edges() if each[0] != each[1])
    return found


def simple(name: str, kind: Any = nx.DiGraph) -> Any:
    """Return a network with each pair once; the least weight counts."""
    found = kind()
    found.add_nodes_from(named(name).nodes)
    for (one, other), weight in zip(named(name).edges(), weights_of(name), strict=True):
        known = found.get_edge_data(one, other, {"weight": weight})["weight"]
        found.add_edge(one, other, weight=min(known, weight))
    return found


@ALL
@pytest.mark.parametrize("direction", ["out", "in", "both"])
def test_ranks_are_those_of_networkx(view: View, name: str, direction: str) -> None:
    network = named(name)
    if direction == "in":
        network = network.reverse()
    if direction == "both":
        network = nx.MultiGraph()
        network.add_nodes_from(named(name).nodes)
        network.add_edges_from(named(name).edges())

    found = values(view.algo.pagerank(f"In{name}", direction=direction, tolerance=1e-12))

    assert found == pytest.approx(nx.pagerank(network, weight=None, tol=1e-13, max_iter=1_000))
    assert sum(found.values()) == pytest.approx(1.0) or not found


@pytest.mark.parametrize("name", ["Miserables", "Parallel"])
def test_ranks_follow_weights(view: View, name: str) -> None:
    network = nx.MultiDiGraph()
    network.add_nodes_from(named(name).nodes)
    for (one, other), weight in zip(named(name).edges(), weights_of(name), strict=True):
        network.add_edge(one, other, weight=weight)

    found = values(view.algo.pagerank(f"In{name}", weight="weight", damping=0.5))

    assert found == pytest.approx(nx.pagerank(network, alpha=0.5, tol=1e-12))


@ALL
def test_components_are_those_of_networkx(view: View, name: str) -> None:
    weak = values(view.algo.components(f"In{name}"))
    strong = values(view.algo.components(f"In{name}", direction="out"))

    assert groups(weak) == set(map(frozenset, nx.weakly_connected_components(named(name))))
    assert groups(strong) == set(map(frozenset, nx.strongly_connected_components(named(name))))
    firsts = list(dict.fromkeys(weak.values()))
    assert firsts == list(range(len(firsts)))


@ALL
def test_labels_make_the_communities_of_networkx(view: View, name: str) -> None:
    network = nx.Graph(named(name))

    found = values(view.algo.communities(f"In{name}"))

    told = nx.community.label_propagation_communities(network)
    assert groups(found) == set(map(frozenset, told))


@pytest.mark.parametrize("name", ["Karate", "Miserables", "Davis", "Loose"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_louvain_finds_groups_as_good_as_those_of_networkx(
    view: View, name: str, weight: str | None
) -> None:
    network = nx.MultiGraph()
    network.add_nodes_from(named(name).nodes)
    for (one, other), each in zip(named(name).edges(), weights_of(name), strict=True):
        network.add_edge(one, other, weight=each)

    found = groups(values(view.algo.communities(f"In{name}", method="louvain", weight=weight)))

    theirs = nx.community.louvain_communities(network, weight=weight, seed=1)
    best = nx.community.modularity(network, theirs, weight=weight)
    assert nx.community.modularity(network, found, weight=weight) > best - 0.03


@ALL
@pytest.mark.parametrize("direction", ["out", "both"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_betweenness_is_that_of_networkx(
    view: View, name: str, direction: str, weight: str | None
) -> None:
    network = simple(name, nx.DiGraph if direction == "out" else nx.Graph)

    found = values(view.algo.betweenness(f"In{name}", direction=direction, weight=weight))

    assert found == pytest.approx(nx.betweenness_centrality(network, weight=weight))


def test_betweenness_is_estimated_from_samples_that_a_seed_chooses(view: View) -> None:
    exact = nx.betweenness_centrality(simple("Karate", nx.Graph))

    one = view.algo.betweenness("InKarate", direction="both", samples=2_000, seed=7)
    other = view.algo.betweenness("InKarate", direction="both", samples=2_000, seed=8)

    assert values(one) == pytest.approx(exact, abs=0.05)
    assert values(one) != values(other)
    again = view.algo.betweenness("InKarate", direction="both", samples=2_000, seed=7)
    assert values(again) == values(one)


@pytest.mark.parametrize("direction", ["out", "in", "both"])
@pytest.mark.parametrize("samples", [1, 10])
def test_estimates_of_many_seeds_are_exact_on_the_average(
    view: View, direction: str, samples: int
) -> None:
    name = "Davis" if direction == "both" else "Loose"
    network = simple(name, nx.Graph) if direction == "both" else simple(name)
    exact = nx.betweenness_centrality(network.reverse() if direction == "in" else network)

    each = [
        values(view.algo.betweenness(f"In{name}", direction=direction, samples=samples, seed=seed))
        for seed in range(300)
    ]

    mean = {node: sum(found[node] for found in each) / len(each) for node in exact}
    assert sum(mean.values()) == pytest.approx(sum(exact.values()), rel=0.1)
    assert mean == pytest.approx(exact, abs=max(exact.values()) / 5)


@ALL
def test_cores_and_triangles_are_those_of_networkx(view: View, name: str) -> None:
    network = undirected(name)

    assert values(view.algo.k_core(f"In{name}")) == nx.core_number(network)
    assert values(view.algo.triangles(f"In{name}")) == nx.triangles(network)


@ALL
def test_similarities_are_those_of_networkx(view: View, name: str) -> None:
    network = nx.Graph(named(name))

    rows = list(view.algo.similarity(f"In{name}", direction="both", limit=10_000))

    found = {(row["id"], row["other"]): row["similarity"] for row in rows}
    pairs = [(one, other) for one in network for other in network if one != other]
    told = {(one, other): each for one, other, each in nx.jaccard_coefficient(network, pairs)}
    assert found == pytest.approx({pair: each for pair, each in told.items() if each})


def test_of_similar_nodes_the_best_come_first(view: View) -> None:
    every: list[dict[str, Any]] = list(
        view.algo.similarity("InKarate", direction="both", limit=10_000)
    )

    few = list(view.algo.similarity("InKarate", direction="both", limit=3, least=0.2))

    for node in ids_of("Karate").values():
        mine = [row for row in every if row["id"] == node and row["similarity"] >= 0.2]
        best = sorted(mine, key=lambda row: (-row["similarity"], row["other"]))[:3]
        assert [row for row in few if row["id"] == node] == best
