"""Progress: a bar on stderr while long work runs, and nothing when stderr is no terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from omnigraph.spark.progress import NO_PROGRESS

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from omnigraph.spark.progress import Progress


@contextmanager
def shown_progress() -> Iterator["Progress"]:
    """Yield progress that a person at a terminal sees."""
    if not sys.stderr.isatty():
        yield NO_PROGRESS
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:>10}"), BarColumn(), TextColumn("{task.fields[far]}"))
    with Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as bars:
        yield _Bars(bars)


class _Bars:
    """A bar for each stage; the one before is full when the next begins."""

    def __init__(self, bars: "RichProgress") -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def begin(self, stage: str, size: int = 0) -> None:
        if self._task is not None:
            self._bars.update(self._task, total=1, completed=1)
        self._task = self._bars.add_task(stage, total=None, far=_size(stage, size))

    def advance(self, done: int, total: int) -> None:
        if self._task is not None:
            self._bars.update(self._task, total=total, completed=done)


def _size(stage: str, size: int) -> str:
    if not size:
        return ""
    return f"{size / 1e6:,.1f} MB" if stage in ("reading", "copying") else f"{size:,} rows"
