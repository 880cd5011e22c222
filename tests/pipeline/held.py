"""Held: tasks that stop in the middle of a chosen phase, until a test lets them go on."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import pyarrow as pa

from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.spark.runner import Enough, Parcel, Reduce, SparkRunner

Item = TypeVar("Item")
Found = TypeVar("Found")

FOREVER = 600.0


@dataclass(frozen=True, slots=True)
class Marks:
    """A folder in which attempts of tasks leave marks, and in which a test says `go`.

    Whoever comes before that waits. `go` can name a process: that one never goes on.
    """

    folder: str

    def wait(self, phase: str) -> None:
        """Leave a mark of this process, and wait for `go`."""
        number = 1
        while not self._is_new(f"{phase}-{number}"):
            number += 1
        go = Path(self.folder, "go")
        ends = time.monotonic() + FOREVER
        while not go.exists() and time.monotonic() < ends:
            time.sleep(0.05)
        if go.read_text() == str(os.getpid()):
            time.sleep(FOREVER)

    def processes(self, phase: str) -> list[int]:
        """Return the processes that came to a phase, in their order."""
        found = {
            int(path.name.rpartition("-")[2]): path.read_text()
            for path in Path(self.folder).glob(f"{phase}-*")
        }
        return [int(found[number]) for number in sorted(found) if found[number]]

    def go(self, hanging: int | None = None) -> None:
        """Let all go on but one."""
        told = Path(self.folder, "told")
        told.write_text("" if hanging is None else str(hanging))
        told.rename(Path(self.folder, "go"))

    def _is_new(self, name: str) -> bool:
        try:
            with Path(self.folder, name).open("x") as mark:
                mark.write(str(os.getpid()))
        except FileExistsError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class HeldTask(Generic[Item, Found]):
    """A task that waits once its work is done, before Spark hears of it."""

    task: Callable[[Item], Found]
    phase: str
    marks: Marks

    def __call__(self, item: Item) -> Found:
        found = self.task(item)
        self.marks.wait(self.phase)
        return found


@dataclass(frozen=True, slots=True)
class HeldEmit(Generic[Item]):
    """The map of a shuffle, which waits when it has its parcels."""

    task: Callable[[Item], Iterable[Parcel]]
    phase: str
    marks: Marks

    def __call__(self, item: Item) -> Iterator[Parcel]:
        parcels = list(self.task(item))
        self.marks.wait(self.phase)
        yield from parcels


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows of a stream, which wait behind the last one."""

    marks: Marks

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        self.marks.wait("batch")


class HoldingRunner(SparkRunner):
    """Runs tasks on Spark; those of one phase wait."""

    phase = ""
    marks = Marks("")

    def map(
        self,
        task: Callable[[Item], Found],
        items: Sequence[Item],
        progress: Progress = NO_PROGRESS,
        enough: Enough[Found] | None = None,
    ) -> list[Found]:
        return super().map(self._held(task), items, progress, enough)

    def map_reduce(
        self,
        task: Callable[[Item], Iterable[Parcel]],
        items: Sequence[Item],
        reduce: Reduce[Found],
        progress: Progress = NO_PROGRESS,
        *,
        buckets: int,
    ) -> list[Found]:
        if _name(task) == self.phase:
            task = HeldEmit(task, self.phase, self.marks)
        held = self._held(reduce)
        return super().map_reduce(task, items, held, progress, buckets=buckets)

    def _held(self, task: Callable[[Item], Found]) -> Callable[[Item], Found]:
        return HeldTask(task, self.phase, self.marks) if _name(task) == self.phase else task


def _name(task: object) -> str:
    """Return the name of the function or class that a task is made of."""
    made = task.func if isinstance(task, partial) else task
    return str(getattr(made, "__name__", type(made).__name__))
