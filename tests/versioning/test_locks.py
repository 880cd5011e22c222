"""Files that one thread of one machine at a time has locked, in the order in which they came."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.versioning.turns import locks
from omnigraph.versioning.turns.locks import LockWait, lock_now, lock_within, unlock
from tests.pipeline.drivers import eventually

LONG, SOON = 60.0, 0.05
KEEPING = """
import sys, time
from pathlib import Path
from omnigraph.versioning.turns.locks import lock_now

assert lock_now(Path(sys.argv[1])) is not None
print("locked", flush=True)
time.sleep(600)
"""


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "lock"
    assert eventually(lambda: not locks._GIVEN_UP, LONG), "somebody still waits"


def locked(path: Path) -> int:
    file = lock_now(path)
    assert file is not None
    return file


def test_who_waits_gets_the_lock_when_it_is_free(path: Path) -> None:
    first, got = locked(path), []
    waiting = threading.Thread(target=lambda: got.append(lock_within(path, LONG)))
    waiting.start()
    time.sleep(SOON)
    assert not got
    unlock(first)
    waiting.join(LONG)
    (second,) = got
    assert second is not None
    assert lock_now(path) is None
    unlock(second)


def test_the_lock_of_a_process_that_dies_is_free(path: Path) -> None:
    command = [sys.executable, "-c", KEEPING, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        threading.Timer(SOON, holder.kill).start()
        file = lock_within(path, LONG)
    assert file is not None
    unlock(file)


def test_a_wait_that_is_given_up_takes_nothing(path: Path) -> None:
    first = locked(path)
    assert lock_within(path, SOON) is None
    begun = time.monotonic()
    assert lock_within(path, LONG) is None  # behind one who gave up nobody waits
    assert time.monotonic() - begun < LONG / 2
    unlock(first)
    assert eventually(lambda: not locks._GIVEN_UP, LONG), "the thread that waits does not end"
    unlock(locked(path))


def test_without_time_nobody_waits(path: Path) -> None:
    first = locked(path)
    assert lock_within(path, 0.0) is None
    assert not locks._GIVEN_UP
    unlock(first)
    second = lock_within(path, 0.0)
    assert second is not None
    unlock(second)


def test_a_wait_that_is_interrupted_leaves_no_lock_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = locked(path)

    class Interrupted(LockWait):
        def has_ended(self, seconds: float) -> bool:
            unlock(first)
            assert super().has_ended(seconds)
            raise KeyboardInterrupt

    monkeypatch.setattr(locks, "LockWait", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        lock_within(path, LONG)
    unlock(locked(path))


def test_a_wait_that_is_interrupted_as_it_closes_closes_its_file_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else may have opened another file under the same number since."""
    closed = []

    def interrupted(file: int) -> None:
        closed.append(file)
        unlock(file)
        raise KeyboardInterrupt

    first = locked(path)
    wait = LockWait(path, os.open(path, os.O_RDWR))
    unlock(first)
    assert wait.has_ended(LONG)
    with monkeypatch.context() as patched:
        patched.setattr(locks, "unlock", interrupted)
        with pytest.raises(KeyboardInterrupt):
            wait.close()
        wait.close()
    assert len(closed) == 1


def test_a_file_that_was_taken_stays_open_and_locked(path: Path) -> None:
    taken = threading.Event()

    class Slow(threading.Event):
        """Who is told goes on before the thread that tells it does."""

        def set(self) -> None:
            super().set()
            taken.wait(SOON)

    first, before = locked(path), set(threading.enumerate())
    wait = LockWait(path, os.open(path, os.O_RDWR))
    (thread,) = set(threading.enumerate()) - before
    wait._ended = Slow()
    unlock(first)
    assert wait.has_ended(LONG)
    file = wait.taken()
    taken.set()
    thread.join(LONG)
    assert os.fstat(file).st_ino == path.stat().st_ino
    assert lock_now(path) is None
    unlock(file)


def test_without_room_for_a_thread_it_is_said_that_nobody_can_wait(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    first = locked(path)
    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(OSError, match="nobody can wait for a lock"):
        lock_within(path, LONG)
    unlock(first)
    unlock(locked(path))
