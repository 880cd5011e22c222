"""What goes wrong in the model without a rule of cleanup is done to the product, too.

Each test is named after the rule of tests/protocol/rules.py whose counterexample it replays.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    CommitCleanedError,
    OmniGraphError,
    StorageError,
)
from omnigraph.schema.compile import compile_schema
from omnigraph.storage import layout
from omnigraph.storage.objects import Objects, Stored
from omnigraph.storage.table import Table
from omnigraph.versioning.heads.head import Head
from omnigraph.versioning.manifest.manifest import Manifest
from omnigraph.versioning.writes import Overwrite
from tests.maintenance.interrupting import before_flip, die, do_at
from tests.maintenance.tidying import (
    EVE,
    WIDER,
    cleaned,
    clock_ahead,
    days_later,
    grown,
    readable,
    sound,
)
from tests.sample import PERSON, ages, people, write


def test_look_at_mark__a_branch_made_after_the_plan_keeps_its_commit(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    do_at(monkeypatch, "versions buried", lambda: graph.create_branch("late", commits[2].id))

    cleaned(graph, keep=1)

    assert len(ages(graph, "late")) == 3
    sound(graph, "main", "late")


def test_follow_parents__a_commit_that_a_new_branch_left_keeps_its_grace_period(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    days_later(graph, 10)

    def make_and_go_on() -> None:
        graph.create_branch("late", commits[2].id)
        write(graph, {PERSON: (Overwrite(people({"new": 1})),)}, "late")

    do_at(monkeypatch, "versions buried", make_and_go_on)
    graph.cleanup(keep=1, confirm=True)

    assert readable(graph, commits[2])
    assert not readable(graph, commits[1])
    sound(graph, "main", "late")


def test_follow_files__a_revert_keeps_the_files_of_the_commit_it_goes_back_to(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, last = grown(graph, 2)
    graph.apply_schema(WIDER)
    do_at(monkeypatch, "versions buried", lambda: graph.revert(last.id))

    cleaned(graph, keep=1)

    assert set(ages(graph)) == {"main0"}
    sound(graph, "main")


def test_follow_retired__a_commit_whose_branch_came_and_went_keeps_its_grace_period(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    days_later(graph, 10)

    def come_and_go() -> None:
        graph.create_branch("late", commits[2].id)
        graph.delete_branch("late")

    do_at(monkeypatch, "versions buried", come_and_go)
    graph.cleanup(keep=1, confirm=True)

    assert [readable(graph, each) for each in commits] == [False, False, True, False, False, True]
    days_later(graph, 12)
    graph.cleanup(keep=1, confirm=True)
    assert [readable(graph, each) for each in commits] == [False] * 5 + [True]
    assert graph.fsck().findings == ()


@pytest.mark.parametrize("step", ["fragments written", "version staged", "commit ready"])
def test_ask_base__an_ingest_whose_base_is_cleaned_up_is_refused(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    commits = grown(graph, 6)
    do_at(monkeypatch, step, lambda: cleaned(rival, keep=1))

    with pytest.raises(OmniGraphError):
        graph.ingest(EVE, branch="late", base=commits[2].id)

    assert graph.branches() == ["main"]
    sound(graph, "main")


@pytest.mark.parametrize("make", [Graph.create_branch, Graph.create_tag])
def test_guard_new_names__no_name_is_left_at_a_commit_that_is_cleaned_up(
    graph: Graph,
    rival: Graph,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Graph, str, str], object],
) -> None:
    commits = grown(graph, 6)
    before_flip(monkeypatch, lambda: cleaned(rival, keep=1))
    do_at(monkeypatch, "branch flipped", die)

    with pytest.raises(CommitCleanedError):
        make(graph, "late", commits[2].id)

    assert (graph.branches(), graph.tags()) == (["main"], {})
    sound(graph, "main")


def test_revoke_untouched__a_cleanup_that_removed_something_stays_told(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    do_at(monkeypatch, "manifests removed", die)
    with pytest.raises(KeyboardInterrupt):
        cleaned(graph, keep=1)
    manifest, old = graph.repository.manifest, commits[2]
    # Release 0.1 makes a branch like this, and looks afterwards, unless it is killed.
    manifest.flip(manifest.newest(), {"late": Head("late", old.id, old.version, 0)})

    with pytest.raises(StorageError):
        cleaned(graph, keep=1)

    assert not any(readable(graph, each) for each in commits[:5])
    graph.delete_branch("late")
    sound(graph, "main")


def test_keep_schemas__a_schema_that_is_applied_after_the_listing_stays(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(graph, 2)
    graph.repository.accept_schema(compile_schema(WIDER), WIDER)  # and then it was killed
    days_later(graph, 2)
    listing = Objects.listing
    applied: list[bool] = []

    def listed(self: Objects, folder: str = "") -> list[Stored]:
        found = listing(self, folder)
        if not applied:
            applied.append(True)
            rival.apply_schema(WIDER)
        return found

    monkeypatch.setattr(Objects, "listing", listed)
    graph.cleanup(keep=10, confirm=True)

    sound(graph, "main")
    assert Path(graph.uri, layout.schema_path(rival.snapshot().commit.schema)).exists()


def test_note_begin__what_a_cleanup_buried_that_was_never_marked_is_not_told_as_gone(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    days_later(graph, 1)
    mark = Manifest.mark_cleaning

    def late(self: Manifest, at: Table, cleanup: str) -> Table:
        monkeypatch.setattr(Manifest, "mark_cleaning", mark)
        do_at(monkeypatch, "versions buried", die)
        with pytest.raises(KeyboardInterrupt):
            cleaned(rival, keep=1)
        return mark(self, at, cleanup)

    monkeypatch.setattr(Manifest, "mark_cleaning", late)
    cleaned(graph, keep=3)

    assert [readable(graph, each) for each in commits] == [False] * 3 + [True] * 3
    assert graph.fsck().findings == ()


def test_tell_apart__two_cleanups_have_two_ids_after_one_whose_clock_was_ahead(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    ahead = open_graph(graph.uri, durable=False)
    ahead.repository.clock = clock_ahead()
    cleaned(ahead, keep=5)

    def clean_beside() -> None:
        cleaned(rival, keep=3)
        die()

    do_at(monkeypatch, "versions buried", clean_beside)
    with pytest.raises(KeyboardInterrupt):
        cleaned(graph, keep=1)

    assert [readable(graph, each) for each in commits] == [False] * 3 + [True] * 3
    assert graph.fsck().findings == ()


def test_tell_apart__a_cleanup_that_starts_again_has_another_id(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    ahead = open_graph(graph.uri, durable=False)
    ahead.repository.clock = clock_ahead()
    cleaned(ahead, keep=5)
    do_at(monkeypatch, "versions buried", lambda: graph.create_branch("late", commits[2].id))

    cleaned(graph, keep=1)

    assert readable(graph, commits[2])
    graph.create_branch("another", commits[2].id)
    sound(graph, "main", "late", "another")


def test_look_after_copy__a_cleanup_after_the_manifest_was_read_is_noticed(
    graph: Graph, rival: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    listing, listed = Objects.listing, []

    def late(self: Objects, folder: str = "") -> list[Stored]:
        if not folder and self == graph.repository.store.objects:
            listed.append(folder)
            if len(listed) == 1:
                cleaned(rival, keep=1)
        return listing(self, folder)

    monkeypatch.setattr(Objects, "listing", late)
    done = graph.backup(tmp_path / "backup")

    assert done.is_sound
    copy = open_graph(tmp_path / "backup", read_only=True)
    assert len(ages(copy)) == 6
    with pytest.raises(CommitCleanedError):
        ages(copy, commits[2].id)
