"""Branch turn: writers of one branch on one machine stand in line, so that they do not race.

Nothing depends on a turn: the flip decides, and who comes first in line while somebody is at
something long overtakes that one. The kernel releases the locks of a process that dies.
"""

import heapq
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import field
from itertools import count
from pathlib import Path

from omnigraph.frozen import dataclass
from omnigraph.storage.store import Store
from omnigraph.versioning.attempts import Patience
from omnigraph.versioning.names import fold
from omnigraph.versioning.turns.locks import (
    LockWait,
    is_at,
    is_given_up,
    lock_file,
    lock_now,
    unlock,
)

# Who waits looks so often whether it was cancelled, and whether the others get on; those far behind
# and who waits for another thread of its process, less often.
_LONGEST_BLIND, _LONGEST_ASLEEP = 0.05, 0.2
# For so long, each who is ahead may leave a free turn alone; a busy machine wakes nobody at once.
_GRACE = 0.01
# Who got its turn later than that has waited for it.
_LONG_WAIT = 0.02
# A turn may take so many times as long as others took; who lost a race, twice as long as it took.
_SLACK, _LOSER_SLACK, _LONGEST_TURN = 5, 2, 60
_WEIGHT, _LONGEST_PACE = 0.3, 4
# Who has locked a turn says so at once, unless it was stopped.
_LONGEST_SILENCE = 0.5
_NUMBERS = count()


class _OwnLines(threading.local):
    """The turns that this thread has, and whether it waited; it does not wait for itself."""

    def __init__(self) -> None:
        self.paths: dict[Path, bool] = {}


_OWN = _OwnLines()


def has_waited() -> bool:
    """Whether this thread has a turn for which it waited, so that others may wait behind it."""
    return any(_OWN.paths.values())


@dataclass(slots=True)
class Ticket:
    """When a writer came, which it keeps when it loses a race, and how long its attempts took."""

    begun: int = field(default_factory=time.monotonic_ns)
    longest: float = 0.0
    waited: float = 0.0


def _never() -> None:
    """Cancel nothing."""


@contextmanager
def turn(
    store: Store,
    branch: str,
    patience: Patience,
    ticket: Ticket | None = None,
    check: Callable[[], None] = _never,
) -> Iterator[None]:
    """Hold the turn of a branch within the block, in the order in which writers came.

    Whoever is at something long is overtaken, by one writer at a time. `check` is called while
    waiting, and raises to leave the line.
    """
    line = _Line.of(store.root, branch, patience)
    if line is None or line.turn in _OWN.paths:
        yield
        return
    ticket, begun = ticket or Ticket(), time.monotonic()
    file = line.take(ticket, check)
    got = time.monotonic()
    ticket.waited += got - begun
    _OWN.paths[line.turn] = ticket.waited > _LONG_WAIT
    try:
        yield
    finally:
        del _OWN.paths[line.turn]
        taken = time.monotonic() - got
        ticket.longest = max(ticket.longest, taken)
        if file is not None:
            line.release(file, taken)


@dataclass(slots=True)
class _Crowd:
    """Those threads of this process that wait for one turn.

    One of them stands in line for all, so that the others cost nothing.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: list[tuple[int, int, threading.Event]] = field(default_factory=list)
    leader: int | None = None

    @contextmanager
    def led(self, begun: int, check: Callable[[], None]) -> Iterator[None]:
        """Stand in line within the block, for all of this process who came later."""
        if self.leader is not None and begun < self.leader:
            yield  # it lost a race, and comes before whoever stands there
            return
        chosen = threading.Event()
        try:
            self._join(begun, chosen)
            while not chosen.wait(_LONGEST_ASLEEP):
                check()
            yield
        finally:
            self._leave(chosen)

    def _join(self, begun: int, chosen: threading.Event) -> None:
        with self.lock:
            if self.leader is None:
                chosen.set()  # first: whoever is interrupted here leaves as a leader does
                self.leader = begun
            else:
                heapq.heappush(self.waiting, (begun, next(_NUMBERS), chosen))

    def _leave(self, chosen: threading.Event) -> None:
        with self.lock:
            if not chosen.is_set():
                self.waiting = [each for each in self.waiting if each[2] is not chosen]
                heapq.heapify(self.waiting)
            elif self.waiting:
                self.leader, _, following = heapq.heappop(self.waiting)
                following.set()
            else:
                self.leader = None


_CROWDS: dict[Path, _Crowd] = {}
if hasattr(os, "register_at_fork"):  # the threads of a process that forks are not in its child
    os.register_at_fork(after_in_child=_CROWDS.clear)


def _crowd(turn: Path) -> _Crowd:
    return _CROWDS.get(turn) or _CROWDS.setdefault(turn, _Crowd())


@dataclass(frozen=True, slots=True)
class _State:
    """What the file of a turn says.

    `moves` counts how often the turn was taken and released, so it is odd while somebody has it.
    `pace` is about how long turns took of late, and `asked` what whoever has it asked for.
    """

    moves: int = 0
    pace: float = 0.0
    asked: float = 0.0

    @property
    def is_free(self) -> bool:
        """Whether the last who had the turn released it; one who died did not."""
        return self.moves % 2 == 0


_STATE = struct.Struct("<Qdd")


class _Nearest:
    """The wait for whoever is directly ahead, or has the turn: for the lock of that one's file."""

    def __init__(self) -> None:
        self._wait: LockWait | None = None

    def close(self) -> None:
        """Wait no longer."""
        if self._wait is not None:
            self._wait.close()
            self._wait = None

    def locked(self, path: Path, seconds: float) -> int | None:
        """Wait for so long, and return the file if it is locked here by then."""
        if self._wait is None or self._wait.path != path:
            self.close()
            try:
                if is_given_up(path):  # who has it may be stopped, and every wait is a thread
                    time.sleep(min(seconds, _GRACE))
                    return None
                file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
            self._wait = LockWait(path, file)
        if not self._wait.has_ended(seconds):
            return None
        ended, self._wait = self._wait, None
        return ended.taken()


