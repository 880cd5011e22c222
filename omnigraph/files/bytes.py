"""Bytes: the content of a file, or an error that says why it cannot be read."""

import os
from pathlib import Path

from omnigraph.errors import UnreadableError


def forbid_world_writable() -> None:
    """Let this process create no file that every user of the machine could change."""
    os.umask(os.umask(0o077) | 0o002)


def is_there(path: Path) -> bool:
    """Return whether there is a file or a folder; a name that none can have is none."""
    try:
        return path.exists()
    except OSError:
        return False


def file_bytes(path: str | os.PathLike[str]) -> bytes:
    """Read a file; raise UnreadableError with the reason."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableError(f"cannot read '{os.fspath(path)}': {reason}") from None
