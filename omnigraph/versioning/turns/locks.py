"""Locks: files of this machine that one thread of one process at a time has locked.

The kernel releases the locks of a process that dies.
"""

import hashlib
import os
import stat
import tempfile
import threading
from contextlib import closing, suppress
from pathlib import Path

try:
    import fcntl

    _HAS_LOCKS = True
except ImportError:  # Windows: writers race, and the flip decides.
    _HAS_LOCKS = False

# Branches share files, so that ten thousand branches do not leave ten thousand of them.
_FILES = 1024
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)


def lock_file(kind: str, what: str) -> Path | None:
    """Return the file to lock for something; None without locks or a folder of our own."""
    folder = _own_folder() if _HAS_LOCKS else None
    digest = hashlib.sha256(what.encode()).digest()
    return None if folder is None else Path(folder, f"{kind}-{int.from_bytes(digest) % _FILES:03x}")


def lock_now(path: Path) -> int | None:
    """Return a file that is locked now, and made if it was missing; None when somebody has it.

    Whoever has it may have replaced or removed it before it was locked here.
    """
    file, is_ours = os.open(path, _FLAGS, 0o600), False
    try:
        is_ours = has_lock(file) and is_at(file, path)
    finally:
        if not is_ours:
            os.close(file)
    return file if is_ours else None


def is_at(file: int, path: Path) -> bool:
    """Whether an open file is the one that is at a path."""
    try:
        return os.fstat(file).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def lock_within(path: Path, seconds: float) -> int | None:
    """Return a file that is locked, after all who came before; None when that takes too long.

    Where somebody of this process gave up, and is still in line, nobody else of it waits.
    """
    file = os.open(path, _FLAGS, 0o600)
    try:
        is_ours = has_lock(file)
        is_vain = not is_ours and (not seconds or is_given_up(path))
    except OSError:
        os.close(file)
        raise
    if is_ours:
        return file
    if is_vain:
        os.close(file)
        return None
    with closing(LockWait(path, file)) as wait:
        return wait.taken() if wait.has_ended(seconds) else None


# The files, by inode, for which a thread still waits although nobody wants them.
_GIVEN_UP: set[int] = set()
if hasattr(os, "register_at_fork"):  # the threads of a process that forks are not in its child
    os.register_at_fork(after_in_child=_GIVEN_UP.clear)


def is_given_up(path: Path) -> bool:
    """Whether a thread of this process still waits for a file, for somebody who gave up."""
    return path.stat().st_ino in _GIVEN_UP


class LockWait:
    """The wait for the lock of an open file, which costs nothing: the kernel wakes who is next.

    The kernel's wait has no end, so a thread does it. Who closes the wait before the file is locked
    leaves it to that thread to unlock and close the file.
    """

    def __init__(self, path: Path, file: int) -> None:
        self.path = path
        self._file = file
        self._deciding = threading.Lock()
        self._ended = threading.Event()
        self._is_locked = False
        self._is_wanted = True
        try:
            threading.Thread(target=self._wait, daemon=True).start()
        except RuntimeError as failed:  # no room for a thread, or the interpreter ends
            os.close(file)
            raise OSError("nobody can wait for a lock") from failed

    def close(self) -> None:
        """Wait no longer; a file that was not taken is unlocked and closed."""
        with self._deciding:
            was_wanted, self._is_wanted = self._is_wanted, False
            if was_wanted and self._ended.is_set():
                unlock(self._file)
            elif was_wanted:
                _GIVEN_UP.add(os.fstat(self._file).st_ino)

    def has_ended(self, seconds: float) -> bool:
        """Wait for so long, and return whether the file is locked; OSError where it cannot be."""
        has_ended = self._ended.wait(seconds)
        if has_ended and not self._is_locked:
            raise OSError("there are no locks")
        return has_ended

    def taken(self) -> int:
        """Return the locked file, which the caller unlocks."""
        with self._deciding:  # else the thread that says so may still take it for given up
            self._is_wanted = False
        return self._file

    def _wait(self) -> None:
        with suppress(OSError):  # whoever waits is told
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self._is_locked = True
        with self._deciding:
            self._ended.set()
            if not self._is_wanted:
                _GIVEN_UP.discard(os.fstat(self._file).st_ino)
                unlock(self._file)


def has_lock(file: int) -> bool:
    """Lock a file if nobody else has it locked, and return whether it is locked here."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(file: int) -> None:
    """Unlock a file and close it; a process that was forked meanwhile does not keep it locked."""
    try:
        with suppress(OSError):  # what was done under the lock is done; to close it unlocks it too
            fcntl.flock(file, fcntl.LOCK_UN)
    finally:
        os.close(file)


def _own_folder() -> str | None:
    """Return the folder of the files, if nobody else can have put links to others into it."""
    try:
        folder = f"{tempfile.gettempdir()}/.omnigraph-{os.getuid()}"
        found = _status(folder)
    except OSError:
        return None
    is_alone = found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return folder if stat.S_ISDIR(found.st_mode) and is_alone else None


def _status(folder: str) -> os.stat_result:
    """Return what is known of a folder, which is made if it is missing."""
    try:
        return os.lstat(folder)
    except FileNotFoundError:
        with suppress(FileExistsError):  # somebody else made it meanwhile
            os.mkdir(folder, 0o700)  # noqa: PTH102 - is hot
        return os.lstat(folder)
