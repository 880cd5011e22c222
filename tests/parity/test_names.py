"""What a graph behind a server cannot do is refused with a reason, and all else is the same."""

from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from omnigraph.api.branch import Branch
from omnigraph.api.graph import Graph, connect
from omnigraph.api.graph import open as open_graph
from omnigraph.api.view import View
from omnigraph.errors import UnavailableError
from omnigraph.read.execution import Budget
from omnigraph.spark.settings import SparkSettings
from tests.api.people import QUERIES, people

ROW = '{"type": "Team", "data": {"slug": "t"}}'
REFUSED: dict[str, Callable[[Graph], object]] = {
    "actor": lambda graph: graph.actor,
    "acting_as": lambda graph: graph.acting_as("ana"),
    "export_to": lambda graph: graph.export_to("out"),
    "export_to of a branch": lambda graph: graph.branch().export_to("out", format="parquet"),
    "backup": lambda graph: graph.backup("there"),
    "a branch for an actor": lambda graph: graph.branch(actor="ana"),
    "a merge for an actor": lambda graph: graph.merge("x", actor="ana"),
    "a run for an actor": lambda graph: graph.begin_run(actor="ana"),
    "a load for an actor": lambda graph: graph.load(ROW, actor="ana"),
    "a budget": lambda graph: graph.branch(budget=Budget(rows=1)).query(QUERIES, "ages"),
    "cancelled": lambda graph: graph.branch(cancelled=Event()).query(QUERIES, "ages"),
    "an engine": lambda graph: graph.merge("x", engine="spark"),
    "Spark": lambda graph: graph.load(ROW, spark=SparkSettings()),
    "memory": lambda graph: graph.merge("x", bytes=1 << 20),
    "concurrency": lambda graph: graph.optimize(concurrency=2),
    "a report": lambda graph: graph.load(ROW, report="violations.jsonl"),
}


def test_both_are_the_same_classes(tmp_path: Path) -> None:
    people(tmp_path / "g").close()
    with connect("http://127.0.0.1:9") as there, open_graph(tmp_path / "g") as here:
        assert type(there) is type(here) is Graph
        assert type(there.branch()) is type(here.branch()) is Branch
        assert type(here.at()) is View


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_server_cannot_do_is_refused_with_a_reason(name: str) -> None:
    with connect("http://127.0.0.1:9") as graph, pytest.raises(UnavailableError) as refused:
        REFUSED[name](graph)
    assert refused.value.message
