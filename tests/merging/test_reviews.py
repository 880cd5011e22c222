"""Reviews: what is said about a branch stays with it, and whoever decides needs the right to."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from omnigraph.api.access import Access
from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.api.operations.reviews import ListBranchStatus
from omnigraph.errors import (
    BranchNotFoundError,
    DeniedError,
    HeadMovedError,
    InputError,
    OutcomeUnknownError,
    StorageError,
)
from omnigraph.merge.review.record import ReviewState
from omnigraph.storage import layout, steps
from omnigraph.storage.objects import Objects
from omnigraph.storage.table import Table
from omnigraph.storage.tables import Tables
from omnigraph.versioning.heads.head import Head
from omnigraph.versioning.history import history
from omnigraph.versioning.manifest.manifest import Manifest
from tests.sample import new_graph

POLICY = """
version: 1
groups: {authors: [ann], reviewers: [rob], leads: [lea]}
rules:
  - {id: read, allow: {actors: {group: authors}, actions: [read, change], branch_scope: any}}
  - {id: review, allow: {actors: {group: reviewers}, actions: [read, review], branch_scope: any}}
  - {id: lead, allow: {actors: {group: leads}, actions: [read, review], branch_scope: any}}
  - {id: merge, allow: {actors: {group: leads}, actions: [branch_merge], target_branch_scope: any}}
