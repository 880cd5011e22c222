"""Cleanup removes what only old commits need, and nothing that anybody can still ask for."""

import hashlib
import os
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    CancelledError,
    CommitCleanedError,
    InputError,
    OutcomeUnknownError,
    ReadOnlyError,
    StorageError,
)
from omnigraph.maintain import cleanup as cleaning
from omnigraph.merge.run_record import RunRecord
from omnigraph.storage import layout, steps
from omnigraph.storage.objects import Objects
from omnigraph.versioning.history.retention import duration
from omnigraph.versioning.writes import Append, DeleteRows, Overwrite, Upsert, WriteSet, stage
from tests.maintenance.interrupting import before_flip, die, do_at
from tests.maintenance.tidying import (
    cleaned,
    clock_ahead,
    days_behind,
    days_later,
    grown,
    readable,
)
from tests.sample import KNOWS, PERSON, ages, edges, knows, new_graph, people, write


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


def _content(root: str) -> dict[str, str]:
    files = (path for path in Path(root).rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_newest_commits_of_each_branch_stay_and_older_ones_say_that_they_are_gone(
    graph: Graph,
) -> None:
    grown(graph)
    graph.create_branch("draft")
    grown(graph, 5, "draft")
    mine, theirs = list(graph.log()), list(graph.log("draft"))
    rows = ages(graph), ages(graph, "draft")

    done = cleaned(graph, keep=3)

    assert [readable(graph, each) for each in mine[:4]] == [True, True, True, False]
    assert [readable(graph, each) for each in theirs[:4]] == [True, True, True, False]
    assert (ages(graph), ages(graph, "draft")) == rows
    assert [each.id for each in graph.log()] == [each.id for each in mine]
    assert graph.commit(mine[5].id) == mine[5]
    (table,) = [each for each in done.tables if each.table_key == PERSON]
    assert table.old_versions_removed == 11
    assert table.bytes_removed > 10_000
    assert done.to_json("x")["commits_cleaned"] == 11
    assert graph.fsck().findings == ()
    again = open_graph(graph.uri, durable=False)
    with pytest.raises(CommitCleanedError, match="was cleaned up"):
        again.at(mine[8].id).snapshot.table(PERSON)
    with pytest.raises(CommitCleanedError, match="was cleaned up"):
        again.snapshot_at_version(mine[8].version)
    with pytest.raises(CommitCleanedError):
        list(again.diff(mine[8].id))


def test_a_preview_tells_the_same_and_changes_nothing(graph: Graph) -> None:
    grown(graph)
    before = _content(graph.uri)

    preview = open_graph(graph.uri, read_only=True).cleanup(keep=2, grace="0s")

    assert _content(graph.uri) == before
    assert not preview.confirmed
    done = cleaned(graph, keep=2)
    assert (done.tables, done.commits_kept) == (preview.tables, preview.commits_kept)
    assert cleaned(graph, keep=2).tables == ()


def test_what_was_current_within_the_age_stays(graph: Graph) -> None:
    old = grown(graph, 3)
    days_later(graph, 10)
    rows = [people({f"late{number}": number}) for number in range(2)]
    lately = [write(graph, {PERSON: (Append(each),)}) for each in rows]
    days_later(graph, 12)

    cleaned(graph, older_than="7d")

    # The last of the old ones was what main stood at ten days long.
    assert [readable(graph, each) for each in old] == [False, False, True]
    assert all(readable(graph, each) for each in lately)


@pytest.mark.parametrize("why", ["failed", "cancelled"])
def test_a_cleanup_that_fails_once_it_ended_a_run_says_so(
    graph: Graph, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, cancelled = graph.begin_run(), threading.Event()
    days_later(graph, 40)
    plan = cleaning._plan

    def fails(*given: Any) -> Any:
        if why == "failed":
            raise StorageError("the store is away")
        cancelled.set()
        return plan(*given)

    monkeypatch.setattr(cleaning, "_plan", fails)
    with pytest.raises(OutcomeUnknownError, match="the cleanup ended 1 old run"):
        graph.cleanup(older_than="30d", confirm=True, cancelled=cancelled)
    with pytest.raises(StorageError if why == "failed" else CancelledError):
        graph.cleanup(older_than="30d", confirm=True, cancelled=cancelled)

    assert str(graph.run_record(run.run_id).status) == "failed"


def test_keep_and_older_than_keep_what_either_keeps(graph: Graph) -> None:
    old = grown(graph, 6)
    days_later(graph, 10)
    write(graph, {PERSON: (Append(people({"late": 1})),)})

    cleaned(graph, keep=3, older_than=timedelta(days=7))

    assert [readable(graph, each) for each in old] == [False] * 4 + [True, True]


def test_nothing_of_the_grace_period_is_removed(graph: Graph) -> None:
    old = grown(graph)
    staged = _staged(graph)

    assert graph.cleanup(keep=1, confirm=True).bytes_removed == 0

    assert all(readable(graph, each) for each in old)
    assert staged.exists()


def test_a_machine_whose_clock_is_or_was_ahead_takes_nothing_of_a_change_in_flight(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(graph, 3)
    other = open_graph(graph.uri, durable=False)
    other.repository.clock = clock_ahead()
    tidy = lambda: other.cleanup(keep=10, older_than="1d", confirm=True)  # noqa: E731
    do_at(monkeypatch, "commit ready", tidy)

    write(graph, {PERSON: (Append(people({"new": 1})),)})

    assert len(ages(open_graph(graph.uri))) == 4
    assert graph.fsck().findings == ()


def test_a_commit_that_was_just_left_stays_although_the_clock_of_the_writer_is_behind(
    graph: Graph,
) -> None:
    commits = grown(graph, 2)
    behind = open_graph(graph.uri, durable=False)
    behind.repository.clock = clock_ahead(-2)
    for path in Path(graph.uri).rglob("*"):
        os.utime(path, (0, 0))
    write(behind, {PERSON: (Overwrite(people({"new": 1})),)})

    graph.cleanup(keep=1, confirm=True)

    assert [readable(graph, each) for each in commits] == [True, True]
    days_later(graph, 2)
    graph.cleanup(keep=1, confirm=True)
    assert [readable(graph, each) for each in commits] == [False, False]


def test_a_commit_that_a_fast_forward_left_stays_although_the_clock_of_the_writer_is_behind(
    graph: Graph,
) -> None:
    behind = _days_behind(graph)
    (left,) = grown(behind, 1)
    behind.create_branch("ahead")
    grown(behind, 1, "ahead")
    _make_files_old(graph)
    assert str(behind.merge("ahead", "main").outcome) == "fast_forward"

    graph.cleanup(keep=1, confirm=True)

    assert readable(graph, left)
    days_later(graph, 2)
    graph.cleanup(keep=1, confirm=True)
    assert not readable(graph, left)


def test_a_branch_deleted_by_a_machine_whose_clock_is_behind_keeps_its_grace_period(
    graph: Graph,
) -> None:
    behind = _days_behind(graph)
    behind.create_branch("gone")
    (commit,) = grown(behind, 1, "gone")
    _make_files_old(graph)
    behind.delete_branch("gone")

    graph.cleanup(keep=1, confirm=True)

    assert readable(graph, commit)


def test_a_run_begun_by_a_machine_whose_clock_is_behind_is_not_old(graph: Graph) -> None:
    behind = _days_behind(graph)
    grown(behind, 1)
    run = behind.begin_run()

    graph.cleanup(older_than="1d", confirm=True)

    assert graph.run_record(run.run_id).status == "running"


def _days_behind(graph: Graph) -> Graph:
    """Return a graph as a machine has it whose clock is two days behind."""
    behind = open_graph(graph.uri, durable=False)
    behind.repository.clock = clock_ahead(-2)
    return behind


def _make_files_old(graph: Graph) -> None:
    for path in Path(graph.uri).rglob("*"):
        os.utime(path, (0, 0))


def test_a_preview_needs_no_right_to_write(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    grown(graph, 3)

    def fail(*_: object) -> None:
        raise StorageError("nothing can be written")

    monkeypatch.setattr(Objects, "write", fail)

    assert graph.cleanup(keep=1, grace="0s").old_versions_removed
    with pytest.raises(StorageError, match="nothing can be written"):
        cleaned(graph, keep=1)


def test_branches_tags_and_live_runs_keep_what_they_stand_at(graph: Graph) -> None:
    commits = grown(graph, 12)
    graph.create_branch("kept", commits[1].id)
    graph.create_tag("v1", commits[3].id)
    graph.create_branch("base", commits[5].id)
    run = graph.begin_run("base")
    write(graph, {PERSON: (Append(people({"of-run": 1})),)}, run.run_branch)

    cleaned(graph, keep=1)

    assert [at for at, each in enumerate(commits) if readable(graph, each)] == [1, 3, 5, 11]
    graph.publish_run(run.run_id)
    assert "of-run" in ages(graph, "base")
    assert ages(graph, "v1") == {f"main{n}": n for n in range(4)}


def test_a_branch_can_still_be_merged_after_its_fork_is_long_past(graph: Graph) -> None:
    grown(graph, 3)
    graph.create_branch("draft")
    grown(graph, 6, "draft")
    write(graph, {KNOWS: (Append(knows([("main0", "main1")])),)})
    for number in range(10):
        write(graph, {PERSON: (Upsert(people({"main0": number})),)})

    cleaned(graph, keep=1)
    merged = graph.merge("draft", "main")

    assert merged.commit is not None
    assert ages(graph)["main0"] == 9
    assert len(ages(graph)) == 9
    cleaned(graph, keep=1)
    write(graph, {PERSON: (Append(people({"again": 1})),)}, "draft")
    graph.merge("draft", "main")
    assert ages(graph)["again"] == 1
    assert graph.fsck().findings == ()


def test_a_deleted_branch_is_kept_for_the_grace_period(graph: Graph) -> None:
    graph.create_branch("gone")
    (commit,) = grown(graph, 1, "gone")
    days_later(graph, 5)
    graph.delete_branch("gone")

    graph.cleanup(keep=1, grace="24h", confirm=True)
    assert readable(graph, commit)

    days_later(graph, 7)
    graph.cleanup(keep=1, grace="24h", confirm=True)
    assert not readable(graph, commit)


def test_the_answers_of_a_server_stay_as_long_as_it_knows_their_keys(graph: Graph) -> None:
    answer = Path(graph.uri, layout.OPERATIONS, "1", "key.answered")
    answer.parent.mkdir(parents=True)
    answer.write_text("{}")
    days_later(graph, 13)
    cleaned(graph, keep=10)
    assert answer.exists()
    days_later(graph, 15)

    done = cleaned(graph, keep=10)

    removed = {each.table_key: each.files_removed for each in done.others}
    assert removed["_operations"] == 1
    assert not answer.exists()


def test_what_crashed_writers_left_goes_after_the_grace_period(graph: Graph) -> None:
    grown(graph, 3)
    staged = _staged(graph)
    aside = Path(graph.uri, layout.ASIDE, "of-a-crash", "lines.jsonl")
    aside.parent.mkdir(parents=True, exist_ok=True)
    aside.write_text("{}")
    graph.cleanup(keep=10, confirm=True)
    assert all(each.exists() for each in (staged, aside))
    days_later(graph, 2)

    done = graph.cleanup(keep=10, confirm=True)

    assert not staged.exists()
    assert not aside.exists()
    assert {each.table_key for each in done.others} == {layout.ASIDE, layout.MANIFEST}
    assert done.old_versions_removed == 0
    assert len(ages(graph)) == 3


def test_a_file_that_somebody_else_removed_meanwhile_does_not_keep_the_others(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside = Path(graph.uri, layout.ASIDE, "of-a-crash")
    aside.mkdir(parents=True, exist_ok=True)
    files = [aside / f"{number:02}.jsonl" for number in range(40)]
    for each in files:
        each.write_text("{}")
    do_at(monkeypatch, "files removed", files[0].unlink)

    cleaned(graph, keep=1)

    assert [each for each in files if each.exists()] == []


def test_records_of_runs_that_ended_long_ago_go_with_an_age(graph: Graph) -> None:
    ended = [graph.begin_run(), graph.begin_run(operation_hash="h")]
    for each in ended:
        graph.abort_run(each.run_id)
    days_later(graph, 20)
    live = graph.begin_run(operation_hash="x")

    graph.cleanup(keep=1, confirm=True)
    assert len(graph.runs()) == 3
    graph.cleanup(older_than="30d", confirm=True)
    assert len(graph.runs()) == 3
    graph.cleanup(older_than="7d", confirm=True)
    assert [each.run_id for each in graph.runs()] == [live.run_id]
    assert len(list(Path(graph.uri, layout.RUNS, "operations").rglob("*.json"))) == 1
    assert graph.begin_run(operation_hash="x").run_id == live.run_id
    assert graph.begin_run(operation_hash="h").run_id not in {each.run_id for each in ended}
    assert graph.fsck().findings == ()


@pytest.mark.parametrize("files", range(3))
def test_a_run_that_ended_stays_so_when_a_cleanup_is_killed_that_removes_its_records(
    graph: Graph, files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("work")
    graph.publish_run(graph.begin_run("work").run_id)
    days_later(graph, 20)
    _kill_after(monkeypatch, files, f"{layout.RUNS}/")
    with pytest.raises(KeyboardInterrupt):
        graph.cleanup(older_than="7d", confirm=True)
    monkeypatch.undo()

    assert [each.status for each in graph.runs()] == ["published"]
    assert graph.fsck().findings == ()
    graph.delete_branch("work")
    graph.cleanup(older_than="7d", confirm=True)
    assert not list(Path(graph.uri, layout.RUNS).rglob("*.json"))


def _kill_after(monkeypatch: pytest.MonkeyPatch, count: int, folder: str) -> None:
    """Let a process die that has removed so many files of a folder, in whatever order it can."""
    removed: list[str] = []

    def delete_many(self: Objects, paths: Iterable[str]) -> None:
        # A store may remove those of one call in any order: here the end of a run comes first.
        for path in sorted(paths, key=lambda path: "ended" not in path):
            if path.startswith(folder) and len(removed) == count:
                die()
            removed.extend([path] if path.startswith(folder) else [])
            self.delete(path)

    monkeypatch.setattr(Objects, "delete_many", delete_many)


def test_runs_to_which_nobody_wrote_within_an_age_fail(graph: Graph) -> None:
    grown(graph, 2)
    left, written, claimed = (graph.begin_run(operation_hash=each) for each in "abc")
    write(graph, {PERSON: (Append(people({"left": 1})),)}, left.run_branch)
    kept = graph.snapshot(left.run_branch).commit
    Path(graph.uri, layout.RUNS, claimed.run_id, "claimed.json").write_text('"published"')
    days_later(graph, 20)
    write(graph, {PERSON: (Append(people({"written": 1})),)}, written.run_branch)

    graph.cleanup(older_than="30d", confirm=True)
    graph.cleanup(keep=1, confirm=True)
    graph.cleanup(older_than="7d")
    assert [str(each.status) for each in graph.runs()] == ["running"] * 3
    graph.cleanup(older_than="7d", confirm=True)

    status = {each.run_id: str(each.status) for each in graph.runs()}
    assert status == {
        left.run_id: "failed",
        written.run_id: "running",
        claimed.run_id: "running",
    }
    assert readable(graph, kept)
    graph.publish_run(written.run_id)
    graph.publish_run(claimed.run_id)
    assert graph.begin_run(operation_hash="a").run_id != left.run_id
    days_later(graph, 40)
    graph.cleanup(older_than="7d", confirm=True)
    assert not readable(graph, kept)
    assert graph.fsck().findings == ()


def test_a_run_that_begins_while_the_record_of_the_one_before_is_removed_begins_once(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.abort_run(graph.begin_run(operation_hash="h").run_id)
    create = Objects.create
    others: list[RunRecord] = []
    days_later(graph, 20)

    def late(self: Objects, path: str, data: bytes) -> bool:
        if "operations" in path and not others:
            monkeypatch.setattr(Objects, "create", create)
            graph.cleanup(older_than="7d", confirm=True)
            others.append(graph.begin_run(operation_hash="h"))
        return create(self, path, data)

    monkeypatch.setattr(Objects, "create", late)

    assert graph.begin_run(operation_hash="h").run_id == others[0].run_id


def test_vectors_that_were_paid_for_go_only_with_an_age(graph: Graph) -> None:
    grown(graph, 1)
    entry = Path(graph.uri, layout.EMBEDDINGS, "0" * 64)
    entry.parent.mkdir()
    entry.write_text("paid")
    days_later(graph, 20)

    graph.cleanup(keep=1, confirm=True)
    graph.cleanup(older_than="30d", confirm=True)
    assert entry.exists()
    done = graph.cleanup(older_than="7d", confirm=True)
    assert not entry.exists()
    assert [each.table_key for each in done.others] == [layout.EMBEDDINGS]


def test_files_of_unknown_kinds_and_paid_vectors_are_never_removed(graph: Graph) -> None:
    commits = grown(graph, 3)
    table = Path(graph.uri, commits[0].tables[PERSON].path)
    names = ["notes.txt", "_versions/readme", "_later/x", "data.bak/y"]
    others = [table / name for name in names]
    others += [Path(graph.uri, name) for name in ("mine.txt", "_embeddings/k", "nodes/stray")]
    for each in others:
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text("mine")
    days_later(graph, 365)

    assert cleaned(graph, keep=1).old_versions_removed == 2

    assert all(each.exists() for each in others)


def test_nothing_is_removed_when_a_needed_version_cannot_be_read(graph: Graph) -> None:
    grown(graph, 5)
    state = graph.snapshot().commit.tables[PERSON]
    Path(graph.uri, state.path, "_versions", layout.manifest_name(state.version)).unlink()
    damaged = open_graph(graph.uri, durable=False)
    before = _content(graph.uri)

    with pytest.raises(StorageError):
        cleaned(damaged, keep=2)

    assert _content(graph.uri) == before


def test_the_history_of_the_manifest_is_bounded(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(graph, 20)
    versions = Path(graph.uri, layout.MANIFEST, "_versions")
    before = len(list(versions.iterdir()))
    assert cleaned(graph, keep=1).others == ()
    monkeypatch.setattr(cleaning, "MANIFEST_AGE", timedelta(0))

    done = cleaned(graph, keep=1)

    assert [each.table_key for each in done.others] == [layout.MANIFEST]
    assert len(list(versions.iterdir())) < 5 < before
    again = open_graph(graph.uri, durable=False)
    assert len(ages(again)) == 20
    assert len(list(again.log())) == 21
    write(again, {PERSON: (Append(people({"on": 1})),)})
    assert again.fsck().findings == ()


def test_what_a_writer_wrote_whose_clock_is_a_day_behind_is_seen_by_those_that_were_open(
    graph: Graph,
) -> None:
    grown(graph, 1)
    other = open_graph(graph.uri, durable=False)
    seen = other.repository.manifest.newest().version
    rows = [people({f"behind{number}": number}) for number in range(3)]
    commits = [write(other, {PERSON: (Append(each),)}) for each in rows]
    days_behind(graph, seen, 1)

    open_graph(graph.uri, durable=False).cleanup(keep=100, confirm=True)
    mine = write(graph, {PERSON: (Append(people({"mine": 1})),)})

    again = open_graph(graph.uri)
    assert [each.id for each in again.log()][:4] == [mine.id, *(c.id for c in reversed(commits))]
    assert len(ages(again)) == 5


def test_a_later_cleanup_may_keep_more(graph: Graph) -> None:
    commits = grown(graph, 6)
    cleaned(graph, keep=1)
    commits += [write(graph, {PERSON: (Append(people({f"x{n}": n})),)}) for n in range(2)]

    cleaned(graph, keep=6)

    assert [readable(graph, each) for each in commits] == [False] * 5 + [True] * 3
    assert graph.fsck().findings == ()


def test_what_has_no_meaning_is_refused(graph: Graph) -> None:
    for wrong in (
        {},
        {"keep": 0},
        {"older_than": "7"},
        {"older_than": "x d"},
        {"older_than": "9999999999w"},
        {"keep": 1, "grace": "-1h"},
    ):
        with pytest.raises(InputError):
            graph.cleanup(**wrong)
    with pytest.raises(ReadOnlyError):
        open_graph(graph.uri, read_only=True).cleanup(keep=1, confirm=True)
    assert [duration(text) for text in ("90s", "15m", "12h", "7d", "2w")] == [
        timedelta(seconds=90),
        timedelta(minutes=15),
        timedelta(hours=12),
        timedelta(days=7),
        timedelta(weeks=2),
    ]


# What happens meanwhile.


def test_readers_of_branches_never_lose_a_row(graph: Graph) -> None:
    grown(graph, 10)
    graph.create_branch("still")
    stop = threading.Event()
    written: list[str] = []

    def reading(branch: str) -> None:
        reader = open_graph(graph.uri, read_only=True)
        while not stop.is_set():
            assert len(ages(reader, branch)) >= 10

    def writing() -> None:
        while not stop.is_set():
            written.append(f"w{len(written)}")
            write(graph, {PERSON: (Append(people({written[-1]: 1})),)})
            if len(written) % 8 == 0:
                graph.optimize()

    with ThreadPoolExecutor(3) as pool:
        beside = [pool.submit(reading, "main"), pool.submit(reading, "still")]
        beside.append(pool.submit(writing))
        removed = 0
        try:
            while (removed < 6 or len(written) < 25) and not any(each.done() for each in beside):
                removed += graph.cleanup(keep=1, grace="1s", confirm=True).old_versions_removed
        finally:
            stop.set()
        for each in beside:
            each.result()

    assert removed >= 6
    assert len(ages(graph)) == 10 + len(written)
    assert graph.fsck().findings == ()


def test_a_reader_of_an_old_commit_is_told_why_its_files_are_gone(graph: Graph) -> None:
    (old,) = grown(graph, 1)
    held = open_graph(graph.uri, read_only=True).at(old.id).snapshot.table(PERSON)
    write(graph, {PERSON: (DeleteRows(pa.array(["main0"])),)})

    cleaned(graph, keep=1)

    with pytest.raises(StorageError) as told:
        held.scan()
    assert "cleanup" in str(told.value.hint)


def test_a_branch_made_before_the_mark_keeps_its_commit(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    make = lambda: graph.create_branch("late", commits[2].id)  # noqa: E731
    do_at(monkeypatch, "versions buried", make)

    cleaned(graph, keep=1)

    assert ages(graph, "late") == {f"main{n}": n for n in range(3)}
    assert [readable(graph, each) for each in commits] == [False, False, True, False, False, True]
    assert graph.fsck().findings == ()
    graph.create_branch("another", commits[2].id)


_STEPS = ("cleanup begun", "versions buried", "heads checked", "cleanup marked", "files removed")


@pytest.mark.parametrize(
    ("cut", "made"),
    [
        # At once, and at the end; what is cut before the branch is made is not cut at all.
        pytest.param(cut, made, marks=() if cut in (made, _STEPS[-1]) else pytest.mark.long)
        for cut in _STEPS
        for made in _STEPS
    ],
)
def test_a_cleanup_that_dies_beside_a_new_branch_never_leaves_it_without_its_rows(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, made: str, cut: str
) -> None:
    commits = grown(graph, 6)
    seen: list[str] = []

    def observer(step: str) -> None:
        if step == made and step not in seen:
            seen.append(step)
            with suppress(CommitCleanedError):
                graph.create_branch("late", commits[2].id)
        if step == cut and made in seen:
            raise KeyboardInterrupt

    monkeypatch.setattr(steps, "observer", observer)
    with suppress(KeyboardInterrupt):
        cleaned(graph, keep=1)
    monkeypatch.setattr(steps, "observer", None)

    assert graph.fsck().findings == ()
    is_made = "late" in graph.branches()
    assert is_made == (_STEPS.index(made) < _STEPS.index("cleanup marked"))
    cleaned(graph, keep=1)
    kept = [False, False, is_made, False, False, True]
    assert [readable(graph, each) for each in commits] == kept
    assert graph.fsck().findings == ()
    if is_made:
        graph.create_branch("another", commits[2].id)


@pytest.mark.parametrize("earlier", [0, 1])
def test_a_cleanup_that_dies_before_its_mark_takes_nothing_and_a_later_one_may_keep_more(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, earlier: int
) -> None:
    commits = grown(graph, 6)
    for _ in range(earlier):
        cleaned(graph, keep=5)

    do_at(monkeypatch, "versions buried", die)
    with pytest.raises(KeyboardInterrupt):
        cleaned(graph, keep=1)
    monkeypatch.setattr(steps, "observer", None)

    kept = [True] * (6 - earlier)
    assert [readable(graph, each) for each in commits[earlier:]] == kept
    cleaned(graph, keep=4)
    assert [readable(graph, each) for each in commits] == [False] * 2 + [True] * 4
    assert graph.fsck().findings == ()


def test_what_another_cleanup_removed_meanwhile_stays_told(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    other = open_graph(graph.uri, durable=False)

    def observer(step: str) -> None:
        if step == "cleanup begun" and "late" in graph.branches():
            graph.delete_branch("late")
            monkeypatch.setattr(steps, "observer", None)
            cleaned(other, keep=1)
        elif step == "versions buried":
            graph.create_branch("late", commits[2].id)

    monkeypatch.setattr(steps, "observer", observer)
    cleaned(graph, keep=1)

    assert [readable(graph, each) for each in commits] == [False] * 5 + [True]
    assert graph.fsck().findings == ()


def test_a_branch_made_after_the_mark_is_refused(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)

    def make() -> None:
        with pytest.raises(CommitCleanedError):
            graph.create_branch("late", commits[2].id)

    do_at(monkeypatch, "cleanup marked", make)

    cleaned(graph, keep=1)

    assert graph.branches() == ["main"]
    assert graph.fsck().findings == ()


def test_a_branch_whose_commit_is_cleaned_up_while_it_is_made_is_refused(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    before_flip(monkeypatch, lambda: cleaned(open_graph(graph.uri, durable=False), keep=1))

    with pytest.raises(CommitCleanedError):
        graph.create_branch("late", commits[2].id)

    assert graph.branches() == ["main"]
    assert graph.fsck().findings == ()


def test_an_ingest_into_a_new_branch_does_not_start_at_what_is_cleaned_up(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    before_flip(monkeypatch, lambda: cleaned(open_graph(graph.uri, durable=False), keep=1))
    lines = '{"type": "Company", "data": {"name": "Acme"}}'

    with pytest.raises(CommitCleanedError):
        graph.ingest(lines, branch="late", base=commits[2].id)

    assert graph.branches() == ["main"]
    assert graph.fsck().findings == ()


def test_a_merge_does_not_adopt_a_table_that_is_cleaned_up(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("other")
    commits = grown(graph, 4, "other")
    write(graph, {KNOWS: (Append(knows([])),)})
    before_flip(monkeypatch, lambda: cleaned(open_graph(graph.uri, durable=False), keep=1))

    with pytest.raises(CommitCleanedError):
        graph.merge(commits[1].id, "main")

    assert ages(graph) == {}
    assert graph.fsck().findings == ()


def test_two_cleanups_at_once_do_no_harm(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = grown(graph, 8)
    other = open_graph(graph.uri, durable=False)
    do_at(monkeypatch, "cleanup marked", lambda: cleaned(other, keep=1))

    cleaned(graph, keep=1)

    assert [readable(graph, each) for each in commits] == [False] * 7 + [True]
    assert edges(graph) == set()
    assert graph.fsck().findings == ()


def _staged(graph: Graph) -> Path:
    """Stage a write that is never published, and give the manifest of its version."""
    writes = {PERSON: (Append(people({"never": 1})), DeleteRows(pa.array(["never"])))}
    staged = stage(WriteSet(base=graph.snapshot(), writes=writes), "main").tables[PERSON]
    return Path(graph.uri, staged.path, "_versions", layout.manifest_name(staged.version))
