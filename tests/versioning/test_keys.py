"""The keys of a version that this process made are those that the store has."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.storage import layout
from omnigraph.storage.store import store_at
from omnigraph.storage.tables import Tables
from omnigraph.versioning.writes import Upsert
from tests.sample import PERSON, new_graph, people, write


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "g")


def check(graph: Graph) -> None:
    """Compare the keys that the graph knows with those that another process reads."""
    known = graph.repository.manifest.newest()
    stored = Tables(store_at(graph.uri)).newest(layout.MANIFEST)
    assert stored is not None
    assert (known.version, known.metadata) == (stored.version, stored.metadata)


def test_after_every_kind_of_flip_the_known_keys_are_the_stored_ones(graph: Graph) -> None:
    for age in range(20):  # far enough for the manifest to be folded
        write(graph, {PERSON: (Upsert(people({"ada": age})),)})
        check(graph)
    graph.create_branch("draft")
    check(graph)
    graph.rename_branch("draft", "other")
    check(graph)
    graph.create_tag("v1")
    check(graph)
    graph.delete_branch("other")
    graph.delete_tag("v1")
    check(graph)
    graph.cleanup(keep=1, grace="0s", confirm=True)
    check(graph)


def test_keys_that_others_set_meanwhile_are_known(graph: Graph) -> None:
    repository = graph.repository
    before = repository.manifest.newest()
    other = Tables(store_at(graph.uri))
    theirs = other.newest(layout.MANIFEST)
    assert theirs is not None
    assert before.metadata == theirs.metadata
    other.set_keys(theirs, {"theirs": "1"})

    made = repository.tables.set_keys(before, {"ours": "2"})

    assert (made.metadata["theirs"], made.metadata["ours"]) == ("1", "2")
    check(graph)
