"""A backup is the graph as it was at one moment, whatever happens to the graph meanwhile."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import omnigraph as og
from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.cli.main import omnigraph
from omnigraph.errors import (
    BudgetError,
    CancelledError,
    DeniedError,
    GraphExistsError,
    GraphNotFoundError,
    HeadMovedError,
    InputError,
    StorageError,
)
from omnigraph.maintain.backup import BackupOptions, backup, restore
from omnigraph.maintain.reports import Copied
from omnigraph.spark.deadline import deadline_of
from omnigraph.storage import steps
from omnigraph.storage.copying import Copying
from omnigraph.storage.objects import PIECE, Stored
from omnigraph.storage.store import store_at
from omnigraph.versioning.writes import Append, Upsert
from tests.maintenance.interrupting import at_step, die
from tests.maintenance.tidying import cleaned, clock_ahead, grown
from tests.sample import KNOWS, PERSON, SCHEMA, ages, edges, knows, new_graph, people, write
from tests.stores import Lane

SECONDS = 30
UNCHECKED = BackupOptions(verify=False)
WIDER = SCHEMA.replace("age: I32? @index", "age: I32? @index  city: String?")


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


@pytest.fixture
def dest(tmp_path: Path) -> Path:
    return tmp_path / "backup"


def _with_history(graph: Graph) -> None:
    """Let a graph have branches, a tag, a deleted branch, runs, two schemas and a cleanup."""
    first = grown(graph, 4)
    write(graph, {KNOWS: (Append(knows([("main0", "main1")])),)})
    graph.create_tag("early", first[1].id)
    graph.create_branch("gone")
    grown(graph, 2, "gone")
    graph.delete_branch("gone")
    graph.create_branch("draft", first[2].id)
    graph.apply_schema(WIDER)
    grown(graph, 2, "draft")
    write(graph, {PERSON: (Upsert(people({"main0": 70})),)}, "draft")
    graph.merge("draft", "main")
    graph.optimize()
    run = graph.begin_run("main")
    grown(graph, 1, run.run_branch)
    graph.publish_run(run.run_id)
    graph.abort_run(graph.begin_run("main").run_id)
    graph.begin_run("main")


def _rows(graph: Graph, place: str) -> list[bytes]:
    return list(graph.at(place).export())


def _assert_same(copy: str | Path, graph: Graph, done: Copied) -> None:
    """A copy has the branches and tags that are reported, with the rows of then, and is sound."""
    assert done.checkup is not None
    assert done.checkup.findings == ()
    again = open_graph(copy, read_only=True, durable=False)
    assert {name: again.snapshot(name).commit.id for name in again.branches()} == done.heads
    assert again.tags() == done.tags
    assert done.commit == done.heads["main"]
    for place in {*done.heads.values(), *done.tags.values()}:
        assert _rows(again, place) == _rows(graph, place)
    assert [graph.commit(each.id) for each in again.log()] == list(again.log())


def _is_graph(place: Path) -> bool:
    try:
        open_graph(place, read_only=True)
    except GraphNotFoundError:
        return False
    return True


def test_a_backup_and_what_is_restored_of_it_have_all_history(graph: Graph, tmp_path: Path) -> None:
    _with_history(graph)

    done = backup(graph.repository, tmp_path / "backup")
    restored = restore(tmp_path / "backup", tmp_path / "restored", durable=False)

    _assert_same(tmp_path / "backup", graph, done)
    _assert_same(tmp_path / "restored", graph, restored)
    assert set(done.heads) == {"main", "draft"}
    assert set(done.tags) == {"early"}
    assert (restored.commit, restored.heads, restored.tags) == (done.commit, done.heads, done.tags)
    again = open_graph(tmp_path / "restored", durable=False)
    assert [each.status for each in again.runs()] == [each.status for each in graph.runs()]
    assert (tmp_path / "restored" / "_schema.pg").read_text() == WIDER
    assert not (tmp_path / "restored" / "_backup").exists()


def test_a_restored_graph_goes_on_as_any_other(graph: Graph, tmp_path: Path) -> None:
    _with_history(graph)
    backup(graph.repository, tmp_path / "backup", UNCHECKED)
    restore(tmp_path / "backup", tmp_path / "restored", UNCHECKED, durable=False)

    again = open_graph(tmp_path / "restored", durable=False)
    write(again, {PERSON: (Append(people({"eve": 1})),)}, "draft")
    again.merge("draft", "main")
    again.publish_run(again.runs()[0].run_id)
    again.optimize()
    cleaned(again, keep=1)

    assert ages(again)["eve"] == 1
    assert ages(again, "early") == {"main0": 0, "main1": 1}
    assert "eve" not in ages(graph)
    assert again.fsck().findings == ()
    assert backup(again.repository, tmp_path / "other").is_sound


def test_the_copy_is_one_moment_while_others_write(graph: Graph, dest: Path) -> None:
    grown(graph, 6)
    graph.create_branch("draft")
    done, stop = [], threading.Event()

    def writing(branch: str) -> None:
        own = open_graph(graph.uri, durable=False)
        for number in range(1_000):
            if stop.is_set():
                return
            # What one commit has in two tables is never seen apart.
            rows = people({f"{branch}-{number}": number})
            pair = knows([(f"{branch}-{number}", "main0")])
            write(own, {PERSON: (Append(rows),), KNOWS: (Append(pair),)}, branch)

    writers = [threading.Thread(target=writing, args=(each,)) for each in ("main", "draft")]
    for each in writers:
        each.start()
    try:
        for _ in range(3):
            done.append(backup(graph.repository, dest))
            _assert_same(dest, graph, done[-1])
            again = open_graph(dest, read_only=True)
            assert len(edges(again)) == len(ages(again)) - 6
    finally:
        stop.set()
        for each in writers:
            each.join(SECONDS)
    assert len({each.commit for each in done}) == 3


def test_what_is_published_after_the_manifest_was_read_is_not_in_the_copy(
    graph: Graph, dest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 3)
    ends_later = graph.begin_run("main")
    grown(graph, 1, ends_later.run_branch)
    begun: list[str] = []

    def go_on() -> None:
        graph.publish_run(ends_later.run_id)
        begun.append(graph.begin_run("main").run_id)
        graph.create_branch("late")
        graph.delete_tag("fixed")

    graph.create_tag("fixed")
    monkeypatch.setattr(steps, "observer", at_step("manifest pinned", go_on))
    done = backup(graph.repository, dest)

    assert done.heads == {"main": commits[-1].id}
    assert done.tags == {"fixed": commits[-1].id}
    assert done.is_sound
    again = open_graph(dest, durable=False)
    assert ages(again) == {"main0": 0, "main1": 1, "main2": 2}
    assert [(each.run_id, each.status) for each in again.runs()] == [(ends_later.run_id, "running")]
    assert begun[0] not in [each.run_id for each in again.runs()]
    # The run goes on in the copy as after a crash.
    again.publish_run(ends_later.run_id)
    assert len(ages(again)) == 4


def test_only_what_is_new_is_copied_again(graph: Graph, dest: Path) -> None:
    grown(graph, 6)
    first = backup(graph.repository, dest)
    assert (first.files_kept, first.files_removed) == (0, 0)
    written = {each: each.stat().st_mtime_ns for each in dest.rglob("*.lance")}

    same = backup(graph.repository, dest)
    assert (same.files_copied, same.bytes_copied, same.files_removed) == (0, 0, 0)
    assert same.files_kept == first.files_copied

    commit = write(graph, {PERSON: (Append(people({"eve": 1})),)})
    later = backup(graph.repository, dest)
    state = commit.tables[PERSON]
    new = graph.repository.tables.files_of(state.path, state.version)
    assert 0 < later.files_copied < first.files_copied / 2
    assert len(new) > 3
    assert later.commit == commit.id
    _assert_same(dest, graph, later)
    assert {each: each.stat().st_mtime_ns for each in written if each.exists()}.items() <= (
        written.items()
    )


def test_a_backup_has_no_longer_what_its_graph_was_cleaned_of(graph: Graph, dest: Path) -> None:
    commits = grown(graph, 8)
    first = backup(graph.repository, dest)
    graph.optimize()
    cleaned(graph, keep=1)

    done = backup(graph.repository, dest)

    _assert_same(dest, graph, done)
    assert done.files_removed > 8
    assert done.files_copied + done.files_kept < first.files_copied
    assert len(list(dest.glob("__manifest/_versions/*.manifest"))) == 1
    state = commits[2].tables[PERSON]
    assert not (dest / state.manifest).exists()


def test_a_file_that_the_backup_lost_is_copied_again(graph: Graph, dest: Path) -> None:
    grown(graph, 3)
    backup(graph.repository, dest)
    data = sorted(dest.glob("nodes/*/data/*.lance"))
    data[0].unlink()
    data[1].write_bytes(b"short")

    done = backup(graph.repository, dest)

    assert done.files_copied == 2
    assert done.is_sound


CUTS = (
    "backup claimed",
    "manifest pinned",
    "file copied",
    "files copied",
    "backup recorded",
    "manifest copied",
    "schema shown",
    "backup pruned",
)


def _cut(do: Callable[[], object], step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something that ends at a step."""
    with monkeypatch.context() as patch:
        patch.setattr(steps, "observer", at_step(step, die))
        with pytest.raises(KeyboardInterrupt):
            do()


