"""History can be walked: log, commits by id and version, and where two commits came from."""

from itertools import pairwise
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import BranchNotFoundError, CommitNotFoundError, TableNotFoundError
from omnigraph.versioning.history.history import merge_bases
from omnigraph.versioning.writes import Upsert
from tests.sample import PERSON, ages, new_graph, people, write


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "g")


def add(graph: Graph, age: int, branch: str = "main", merged: str | None = None) -> str:
    changes = {PERSON: (Upsert(people({"ada": age})),)}
    return write(graph, changes, branch, message=str(age), merged_parent=merged).id


def test_the_log_gives_commits_newest_first_down_to_the_first(graph: Graph) -> None:
    made = [add(graph, age) for age in range(5)]
    commits = list(graph.log())
    assert [commit.id for commit in commits[:-1]] == made[::-1]
    assert (commits[-1].kind, commits[-1].parents) == ("init", ())
    assert [commit.version for commit in commits] == [5, 4, 3, 2, 1, 0]
    assert all(a.created_at > b.created_at for a, b in pairwise(commits))


def test_the_log_can_be_read_in_pages(graph: Graph) -> None:
    for age in range(7):
        add(graph, age)
    page = list(graph.log(limit=3))
    rest = list(graph.log(after=page[-1].id))
    assert [commit.version for commit in page] == [7, 6, 5]
    assert [commit.version for commit in rest] == [4, 3, 2, 1, 0]


def test_the_log_of_a_branch_continues_behind_its_own_commits_only(graph: Graph) -> None:
    parted = add(graph, 1)
    graph.create_branch("draft")
    aside, later = add(graph, 2, "draft"), add(graph, 3)

    assert [commit.version for commit in graph.log("draft", after=parted)] == [0]
    assert next(commit.id for commit in graph.log("main", after=later)) == parted
    for branch, commit in (("main", aside), ("draft", later)):
        with pytest.raises(CommitNotFoundError, match=f"'{branch}' never stood at"):
            list(graph.log(branch, after=commit))
    with pytest.raises(BranchNotFoundError):
        list(graph.log("gone", after=parted))


def test_the_log_of_a_branch_made_anew_has_nothing_of_the_old_one_of_its_name(
    graph: Graph,
) -> None:
    graph.create_branch("draft")
    old = [add(graph, age, "draft") for age in range(3)]
    graph.rename_branch("draft", "kept")
    graph.create_branch("draft")
    with pytest.raises(CommitNotFoundError, match=f"'draft' never stood at {old[-1]}"):
        list(graph.log("draft", after=old[-1]))
    assert next(commit.id for commit in graph.log("kept", after=old[-1])) == old[-2]

    new = [add(graph, age, "draft") for age in range(5)]
    with pytest.raises(CommitNotFoundError, match=f"'draft' never stood at {old[-1]}"):
        list(graph.log("draft", after=old[-1]))
    assert next(commit.id for commit in graph.log("draft", after=new[-1])) == new[-2]


def test_a_long_log_is_whole_for_a_fresh_process(graph: Graph) -> None:
    for age in range(80):
        add(graph, age)
    fresh = open_graph(graph.uri, read_only=True)
    assert [commit.version for commit in fresh.log()] == list(range(80, -1, -1))


def test_a_commit_records_who_what_and_when(graph: Graph) -> None:
    commit = graph.commit(add(graph, 30))
    assert commit.to_json() == {
        "graph_commit_id": commit.id,
        "manifest_branch": "main",
        "manifest_version": 1,
        "parent_commit_id": commit.parents[0],
        "merged_parent_commit_id": None,
        "actor_id": None,
        "created_at": commit.created_at,
        "kind": "write",
        "message": "30",
        "operation_id": commit.operation_id,
    }
    assert commit.created_at > 1_700_000_000_000_000


def test_every_version_of_a_branch_can_be_pinned(graph: Graph) -> None:
    for age in range(4):
        add(graph, age)
    graph.create_branch("draft")
    add(graph, 99, "draft")
    assert [ages(graph, graph.snapshot_at_version(v).commit.id) for v in (1, 2, 3, 4)] == [
        {"ada": age} for age in range(4)
    ]
    assert graph.snapshot_at_version(5, "draft").commit.branch == "draft"
    with pytest.raises(CommitNotFoundError, match="never had version 5"):
        graph.snapshot_at_version(5)


def test_one_entity_can_be_read_as_it_was(graph: Graph) -> None:
    add(graph, 30)
    add(graph, 31)
    found = graph.entity_at(PERSON, "ada", 1)
    assert found is not None
    assert found["age"] == 30
    assert graph.entity_at(PERSON, "bob", 1) is None
    with pytest.raises(TableNotFoundError, match="no table 'node:Nope'"):
        graph.entity_at("node:Nope", "x", 1)


def test_what_is_no_commit_is_not_found(graph: Graph) -> None:
    with pytest.raises(CommitNotFoundError):
        graph.commit("0" * 26)
    with pytest.raises(CommitNotFoundError):
        list(graph.log(after="0" * 26))


def test_two_branches_came_from_where_they_parted(graph: Graph) -> None:
    parted = add(graph, 1)
    graph.create_branch("draft")
    add(graph, 2)
    add(graph, 3, "draft")
    assert graph.merge_base("main", "draft").id == parted
    assert graph.merge_base("main", "main").id == graph.snapshot().commit.id


def test_after_a_merge_the_merged_commit_is_the_base(graph: Graph) -> None:
    add(graph, 1)
    graph.create_branch("draft")
    tip = add(graph, 3, "draft")
    add(graph, 2)
    merged = add(graph, 4, "main", merged=tip)
    assert graph.commit(merged).version == 3
    assert graph.commit(merged).merged_parent == tip
    add(graph, 5, "draft")
    assert graph.merge_base("main", "draft").id == tip


def test_a_criss_cross_history_has_two_bases(graph: Graph) -> None:
    add(graph, 1)
    graph.create_branch("draft")
    left, right = add(graph, 2), add(graph, 3, "draft")
    one, other = add(graph, 4, "main", merged=right), add(graph, 5, "draft", merged=left)
    found = {base.id for base in merge_bases(graph.repository, one, other)}
    assert found == {left, right}
    assert graph.merge_base("main", "draft").id in found
