"""Locks: files of this machine that one thread of one process at a time has locked.

The kernel releases the locks of a process that dies.
"""

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

try:
    import fcntl

    _HAS_LOCKS = True
except ImportError:  # Windows: writers race, and the flip decides.
    _HAS_LOCKS = False

# Branches share files, so that ten thousand branches do not leave ten thousand of them.
_FILES = 1024
FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)


def lock_file(kind: str, what: str) -> Path | None:
    """Return the file to lock for something; None without locks or a folder of our own."""
    folder = _own_folder() if _HAS_LOCKS else None
    digest = hashlib.sha256(what.encode()).digest()
    return None if folder is None else Path(folder, f"{kind}-{int.from_bytes(digest) % _FILES:03x}")


def lock_now(path: Path) -> int | None:
    """Return a file that is locked now, and made if it was missing; None when somebody has it.

    Whoever has it may have replaced or removed it before it was locked here.
    """
    file, is_ours = os.open(path, FLAGS, 0o600), False
    try:
        with suppress(FileNotFoundError):
            is_ours = has_lock(file) and os.fstat(file).st_ino == path.stat().st_ino
    finally:
        if not is_ours:
            os.close(file)
    return file if is_ours else None


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
        fcntl.flock(file, fcntl.LOCK_UN)
    finally:
        os.close(file)


def _own_folder() -> str | None:
    """Return the folder of the files, if nobody else can have put links to others into it."""
    folder = f"{tempfile.gettempdir()}/.omnigraph-{os.getuid()}"
    try:
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)  # noqa: PTH102 - is hot
        found = os.lstat(folder)
    except OSError:
        return None
    is_alone = found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return folder if stat.S_ISDIR(found.st_mode) and is_alone else None
