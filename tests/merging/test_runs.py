"""A run is written aside and published at once, given up, or left behind by a crash."""

from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BranchNotFoundError,
    InputError,
    MergeConflictsError,
    OmniGraphError,
    OutcomeUnknownError,
    RunNotFoundError,
    StorageError,
)
from omnigraph.merge import runs
from omnigraph.merge.merge import merge
from omnigraph.merge.run_record import RunRecord
from omnigraph.storage import steps
from omnigraph.storage.objects import Objects
from omnigraph.storage.table import Table
from omnigraph.versioning.manifest.manifest import Manifest
from tests.changes.town import content, do
from tests.maintenance.tidying import clock_ahead, days_later
from tests.merging.statements import update
from tests.merging.village import OURS, THEIRS, each, of
from tests.promises.faults import Faults, once


class Crash(Exception):
    """The process ends here."""


def age(graph: Graph, slug: str, target: str = OURS) -> object:
    found = of(graph, "Person", slug, target)
    assert found is not None
    return found["age"]


def hidden(graph: Graph) -> set[str]:
    """Return the names of all branches that are not listed."""
    manifest = graph.repository.manifest
    return {one.name for one in manifest.heads(manifest.newest()).values()} - {*graph.branches()}


def begun(graph: Graph, *statements: str) -> RunRecord:
    """Begin a run and write to it."""
    run = graph.begin_run(actor="eve")
    each(graph, *statements, branch=run.run_branch)
    return run


def crash_at(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    def observer(step: str) -> None:
        if step == wanted:
            monkeypatch.setattr(steps, "observer", None)
            raise Crash

    monkeypatch.setattr(steps, "observer", observer)


def test_a_run_begins_where_its_target_stands(graph: Graph) -> None:
    base = graph.snapshot().commit

    run = graph.begin_run(operation_hash="op", actor="eve")

    assert run.to_json() == {
        "run_id": run.run_id,
        "target_branch": "main",
        "run_branch": f"__run__{run.run_id}",
        "base_snapshot_id": base.id,
        "base_manifest_version": base.version,
        "operation_hash": "op",
        "actor_id": "eve",
        "status": "running",
        "published_snapshot_id": None,
        "created_at": run.created_at,
        "updated_at": run.created_at,
    }
    assert graph.snapshot(run.run_branch).commit == base
    assert graph.branches() == ["main"]


def test_what_a_run_writes_is_seen_by_nobody_until_it_is_published(graph: Graph) -> None:
    run = begun(graph, update("ada", age=1), update("bob", age=2))
    assert (age(graph, "ada"), age(graph, "bob")) == (30, 20)

    done = graph.publish_run(run.run_id, actor="adam", message="both at once")

    assert (age(graph, "ada"), age(graph, "bob")) == (1, 2)
    head = graph.snapshot().commit
    assert (str(done.status), done.published_snapshot_id) == ("published", head.id)
    assert (head.actor, head.message) == ("adam", "both at once")
    assert head.parents[0] == run.base_snapshot_id
    assert len([*graph.log()]) == 3
    assert done.updated_at > run.updated_at
    assert hidden(graph) == set()


def test_a_run_whose_target_did_not_move_is_published_by_pointer(graph: Graph) -> None:
    run = begun(graph, update("ada", age=1))
    tables = graph.snapshot(run.run_branch).commit.tables

    graph.publish_run(run.run_id)

    assert graph.snapshot().commit.tables == tables


def test_a_run_whose_target_moved_is_merged(graph: Graph) -> None:
    run = begun(graph, update("ada", age=1))
    each(graph, update("bob", age=2))

    done = graph.publish_run(run.run_id)

    assert (str(done.status), age(graph, "ada"), age(graph, "bob")) == ("published", 1, 2)


def test_a_run_that_clashes_with_its_target_goes_on_and_can_be_settled(graph: Graph) -> None:
    run = begun(graph, update("ada", age=1))
    each(graph, update("ada", age=2))

    with pytest.raises(MergeConflictsError):
        graph.publish_run(run.run_id)
    assert (str(graph.run_record(run.run_id).status), age(graph, "ada")) == ("running", 2)

    done = graph.publish_run(run.run_id, resolutions="theirs")
    assert (str(done.status), age(graph, "ada")) == ("published", 1)


def test_a_run_that_wrote_nothing_is_published_as_it_is(graph: Graph) -> None:
    head = graph.snapshot().commit.id

    done = graph.publish_run(graph.begin_run().run_id)

    assert (str(done.status), done.published_snapshot_id) == ("published", head)
    assert graph.snapshot().commit.id == head


@pytest.mark.parametrize("end", ["aborted", "failed"])
def test_a_run_that_is_given_up_leaves_a_record_and_no_branch(graph: Graph, end: str) -> None:
    before = content(graph)
    run = begun(graph, update("ada", age=1))

    done = graph.abort_run(run.run_id) if end == "aborted" else graph.fail_run(run.run_id)

    assert (str(done.status), done.published_snapshot_id) == (end, None)
    assert graph.run_record(run.run_id) == done
    assert content(graph) == before
    assert hidden(graph) == set()
    with pytest.raises(BranchNotFoundError):
        graph.snapshot(run.run_branch)


def test_a_run_ends_in_one_way_and_says_so_again(graph: Graph) -> None:
    ends = [graph.publish_run, graph.abort_run, graph.fail_run]
    for end in ends:
        run = begun(graph, update("ada", age=1))
        ended, head = end(run.run_id), graph.snapshot().commit.id

        assert end(run.run_id) == open_graph(graph.uri).run_record(run.run_id) == ended
        for other in set(ends) - {end}:
            with pytest.raises(InputError, match=f"is {ended.status} already"):
                other(run.run_id)
        assert graph.snapshot().commit.id == head


def test_runs_are_listed_newest_first_and_outlive_the_process(graph: Graph) -> None:
    first, second, third = (graph.begin_run() for _ in range(3))
    graph.abort_run(first.run_id)
    graph.publish_run(third.run_id)

    found = open_graph(graph.uri, read_only=True)

    assert [(run.run_id, str(run.status)) for run in found.runs()] == [
        (third.run_id, "published"),
        (second.run_id, "running"),
        (first.run_id, "aborted"),
    ]
    assert found.run_record(second.run_id) == second
    for unknown in ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "../x", ""):
        with pytest.raises(RunNotFoundError):
            found.run_record(unknown)


