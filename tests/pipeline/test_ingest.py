"""An ingest makes its branch together with its commit, or makes neither."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BranchExistsError,
    BranchNameError,
    BranchNotFoundError,
    CommitNotFoundError,
    OmniGraphError,
    ViolationsError,
)
from omnigraph.storage import steps
from tests.pipeline.loads import couple_ingested, edge, engine, history, node, person, text
from tests.sample import ages, edges, new_graph

__all__ = ["engine"]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = new_graph(tmp_path / "graph")
    made.load(text(person("ann", 30), person("bob", 31)), engine="inline")
    return made


def test_a_new_branch_appears_together_with_its_first_commit(graph: Graph, engine: str) -> None:
    before = history(graph)

    done = graph.ingest(
        text(person("cleo", 33), edge("Knows", "cleo", "ann")),
        branch="review/hires",
        engine=engine,
        actor="ann",
        message="new hires",
    )

    commit = done.loaded.commit
    assert commit is not None
    assert (done.branch_created, done.base_branch, done.actor) == (True, "main", "ann")
    assert history(graph) == {**before, "review/hires": [commit.id, *before["main"]]}
    assert (commit.branch, commit.parent) == ("review/hires", before["main"][0])
    assert (commit.actor, commit.message) == ("ann", "new hires")
    assert ages(graph, "review/hires") == {"ann": 30, "bob": 31, "cleo": 33}
    assert edges(graph, "review/hires") == {("cleo", "ann")}
    assert ages(graph) == {"ann": 30, "bob": 31}


def test_a_branch_that_is_there_is_used_and_its_base_does_not_matter(
    graph: Graph, engine: str
) -> None:
    graph.create_branch("draft")
    graph.load(text(person("cleo")), branch="draft", engine="inline")
    before = history(graph)

    done = graph.ingest(text(person("dan")), branch="draft", base="nowhere", engine=engine)

    assert done.loaded.commit is not None
    assert not done.branch_created
    assert history(graph)["draft"] == [done.loaded.commit.id, *before["draft"]]
    assert sorted(ages(graph, "draft")) == ["ann", "bob", "cleo", "dan"]


def test_the_mode_is_merge_unless_another_is_given(graph: Graph) -> None:
    merged = graph.ingest(text(person("ann", 99)), branch="merged", engine="inline")
    replaced = graph.ingest(
        text(person("cleo", 1)), branch="replaced", mode="overwrite", engine="inline"
    )

    assert (str(merged.loaded.mode), str(replaced.loaded.mode)) == ("merge", "overwrite")
    assert ages(graph, "merged") == {"ann": 99, "bob": 31}
    assert ages(graph, "replaced") == {"cleo": 1}
    with pytest.raises(ViolationsError, match="Person 'ann' exists already"):
        graph.ingest(text(person("ann")), branch="appended", mode="append", engine="inline")


def test_a_new_branch_may_start_at_another_branch_or_at_a_commit(graph: Graph) -> None:
    first = history(graph)["main"][0]
    graph.load(text(person("cleo")), engine="inline")
    graph.create_branch("other", first)
    graph.load(text(person("eve")), branch="other", engine="inline")

    graph.ingest(text(person("dan")), branch="at-a-commit", base=first, engine="inline")
    graph.ingest(text(person("dan")), branch="at-a-branch", base="other", engine="inline")

    assert sorted(ages(graph, "at-a-commit")) == ["ann", "bob", "dan"]
    assert sorted(ages(graph, "at-a-branch")) == ["ann", "bob", "dan", "eve"]
    assert history(graph)["at-a-commit"][1] == first


def test_rows_that_break_a_rule_leave_no_branch(graph: Graph, engine: str) -> None:
    before = history(graph)

    for bad in (node("Person", slug="x"), edge("Knows", "ann", "nobody")):
        with pytest.raises(ViolationsError):
            graph.ingest(text(person("cleo"), bad), branch="draft", engine=engine)

    assert history(graph) == before


@pytest.mark.parametrize(
    ("branch", "base", "error"),
    [
        ("draft", "nowhere", BranchNotFoundError),
        ("draft", "01ARZ3NDEKTSV4RRFFQ69G5FAV", CommitNotFoundError),
        ("two words", "main", BranchNameError),
        ("__lock__", "main", BranchNameError),
        ("", "main", BranchNameError),
    ],
)
def test_a_branch_that_cannot_be_made_is_refused_before_anything_is_read(
    graph: Graph, tmp_path: Path, branch: str, base: str, error: type[OmniGraphError]
) -> None:
    with pytest.raises(error):
        graph.ingest(tmp_path / "missing.jsonl", branch=branch, base=base, engine="inline")

    assert graph.branches() == ["main"]


def test_a_branch_whose_name_is_too_like_another_is_not_made(graph: Graph) -> None:
    graph.create_branch("Draft")
    before = history(graph)

    with pytest.raises(BranchExistsError):
        graph.ingest(text(person("cleo")), branch="draft", engine="inline")

    assert history(graph) == before


def test_of_two_that_make_the_same_branch_the_second_is_told_and_leaves_nothing(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_graph(graph.uri)

    def meanwhile(step: str) -> None:
        monkeypatch.setattr(steps, "observer", None)
        other.ingest(text(person("first")), branch="draft", engine="inline")

    monkeypatch.setattr(steps, "observer", meanwhile)
    with pytest.raises(OmniGraphError, match="draft"):
        graph.ingest(text(person("second")), branch="draft", engine="inline")

    assert len(history(graph)["draft"]) == len(history(graph)["main"]) + 1
    assert sorted(ages(graph, "draft")) == ["ann", "bob", "first"]


def test_a_base_that_moves_meanwhile_does_not_matter(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = history(graph)["main"][0]
    other = open_graph(graph.uri)

    def meanwhile(step: str) -> None:
        monkeypatch.setattr(steps, "observer", None)
        other.load(text(person("later")), engine="inline")

    monkeypatch.setattr(steps, "observer", meanwhile)
    graph.ingest(text(person("cleo")), branch="draft", engine="inline")

    assert history(graph)["draft"][1] == pinned
    assert sorted(ages(graph, "draft")) == ["ann", "bob", "cleo"]
    assert sorted(ages(graph)) == ["ann", "bob", "later"]


def test_nothing_to_load_makes_the_branch_without_a_commit(graph: Graph) -> None:
    before = history(graph)

    done = graph.ingest("", branch="draft", engine="inline")

    assert (done.branch_created, done.loaded.commit) == (True, None)
    assert history(graph) == {**before, "draft": before["main"]}


def test_a_dry_run_makes_no_branch(graph: Graph, engine: str) -> None:
    before = history(graph)

    done = graph.ingest(text(person("cleo")), branch="draft", dry_run=True, engine=engine)

    assert (done.branch_created, done.loaded.commit) == (False, None)
    assert done.loaded.nodes == {"Person": 1}
    assert history(graph) == before


def test_the_result_for_programs_has_the_documented_keys(graph: Graph) -> None:
    people = text(person("cleo"), person("dan"), edge("Knows", "cleo", "dan"))

    done = graph.ingest(people, branch="draft", actor="ann", engine="inline")

    assert done.loaded.commit == graph.snapshot("draft").commit
    assert done.to_json(graph.uri) == couple_ingested(graph, "ann")
