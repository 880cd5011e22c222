"""A cleanup and a check can be limited to branches and types."""

from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import BranchNotFoundError, CommitCleanedError, TableNotFoundError
from omnigraph.versioning.writes import Append, DeleteRows, Upsert
from tests.sample import COMPANY, KNOWS, PERSON, knows, new_graph, people, write


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """People of two branches, with some history each."""
    graph = new_graph(tmp_path / "g")
    pair = people({"ada": 1, "bob": 1})
    write(graph, {PERSON: (Append(pair),), KNOWS: (Append(knows([("ada", "bob")])),)})
    graph.create_branch("side")
    for age in range(4):
        for branch in ("main", "side"):
            write(graph, {PERSON: (Upsert(people({"ada": age})),)}, branch)
            write(graph, {KNOWS: (Upsert(knows([("ada", "bob")])),)}, branch)
    return graph


def readable(graph: Graph, branch: str) -> list[bool]:
    """Tell for each commit of a branch, newest first, whether its people can be read."""
    found = []
    for commit in graph.log(branch):
        try:
            graph.snapshot(commit.id).table(PERSON)
            found.append(True)
        except CommitCleanedError:
            found.append(False)
    return found


def test_a_cleanup_of_one_branch_leaves_the_others_alone(graph: Graph) -> None:
    done = graph.cleanup(keep=1, grace="0s", branches=["side"], confirm=True)

    assert done.old_versions_removed > 0
    assert all(readable(graph, "main"))
    assert not all(readable(graph, "side"))
    assert graph.fsck().findings == ()


def test_a_branch_that_was_renamed_is_cleaned_up_under_its_new_name_only(graph: Graph) -> None:
    versions = graph.fsck(branches=["side"]).versions
    graph.rename_branch("side", "archive")
    graph.create_branch("side")
    for age in range(4):
        write(graph, {PERSON: (Upsert(people({"ada": age})),)}, "side")

    graph.cleanup(keep=1, grace="0s", branches=["side"], confirm=True)
    assert all(readable(graph, "main"))
    assert all(readable(graph, "archive"))
    assert readable(graph, "side")[:5] == [True, False, False, False, True]

    assert graph.fsck(branches=["archive"]).versions == versions
    graph.cleanup(keep=1, grace="0s", branches=["archive"], confirm=True)
    assert all(readable(graph, "main"))
    assert not any(readable(graph, "archive")[1:8])
    assert graph.fsck().findings == ()


def test_what_two_branches_share_goes_with_the_one_that_made_it(graph: Graph) -> None:
    graph.create_branch("late")

    assert graph.cleanup(keep=1, grace="0s", branches=["late"], confirm=True).commits_cleaned == 0
    assert graph.cleanup(keep=1, grace="0s", branches=["main"], confirm=True).commits_cleaned > 0

    assert all(readable(graph, "side")[:9])
    assert graph.fsck().findings == ()


def test_a_cleanup_of_one_type_leaves_the_tables_of_others(graph: Graph) -> None:
    foreseen = graph.cleanup(keep=1, grace="0s", types=["Person"])
    done = graph.cleanup(keep=1, grace="0s", types=["Person"], confirm=True)

    assert {each.table_key for each in done.tables} == {PERSON}
    assert foreseen.old_versions_removed == done.old_versions_removed > 0
    rest = graph.cleanup(keep=1, grace="0s", confirm=True)
    assert {each.table_key for each in rest.tables} == {KNOWS}
    assert graph.fsck().findings == ()


def test_a_check_is_limited_to_branches_and_types(graph: Graph) -> None:
    write(graph, {PERSON: (DeleteRows(pa.array(["bob"])),)}, "side")

    assert not graph.fsck().is_sound
    assert graph.fsck(branches=["main"]).is_sound
    assert graph.fsck(types=["Company"]).is_sound
    assert not graph.fsck(types=["Knows"]).is_sound
    assert not graph.fsck(branches=["side"], types=["Knows"]).is_sound
    assert graph.fsck(branches=["main"]).versions < graph.fsck().versions
    assert COMPANY in graph.snapshot().commit.tables


def test_what_the_graph_lacks_is_not_cleaned_or_checked_in_silence(graph: Graph) -> None:
    with pytest.raises(BranchNotFoundError, match="no branch 'sid'"):
        graph.fsck(branches=["sid"])
    with pytest.raises(BranchNotFoundError, match="no branch 'sid'"):
        graph.cleanup(keep=1, branches=["sid"])
    with pytest.raises(TableNotFoundError, match="no type 'Persn'"):
        graph.fsck(types=["Persn"])
    with pytest.raises(TableNotFoundError, match="no type 'Persn'"):
        graph.cleanup(keep=1, types=["Persn"])


def test_both_say_how_far_they_are(graph: Graph) -> None:
    told: list[str] = []

    class Told:
        def begin(self, stage: str, size: int = 0) -> None:
            told.append(stage)

        def advance(self, done: int, total: int) -> None:
            told.append(f"{done} of {total}")

    graph.cleanup(keep=1, grace="0s", confirm=True, progress=Told())
    graph.fsck(progress=Told())

    assert "removing files" in told
    assert "reading rows" in told
    assert "2 of 2" in told
