"""Asked: an algorithm says which edges, nodes and settings it takes, and keeps its limits."""

import subprocess
import sys
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.local.backend import LocalBackend
from omnigraph.errors import BudgetError, CancelledError, InputError, UnavailableError
from omnigraph.read.algorithms import apart
from omnigraph.read.execution import Budget
from omnigraph.spark.deadline import Deadline

SCHEMA = """
node Person { slug: String @key }
node Topic { slug: String @key }
edge Knows: Person -> Person { days: I32? note: String? }
edge Likes: Person -> Topic
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    found = init(tmp_path_factory.mktemp("asked") / "g", SCHEMA)
    found.load({"Person": [{"slug": each} for each in "abcd"], "Topic": [{"slug": "b"}]})
    knows = [("a", "b", 2), ("b", "c", 1), ("c", "a", 1)]
    found.load([{"from": x, "to": y, "days": z} for x, y, z in knows], type="Knows")
    found.load([{"from": each, "to": "b"} for each in "ad"], type="Likes")
    return found


def forget(graph: Graph) -> None:
    """Drop what the process of a graph has computed."""
    backend = graph.backend
    assert isinstance(backend, LocalBackend)
    backend.access.topology.cache.clear()


def test_without_edges_and_types_all_of_them_count_in_the_order_of_ids(graph: Graph) -> None:
    rows = graph.algo.components().to_dicts()

    assert rows == [
        {"type": "Person", "id": "a", "component": 0},
        {"type": "Person", "id": "b", "component": 0},
        {"type": "Topic", "id": "b", "component": 0},
        {"type": "Person", "id": "c", "component": 0},
        {"type": "Person", "id": "d", "component": 0},
    ]


def test_types_are_those_of_the_rows_and_edges_those_that_count(graph: Graph) -> None:
    liked = graph.algo.similarity("Likes", types=["Person"]).to_dicts()
    topics = graph.algo.triangles("Knows", types=["Topic", "Person"]).to_dicts()

    assert [(row["id"], row["other"], row["similarity"]) for row in liked] == [
        ("a", "d", 1.0),
        ("d", "a", 1.0),
    ]
    assert [row["triangles"] for row in topics if row["type"] == "Topic"] == [0]
    assert [row["triangles"] for row in topics if row["type"] == "Person"] == [1, 1, 1, 0]


def test_a_result_comes_as_arrow_pandas_polars_and_a_table(graph: Graph) -> None:
    found = graph.algo.k_core("Knows")

    assert found.columns == ["type", "id", "core"]
    assert found.to_arrow().num_rows == len(found.to_pandas()) == found.to_polars().height == 4
    assert found.commit == graph.branch().commit.id
    assert repr(found) == "Result('k_core', 4 rows, columns type, id, core)"
    assert "core" in str(found)


def test_rows_that_a_branch_gains_count_and_rows_that_it_loses_do_not(tmp_path: Path) -> None:
    graph = init(tmp_path / "g", SCHEMA)
    graph.load([{"slug": each} for each in "cab"], type="Person")
    graph.load([{"from": "a", "to": "b"}], type="Knows")
    assert [row["component"] for row in graph.algo.components("Knows")] == [0, 0, 1]

    graph.load([{"slug": "aa"}], type="Person")
    graph.load([{"from": "c", "to": "aa"}], type="Knows")
    branch = graph.branch()
    branch.mutate('query gone() { delete Person where slug = "b" }', "gone")

    assert [(row["id"], row["component"]) for row in branch.algo.components("Knows")] == [
        ("a", 0),
        ("aa", 1),
        ("c", 1),
    ]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("pagerank", {"damping": 0, "tolerance": 1}),
        ("communities", {"method": "louvain", "resolution": 1}),
        ("similarity", {"least": 1}),
    ],
)
def test_a_whole_number_is_a_number(graph: Graph, name: str, how: dict[str, Any]) -> None:
    method = getattr(graph.algo, name)
    numbers = {key: float(each) if isinstance(each, int) else each for key, each in how.items()}

    assert list(method("Knows", **how)) == list(method("Knows", **numbers))


def test_a_flag_is_no_number(graph: Graph) -> None:
    with pytest.raises(InputError, match="'damping' is a float, not a bool"):
        graph.algo.pagerank(damping=True)


@pytest.mark.parametrize(
    ("name", "how", "told"),
    [
        ("pagerank", {"edges": "Konws"}, "no edge type 'Konws'"),
        ("pagerank", {"types": "Persn"}, "no node type 'Persn'"),
        ("pagerank", {"weight": "dyas"}, "Knows has no property 'dyas'"),
        ("pagerank", {"weight": "note"}, "'note' of Knows is String, and a weight is a number"),
        ("pagerank", {"damping": 1.5}, "'damping' is a number from 0 to 0.999, not 1.5"),
        ("pagerank", {"direction": "up"}, "invalid direction 'up'"),
        ("betweenness", {"samples": 0}, "'samples' is a whole number from 1 to 1,000,000, not 0"),
        ("betweenness", {"seed": 3}, "'seed' is for samples"),
        ("communities", {"resolution": 2.0}, "'resolution' is for the method louvain"),
        ("similarity", {"limit": 0}, "'limit' is a whole number from 1 to 10,000, not 0"),
        ("components", {"engine": "sparc"}, "invalid engine 'sparc'"),
    ],
)
def test_what_cannot_be_asked_is_an_error(
    graph: Graph, name: str, how: dict[str, Any], told: str
) -> None:
    how = {"edges": "Knows", **how}

    with pytest.raises(InputError) as wrong:
        getattr(graph.algo, name)(**how)

    assert told in str(wrong.value)


def test_a_weight_that_is_missing_or_negative_is_an_error(tmp_path: Path) -> None:
    graph = init(tmp_path / "g", SCHEMA)
    graph.load([{"slug": each} for each in "ab"], type="Person")
    graph.load([{"from": "a", "to": "b", "days": 0}], type="Knows")
    with pytest.raises(InputError, match="'days' is 0 on some edge, and a distance is not"):
        graph.algo.betweenness("Knows", weight="days")

    graph.load([{"from": "b", "to": "a"}], type="Knows")
    with pytest.raises(InputError, match=r"'days' of Knows .* is null"):
        graph.algo.pagerank("Knows", weight="days")


@pytest.mark.parametrize(
    ("name", "how"), [("pagerank", {}), ("communities", {"method": "louvain"})]
)
def test_weights_that_add_up_to_no_number_are_an_error(
    tmp_path: Path, name: str, how: dict[str, Any]
) -> None:
    graph = init(tmp_path / "g", SCHEMA.replace("days: I32?", "days: F64?"))
    graph.load([{"slug": each} for each in "abc"], type="Person")
    graph.load([{"from": "a", "to": each, "days": 1e308} for each in "bc"], type="Knows")

    with pytest.raises(InputError, match="the weights 'days' of all edges add up to more"):
        getattr(graph.algo, name)("Knows", weight="days", **how)


def test_an_algorithm_keeps_to_its_budget_and_ends_when_it_is_cancelled(graph: Graph) -> None:
    cancelled = Event()
    cancelled.set()

    for name in ("pagerank", "components", "communities", "similarity"):
        with pytest.raises(CancelledError, match="the algorithm was cancelled"):
            getattr(graph.at(cancelled=cancelled).algo, name)("Knows")
        with pytest.raises(BudgetError, match=r"the algorithm needs more than .* of memory"):
            getattr(graph.at(budget=Budget(bytes=100)).algo, name)("Knows")


def test_long_work_runs_in_a_process_of_its_own_with_the_same_answer(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = graph.algo.betweenness("Knows", weight="days").table

    monkeypatch.setattr(apart, "APART_NANOSECONDS", 0)
    forget(graph)

    assert graph.algo.betweenness("Knows", weight="days").table == here


def test_a_process_of_its_own_is_ended_when_nobody_waits_any_more() -> None:
    cancelled = Event()
    Timer(0.5, cancelled.set).start()
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])

    with pytest.raises(CancelledError):
        apart.wait_for(worker, Deadline(work="algorithm", cancelled=cancelled))

    assert worker.wait(60) != 0


def test_without_the_extra_an_error_names_the_line_that_installs_it(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "networkit", None)
    forget(graph)

    with pytest.raises(UnavailableError) as missing:
        graph.algo.k_core("Knows")

    assert missing.value.hint == "pip install 'omnigraph[algorithms]'"
    assert len(graph.algo.pagerank("Knows")) == 4
