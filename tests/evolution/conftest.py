"""What the tests of changing schemas share: towns, copied from one that is made once."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from tests.crashes.conftest import place
from tests.evolution.town import town

__all__ = ["place"]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a town that nobody changes."""
    root = tmp_path_factory.mktemp("evolution") / "town"
    town(root).close()
    return root


@pytest.fixture
def copied(template: Path, tmp_path: Path) -> Callable[[], Path]:
    """Return the folder of another town like the first."""

    def copy() -> Path:
        root = tmp_path / f"town{len(list(tmp_path.iterdir()))}"
        shutil.copytree(template, root)
        return root

    return copy


@pytest.fixture
def graph(copied: Callable[[], Path]) -> Graph:
    """A town."""
    return open_graph(copied(), durable=False)