"""
ADD = "query add($slug: String, $age: I32?) { insert Person { slug: $slug name: $slug age: $age } }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    found = new_graph(tmp_path / "g")
    found.mutate(ADD, slug="ana", age=30)
    found.create_branch("draft").mutate(ADD, slug="bob", age=20)
    return found


def head(graph: Graph, branch: str = "draft") -> str:
    return graph.branch(branch).commit.id


def test_a_review_is_opened_discussed_decided_and_merged(graph: Graph) -> None:
    assert graph.review_record("draft") is None
    graph.set_review("draft", "open", "new people")
    graph.comment_review("draft", "how old?", type="Person", id="bob", property="age")
    graph.set_review("draft", "changes_asked", "ask bob")
    approved = graph.set_review("draft", "approved", expect=head(graph))
    assert (approved.state, approved.head, approved.into) == ("approved", head(graph), "main")

    merged = graph.merge("draft")

    found = graph.review_record("draft")
    assert found is not None
    assert merged.commit is not None
    assert found.state is ReviewState.MERGED
    assert found.events[-1].commit == merged.commit.id
    assert [str(each.state or "comment") for each in found] == [
        "open",
        "comment",
        "changes_asked",
        "approved",
        "merged",
    ]
    about = found.events[1].entity
    assert about is not None
    assert (about.type, about.id, about.property) == ("Person", "bob", "age")


def test_nothing_that_is_said_is_denied_when_it_cannot_be_flushed(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.comment_review("draft", "hello")
    sync = Tables.sync

    def flush(self: Tables, paths: Iterable[str]) -> None:
        named = list(paths)
        if any(each.startswith(layout.REVIEWS) for each in named):
            raise StorageError("cannot flush to disk")
        sync(self, named)

    monkeypatch.setattr(Tables, "sync", flush)
    with pytest.raises(OutcomeUnknownError, match="written but could not be flushed"):
        graph.set_review("draft", "approved")
    with pytest.raises(OutcomeUnknownError) as told:
        graph.merge("draft")

    found = graph.review_record("draft")
    assert found is not None
    assert found.state is ReviewState.MERGED
    assert f"'draft' was merged by commit {found.events[-1].commit}" in told.value.message
    assert found.events[-1].commit == graph.snapshot().commit.id


def test_nothing_that_is_said_is_in_the_history(graph: Graph) -> None:
    before = [each.id for each in graph.log()], head(graph)

    graph.comment_review("draft", "hello")

    assert ([each.id for each in graph.log()], head(graph)) == before


def test_a_merge_without_a_review_makes_none(graph: Graph) -> None:
    graph.merge("draft")

    assert graph.review_record("draft") is None


def test_the_second_of_two_reviewers_is_told_that_the_branch_moved(graph: Graph) -> None:
    seen, seen_main = head(graph), head(graph, "main")
    graph.branch("draft").mutate(ADD, slug="cid")

    with pytest.raises(HeadMovedError, match=r"'draft' stands at .*, not at"):
        graph.set_review("draft", "approved", expect=seen)
    with pytest.raises(HeadMovedError, match="'draft' stands at"):
        graph.merge("draft", expect=seen_main, expect_source=seen)
    graph.mutate(ADD, slug="dan")
    with pytest.raises(HeadMovedError):
        graph.merge("draft", expect=seen_main, expect_source=head(graph))

    done = graph.merge("draft", expect=head(graph, "main"), expect_source=head(graph))
    assert done.commit is not None


def test_a_merge_into_a_branch_that_moved_is_refused(graph: Graph) -> None:
    with pytest.raises(HeadMovedError):
        graph.merge("draft", expect=head(graph))


def test_a_review_goes_with_its_branch(graph: Graph) -> None:
    graph.comment_review("draft", "hello")

    graph.rename_branch("draft", "final/1")
    moved = graph.review_record("final/1")
    assert moved is not None
    assert [each.message for each in moved] == ["hello"]
    graph.create_branch("draft")
    assert graph.review_record("draft") is None

    graph.delete_branch("final/1")
    graph.create_branch("final/1")
    assert graph.review_record("final/1") is None


def test_a_branch_made_anew_while_the_old_one_is_deleted_keeps_its_review(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.comment_review("draft", "of the old one")
    other = open_graph(graph.uri)

    def make_anew(step: str) -> None:
        if step == "branch flipped":
            monkeypatch.setattr(steps, "observer", None)
            other.create_branch("draft")
            other.comment_review("draft", "of the new one")

    monkeypatch.setattr(steps, "observer", make_anew)
    graph.delete_branch("draft")

    found = graph.review_record("draft")
    assert found is not None
    assert [each.message for each in found] == ["of the new one"]


def test_a_branch_made_while_another_is_renamed_to_its_name_keeps_its_review(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, plain = open_graph(graph.uri), Manifest.twin

    def overtaken(manifest: Manifest, name: str, at: Table) -> Head | None:
        found = plain(manifest, name, at)
        if name == "final":
            monkeypatch.setattr(Manifest, "twin", plain)
            other.create_branch("final")
            other.comment_review("final", "of the new one")
        return found

    monkeypatch.setattr(Manifest, "twin", overtaken)
    with pytest.raises(InputError):
        graph.rename_branch("draft", "final")

    found = graph.review_record("final")
    assert found is not None
    assert [each.message for each in found] == ["of the new one"]


def test_renaming_to_a_name_that_is_taken_leaves_both_reviews(graph: Graph) -> None:
    graph.create_branch("other")
    graph.comment_review("draft", "of the draft")
    graph.comment_review("other", "of the other")

    with pytest.raises(InputError):
        graph.rename_branch("draft", "other")

    for name, said in (("draft", "of the draft"), ("other", "of the other")):
        found = graph.review_record(name)
        assert found is not None
        assert [each.message for each in found] == [said]


def test_a_rename_that_fails_says_why_although_its_review_cannot_be_cleared(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.comment_review("draft", "hello")

    def moved(*_: object) -> None:
        raise HeadMovedError("the branch kept moving")

    def refuse(*_: object) -> None:
        raise StorageError("the store is away")

    monkeypatch.setattr("omnigraph.versioning.branches.rename_branch", moved)
    monkeypatch.setattr(Objects, "delete_many", refuse)
    with pytest.raises(HeadMovedError):
        graph.rename_branch("draft", "final")
    monkeypatch.undo()

    found = graph.review_record("draft")
    assert found is not None
    assert [each.message for each in found] == ["hello"]
    graph.create_branch("final")
    assert graph.review_record("final") is None


def test_what_a_crash_left_is_not_the_review_of_a_new_branch(graph: Graph) -> None:
    graph.comment_review("draft", "old")
    from omnigraph.versioning.branches import delete_branch

    delete_branch(graph.repository, "draft")
    graph.create_branch("draft")

    assert graph.review_record("draft") is None


def test_what_a_crash_left_is_not_the_review_of_a_branch_that_an_ingest_makes(
    graph: Graph,
) -> None:
    graph.set_review("draft", "approved")
    from omnigraph.versioning.branches import delete_branch

    delete_branch(graph.repository, "draft")
    graph.ingest([{"slug": "eve", "name": "Eve"}], type="Person", branch="draft")

    assert graph.review_record("draft") is None
    graph.set_review("draft", "open")
    graph.ingest([{"slug": "fay", "name": "Fay"}], type="Person", branch="draft")
    kept = graph.review_record("draft")
    assert kept is not None
    assert kept.state is ReviewState.OPEN


def test_branches_are_listed_with_how_far_they_are_and_their_reviews(graph: Graph) -> None:
    graph.branch("draft", actor="ann", message="more").mutate(ADD, slug="cid")
    graph.mutate(ADD, slug="dan")
    graph.create_branch("same")
    graph.set_review("draft", "approved")
    graph.comment_review("draft", "late")
    graph.comment_review("same", "hm")

    found = {each.name: each for each in graph.branch_status()}

    assert list(found) == ["main", "draft", "same"]
    draft = found["draft"]
    assert (draft.ahead, draft.behind, draft.review) == (2, 1, "approved")
    assert (draft.head, draft.actor_id, draft.message) == (head(graph), "ann", "more")
    assert (found["main"].ahead, found["main"].behind, found["main"].review) == (0, 0, None)
    assert (found["same"].ahead, found["same"].behind, found["same"].review) == (0, 0, "open")


@pytest.mark.parametrize(("limit", "found"), [(None, ["main", "d", "draft"]), (1, ["main", "d"])])
def test_a_branch_that_is_deleted_while_branches_are_listed_is_left_out(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, limit: int | None, found: list[str]
) -> None:
    for name in ("b", "c", "d"):
        graph.create_branch(name)
    listed = Access.branches

    def branches(self: Access) -> list[str]:
        names = listed(self)
        for name in ("b", "c"):
            with suppress(BranchNotFoundError):
                graph.delete_branch(name)
        return names

    monkeypatch.setattr(Access, "branches", branches)

    assert [each.name for each in graph.backend.run(ListBranchStatus(limit=limit))] == found


def test_after_merges_both_ways_only_what_is_missing_is_counted(graph: Graph) -> None:
    graph.mutate(ADD, slug="cid")
    graph.branch("draft").merge("main")
    assert history.ahead_behind(graph.repository, head(graph), head(graph, "main")) == (2, 0)

    graph.merge("draft")
    graph.branch("draft").mutate(ADD, slug="dan")

    assert history.ahead_behind(graph.repository, head(graph), head(graph, "main")) == (1, 1)


def test_who_may_say_what_is_for_the_policy(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    under = open_graph(graph.uri, policy=tmp_path / "policy.yaml")
    ann, rob, lea = (under.acting_as(each) for each in ("ann", "rob", "lea"))

    rob.set_review("draft", "open")
    rob.comment_review("draft", "why?")
    found = lea.set_review("draft", "approved")
    assert [each.actor_id for each in found] == ["rob", "rob", "lea"]
    assert ann.review_record("draft") == found
    calls: list[Callable[[], object]] = [
        lambda: ann.comment_review("draft", "because"),
        lambda: rob.set_review("draft", "approved"),
        lambda: rob.set_review("draft", "changes_asked", "no"),
        lambda: under.acting_as("eve").review_record("draft"),
    ]
    for refused in calls:
        with pytest.raises(DeniedError):
            refused()


def test_a_backup_has_the_reviews(graph: Graph, tmp_path: Path) -> None:
    graph.comment_review("draft", "kept")

    graph.backup(tmp_path / "copy")

    found = open_graph(tmp_path / "copy").review_record("draft")
    assert found is not None
    assert [each.message for each in found] == ["kept"]
    assert graph.fsck().is_sound


def test_what_cannot_be_said_is_refused(graph: Graph) -> None:
    calls: list[Callable[[], object]] = [
        lambda: graph.set_review("draft", "merged"),
        lambda: graph.set_review("draft", "changes_asked"),
        lambda: graph.set_review("main", "open"),
        lambda: graph.comment_review("draft", "  "),
        lambda: graph.comment_review("draft", "x", id="bob"),
        lambda: graph.comment_review("draft", "x", type="Person", property="age"),
        lambda: graph.comment_review("draft", "x" * 20_000),
    ]
    for call in calls:
        with pytest.raises(InputError):
            call()
    assert graph.review_record("draft") is None
