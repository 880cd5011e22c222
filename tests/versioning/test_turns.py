"""Writers of one branch on one machine get their turns in the order in which they came."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from omnigraph.errors import InputError
from omnigraph.storage.store import store_at
from omnigraph.versioning.attempts import Patience
from omnigraph.versioning.turns import branch_turn, locks
from omnigraph.versioning.turns.branch_turn import Ticket, turn
from omnigraph.versioning.turns.locks import unlock
from tests.pipeline.drivers import eventually

WRITERS, SECONDS, DEADLINE = 8, 0.3, 120
PATIENCE = Patience(seconds=60, turn=1)
# Nobody overtakes anybody.
PATIENT = Patience(seconds=60, turn=600)

# Takes the turn, or stands in line for it, says so, and stays there.
WRITER = """
import sys, time
from omnigraph.storage.store import store_at
from omnigraph.versioning.attempts import Patience
from omnigraph.versioning.turns.branch_turn import Ticket, turn

def say():
    print("there", flush=True)

with turn(store_at(sys.argv[1]), "main", Patience(turn=600), Ticket(begun=1), say):
    say()
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the machine that nobody else uses."""
    folder = tmp_path / "machine"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def most_at_once(root: Path) -> int:
    """Return how many of some writers were at it at the same time."""
    lock, busy, most = threading.Lock(), 0, 0

    def write(_: int) -> None:
        nonlocal busy, most
        with turn(store_at(root), "main", PATIENCE):
            with lock:
                busy += 1
                most = max(most, busy)
            time.sleep(SECONDS)
            with lock:
                busy -= 1

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    return most


@contextmanager
def in_line(root: Path, begun: int, done: Callable[[], None]) -> Iterator[threading.Thread]:
    """Another writer, which waits for its turn when the block begins."""
    waits = threading.Event()

    def write() -> None:
        with turn(store_at(root), "main", PATIENT, Ticket(begun=begun), waits.set):
            done()

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    assert waits.wait(DEADLINE)
    yield thread


@contextmanager
def writing_process(root: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process, which has the turn or waits for it when the block begins."""
    command = [sys.executable, "-c", WRITER, str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "there\n"
            yield process
        finally:
            process.kill()


def test_who_waits_longer_than_a_turn_takes_still_gets_its_own(tmp_path: Path) -> None:
    assert 2 * PATIENCE.turn < WRITERS * SECONDS

    # A machine that stalls for a second makes somebody go on without a turn.
    assert any(most_at_once(tmp_path / str(each)) == 1 for each in range(3))


def test_nobody_waits_for_a_writer_that_is_at_something_long(tmp_path: Path) -> None:
    store, quick = store_at(tmp_path), Patience(seconds=60, turn=0.1)
    done = threading.Event()

    def write() -> None:
        with turn(store, "main", quick):
            done.set()

    with turn(store, "main", PATIENCE):
        other = threading.Thread(target=write)
        other.start()
        assert done.wait(60)
    other.join(60)


@pytest.mark.parametrize("arrivals", [(10, 20, 30), (30, 10, 20)])
def test_who_came_first_is_next_whenever_it_began_to_wait(
    tmp_path: Path, arrivals: tuple[int, ...]
) -> None:
    order: list[int] = []
    with turn(store_at(tmp_path), "main", PATIENT):
        threads = []
        for begun in arrivals:
            with in_line(tmp_path, begun, lambda begun=begun: order.append(begun)) as thread:  # type: ignore[misc]
                threads.append(thread)
    for thread in threads:
        thread.join(DEADLINE)

    assert sorted(order) == [10, 20, 30]
    # On a machine that stalls, one behind goes on rather than leave a free turn alone.
    assert order.index(10) < order.index(30)


def test_nobody_waits_for_a_process_that_was_killed_in_its_turn(tmp_path: Path) -> None:
    with writing_process(tmp_path) as process:
        done = threading.Event()
        with in_line(tmp_path, 2, done.set) as thread:
            process.kill()
            assert done.wait(DEADLINE)
        thread.join(DEADLINE)


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.long)]
)
def test_nobody_waits_for_a_process_that_is_killed_or_stopped_in_line(
    tmp_path: Path, how: signal.Signals
) -> None:
    done = threading.Event()
    with ExitStack() as open_until:
        held = turn(store_at(tmp_path), "main", PATIENT)
        held.__enter__()
        process = open_until.enter_context(writing_process(tmp_path))
        thread = open_until.enter_context(in_line(tmp_path, 2, done.set))
        os.kill(process.pid, how)
        assert not done.is_set()
        held.__exit__(None, None, None)
        thread.join(DEADLINE)

        assert done.is_set()


def test_a_process_that_is_stopped_in_line_costs_the_others_one_thread(tmp_path: Path) -> None:
    with ExitStack() as open_until:
        with turn(store_at(tmp_path), "main", PATIENT):
            process = open_until.enter_context(writing_process(tmp_path))
            os.kill(process.pid, signal.SIGSTOP)
        before = threading.active_count()
        for _ in range(10):
            with turn(store_at(tmp_path), "main", PATIENT):
                pass

        assert threading.active_count() <= before + 1
    assert eventually(lambda: threading.active_count() < before + 1, DEADLINE)


