"""What the tests of changes share."""

from pathlib import Path

import pytest

from omnigraph.graph import Graph
from tests.changes.town import city, do, link, person, town


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """An empty town."""
    return town(tmp_path)


@pytest.fixture
def settled(graph: Graph) -> Graph:
    """A town of three people and two cities, with edges between them."""
    do(
        graph,
        person("ada", age="36", email='"ada@x"'),
        person("bob", age="20"),
        person("cy"),
        city("ulm"),
        city("rom"),
        link("Knows", "ada", "bob", weight="0.5"),
        link("Knows", "bob", "ada"),
        link("Knows", "cy", "cy"),
        link("Lives", "ada", "ulm"),
        link("Twinned", "ulm", "rom"),
    )
    return graph
