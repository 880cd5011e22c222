"""Processes: a process with all that it started, and the time that their cores worked."""

import os
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def family(root: int) -> set[int]:
    """Return the numbers of a process and all its descendants."""
    parents = {pid: int(fields[1]) for pid, fields in _stats().items()}
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def cpu_seconds(root: int) -> float:
    """Return how long cores worked for a process, its descendants and those that ended."""
    stats, members = _stats(), family(root)
    times = [stats[pid][11:15] for pid in members if pid in stats]
    return sum(int(each) for own in times for each in own) / _TICKS


def _stats() -> dict[int, list[str]]:
    """Return what follows the name in the line of each process."""
    found: dict[int, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            found[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
    return found
