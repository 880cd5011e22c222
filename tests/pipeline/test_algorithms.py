"""Algorithms: on Spark each says of nodes what it says in this process."""

from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.errors import BudgetError, CancelledError, InputError
from omnigraph.read.execution import Budget
from tests.algorithms.networks import make

pytestmark = pytest.mark.usefixtures("spark")
SOME = pytest.mark.parametrize("name", ["Karate", "Parallel", "Empty"])


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return make(tmp_path_factory.mktemp("networks") / "g")


@SOME
def test_components_and_triangles_are_the_same_on_spark(graph: Graph, name: str) -> None:
    algo = graph.at().algo

    for run in (algo.components, algo.triangles):
        assert run(f"In{name}", engine="spark").table == run(f"In{name}").table


@pytest.mark.parametrize("name", ["Apart", "Alone", "Empty"])
def test_communities_are_the_same_on_spark(graph: Graph, name: str) -> None:
    algo = graph.at().algo

    found = algo.communities(f"In{name}", engine="spark")

    assert found.table == algo.communities(f"In{name}").table


@pytest.mark.parametrize(
    ("name", "direction", "weight"),
    [("Parallel", "out", None), ("Karate", "both", "weight"), ("Apart", "in", None)],
)
def test_ranks_are_the_same_on_spark(
    graph: Graph, name: str, direction: str, weight: str | None
) -> None:
    algo = graph.at().algo
    how: dict[str, Any] = {"direction": direction, "weight": weight}

    found = algo.pagerank(f"In{name}", **how, tolerance=1e-4, engine="spark")

    here = algo.pagerank(f"In{name}", **how, tolerance=1e-4)
    assert found.table.select(["type", "id"]) == here.table.select(["type", "id"])
    assert found.to_pandas()["rank"].tolist() == pytest.approx(here.to_pandas()["rank"].tolist())


def test_several_types_are_ranked_and_joined_on_spark(tmp_path: Path) -> None:
    schema = """
    node Person { slug: String @key }
    node Team { slug: String @key }
    edge MemberOf: Person -> Team { days: I32? }
    edge Knows: Person -> Person { days: I64? }
    """
    graph = init(tmp_path / "g", schema)
    graph.load({"Person": [{"slug": each} for each in "abx"], "Team": [{"slug": "x"}]})
    graph.load([{"from": "a", "to": "x", "days": 3}], type="MemberOf")
    graph.load([{"from": "b", "to": "x", "days": 1}], type="Knows")
    algo = graph.at(engine="spark").algo

    assert algo.components().to_dicts() == [
        {"type": "Person", "id": "a", "component": 0},
        {"type": "Person", "id": "b", "component": 1},
        {"type": "Person", "id": "x", "component": 1},
        {"type": "Team", "id": "x", "component": 0},
    ]
    ranks = algo.pagerank(weight="days", types="Team", tolerance=0.01)
    assert ranks.table.schema.names == ["type", "id", "rank"]
    assert ranks.table.schema.types == [pa.utf8(), pa.utf8(), pa.float64()]
    here = graph.algo.pagerank(weight="days", types="Team", tolerance=0.01)
    assert ranks[0]["rank"] == pytest.approx(here[0]["rank"])
    graph.load([{"from": "a", "to": "x"}], type="Knows")
    with pytest.raises(InputError, match="'days' of the edge from 'a' to 'x' is null"):
        graph.at(engine="spark").algo.pagerank("Knows", weight="days")


def test_weights_that_add_up_to_no_number_are_an_error_on_spark(tmp_path: Path) -> None:
    graph = init(tmp_path / "g", "node P { slug: String @key }\nedge Knows: P -> P { far: F64 }")
    graph.load([{"slug": each} for each in "abc"], type="P")
    graph.load([{"from": "a", "to": each, "far": 1e308} for each in "bc"], type="Knows")

    with pytest.raises(InputError, match="the weights 'far' of all edges add up to more"):
        graph.at(engine="spark").algo.pagerank(weight="far")


def test_on_spark_an_algorithm_ends_with_its_time_and_when_it_is_cancelled(graph: Graph) -> None:
    cancelled = Event()
    cancelled.set()

    with pytest.raises(BudgetError, match=r"the algorithm ran longer than 0\.01 s"):
        graph.at(engine="spark", budget=Budget(seconds=0.01)).algo.pagerank("InKarate")
    with pytest.raises(CancelledError, match="the algorithm was cancelled"):
        graph.at(engine="spark", cancelled=cancelled).algo.pagerank("InKarate")


def test_what_does_not_run_on_spark_says_so(graph: Graph) -> None:
    algo = graph.at().algo

    with pytest.raises(InputError, match="betweenness does not run on Spark"):
        algo.betweenness("InKarate", engine="spark")
    with pytest.raises(InputError, match="the method louvain does not run on Spark"):
        algo.communities("InKarate", method="louvain", engine="spark")
    with pytest.raises(InputError, match="components by direction does not run on Spark"):
        algo.components("InKarate", direction="out", engine="spark")


def test_what_spark_computed_is_written_as_one_commit(graph: Graph) -> None:
    branch = graph.create_branch("ranked")

    receipt = branch.algo.triangles("InKarate", engine="spark").write_to(branch, "group")

    assert receipt.affected_nodes == 34
    assert branch.algo.triangles("InKarate").write_to(branch, "group").commit is None
