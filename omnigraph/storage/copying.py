"""Copying: files from one store to another, a few at a time, each there whole or not at all."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from threading import Event
from uuid import uuid4

from omnigraph.errors import StorageError
from omnigraph.frozen import dataclass
from omnigraph.storage import layout
from omnigraph.storage.failures import report_as
from omnigraph.storage.objects import PIECE, Stored
from omnigraph.storage.store import Store

# Each holds up to four pieces of a file in memory.
_COPIED_AT_A_TIME = 4


class _Vanished(Exception):
    """A file was removed after it was listed."""


class _Stopped(Exception):
    """Another file could not be copied, so that this one is not wanted any more."""


@dataclass(frozen=True, slots=True)
class Copying:
    """Copies files of one store to the same places of another.

    `check` is called before each piece, and raises when the copying has to end. When durable, a
    file on a disk is flushed before it gets its name, so that what has a name is whole even after
    a loss of power.
    """

    source: Store
    target: Store
    durable: bool
    check: Callable[[], None]

    def copy(self, files: Iterable[Stored], done: Callable[[Stored], None]) -> list[str]:
        """Copy files, report each that is done, and return the paths of those that are gone.

        After a failure no file is half written, and nothing is copied any more.
        """
        stopped = Event()
        pool = ThreadPoolExecutor(_COPIED_AT_A_TIME, thread_name_prefix="omnigraph-copy")
        try:
            running = {pool.submit(self._copied, file, stopped): file for file in files}
            gone = []
            for each in as_completed(running):
                if each.result():
                    done(running[each])
                else:
                    gone.append(running[each].path)
            return gone
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)

    def _copied(self, file: Stored, stopped: Event) -> bool:
        """Copy a file; False when it is no longer there."""
        pieces = self._pieces(file, stopped)
        try:
            if self.target.is_local:
                self._write(file.path, pieces)
            else:
                self.target.objects.write_pieces(file.path, pieces, file.size)
        except _Vanished:
            return False
        return True

    def _pieces(self, file: Stored, stopped: Event) -> Iterator[bytes]:
        """Iterate over the content of a file; requests are short, however large it is."""
        objects = self.source.objects
        if not file.size and objects.find(file.path) is None:
            raise _Vanished
        for start in range(0, file.size, PIECE):
            self.check()
            if stopped.is_set():
                raise _Stopped
            end = min(start + PIECE, file.size)
            data = objects.piece(file.path, start, end)
            if data is None:
                raise _Vanished
            if len(data) != end - start:
                raise StorageError(f"{file.path} is shorter than the {file.size} bytes listed")
            yield data

    def _write(self, path: str, pieces: Iterator[bytes]) -> None:
        root = Path(self.target.root)
        aside, place = root / layout.ASIDE / uuid4().hex, root / path
        with report_as(f"cannot write {path}"):
            aside.parent.mkdir(parents=True, exist_ok=True)
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                with aside.open("xb") as file:
                    file.writelines(pieces)
                    file.flush()
                    if self.durable:
                        os.fsync(file.fileno())
                aside.replace(place)
            except BaseException:
                aside.unlink(missing_ok=True)
                raise
