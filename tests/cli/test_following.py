"""`ingest --follow` takes every file of a folder once, whatever happens in between."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from omnigraph.api.graph import Graph
from omnigraph.cli.following import inbox as inboxes
from omnigraph.cli.following.follow import Batch
from omnigraph.cli.following.inbox import Inbox
from omnigraph.cli.main import omnigraph
from omnigraph.write.load.loaded import Loaded
from tests.sample import ages, new_graph

MOST_SECONDS = 120


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


@pytest.fixture
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is looked into again and again without a pause."""
    monkeypatch.setattr(inboxes, "_LOOK_SECONDS", 0.01)
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


def offer(inbox: Path, name: str, **persons: int) -> None:
    rows = [
        {"type": "Person", "data": {"slug": slug, "name": slug, "age": age}}
        for slug, age in persons.items()
    ]
    (inbox / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def followed(graph: Graph, inbox: Path, *more: str) -> Result:
    words = ["ingest", graph.uri, "--branch", "main", "--follow", str(inbox), "--once", *more]
    return CliRunner().invoke(omnigraph, words)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def commits(graph: Graph) -> int:
    return len(list(graph.log()))


def test_files_are_ingested_in_the_order_of_their_names_each_by_one_commit(
    graph: Graph, inbox: Path
) -> None:
    before = commits(graph)
    offer(inbox, "b.jsonl", ann=31)
    offer(inbox, "a.jsonl", ann=30, bob=40)
    offer(inbox, ".hidden.jsonl", ann=1)
    offer(inbox, "c.jsonl.part", ann=2)

    done = followed(graph, inbox)

    assert done.exit_code == 0, done.output
    assert ages(graph) == {"ann": 31, "bob": 40}
    assert commits(graph) == before + 2
    assert names(inbox / "_done") == ["a.jsonl", "b.jsonl"]
    assert names(inbox) == [".hidden.jsonl", "_bad", "_done", "c.jsonl.part"]
    assert done.stdout.splitlines()[-1] == "ingested 2 files"


def test_a_bad_file_is_reported_and_set_aside_and_the_others_go_on(
    graph: Graph, inbox: Path
) -> None:
    offer(inbox, "a.jsonl", ann=30)
    (inbox / "b.jsonl").write_text('{"type": "Persn", "data": {"slug": "bob"}}\n')
    (inbox / "c.jsonl").write_text("no JSON at all\n")
    offer(inbox, "d.jsonl", dora=50)

    done = followed(graph, inbox)

    assert done.exit_code == 1
    assert ages(graph) == {"ann": 30, "dora": 50}
    assert names(inbox / "_bad") == [
        "b.jsonl",
        "b.jsonl.error.json",
        "c.jsonl",
        "c.jsonl.error.json",
    ]
    assert json.loads((inbox / "_bad" / "b.jsonl.error.json").read_text())["code"]
    assert "Persn" in done.stderr
    assert done.stdout.splitlines()[-1] == "ingested 2 files, set 2 files aside"


def test_a_file_that_appears_again_with_other_rows_is_another_one(
    graph: Graph, inbox: Path
) -> None:
    offer(inbox, "a.jsonl", ann=30)
    followed(graph, inbox)
    offer(inbox, "a.jsonl", ann=31)
    followed(graph, inbox)

    assert ages(graph) == {"ann": 31}
    assert names(inbox / "_done") == ["a.2.jsonl", "a.jsonl"]


def test_a_file_that_appears_again_with_earlier_rows_is_another_one(
    graph: Graph, inbox: Path
) -> None:
    for age in (30, 31, 30):
        offer(inbox, "a.jsonl", ann=age)
        followed(graph, inbox)

    assert ages(graph) == {"ann": 30}


def test_a_file_that_is_moved_back_is_the_same_one(graph: Graph, inbox: Path) -> None:
    offer(inbox, "a.jsonl", ann=30)
    followed(graph, inbox, "--mode", "append")
    (inbox / "_done" / "a.jsonl").rename(inbox / "a.jsonl")
    before = commits(graph)

    done = followed(graph, inbox, "--mode", "append")

    assert done.exit_code == 0, done.output
    assert commits(graph) == before


@pytest.mark.parametrize("wrong", [("--type", "Persn"), ("--message", "x" * 20_000)])
def test_a_wrong_option_is_the_fault_of_no_file(
    graph: Graph, inbox: Path, wrong: tuple[str, str]
) -> None:
    offer(inbox, "a.jsonl", ann=30)

    done = followed(graph, inbox, *wrong)

    assert done.exit_code == 1
    assert names(inbox) == ["a.jsonl"]
    assert "set aside" not in done.output


@pytest.mark.parametrize("branch", ["main", "new"])
def test_options_are_tried_out_without_a_commit_or_a_branch(
    graph: Graph, inbox: Path, branch: str
) -> None:
    before = commits(graph)

    done = followed(graph, inbox, "--type", "Person", "--branch", branch)

    assert done.exit_code == 0, done.output
    assert (commits(graph), list(graph.branches())) == (before, ["main"])


def offered(source: Inbox) -> Iterator[str]:
    """Yield the names of files as they are offered, and look again until one is."""
    return (each.name for each in source.batches() if each is not None)


def test_a_file_that_is_written_to_while_others_are_loaded_waits_until_it_is_whole(
    inbox: Path,
) -> None:
    offer(inbox, "a.jsonl", ann=30)
    offer(inbox, "b.jsonl", bob=40)
    offer(inbox, "c.jsonl", cat=50)
    names = offered(Inbox(inbox, "scope"))
    assert next(names) == "a.jsonl"

    (inbox / "a.jsonl").unlink()
    offer(inbox, "b.jsonl", bob=40, bea=41)

    assert next(names) == "c.jsonl"
    (inbox / "c.jsonl").unlink()
    assert next(names) == "b.jsonl", "it comes when nothing is written to it any more"


def test_a_file_that_is_withdrawn_while_others_are_loaded_is_not_missed(
    graph: Graph, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        offer(inbox, f"{name}.jsonl", **{name: 30})
    withdraw_before(monkeypatch, "keep", inbox / "b.jsonl")

    done = followed(graph, inbox)

    assert done.exit_code == 0, done.output
    assert ages(graph) == {"a": 30, "c": 30}
    assert done.stdout.splitlines()[-1] == "ingested 2 files"


@pytest.mark.parametrize(
    ("step", "text", "told"),
    [
        ("keep", '{"type": "Company", "data": {"name": "x"}}', "ingested 1 file"),
        ("refuse", "no JSON", "ingested 0 files"),
    ],
)
def test_a_file_that_is_withdrawn_while_it_is_loaded_ends_nothing(
    graph: Graph, inbox: Path, monkeypatch: pytest.MonkeyPatch, step: str, text: str, told: str
) -> None:
    (inbox / "a.jsonl").write_text(text)
    withdraw_before(monkeypatch, step, inbox / "a.jsonl")

    done = followed(graph, inbox)

    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == told


def withdraw_before(patched: pytest.MonkeyPatch, step: str, file: Path) -> None:
    """Remove a file when the first batch comes to a step."""
    real = getattr(Inbox, step)

    def taken(self: Inbox, *args: object) -> int:
        file.unlink(missing_ok=True)
        found: int = real(self, *args)
        return found

    patched.setattr(Inbox, step, taken)


def test_a_file_that_is_written_to_while_it_is_loaded_is_set_aside_and_said(
    graph: Graph, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(inbox, "a.jsonl", ann=30)
    real = Inbox.keep

    def keep(self: Inbox, batch: Batch, loaded: Loaded) -> int:
        offer(inbox, "a.jsonl", ann=30, bob=40)
        return real(self, batch, loaded)

    monkeypatch.setattr(Inbox, "keep", keep)
    done = followed(graph, inbox)

    assert done.exit_code == 1
    assert "was written to while it was ingested" in done.stderr
    assert "a.jsonl" in names(inbox / "_bad")


@pytest.mark.parametrize("text", [None, "no JSON"])
def test_a_file_that_replaces_one_that_is_loaded_is_ingested_too(
    graph: Graph, inbox: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    offer(inbox, "a.jsonl", ann=30)
    if text is not None:
        (inbox / "a.jsonl").write_text(text)
    step = "keep" if text is None else "refuse"
    real = getattr(Inbox, step)

    def replaced(self: Inbox, *args: object) -> int:
        monkeypatch.setattr(Inbox, step, real)
        offer(inbox, "new.tmp", ann=31, bob=40)
        (inbox / "new.tmp").replace(inbox / "a.jsonl")
        found: int = real(self, *args)
        return found

    monkeypatch.setattr(Inbox, step, replaced)
    done = followed(graph, inbox)

    assert done.exit_code == 0, done.output
    assert ages(graph) == {"ann": 31, "bob": 40}
    assert names(inbox) == ["_bad", "_done"]


def test_a_process_killed_after_a_commit_repeats_nothing(graph: Graph, inbox: Path) -> None:
    offer(inbox, "a.jsonl", ann=30)
    offer(inbox, "b.jsonl", bob=40)
    killed = """
import os, signal
from omnigraph.cli.following.inbox import Inbox
from omnigraph.cli.main import main
Inbox.put = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
main()
"""
    words = ["ingest", graph.uri, "--branch", "main", "--mode", "append", "--follow", str(inbox)]
    command = [sys.executable, "-c", killed, *words]
    ended = subprocess.run(command, timeout=MOST_SECONDS, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert ages(graph) == {"ann": 30}, "it was committed, and the file is still there"
    assert "a.jsonl" in names(inbox)

    done = followed(graph, inbox, "--mode", "append")

    assert done.exit_code == 0, done.output
    assert ages(graph) == {"ann": 30, "bob": 40}
    assert names(inbox / "_done") == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize(("more", "code"), [(["--once"], 130), ([], 0)])
def test_ctrl_c_before_all_is_done_is_told_by_the_exit_code(
    graph: Graph, inbox: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], code: int
) -> None:
    offer(inbox, "a.jsonl", ann=30)

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Inbox, "keep", interrupted)
    words = ["ingest", graph.uri, "--branch", "main", "--follow", str(inbox), *more]
    done = CliRunner().invoke(omnigraph, words)

    assert done.exit_code == code
    assert done.stdout.splitlines()[-1] == "ingested 0 files"


@pytest.fixture
def waiting(graph: Graph, inbox: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that follows the folder without an end."""
    words = ["ingest", graph.uri, "--branch", "main", "--follow", str(inbox)]
    command = [sys.executable, "-c", "from omnigraph.cli.main import main; main()", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_ctrl_c_ends_it_and_what_it_did_is_told(
    waiting: "subprocess.Popen[bytes]", graph: Graph, inbox: Path
) -> None:
    offer(inbox, "a.jsonl", ann=30)
    end = time.monotonic() + MOST_SECONDS
    while not (inbox / "_done" / "a.jsonl").exists():
        assert time.monotonic() < end
        assert waiting.poll() is None
        time.sleep(0.05)

    os.kill(waiting.pid, signal.SIGINT)
    told, errors = waiting.communicate(timeout=MOST_SECONDS)

    assert waiting.returncode == 0, errors
    assert told.decode().splitlines()[-1] == "ingested 1 file"
    assert ages(graph) == {"ann": 30}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--json"], "--json"),
        (["--dry-run"], "--dry-run"),
        (["--data", "a.jsonl"], "--data"),
        (["--mode", "overwrite"], "overwrite"),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    graph: Graph, inbox: Path, more: list[str], told: str
) -> None:
    done = followed(graph, inbox, *more)

    assert done.exit_code == 2
    assert told in done.output


def test_a_folder_that_is_not_there_is_an_error(graph: Graph, inbox: Path) -> None:
    done = followed(graph, inbox / "missing")

    assert done.exit_code == 1
    assert "cannot follow" in done.stderr