def test_a_place_that_a_stopped_process_locked_as_it_was_made_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever locks it first takes it for that of a dead process, and is stopped just then."""
    taken: list[int | None] = []
    done = threading.Event()

    def lock_now(path: Path) -> int | None:
        if path.parent.name.startswith("line-") and not taken:
            taken.append(locks.lock_now(path))
        return locks.lock_now(path)

    with turn(store_at(tmp_path), "main", PATIENT):
        monkeypatch.setattr(branch_turn, "lock_now", lock_now)
        with in_line(tmp_path, 1, done.set) as thread:
            pass
    thread.join(DEADLINE)
    assert done.is_set()
    (file,) = taken
    assert file is not None
    unlock(file)


def test_a_writer_that_is_interrupted_as_it_comes_leaves_the_line_to_others() -> None:
    class Interrupting:
        """A lock that is unlocked as Ctrl-C is pressed."""

        is_due = True

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            due, self.is_due = self.is_due, False
            if due:
                raise KeyboardInterrupt

    def wait() -> None:
        raise AssertionError("it waits for nobody")

    crowd = branch_turn._Crowd(lock=Interrupting())  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt), crowd.led(1, wait):
        pass
    with crowd.led(2, wait):
        pass


def test_who_waits_can_leave_the_line(tmp_path: Path) -> None:
    def cancelled() -> None:
        raise InputError("cancelled")

    refused: list[InputError] = []

    def write() -> None:
        try:
            with turn(store_at(tmp_path), "main", PATIENT, check=cancelled):
                raise AssertionError
        except InputError as caught:
            refused.append(caught)

    with turn(store_at(tmp_path), "main", PATIENT):
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(DEADLINE)
        assert len(refused) == 1
        done = threading.Event()
        with in_line(tmp_path, 2, done.set) as other:
            pass
    other.join(DEADLINE)
    assert done.is_set()


def test_who_waits_for_another_thread_can_leave_the_line(tmp_path: Path) -> None:
    cancelled, done = threading.Event(), [threading.Event() for _ in range(3)]
    left: list[InputError] = []

    def check() -> None:
        if cancelled.is_set():
            raise InputError("cancelled")

    def write() -> None:
        try:
            with turn(store_at(tmp_path), "main", PATIENT, Ticket(begun=2), check):
                done[1].set()
        except InputError as caught:
            left.append(caught)

    with turn(store_at(tmp_path), "main", PATIENT), in_line(tmp_path, 1, done[0].set) as first:
        between = threading.Thread(target=write)
        between.start()
        with in_line(tmp_path, 3, done[2].set) as last:
            cancelled.set()
            between.join(DEADLINE)
            assert len(left) == 1
    for thread in (first, last):
        thread.join(DEADLINE)
    assert [each.is_set() for each in done] == [True, False, True]


def test_a_writer_for_whom_nobody_waits_leaves_one_file(tmp_path: Path, lines: Path) -> None:
    for _ in range(3):
        with turn(store_at(tmp_path), "main", PATIENT):
            pass

    assert len([each for each in lines.rglob("*") if each.is_file()]) == 1


def test_who_waited_leaves_no_place_behind(tmp_path: Path, lines: Path) -> None:
    done = threading.Event()
    with turn(store_at(tmp_path), "main", PATIENT), in_line(tmp_path, 1, done.set) as thread:
        pass
    thread.join(DEADLINE)

    assert done.is_set()
    assert len([each for each in lines.rglob("*") if each.is_file()]) == 1


def test_places_that_cannot_be_locked_are_not_left_behind(
    tmp_path: Path, lines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> bool:
        raise OSError("no locks available")

    done = threading.Event()
    with turn(store_at(tmp_path), "main", PATIENT), in_line(tmp_path, 1, done.set) as thread:
        pass
    thread.join(DEADLINE)
    (places,) = lines.rglob("line-*")
    (places / "of a dead process").touch()
    monkeypatch.setattr(locks, "has_lock", fail)
    for _ in range(3):
        with turn(store_at(tmp_path), "main", PATIENT):
            pass

    assert len(list(places.iterdir())) == 1


@pytest.mark.parametrize("mode", [0o777, 0o720])
def test_a_folder_in_which_others_may_write_is_left_alone(
    tmp_path: Path, lines: Path, mode: int
) -> None:
    """Whoever could have made it could lead us to write to a file of theirs, or of ours."""
    (folder,) = _made_folders(tmp_path, lines)
    folder.chmod(mode)
    with turn(store_at(tmp_path), "main", PATIENT):
        pass

    assert list(folder.iterdir()) == []


def test_a_folder_that_is_a_link_is_left_alone(tmp_path: Path, lines: Path) -> None:
    (folder,) = _made_folders(tmp_path, lines)
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    folder.rmdir()
    folder.symlink_to(other)
    with turn(store_at(tmp_path), "main", PATIENT):
        pass

    assert list(other.iterdir()) == []


def _made_folders(root: Path, lines: Path) -> list[Path]:
    """Return the folders that a first turn made for its files, which are empty again."""
    with turn(store_at(root), "main", PATIENT):
        pass
    for file in [each for each in lines.rglob("*") if each.is_file()]:
        file.unlink()
    return list(lines.iterdir())
