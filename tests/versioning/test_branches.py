"""Branches are made, renamed and deleted by one flip each."""

import threading
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BranchExistsError,
    BranchNameError,
    BranchNotFoundError,
    CommitNotFoundError,
    HeadMovedError,
    ReadOnlyError,
)
from omnigraph.versioning.branches import create_system_branch, delete_system_branch
from omnigraph.versioning.names import SCHEMA_LOCK, TAG
from omnigraph.versioning.writes import Upsert
from tests.maintenance.interrupting import before_flip
from tests.sample import PERSON, ages, new_graph, people, write


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = new_graph(tmp_path / "g")
    write(made, {PERSON: (Upsert(people({"ada": 1})),)})
    return made


def set_age(graph: Graph, age: int, branch: str = "main") -> None:
    write(graph, {PERSON: (Upsert(people({"ada": age})),)}, branch)


def test_a_branch_starts_where_its_source_stands_and_goes_its_own_way(graph: Graph) -> None:
    graph.create_branch("draft")
    set_age(graph, 2, "draft")
    set_age(graph, 3)
    assert (ages(graph), ages(graph, "draft")) == ({"ada": 3}, {"ada": 2})


def test_a_branch_can_start_from_a_branch_or_an_old_commit(graph: Graph) -> None:
    old = graph.snapshot().commit.id
    set_age(graph, 2)
    graph.create_branch("past", old)
    graph.create_branch("copy", "past")
    assert ages(graph, "past") == ages(graph, "copy") == {"ada": 1}


def test_branches_are_listed_with_main_first(graph: Graph) -> None:
    for name in ("zeta", "alpha/one"):
        graph.create_branch(name)
    assert graph.branches() == ["main", "alpha/one", "zeta"]


@pytest.mark.parametrize("name", ["draft", "DRAFT", "Draft"])
def test_a_name_that_is_taken_or_too_alike_is_refused(graph: Graph, name: str) -> None:
    graph.create_branch("draft")
    with pytest.raises(BranchExistsError):
        graph.create_branch(name)
    with pytest.raises(BranchExistsError):
        graph.create_branch("MAIN")


def test_a_branch_is_found_only_by_its_own_spelling(graph: Graph) -> None:
    graph.create_branch("Draft")
    with pytest.raises(BranchNotFoundError) as missing:
        graph.snapshot("draft")
    assert missing.value.hint == "did you mean 'Draft'?"


def test_a_deleted_branch_is_gone_and_its_name_free(graph: Graph) -> None:
    graph.create_branch("draft")
    set_age(graph, 2, "draft")
    last = graph.snapshot("draft").commit.id
    graph.delete_branch("draft")
    assert graph.branches() == ["main"]
    assert ages(graph, last) == {"ada": 2}
    graph.create_branch("draft")
    assert ages(graph, "draft") == {"ada": 1}


def test_a_renamed_branch_keeps_its_commits(graph: Graph) -> None:
    graph.create_branch("draft")
    set_age(graph, 2, "draft")
    graph.rename_branch("draft", "review/final")
    assert graph.branches() == ["main", "review/final"]
    assert ages(graph, "review/final") == {"ada": 2}
    graph.rename_branch("review/final", "Review/Final")
    assert graph.branches() == ["main", "Review/Final"]


def test_main_can_be_neither_deleted_nor_renamed(graph: Graph) -> None:
    with pytest.raises(BranchNameError, match="'main' cannot be deleted"):
        graph.delete_branch("main")
    with pytest.raises(BranchNameError, match="'main' cannot be renamed"):
        graph.rename_branch("main", "other")


def test_what_does_not_exist_is_not_found(graph: Graph) -> None:
    with pytest.raises(BranchNotFoundError, match="no branch 'nope'"):
        graph.delete_branch("nope")
    with pytest.raises(BranchNotFoundError):
        graph.rename_branch("nope", "other")
    with pytest.raises(BranchNotFoundError):
        graph.create_branch("x", "nope")
    with pytest.raises(CommitNotFoundError):
        graph.create_branch("x", "0" * 26)
    assert graph.branches() == ["main"]