@dataclass(frozen=True, slots=True)
class _Line:
    """All who want to write to one branch.

    Who has the turn has its file locked. Who has to wait for it has a locked file of its own, named
    by when it came: making a file takes longer than all else, and nobody waits for that.
    """

    turn: Path
    places: Path
    patience: Patience

    @classmethod
    def of(cls, root: str, branch: str, patience: Patience) -> "_Line | None":
        """Return the line of a branch; None on a machine without locks."""
        turn = lock_file("turn", f"{root}\0{fold(branch)}")
        return None if turn is None else cls(turn, turn.with_name(f"line-{turn.name}"), patience)

    def take(self, ticket: Ticket, check: Callable[[], None]) -> int | None:
        """Return the locked file of the turn, after all who came earlier; None without locks."""
        try:
            crowd = _crowd(self.turn)
            is_alone = crowd.leader is None and not self._waiting()
            file = lock_now(self.turn) if is_alone else None
            if file is None:
                with crowd.led(ticket.begun, check), self._place(ticket) as name:
                    file = self._wait(name, check)
        except OSError:  # a full disk, or one without locks: writers race, and the flip decides
            return None
        asked, state = min(_LOSER_SLACK * ticket.longest, _LONGEST_TURN), _read(file)
        _write(file, _State((state.moves + 1) | 1, state.pace, asked))
        return file

    def release(self, file: int, taken: float) -> None:
        """Leave the turn to the next, and note how long it took; a long one counts little."""
        try:
            taken, state = min(taken, _LONGEST_PACE * self.patience.turn), _read(file)
            _write(file, _State(state.moves + 1, state.pace + _WEIGHT * (taken - state.pace)))
        finally:
            unlock(file)

    @contextmanager
    def _place(self, ticket: Ticket) -> Iterator[str]:
        """Stand in line within the block; yields the name of the place."""
        self.places.mkdir(mode=0o700, exist_ok=True)
        name, file = _new_name(ticket), None
        try:
            while (file := lock_now(self.places / name)) is None:
                name = _new_name(ticket)  # who took that one for a dead process's removes it
            yield name
        finally:
            (self.places / name).unlink(missing_ok=True)
            if file is not None:
                unlock(file)

    def _wait(self, name: str, check: Callable[[], None]) -> int:
        """Return the locked file of the turn when nobody is ahead, or does not get on."""
        seen, since, file = _State(), time.monotonic(), None
        with closing(_Nearest()) as nearest:
            while file is None:
                ahead, state, now = self._ahead(name), self._state(), time.monotonic()
                if state.moves != seen.moves:
                    since = now
                seen, still = state, now - since
                if not ahead or (seen.is_free and still >= _GRACE * len(ahead)):
                    file = lock_now(self.turn)
                if file is None and still >= self._allowance(seen) * (len(ahead) + 1):
                    self._overtake(seen)
                elif file is None:
                    check()
                    file = self._followed(nearest, name, ahead)
        return file

    def _followed(self, nearest: _Nearest, name: str, ahead: list[str]) -> int | None:
        """Wait for the nearest of those ahead; return the file of the turn if it is locked now."""
        path = self.places / ahead[-1] if ahead else self.turn
        file = nearest.locked(path, min(_LONGEST_BLIND * (len(ahead) + 1), _LONGEST_ASLEEP))
        if file is None:
            return None
        is_next = False
        try:
            # One who lost a race may have come back to a place ahead meanwhile.
            is_next = not ahead and is_at(file, path) and not self._ahead(name)
            if ahead:  # a dead process left it
                path.unlink(missing_ok=True)
        finally:
            if not is_next:
                unlock(file)
        return file if is_next else None

    def _waiting(self) -> list[str]:
        """Return the names of those who wait, in the order in which they came."""
        try:
            return sorted(each.name for each in self.places.iterdir())
        except FileNotFoundError:
            return []

    def _ahead(self, name: str) -> list[str]:
        return [each for each in self._waiting() if each < name]

    def _overtake(self, state: _State) -> None:
        """Let another turn begin beside that of whoever is at something long."""
        following = self.turn.with_suffix(".next")
        following.write_bytes(_STATE.pack(state.moves // 2 * 2 + 2, state.pace, 0.0))
        with suppress(FileNotFoundError):  # somebody was quicker
            following.replace(self.turn)

    def _allowance(self, state: _State) -> float:
        """Return for how long nobody overtakes whoever has the turn."""
        if state.is_free:
            return _LONGEST_SILENCE
        return max(state.asked, self.patience.turn, _SLACK * state.pace)

    def _state(self) -> _State:
        try:
            file = os.open(self.turn, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return _State()
        try:
            return _read(file)
        finally:
            os.close(file)


def _new_name(ticket: Ticket) -> str:
    return f"{ticket.begun:020}-{os.getpid():x}-{next(_NUMBERS):x}"


def _read(file: int) -> _State:
    found = b""
    with suppress(OSError):  # a broken disk: nobody had the turn before
        found = os.pread(file, _STATE.size, 0)
    return _State(*_STATE.unpack(found)) if len(found) == _STATE.size else _State()


def _write(file: int, state: _State) -> None:
    """Write over what the file says: to cut it first would flush it, which takes milliseconds."""
    with suppress(OSError):  # a full disk: turns are taken to be short
        os.pwrite(file, _STATE.pack(state.moves, state.pace, state.asked), 0)
