"""What tests of topics share: a broker for each file, and graphs of people and of notes."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from omnigraph.api.graph import Graph
from omnigraph.cli.main import omnigraph
from tests.following.broker import Broker, running
from tests.templates import fresh_graph

SCHEMA = """
node Person { slug: String @key  age: I32?  email: String? @unique }
node Note { text: String }
edge Knows: Person -> Person
"""

Follow = Callable[..., Result]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with running() as found:
        yield found


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fresh_graph(tmp_path / "graph", SCHEMA)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic of its own for each test."""
    return "".join(each if each.isalnum() else "." for each in request.node.name)


@pytest.fixture
def follow(graph: Graph, broker: Broker, topic: str) -> Follow:
    """Follows the topic until all is done that is there."""

    def run(*more: str, branch: str = "main", to: str | None = None) -> Result:
        place = to or broker.topic(topic)
        words = ["ingest", graph.uri, "--branch", branch, "--follow", place, "--once", *more]
        return CliRunner().invoke(omnigraph, words)

    return run
