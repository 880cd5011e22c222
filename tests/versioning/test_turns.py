"""Writers of one branch on one machine take turns for as long as turns go on."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from omnigraph.storage.store import store_at
from omnigraph.versioning.attempts import Patience
from omnigraph.versioning.turn import turn

WRITERS, SECONDS = 8, 0.3
PATIENCE = Patience(seconds=60, turn=1)


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
