"""What the tests of merging share."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from tests.crashes.conftest import place
from tests.merging.village import village

__all__ = ["place"]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """A village of three people."""
    return village(tmp_path)
