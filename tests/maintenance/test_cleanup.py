"""Cleanup removes what only old commits need, and nothing that anybody can still ask for."""

import hashlib
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    CommitCleanedError,
    InputError,
    ReadOnlyError,
    StorageError,
)
from omnigraph.maintain import cleanup as cleaning
from omnigraph.maintain.reports import Cleaned
from omnigraph.storage import layout, steps
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.manifest import Head, Manifest
from omnigraph.versioning.retention import duration
from omnigraph.versioning.ulid import Clock, now_us
from omnigraph.versioning.writes import Append, Delete, Upsert, WriteSet, stage
from tests.sample import KNOWS, PERSON, ages, edges, knows, new_graph, people, write

DAY = 86_400_000_000


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


def _days_later(graph: Graph, days: float) -> None:
    graph.repository.clock = Clock(lambda: now_us() + int(days * DAY))


def _grown(graph: Graph, commits: int = 12, branch: str = "main") -> list[Commit]:
    rows = (people({f"{branch}{number}": number}) for number in range(commits))
    return [write(graph, {PERSON: (Append(each),)}, branch) for each in rows]


def _content(root: str) -> dict[str, str]:
    files = (path for path in Path(root).rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _cleaned(
    graph: Graph, *, keep: int | None = None, older_than: timedelta | str | None = None
) -> Cleaned:
    """Clean up a graph that nobody reads or writes meanwhile."""
    return graph.cleanup(keep=keep, older_than=older_than, grace="0s", confirm=True)


def _readable(graph: Graph, commit: Commit) -> bool:
    try:
        return len(ages(graph, commit.id)) == commit.tables[PERSON].row_count
    except CommitCleanedError:
        return False


def test_the_newest_commits_of_each_branch_stay_and_older_ones_say_that_they_are_gone(
    graph: Graph,
) -> None:
    _grown(graph)
    graph.create_branch("draft")
    _grown(graph, 5, "draft")
    mine, theirs = list(graph.log()), list(graph.log("draft"))
    rows = ages(graph), ages(graph, "draft")

    done = _cleaned(graph, keep=3)

    assert [_readable(graph, each) for each in mine[:4]] == [True, True, True, False]
    assert [_readable(graph, each) for each in theirs[:4]] == [True, True, True, False]
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
    _grown(graph)
    before = _content(graph.uri)

    preview = open_graph(graph.uri, read_only=True).cleanup(keep=2, grace="0s")

    assert _content(graph.uri) == before
    assert not preview.confirmed
    done = _cleaned(graph, keep=2)
    assert (done.tables, done.commits_kept) == (preview.tables, preview.commits_kept)
    assert _cleaned(graph, keep=2).tables == ()


def test_what_was_current_within_the_age_stays(graph: Graph) -> None:
    old = _grown(graph, 3)
    _days_later(graph, 10)
    rows = [people({f"late{number}": number}) for number in range(2)]
    lately = [write(graph, {PERSON: (Append(each),)}) for each in rows]
    _days_later(graph, 12)

    _cleaned(graph, older_than="7d")

    # The last of the old ones was what main stood at ten days long.
    assert [_readable(graph, each) for each in old] == [False, False, True]
    assert all(_readable(graph, each) for each in lately)


def test_keep_and_older_than_keep_what_either_keeps(graph: Graph) -> None:
    old = _grown(graph, 6)
    _days_later(graph, 10)
    write(graph, {PERSON: (Append(people({"late": 1})),)})

    _cleaned(graph, keep=3, older_than=timedelta(days=7))

    assert [_readable(graph, each) for each in old] == [False] * 4 + [True, True]


def test_nothing_of_the_grace_period_is_removed(graph: Graph) -> None:
    old = _grown(graph)
    staged = _staged(graph)

    assert graph.cleanup(keep=1, confirm=True).bytes_removed == 0

    assert all(_readable(graph, each) for each in old)
    assert staged.exists()


def test_branches_tags_and_live_runs_keep_what_they_stand_at(graph: Graph) -> None:
    commits = _grown(graph, 12)
    graph.create_branch("kept", commits[1].id)
    graph.create_tag("v1", commits[3].id)
    graph.create_branch("base", commits[5].id)
    run = graph.begin_run("base")
    write(graph, {PERSON: (Append(people({"of-run": 1})),)}, run.run_branch)

    _cleaned(graph, keep=1)

    readable = [at for at, each in enumerate(commits) if _readable(graph, each)]
    assert readable == [1, 3, 5, 11]
    graph.publish_run(run.run_id)
    assert "of-run" in ages(graph, "base")
    assert ages(graph, "v1") == {f"main{n}": n for n in range(4)}


def test_a_branch_can_still_be_merged_after_its_fork_is_long_past(graph: Graph) -> None:
    _grown(graph, 3)
    graph.create_branch("draft")
    _grown(graph, 6, "draft")
    write(graph, {KNOWS: (Append(knows([("main0", "main1")])),)})
    for number in range(10):
        write(graph, {PERSON: (Upsert(people({"main0": number})),)})

    _cleaned(graph, keep=1)
    merged = graph.merge("draft", "main")

    assert merged.commit is not None
    assert ages(graph)["main0"] == 9
    assert len(ages(graph)) == 9
    _cleaned(graph, keep=1)
    write(graph, {PERSON: (Append(people({"again": 1})),)}, "draft")
    graph.merge("draft", "main")
    assert ages(graph)["again"] == 1
    assert graph.fsck().findings == ()


def test_a_deleted_branch_is_kept_for_the_grace_period(graph: Graph) -> None:
    graph.create_branch("gone")
    (commit,) = _grown(graph, 1, "gone")
    _days_later(graph, 5)
    graph.delete_branch("gone")

    graph.cleanup(keep=1, grace="24h", confirm=True)
    assert _readable(graph, commit)

    _days_later(graph, 7)
    graph.cleanup(keep=1, grace="24h", confirm=True)
    assert not _readable(graph, commit)


def test_the_answers_of_a_server_stay_as_long_as_it_knows_their_keys(graph: Graph) -> None:
    answer = Path(graph.uri, layout.OPERATIONS, "1", "key.answered")
    answer.parent.mkdir(parents=True)
    answer.write_text("{}")
    _days_later(graph, 13)
    _cleaned(graph, keep=10)
    assert answer.exists()
    _days_later(graph, 15)

    done = _cleaned(graph, keep=10)

    removed = {each.table_key: each.files_removed for each in done.others}
    assert removed["_operations"] == 1
    assert not answer.exists()


def test_what_crashed_writers_left_goes_after_the_grace_period(graph: Graph) -> None:
    _grown(graph, 3)
    staged = _staged(graph)
    aside = Path(graph.uri, layout.ASIDE, "of-a-crash", "lines.jsonl")
    aside.parent.mkdir(parents=True, exist_ok=True)
    aside.write_text("{}")
    schema = Path(graph.uri, layout.schema_path("0" * 64))
    schema.write_text("{}")
    kept = Path(graph.uri, layout.schema_path(graph.snapshot().commit.schema))
    graph.cleanup(keep=10, confirm=True)
    assert all(each.exists() for each in (staged, aside, schema))
    _days_later(graph, 2)

    done = graph.cleanup(keep=10, confirm=True)

    assert not staged.exists()
    assert not aside.exists()
    assert not schema.exists()
    assert kept.exists()
    assert {each.table_key for each in done.others} == {layout.ASIDE, layout.SCHEMAS}
    assert done.old_versions_removed == 0
    assert len(ages(graph)) == 3


def test_records_of_runs_that_ended_long_ago_go_with_an_age(graph: Graph) -> None:
    ended, live = graph.begin_run(), graph.begin_run()
    graph.abort_run(ended.run_id)
    _days_later(graph, 20)

    graph.cleanup(keep=1, confirm=True)
    assert len(graph.runs()) == 2
    graph.cleanup(older_than="30d", confirm=True)
    assert len(graph.runs()) == 2
    graph.cleanup(older_than="7d", confirm=True)
    assert [each.run_id for each in graph.runs()] == [live.run_id]


def test_files_of_unknown_kinds_and_paid_vectors_are_never_removed(graph: Graph) -> None:
    commits = _grown(graph, 3)
    table = Path(graph.uri, commits[0].tables[PERSON].path)
    names = ["notes.txt", "_versions/readme", "_later/x", "data.bak/y"]
    others = [table / name for name in names]
    others += [Path(graph.uri, name) for name in ("mine.txt", "_embeddings/k", "nodes/stray")]
    for each in others:
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text("mine")
    _days_later(graph, 365)

    assert _cleaned(graph, keep=1).old_versions_removed == 2

    assert all(each.exists() for each in others)


def test_nothing_is_removed_when_a_needed_version_cannot_be_read(graph: Graph) -> None:
    _grown(graph, 5)
    state = graph.snapshot().commit.tables[PERSON]
    Path(graph.uri, state.path, "_versions", layout.manifest_name(state.version)).unlink()
    damaged = open_graph(graph.uri, durable=False)
    before = _content(graph.uri)

    with pytest.raises(StorageError):
        _cleaned(damaged, keep=2)

    assert _content(graph.uri) == before


def test_the_history_of_the_ledger_is_bounded(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    _grown(graph, 20)
    versions = Path(graph.uri, layout.MANIFEST, "_versions")
    before = len(list(versions.iterdir()))
    assert _cleaned(graph, keep=1).others == ()
    monkeypatch.setattr(cleaning, "LEDGER_AGE", timedelta(0))

    done = _cleaned(graph, keep=1)

    assert [each.table_key for each in done.others] == [layout.MANIFEST]
    assert len(list(versions.iterdir())) < 5 < before
    again = open_graph(graph.uri, durable=False)
    assert len(ages(again)) == 20
    assert len(list(again.log())) == 21
    write(again, {PERSON: (Append(people({"on": 1})),)})
    assert again.fsck().findings == ()


def test_a_later_cleanup_may_keep_more(graph: Graph) -> None:
    commits = _grown(graph, 6)
    _cleaned(graph, keep=1)
    commits += [write(graph, {PERSON: (Append(people({f"x{n}": n})),)}) for n in range(2)]

    _cleaned(graph, keep=6)

    assert [_readable(graph, each) for each in commits] == [False] * 5 + [True] * 3
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
    _grown(graph, 10)
    graph.create_branch("still")
    stop = threading.Event()
    failures: list[BaseException] = []

    def reading(branch: str) -> None:
        reader = open_graph(graph.uri, read_only=True)
        while not stop.is_set():
            try:
                assert len(ages(reader, branch)) >= 10
            except BaseException as failed:
                failures.append(failed)
                return

    def writing() -> None:
        for number in range(25):
            write(graph, {PERSON: (Append(people({f"w{number}": 1})),)})
            if number % 8 == 0:
                graph.optimize()
        stop.set()

    threads = [threading.Thread(target=reading, args=(each,)) for each in ("main", "still")]
    threads.append(threading.Thread(target=writing))
    for each in threads:
        each.start()
    removed = 0
    while not stop.is_set():
        removed += graph.cleanup(keep=1, grace="1s", confirm=True).old_versions_removed
    for each in threads:
        each.join()

    assert failures == []
    assert removed > 5
    assert len(ages(graph)) == 35
    assert graph.fsck().findings == ()


def test_a_reader_of_an_old_commit_is_told_why_its_files_are_gone(graph: Graph) -> None:
    (old,) = _grown(graph, 1)
    held = open_graph(graph.uri, read_only=True).at(old.id).snapshot.table(PERSON)
    write(graph, {PERSON: (Delete(pa.array(["main0"])),)})

    _cleaned(graph, keep=1)

    with pytest.raises(StorageError) as told:
        held.scan()
    assert "cleanup" in str(told.value.hint)


def _at_step(wanted: str, do: Callable[[], object]) -> Callable[[str], None]:
    done: list[str] = []

    def observer(step: str) -> None:
        if step == wanted and not done:
            done.append(step)
            do()

    return observer


def test_a_branch_made_before_the_mark_keeps_its_commit(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = _grown(graph, 6)
    make = lambda: graph.create_branch("late", commits[2].id)  # noqa: E731
    monkeypatch.setattr(steps, "observer", _at_step("versions buried", make))

    _cleaned(graph, keep=1)

    assert ages(graph, "late") == {f"main{n}": n for n in range(3)}
    assert [_readable(graph, each) for each in commits] == [False, False, True, False, False, True]
    assert graph.fsck().findings == ()
    graph.create_branch("another", commits[2].id)


@pytest.mark.parametrize("cut", ["versions buried", "cleanup marked"])
def test_a_cleanup_that_dies_beside_a_new_branch_leaves_its_commit_as_it_was(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    commits = _grown(graph, 6)

    def observer(step: str) -> None:
        if step == "versions buried":
            graph.create_branch("late", commits[2].id)
        if step == cut:
            raise KeyboardInterrupt

    monkeypatch.setattr(steps, "observer", observer)
    with pytest.raises(KeyboardInterrupt):
        _cleaned(graph, keep=1)
    monkeypatch.setattr(steps, "observer", None)

    assert graph.fsck().findings == ()
    _cleaned(graph, keep=1)
    assert [_readable(graph, each) for each in commits] == [False, False, True, False, False, True]
    assert graph.fsck().findings == ()
    graph.create_branch("another", commits[2].id)


@pytest.mark.parametrize("earlier", [0, 1])
def test_a_cleanup_that_dies_before_its_mark_takes_nothing_and_a_later_one_may_keep_more(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, earlier: int
) -> None:
    commits = _grown(graph, 6)
    for _ in range(earlier):
        _cleaned(graph, keep=5)

    def die() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(steps, "observer", _at_step("versions buried", die))
    with pytest.raises(KeyboardInterrupt):
        _cleaned(graph, keep=1)
    monkeypatch.setattr(steps, "observer", None)

    kept = [True] * (6 - earlier)
    assert [_readable(graph, each) for each in commits[earlier:]] == kept
    _cleaned(graph, keep=4)
    assert [_readable(graph, each) for each in commits] == [False] * 2 + [True] * 4
    assert graph.fsck().findings == ()


def test_what_two_cleanups_buried_stays_told_when_one_takes_it_back(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = _grown(graph, 6)
    other = open_graph(graph.uri, durable=False)

    def observer(step: str) -> None:
        if step == "cleanup marked" and "late" in graph.branches():
            graph.delete_branch("late")
            monkeypatch.setattr(steps, "observer", None)
            _cleaned(other, keep=1)
        elif step == "versions buried":
            graph.create_branch("late", commits[2].id)

    monkeypatch.setattr(steps, "observer", observer)
    _cleaned(graph, keep=1)

    assert [_readable(graph, each) for each in commits] == [False] * 5 + [True]
    assert graph.fsck().findings == ()


def test_a_branch_made_after_the_mark_is_refused(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = _grown(graph, 6)

    def make() -> None:
        with pytest.raises(CommitCleanedError):
            graph.create_branch("late", commits[2].id)

    monkeypatch.setattr(steps, "observer", _at_step("cleanup marked", make))

    _cleaned(graph, keep=1)

    assert graph.branches() == ["main"]
    assert graph.fsck().findings == ()


def _cleaning_before_flip(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a whole cleanup happen between what the next flip was made of and the flip."""
    flip = Manifest.flip
    done: list[bool] = []

    def late(
        self: Manifest, at: Table, updates: dict[str, Head | None], *, needs_old: bool = False
    ) -> Table:
        if not done:
            done.append(True)
            _cleaned(open_graph(graph.uri, durable=False), keep=1)
        return flip(self, at, updates, needs_old=needs_old)

    monkeypatch.setattr(Manifest, "flip", late)


def test_a_branch_whose_commit_is_cleaned_up_while_it_is_made_is_taken_back(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = _grown(graph, 6)
    _cleaning_before_flip(graph, monkeypatch)

    with pytest.raises(CommitCleanedError):
        graph.create_branch("late", commits[2].id)

    assert graph.branches() == ["main"]
    assert graph.fsck().findings == ()


def test_an_ingest_into_a_new_branch_does_not_start_at_what_is_cleaned_up(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = _grown(graph, 6)
    _cleaning_before_flip(graph, monkeypatch)
    lines = '{"type": "Company", "data": {"name": "Acme"}}'

    with pytest.raises(CommitCleanedError):
        graph.ingest(lines, branch="late", base=commits[2].id)

    assert graph.branches() == ["main"]
    assert graph.fsck().findings == ()


def test_a_merge_does_not_adopt_a_table_that_is_cleaned_up(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("other")
    commits = _grown(graph, 4, "other")
    write(graph, {KNOWS: (Append(knows([])),)})
    _cleaning_before_flip(graph, monkeypatch)

    with pytest.raises(CommitCleanedError):
        graph.merge(commits[1].id, "main")

    assert ages(graph) == {}
    assert graph.fsck().findings == ()


def test_two_cleanups_at_once_do_no_harm(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = _grown(graph, 8)
    other = open_graph(graph.uri, durable=False)
    monkeypatch.setattr(
        steps, "observer", _at_step("cleanup marked", lambda: _cleaned(other, keep=1))
    )

    _cleaned(graph, keep=1)

    assert [_readable(graph, each) for each in commits] == [False] * 7 + [True]
    assert edges(graph) == set()
    assert graph.fsck().findings == ()


def _staged(graph: Graph) -> Path:
    """Stage a write that is never published, and give the manifest of its version."""
    writes = {PERSON: (Append(people({"never": 1})), Delete(pa.array(["never"])))}
    staged = stage(WriteSet(base=graph.snapshot(), writes=writes), "main").tables[PERSON]
    return Path(graph.uri, staged.path, "_versions", layout.manifest_name(staged.version))