def test_system_branches_are_hidden_and_out_of_reach(graph: Graph) -> None:
    create_system_branch(graph.repository, "__run__1")
    assert graph.branches() == ["main"]
    assert ages(graph, "__run__1") == {"ada": 1}
    with pytest.raises(BranchNotFoundError):
        graph.delete_branch("__run__1")
    delete_system_branch(graph.repository, "__run__1")
    with pytest.raises(BranchNotFoundError):
        graph.snapshot("__run__1")


def test_a_graph_opened_for_reading_changes_nothing(graph: Graph) -> None:
    reader = open_graph(graph.uri, read_only=True)
    with pytest.raises(ReadOnlyError):
        reader.create_branch("draft")
    with pytest.raises(ReadOnlyError):
        set_age(reader, 2)
    assert (reader.branches(), ages(reader)) == (["main"], {"ada": 1})


def _made(graph: Graph, name: str, commit: str) -> None:
    if name.startswith("__"):
        create_system_branch(graph.repository, name, commit)
    else:
        graph.create_branch(name, commit)


def _deleted(graph: Graph, name: str) -> None:
    if name.startswith("__"):
        delete_system_branch(graph.repository, name)
    else:
        graph.delete_branch(name)


PAIRS = [
    ("one", "two"),
    ("two", "one"),
    ("one", f"{TAG}v1"),
    (f"{TAG}v1", "one"),
    (f"{TAG}v1", f"{TAG}v2"),
    ("one", SCHEMA_LOCK),
    (SCHEMA_LOCK, "one"),
    ("__run__1", "__run__2"),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_deletes_at_once_of_the_only_names_of_a_commit_do_not_lose_it(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    graph.create_branch("draft")
    set_age(graph, 2, "draft")
    commit = graph.snapshot("draft").commit
    _made(graph, first, commit.id)
    _made(graph, second, commit.id)
    graph.delete_branch("draft")
    before_flip(monkeypatch, lambda: _deleted(graph, second))

    _deleted(graph, first)

    assert graph.branches() == ["main"]
    assert graph.commit(commit.id) == commit
    assert ages(open_graph(graph.uri, durable=False), commit.id) == {"ada": 2}
    assert graph.fsck().findings == ()


def test_a_branch_is_deleted_only_where_it_is_expected_to_stand(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("draft")
    seen = graph.snapshot("draft").commit.id
    before_flip(monkeypatch, lambda: set_age(graph, 2, "draft"))

    with pytest.raises(HeadMovedError, match=f"'draft' stands at .*, not at {seen}"):
        graph.delete_branch("draft", expect=seen)

    assert ages(graph, "draft") == {"ada": 2}
    graph.delete_branch("draft", expect=graph.snapshot("draft").commit.id)
    assert graph.branches() == ["main"]


def test_a_rename_beside_a_delete_of_the_other_name_of_a_commit_does_not_lose_it(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("one")
    set_age(graph, 2, "one")
    commit = graph.snapshot("one").commit
    graph.create_branch("two", "one")

    def rename_and_delete() -> None:
        graph.rename_branch("two", "three")
        graph.delete_branch("three")

    before_flip(monkeypatch, rename_and_delete)
    graph.delete_branch("one")

    assert graph.branches() == ["main"]
    assert ages(graph, commit.id) == {"ada": 2}


def test_many_deletes_at_once_of_all_names_of_a_commit_do_not_lose_it(graph: Graph) -> None:
    graph.create_branch("draft")
    set_age(graph, 2, "draft")
    commit = graph.snapshot("draft").commit
    names = ["draft", *"abcdefghijk"]
    for name in names[1:]:
        graph.create_branch(name, "draft")
    handles = [open_graph(graph.uri, durable=False) for _ in names]
    threads = [
        threading.Thread(target=handle.delete_branch, args=(name,))
        for handle, name in zip(handles, names, strict=True)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)

    assert graph.branches() == ["main"]
    assert ages(graph, commit.id) == {"ada": 2}
