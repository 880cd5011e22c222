"""What the tests of changes share."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from tests.changes.statements import city, link, person
from tests.changes.town import do, town
from tests.crashes.conftest import place
from tests.crashes.nursery import Nursery
from tests.pipeline.purse import purse

__all__ = ["place", "purse"]


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Towns to start from; to copy one costs less than to make it."""
    folder = tmp_path_factory.mktemp("templates")
    town(folder / "empty")
    shutil.copytree(folder / "empty", folder / "settled")
    do(
        open_graph(folder / "settled" / "town", durable=False),
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
    return folder


@pytest.fixture
def graph(templates: Path, tmp_path: Path) -> Graph:
    """An empty town."""
    return _copied(templates / "empty", tmp_path)


@pytest.fixture
def settled(templates: Path, tmp_path: Path) -> Graph:
    """A town of three people and two cities, with edges between them."""
    return _copied(templates / "settled", tmp_path)


def _copied(template: Path, folder: Path) -> Graph:
    shutil.copytree(template, folder, dirs_exist_ok=True)
    return open_graph(folder / "town", durable=False)


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Processes that are ready to change a graph, and to be killed."""
    with Nursery("tests.changes.nursery") as nursery:
        yield nursery
