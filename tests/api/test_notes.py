"""Notes: what stands beside a change is bounded, and so is every name."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import BranchNameError, ConfigError, InputError
from omnigraph.server.access.tokens import JSON, token_source
from omnigraph.versioning.notes import MOST_MESSAGE_BYTES, MOST_NAME_BYTES
from tests.sample import new_graph

ADD = 'query add() { insert Person { slug: "x" name: "x" } }'
LINE = '{"type": "Person", "data": {"slug": "y", "name": "y"}}'


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


@pytest.mark.parametrize("text", ["é" * (MOST_MESSAGE_BYTES // 2 + 1), "\ud800"])
def test_a_message_is_bounded_wherever_it_is_given(graph: Graph, text: str) -> None:
    head = graph.snapshot().commit
    graph.create_branch("b")
    for change in (
        lambda: graph.branch(message=text).mutate(ADD),
        lambda: graph.load(LINE, message=text),
        lambda: graph.ingest(LINE, branch="c", message=text),
        lambda: graph.merge("b", message=text),
        lambda: graph.revert(head.id, message=text),
        lambda: graph.publish_run(graph.begin_run().run_id, message=text),
    ):
        with pytest.raises(InputError, match="a message is"):
            change()
    assert graph.snapshot().commit == head


def test_a_message_may_be_as_long_as_the_bound(graph: Graph) -> None:
    text = "x" * MOST_MESSAGE_BYTES

    graph.branch(message=text).mutate(ADD)

    assert graph.snapshot().commit.message == text


def test_actors_and_operations_are_bounded(graph: Graph) -> None:
    long = "a" * (MOST_NAME_BYTES + 1)
    for change in (
        lambda: graph.acting_as(long).mutate(ADD),
        lambda: graph.branch(actor=long),
        lambda: graph.branch(operation_id=long),
        lambda: graph.load(LINE, operation_id=long),
        lambda: graph.load(LINE, actor=long),
        lambda: graph.begin_run(operation_hash=long),
        lambda: graph.begin_run(actor=long),
    ):
        with pytest.raises(InputError, match="is at most 200 bytes long"):
            change()
    assert graph.runs() == []


@pytest.mark.parametrize("size", [194, 200, 201, 100_000])
def test_the_name_of_a_tag_is_bounded(graph: Graph, size: int) -> None:
    with pytest.raises(BranchNameError, match=r"longer than (193|200) bytes") as refused:
        graph.create_tag("t" * size)

    assert len(refused.value.message) < 200
    assert "__tag__" not in refused.value.message


def test_a_tag_may_have_a_name_as_long_as_the_bound(graph: Graph) -> None:
    name = "t" * 193
    graph.create_tag(name)
    assert list(graph.tags()) == [name]
    graph.delete_tag(name)


def test_tokens_of_actors_with_endless_names_are_refused() -> None:
    source = token_source({JSON: f'{{"{"a" * 201}": "a-long-enough-token"}}'})

    with pytest.raises(ConfigError, match="longer than 200 bytes"):
        source.read()