@pytest.mark.parametrize("step", CUTS)
def test_a_backup_that_is_cut_leaves_none_or_the_one_before_and_the_next_completes_it(
    graph: Graph, dest: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    first = grown(graph, 2)[-1].id
    is_made = step in CUTS[5:]
    _cut(lambda: backup(graph.repository, dest, UNCHECKED), step, monkeypatch)
    assert _is_graph(dest) == is_made
    done = backup(graph.repository, dest)
    assert (done.commit, done.is_sound) == (first, True)
    assert (done.files_kept > 0) == (step not in ("backup claimed", "manifest pinned"))

    graph.apply_schema(WIDER)
    graph.create_branch("draft")
    write(graph, {PERSON: (Upsert(people({"eve": 1, "fay": 2})),)})
    graph.optimize()
    cleaned(graph, keep=1)
    last = graph.snapshot().commit.id
    _cut(lambda: backup(graph.repository, dest, UNCHECKED), step, monkeypatch)
    again = open_graph(dest, read_only=True)
    assert again.snapshot().commit.id == (last if is_made else first)
    assert len(ages(again)) == (4 if is_made else 2)

    done = backup(graph.repository, dest)
    assert done.commit == last
    _assert_same(dest, graph, done)
    assert list((dest / "_aside").iterdir()) == []


def test_what_another_backup_copies_just_now_stays_whatever_the_clock_of_this_machine_says(
    graph: Graph, dest: Path
) -> None:
    backup(graph.repository, dest, UNCHECKED)
    young, old = (dest / "_aside" / name for name in ("young", "old"))
    for each in (young, old):
        each.write_text("half")
    os.utime(old, (0, 0))
    graph.repository.clock = clock_ahead()

    backup(graph.repository, dest, UNCHECKED)

    assert young.exists()
    assert not old.exists()


KILLED = """
import os, signal, sys
from omnigraph.api.graph import open
from omnigraph.maintain.backup import backup
from omnigraph.storage import steps
def observer(step, seen=[]):
    seen.append(step)
    if seen.count("file copied") == 9:
        os.kill(os.getpid(), signal.SIGKILL)
steps.observer = observer
backup(open(sys.argv[1]).repository, sys.argv[2])
"""


def test_a_backup_that_is_killed_is_completed_by_the_next(graph: Graph, dest: Path) -> None:
    grown(graph, 3)
    command = [sys.executable, "-c", KILLED, graph.uri, str(dest)]

    ended = subprocess.run(command, timeout=SECONDS, check=False)

    assert ended.returncode < 0
    assert not _is_graph(dest)
    done = backup(graph.repository, dest)
    assert done.files_kept >= 9
    _assert_same(dest, graph, done)


@pytest.mark.parametrize("step", ["manifest pinned", "file copied", "files copied"])
def test_a_cleanup_beside_a_backup_takes_nothing_of_the_copy(
    graph: Graph, dest: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    commits = grown(graph, 8)
    graph.optimize()
    other = open_graph(graph.uri, durable=False)

    def clean_up() -> None:
        assert cleaned(other, keep=1).old_versions_removed
        write(other, {PERSON: (Append(people({"eve": 1})),)})

    monkeypatch.setattr(steps, "observer", at_step(step, clean_up))
    done = backup(graph.repository, dest)

    _assert_same(dest, graph, done)
    assert done.commit == graph.snapshot().commit.id
    assert "eve" in ages(open_graph(dest, read_only=True))
    assert not (dest / commits[2].tables[PERSON].manifest).exists() or step != "manifest pinned"


def test_a_cleanup_whose_files_were_copied_before_is_not_in_the_copy(
    graph: Graph, dest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 4)
    clean_up = at_step("backup recorded", lambda: cleaned(graph, keep=1))
    monkeypatch.setattr(steps, "observer", clean_up)

    done = backup(graph.repository, dest)

    assert done.is_sound
    again = open_graph(dest, read_only=True)
    assert [len(ages(again, each.id)) for each in commits] == [1, 2, 3, 4]


def test_a_graph_that_is_cleaned_up_without_end_is_given_up(
    graph: Graph, dest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_graph(graph.uri, durable=False)
    busy: list[bool] = []

    def observer(step: str) -> None:
        if step == "manifest pinned" and not busy:
            busy.append(True)
            grown(other, 2, "main") if not ages(other) else write(
                other, {PERSON: (Upsert(people({"main0": len(busy)})),)}
            )
            cleaned(other, keep=1)
            busy.clear()

    monkeypatch.setattr(steps, "observer", observer)
    with pytest.raises(HeadMovedError, match="again and again"):
        backup(graph.repository, dest)

    monkeypatch.setattr(steps, "observer", None)
    assert not _is_graph(dest)
    _assert_same(dest, graph, backup(graph.repository, dest))


def test_a_damaged_graph_is_refused_and_the_backup_stays(graph: Graph, dest: Path) -> None:
    grown(graph, 2)
    first = backup(graph.repository, dest)
    grown(graph, 1)
    state = graph.snapshot().commit.tables[PERSON]
    data = next(
        each
        for each in graph.repository.tables.files_of(state.path, state.version)
        if each.startswith("data/")
    )
    Path(graph.uri, state.path, data).unlink()

    with pytest.raises(StorageError, match="is missing"):
        backup(graph.repository, dest)

    again = open_graph(dest, read_only=True)
    assert again.snapshot().commit.id == first.commit
    assert again.fsck().findings == ()


def test_a_backup_that_is_cancelled_or_late_leaves_nothing_half(
    graph: Graph, dest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(graph, 3)
    cancelled = threading.Event()
    monkeypatch.setattr(steps, "observer", at_step("file copied", cancelled.set))
    with pytest.raises(CancelledError, match="the backup was cancelled"):
        backup(
            graph.repository,
            dest,
            BackupOptions(deadline=deadline_of("backup", None, cancelled)),
        )
    assert not _is_graph(dest)
    assert list((dest / "_aside").iterdir()) == []
    with pytest.raises(BudgetError):
        backup(graph.repository, dest, BackupOptions(deadline=deadline_of("backup", 0, None)))
    assert backup(graph.repository, dest).is_sound


class _Heard:
    """What a backup says of its progress."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int]] = []
        self.far: list[tuple[int, int]] = []

    def begin(self, stage: str, size: int = 0) -> None:
        self.stages.append((stage, size))

    def advance(self, done: int, total: int) -> None:
        self.far.append((done, total))


def test_a_backup_tells_how_far_it_is(graph: Graph, dest: Path) -> None:
    grown(graph, 2)
    heard = _Heard()

    done = backup(graph.repository, dest, BackupOptions(progress=heard))

    (copying, size), (checking, _) = heard.stages
    assert (copying, checking) == ("copying", "checking")
    assert 0 < done.bytes_copied - size < 10_000  # the version of the manifest is written last
    assert heard.far == [(each, len(heard.far)) for each in range(1, len(heard.far) + 1)]
    assert done.files_copied == len(heard.far) + 1


def test_places_with_something_else_are_refused(graph: Graph, tmp_path: Path) -> None:
    other = og.init(tmp_path / "other", SCHEMA, durable=False)
    grown(graph, 1)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    backup(other.repository, tmp_path / "of other", UNCHECKED)

    with pytest.raises(GraphExistsError, match="there is a graph"):
        backup(graph.repository, other.uri)
    with pytest.raises(InputError, match="is not empty"):
        backup(graph.repository, tmp_path / "full")
    with pytest.raises((InputError, StorageError)):
        backup(graph.repository, tmp_path / "file")
    with pytest.raises(InputError, match="another graph"):
        backup(graph.repository, tmp_path / "of other")
    for place in (graph.uri, Path(graph.uri, "backup"), tmp_path):
        with pytest.raises(InputError, match="share a place"):
            backup(graph.repository, place)
    assert sorted(each.name for each in (tmp_path / "full").iterdir()) == ["notes.txt"]
    assert not (tmp_path / "other" / "_backup").exists()


def test_nothing_is_restored_over_a_graph_or_out_of_none(graph: Graph, tmp_path: Path) -> None:
    grown(graph, 1)
    backup(graph.repository, tmp_path / "backup", UNCHECKED)
    other = og.init(tmp_path / "other", SCHEMA, durable=False)

    for place in (graph.uri, other.uri, tmp_path / "backup"):
        with pytest.raises((GraphExistsError, InputError)):
            restore(tmp_path / "backup", place)
    with pytest.raises(GraphExistsError):
        restore(graph.uri, tmp_path / "backup")
    with pytest.raises(GraphNotFoundError, match=r"no backup at .*/nothing") as none:
        restore(tmp_path / "nothing", tmp_path / "new")
    assert none.value.hint == "name the folder or bucket that `omnigraph backup` wrote"
    assert ages(open_graph(other.uri)) == {}
    assert not (tmp_path / "new").exists()


def test_a_restore_that_is_cut_is_completed(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(graph, 3)
    backup(graph.repository, tmp_path / "backup", UNCHECKED)
    place = tmp_path / "restored"
    _cut(lambda: restore(tmp_path / "backup", place), "file copied", monkeypatch)
    assert not _is_graph(place)

    done = restore(tmp_path / "backup", place, durable=False)

    assert done.files_kept > 0
    _assert_same(place, graph, done)


def test_a_backup_that_somebody_changed_is_not_renewed(graph: Graph, dest: Path) -> None:
    grown(graph, 2)
    backup(graph.repository, dest, UNCHECKED)
    changed = open_graph(dest, durable=False)
    changed.create_branch("mine")
    grown(graph, 5)

    with pytest.raises(InputError, match="was changed since"):
        backup(graph.repository, dest)

    assert changed.branches() == ["main", "mine"]


def test_an_older_state_of_a_graph_does_not_replace_its_backup(
    graph: Graph, tmp_path: Path
) -> None:
    grown(graph, 2)
    backup(graph.repository, tmp_path / "old", UNCHECKED)
    grown(graph, 1, "main")
    newest = backup(graph.repository, tmp_path / "new", UNCHECKED)
    restore(tmp_path / "old", tmp_path / "restored", UNCHECKED, durable=False)
    again = open_graph(tmp_path / "restored", durable=False)

    with pytest.raises(InputError, match="has changes that"):
        backup(again.repository, tmp_path / "new")
    for number in range(5):
        write(again, {PERSON: (Append(people({f"q{number}": 1})),)})
    with pytest.raises(InputError, match="has changes that"):
        backup(again.repository, tmp_path / "new")

    kept = open_graph(tmp_path / "new", read_only=True)
    assert kept.snapshot().commit.id == newest.commit
    assert backup(again.repository, tmp_path / "old").is_sound


def test_two_backups_at_once_to_one_place_leave_the_newer(
    graph: Graph, dest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(graph, 6)
    backup(graph.repository, dest, UNCHECKED)
    write(graph, {PERSON: (Append(people({"eve": 1})),)})
    other = open_graph(graph.uri, durable=False)
    made: list[Copied] = []

    def another() -> None:
        write(other, {PERSON: (Append(people({"fay": 1})),)})
        other.optimize()
        cleaned(other, keep=1)
        made.append(backup(other.repository, dest))

    monkeypatch.setattr(steps, "observer", at_step("backup recorded", another))
    backup(graph.repository, dest)

    assert set(ages(open_graph(dest, read_only=True))) >= {"eve", "fay"}
    monkeypatch.setattr(steps, "observer", None)
    _assert_same(dest, graph, backup(graph.repository, dest))


def test_a_backup_writes_nothing_to_its_graph(graph: Graph, dest: Path) -> None:
    grown(graph, 3)
    before = sorted((each, each.stat().st_mtime_ns) for each in Path(graph.uri).rglob("*"))

    assert open_graph(graph.uri, read_only=True).backup(dest).is_sound

    after = sorted((each, each.stat().st_mtime_ns) for each in Path(graph.uri).rglob("*"))
    assert after == before


def test_handles_and_commands_make_backups_and_restore_them(graph: Graph, tmp_path: Path) -> None:
    grown(graph, 2)
    run = CliRunner()

    done = graph.backup(tmp_path / "one", verify=False)
    assert done.to_json()["sound"] is None
    assert og.restore(tmp_path / "one", tmp_path / "two", durable=False).is_sound
    assert ages(open_graph(tmp_path / "two")) == ages(graph)
    with pytest.raises(CancelledError, match="the restore was cancelled"):
        og.restore(tmp_path / "one", tmp_path / "three", cancelled=_set())

    said = run.invoke(omnigraph, ["backup", graph.uri, str(tmp_path / "four")])
    assert (said.exit_code, "sound" in said.output) == (0, True)
    said = run.invoke(omnigraph, ["restore", str(tmp_path / "four"), str(tmp_path / "five")])
    assert said.exit_code == 0
    assert ages(open_graph(tmp_path / "five")) == ages(graph)
    said = run.invoke(omnigraph, ["backup", graph.uri, str(tmp_path / "four"), "six"])
    assert said.exit_code == 2


def test_a_command_fails_when_the_copy_is_damaged(graph: Graph, tmp_path: Path) -> None:
    grown(graph, 2)
    state = graph.snapshot().commit.tables[PERSON]
    data = max(Path(graph.uri, state.path, "data").iterdir(), key=lambda each: each.stat().st_mtime)
    data.write_bytes(b"x" * data.stat().st_size)

    said = CliRunner().invoke(omnigraph, ["backup", graph.uri, str(tmp_path / "backup"), "--json"])

    assert said.exit_code == 1
    assert json.loads(said.output)["sound"] is False
    assert json.loads(said.output)["findings"]


def test_only_an_administrator_may_back_up(graph: Graph, dest: Path) -> None:
    policy = (
        "version: 1\n"
        "groups: {readers: [rea], owners: [ada]}\n"
        "rules:\n"
        "- {id: reading, allow: {actors: {group: readers}, actions: [read, export],"
        " branch_scope: any}}\n"
        "- {id: owning, allow: {actors: {group: owners}, actions: [admin],"
        " target_branch_scope: any}}\n"
    )

    with pytest.raises(DeniedError):
        open_graph(graph.uri, actor="rea", policy=policy).backup(dest)

    assert not dest.exists()
    assert open_graph(graph.uri, actor="ada", policy=policy).backup(dest).is_sound


def _set() -> threading.Event:
    found = threading.Event()
    found.set()
    return found


@pytest.mark.parametrize("lane", ["moto", "seaweedfs"], indirect=True)
def test_backups_go_from_and_to_buckets(lane: Lane, graph: Graph, tmp_path: Path) -> None:
    first = grown(graph, 3)[-1]
    graph.create_tag("first")
    graph.create_branch("draft")
    bucket = lane.root

    up = backup(graph.repository, f"{bucket}-up")
    _assert_same(f"{bucket}-up", graph, up)
    across = restore(f"{bucket}-up", f"{bucket}-across")
    _assert_same(f"{bucket}-across", graph, across)
    down = restore(f"{bucket}-across", tmp_path / "down", durable=False)
    _assert_same(tmp_path / "down", graph, down)
    assert up.files_copied == across.files_copied == down.files_copied

    write(graph, {PERSON: (Append(people({"eve": 1})),)})
    again = backup(graph.repository, f"{bucket}-up")
    _assert_same(f"{bucket}-up", graph, again)
    assert 0 < again.files_copied < again.files_kept
    in_bucket = open_graph(f"{bucket}-across")
    write(in_bucket, {PERSON: (Append(people({"fay": 1})),)})
    assert in_bucket.snapshot().commit.parent == first.id
    assert backup(in_bucket.repository, f"{bucket}-copy").is_sound
    for place in (f"{bucket}-copy", f"{bucket}-up"):
        with pytest.raises(GraphExistsError):
            restore(graph.uri, place)
    with pytest.raises(GraphExistsError):
        backup(graph.repository, f"{bucket}-across")


def test_large_files_are_copied_in_pieces(lane: Lane, tmp_path: Path) -> None:
    lane.skip_second_opinion()
    data = os.urandom(PIECE * 2 + 1_000)
    source, target = store_at(tmp_path / "source"), store_at(lane.root)
    source.objects.write("large", data)
    source.objects.write("empty", b"")
    files = source.objects.listing()
    copied: list[Stored] = []
    copying = Copying(source, target, durable=True, check=lambda: None)

    missing = [Stored("gone", 5, 0), Stored("gone and empty", 0, 0)]
    gone = copying.copy([*files, *missing], copied.append)
    assert sorted(gone) == ["gone", "gone and empty"]

    assert sorted(each.path for each in copied) == ["empty", "large"]
    assert target.objects.read("large") == data
    assert target.objects.read("empty") == b""
    assert target.objects.read("gone and empty") is None
    source.objects.write("broken", data)
    with pytest.raises(StorageError, match=r"is shorter than|cannot read broken"):
        copying.copy([Stored("broken", PIECE * 4, 0)], copied.append)
    assert target.objects.read("broken") is None
