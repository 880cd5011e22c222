"""What the tests of merging share."""

import shutil
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from tests.crashes.conftest import place
from tests.merging.village import village

__all__ = ["place"]


@pytest.fixture(scope="session")
def first_village(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The village that others are copied from, which costs less than to make them."""
    folder = tmp_path_factory.mktemp("first")
    village(folder)
    return folder


@pytest.fixture
def graph(first_village: Path, tmp_path: Path) -> Graph:
    """A village of three people."""
    shutil.copytree(first_village, tmp_path, dirs_exist_ok=True)
    return open_graph(tmp_path / "village", durable=False)


@pytest.fixture
def other(graph: Graph) -> Graph:
    """Somebody else with an own handle."""
    return open_graph(graph.uri, durable=False)