def test_an_operation_that_is_begun_again_gets_the_run_that_it_has(graph: Graph) -> None:
    graph.create_branch(THEIRS)
    first = graph.begin_run(operation_hash="op")

    again = open_graph(graph.uri).begin_run(operation_hash="op")

    assert again == first
    others = [graph.begin_run(THEIRS, operation_hash="op"), graph.begin_run(operation_hash="po")]
    assert len({first.run_id, *(run.run_id for run in others)}) == 3
    graph.abort_run(first.run_id)
    assert graph.begin_run(operation_hash="op").run_id != first.run_id


def test_an_operation_begun_by_two_at_the_same_moment_has_one_run(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[RunRecord] = []
    objects = graph.repository.store.objects
    names = objects.names

    def meanwhile(folder: str) -> list[str]:
        found = names(folder)
        if "operations" in folder and not others:
            monkeypatch.undo()
            others.append(open_graph(graph.uri).begin_run(operation_hash="op"))
        return found

    monkeypatch.setattr(type(objects), "names", lambda _, folder: meanwhile(folder))
    run = graph.begin_run(operation_hash="op")

    assert [run] == others
    assert graph.runs() == [run]
    assert hidden(graph) == {run.run_branch}


@pytest.mark.parametrize("step", ["run claimed", "branch flipped"])
def test_a_begin_that_was_cut_off_is_brought_to_its_end_by_the_next_one(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    crash_at(monkeypatch, step)
    with pytest.raises(Crash):
        graph.begin_run(operation_hash="op")
    assert graph.runs() == []

    run = graph.begin_run(operation_hash="op")

    assert (graph.runs(), hidden(graph)) == ([run], {run.run_branch})
    assert graph.begin_run(operation_hash="op") == run
    each(graph, update("ada", age=1), branch=run.run_branch)
    graph.publish_run(run.run_id)
    assert age(graph, "ada") == 1


def test_a_branch_with_a_live_run_cannot_be_deleted_or_renamed(graph: Graph) -> None:
    graph.create_branch(THEIRS)
    run = graph.begin_run(THEIRS)

    with pytest.raises(InputError, match=run.run_id):
        graph.delete_branch(THEIRS)
    with pytest.raises(InputError, match=run.run_id):
        graph.rename_branch(THEIRS, "other")
    assert THEIRS in graph.branches()

    graph.abort_run(run.run_id)
    graph.delete_branch(THEIRS)
    assert graph.branches() == ["main"]


def test_runs_that_ended_are_not_read_to_delete_or_rename_a_branch(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch(THEIRS)
    for _ in range(3):
        graph.abort_run(graph.begin_run(THEIRS).run_id)
    live = graph.begin_run()
    read: list[str] = []
    plain = Objects.read

    def noted(objects: Objects, path: str) -> bytes | None:
        read.append(path)
        return plain(objects, path)

    monkeypatch.setattr(Objects, "read", noted)

    graph.rename_branch(THEIRS, "other")
    graph.delete_branch("other")

    assert {each.split("/")[1] for each in read if each.startswith("_runs/")} == {live.run_id}


def test_a_run_whose_branch_a_crash_removed_keeps_no_other_branch(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch(THEIRS)
    run = graph.begin_run(THEIRS)
    crash_at(monkeypatch, "branch flipped")
    with pytest.raises(Crash):
        graph.abort_run(run.run_id)
    again = open_graph(graph.uri)
    assert str(again.run_record(run.run_id).status) == "running"

    again.delete_branch(THEIRS)

    assert str(again.abort_run(run.run_id).status) == "aborted"


def test_a_run_needs_a_branch_that_is_there(graph: Graph) -> None:
    with pytest.raises(BranchNotFoundError):
        graph.begin_run("nowhere")
    assert (graph.runs(), hidden(graph)) == ([], set())


def test_only_the_system_touches_the_branch_of_a_run(graph: Graph) -> None:
    run = graph.begin_run()

    with pytest.raises(OmniGraphError):
        graph.delete_branch(run.run_branch)
    with pytest.raises(OmniGraphError):
        graph.create_branch("__run__mine")
    assert hidden(graph) == {run.run_branch}


def test_a_run_published_just_before_a_crash_is_published_once(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(graph, update("ada", age=1))
    crash_at(monkeypatch, "head flipped")
    with pytest.raises(Crash):
        graph.publish_run(run.run_id)

    again = open_graph(graph.uri)
    head = again.snapshot().commit.id
    assert str(again.run_record(run.run_id).status) == "running"
    done = again.publish_run(run.run_id)

    assert (str(done.status), done.published_snapshot_id) == ("published", head)
    assert again.snapshot().commit.id == head
    assert age(again, "ada") == 1


def test_the_branch_of_a_run_that_never_began_is_removed_in_time(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_at(monkeypatch, "branch flipped")
    with pytest.raises(Crash):
        graph.begin_run()
    left = hidden(graph)
    assert (len(left), graph.runs()) == (1, [])

    later = open_graph(graph.uri)
    later.repository.clock = clock_ahead()
    runs.clean_up(later.repository)
    assert hidden(later) == left, "the clock of a machine ended what may be about to begin"
    days_later(later, 1)
    run = later.begin_run()

    assert hidden(later) == {run.run_branch}


def test_a_run_that_is_about_to_begin_is_left_alone_by_others(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[RunRecord] = []

    def observer(step: str) -> None:
        if step == "branch flipped" and not others:
            monkeypatch.setattr(steps, "observer", None)
            others.append(open_graph(graph.uri).begin_run())

    monkeypatch.setattr(steps, "observer", observer)
    run = graph.begin_run()

    assert hidden(graph) == {run.run_branch, others[0].run_branch}
    each(graph, update("ada", age=1), branch=run.run_branch)
    graph.publish_run(run.run_id)
    assert age(graph, "ada") == 1


def test_the_branch_of_a_run_that_ended_in_a_crash_is_removed_by_the_next_one(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(graph, update("ada", age=1))
    crash_at(monkeypatch, "branch retired")
    with pytest.raises(Crash):
        graph.publish_run(run.run_id)
    assert (str(graph.run_record(run.run_id).status), hidden(graph)) == (
        "published",
        {run.run_branch},
    )

    graph.abort_run(graph.begin_run().run_id)

    assert hidden(graph) == set()


@pytest.mark.parametrize("step", ["end claimed", "branch retired", "branch flipped"])
def test_an_abort_that_was_cut_off_is_brought_to_its_end_by_the_next_one(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    before = content(graph)
    run = begun(graph, update("ada", age=1))
    crash_at(monkeypatch, step)
    with pytest.raises(Crash):
        graph.abort_run(run.run_id)

    with pytest.raises(InputError, match="is about to be aborted"):
        graph.publish_run(run.run_id)
    assert graph.abort_run(run.run_id).status == "aborted"

    assert (content(graph), hidden(graph)) == (before, set())


def test_records_of_runs_are_plain_files(graph: Graph) -> None:
    run = graph.begin_run()
    graph.abort_run(run.run_id)

    names = sorted(path.name for path in Path(graph.uri, "_runs", run.run_id).iterdir())
    assert names == ["begun.json", "claimed.json", "ended.json"]


@pytest.mark.parametrize("damage", ["{", "[]", '{"status": "lost"}'])
def test_a_record_that_cannot_be_read_is_named(graph: Graph, damage: str) -> None:
    record = graph.begin_run()
    path = Path(graph.uri, "_runs", record.run_id, "begun.json")
    path.write_text(damage)

    for do_it in (
        graph.runs,
        lambda: graph.run_record(record.run_id),
        lambda: graph.delete_branch(THEIRS),
    ):
        with pytest.raises(StorageError, match=f"{record.run_id}/begun.json, cannot be read"):
            do_it()


def test_a_run_that_is_being_published_cannot_be_aborted_meanwhile(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(graph, update("ada", age=1))

    def overtaken(*given: Any, **more: Any) -> Any:
        with pytest.raises(InputError, match="is about to be published"):
            graph.abort_run(run.run_id)
        return merge(*given, **more)

    monkeypatch.setattr(runs, "merge", overtaken)

    assert graph.publish_run(run.run_id).status == "published"
    assert age(graph, "ada") == 1


def test_a_run_that_could_not_be_published_can_be_aborted(graph: Graph) -> None:
    run = begun(graph, update("ada", age=1))
    do(graph, update("ada", age=2))
    with pytest.raises(MergeConflictsError):
        graph.publish_run(run.run_id)

    assert graph.abort_run(run.run_id).status == "aborted"


def test_a_publisher_that_failed_leaves_the_claim_of_another_one(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(graph, update("ada", age=1))
    each(graph, update("ada", age=2))
    failed: list[str] = []

    def observer(step: str) -> None:
        if step == "commit ready" and not failed:
            failed.append(step)
            with pytest.raises(MergeConflictsError):
                open_graph(graph.uri).publish_run(run.run_id)
            with pytest.raises(InputError, match="is about to be published"):
                graph.abort_run(run.run_id)

    monkeypatch.setattr(steps, "observer", observer)
    done = graph.publish_run(run.run_id, resolutions="theirs")

    assert (failed, str(done.status), age(graph, "ada")) == (["commit ready"], "published", 1)


def test_a_run_that_was_given_up_is_not_published_by_who_relied_on_the_claim_of_another(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(graph, update("ada", age=1))
    each(graph, update("ada", age=2))
    before = content(graph)
    claimed, may_fail = Event(), Event()
    ended: list[RunRecord] = []

    def fails() -> None:
        with pytest.raises(MergeConflictsError):
            open_graph(graph.uri).publish_run(run.run_id)

    def observer(step: str) -> None:
        if step == "end claimed" and current_thread() is other:
            claimed.set()
            assert may_fail.wait(30), "nobody let the first publisher go on"
        if step == "commit ready" and not ended and current_thread() is not other:
            may_fail.set()
            other.join(30)
            ended.append(graph.abort_run(run.run_id))

    other = Thread(target=fails)
    monkeypatch.setattr(steps, "observer", observer)
    other.start()
    assert claimed.wait(30), "the first publisher never claimed the run"
    with pytest.raises(BranchNotFoundError):
        graph.publish_run(run.run_id, resolutions="theirs")

    assert [str(record.status) for record in (*ended, graph.run_record(run.run_id))] == [
        "aborted"
    ] * 2
    assert content(graph) == before


@pytest.mark.parametrize("status", ["published", "aborted"])
def test_a_run_ends_although_the_reply_to_its_claim_is_lost(
    graph: Graph, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(graph, update("ada", age=1))
    faults = Faults()
    faults.install(monkeypatch)
    end = graph.publish_run if status == "published" else graph.abort_run

    with faults.broken(once(lambda call: "after" if call.decides("claimed.json") else None)):
        assert str(end(run.run_id).status) == status

    assert age(graph, "ada") == (1 if status == "published" else 30)


def test_a_publication_that_fails_says_why_although_its_claim_stays(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(graph, update("ada", age=1))
    each(graph, update("ada", age=2), branch=OURS)

    def refuse(_: Objects, path: str) -> None:
        raise StorageError(f"cannot delete {path}")

    with monkeypatch.context() as patch:
        patch.setattr(Objects, "delete", refuse)
        with pytest.raises(MergeConflictsError):
            graph.publish_run(run.run_id)

    published = graph.publish_run(run.run_id, resolutions="theirs")
    assert (str(published.status), age(graph, "ada")) == ("published", 1)


def test_a_run_whose_publishing_has_an_unknown_outcome_is_not_given_up(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(graph, update("ada", age=1))
    faults = Faults()
    faults.install(monkeypatch)

    def fail(*_: object) -> Table:
        raise StorageError("the store is away")

    lost = once(lambda call: "after" if "branch/main" in call.flips else None)
    with faults.broken(lost), monkeypatch.context() as patch:
        patch.setattr(Manifest, "settled", fail)
        with pytest.raises(OutcomeUnknownError):
            graph.publish_run(run.run_id)

    for end in (graph.abort_run, graph.fail_run):
        with pytest.raises(InputError, match="is about to be published"):
            end(run.run_id)
    assert (str(graph.publish_run(run.run_id).status), age(graph, "ada")) == ("published", 1)


def test_a_claim_that_a_crash_left_gives_way_in_time_but_not_to_a_lie(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, landed = (begun(graph, update(name, age=1)) for name in ("ada", "bob"))
    for run, step in ((lost, "end claimed"), (landed, "head flipped")):
        crash_at(monkeypatch, step)
        with pytest.raises(Crash):
            graph.publish_run(run.run_id)
    later = open_graph(graph.uri)
    later.repository.clock = clock_ahead()
    with pytest.raises(InputError, match="is about to be published"):
        later.abort_run(lost.run_id)
    days_later(later, 1)

    assert later.abort_run(lost.run_id).status == "aborted"
    with pytest.raises(InputError, match="is published already"):
        later.abort_run(landed.run_id)

    assert str(later.run_record(landed.run_id).status) == "published"
    assert (age(graph, "ada"), age(graph, "bob"), hidden(graph)) == (30, 1, set())


def test_a_run_whose_record_was_lost_names_the_commit_that_published_it(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(graph, update("ada", age=31))

    def crash(*_: object) -> RunRecord:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(runs, "_record_published", crash)
        with pytest.raises(Crash):
            graph.publish_run(run.run_id)
    published = graph.snapshot().commit.id
    do(graph, update("bob", age=21))

    assert graph.publish_run(run.run_id).published_snapshot_id == published
