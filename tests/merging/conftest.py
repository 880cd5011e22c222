"""What the tests of merging share."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from tests.merging.village import village


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """A village of three people."""
    return village(tmp_path)
