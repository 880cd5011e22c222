"""Fixtures of the replays."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from tests.promises.faults import Faults
from tests.sample import new_graph


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


@pytest.fixture
def rival(graph: Graph) -> Graph:
    """The same graph, opened by somebody else."""
    return open_graph(graph.uri, durable=False)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    found = Faults()
    found.install(monkeypatch)
    return found
