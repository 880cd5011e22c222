"""Folder: an empty folder, on a local disk or in a bucket, that many processes write files to."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import obstore

from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.storage.failures import report_as
from omnigraph.storage.store import Store


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that any process can write files to."""

    store: Store

    def check_empty(self) -> None:
        """Raise InputError unless the folder is empty."""
        if self.store.is_local and Path(self.store.root).is_file():
            raise InputError(f"'{self.store.root}' is not a folder")
        if self._holds_something():
            hint = "give one that is empty or does not exist yet"
            raise InputError(f"the folder '{self.store.root}' is not empty", hint=hint)

    @contextmanager
    def writer(self, path: str) -> Iterator[BinaryIO]:
        """Open a new file for writing; it appears when the block ends without an error."""
        with self.store.objects.writer(path) as file:
            yield file

    def keep(self, paths: Collection[str]) -> None:
        """Remove everything but these files, such as what an interrupted task left."""
        kept = set(paths)
        if self.store.is_local:
            with report_as(f"cannot clear {self.store.root}"):
                self._keep_local(kept)
            return
        for path in self._objects():
            if path not in kept:
                self.store.objects.delete(path)

    def _holds_something(self) -> bool:
        if not self.store.is_local:
            return bool(self._objects(1))
        folder = Path(self.store.root)
        with report_as(f"cannot list {folder}"):
            return folder.is_dir() and any(folder.iterdir())

    def _objects(self, most: int | None = None) -> list[str]:
        with report_as(f"cannot list {self.store.root}"):
            found: list[str] = []
            for page in obstore.list(self.store.objects.store, chunk_size=most or 1_000):
                found += [each["path"] for each in page]
                if most is not None and found:
                    break
            return found

    def _keep_local(self, kept: set[str]) -> None:
        """Walk the disk itself, because the store does not list unfinished files."""
        root = Path(self.store.root)
        for path in sorted(root.rglob("*"), reverse=True):
            if path.is_dir():
                with suppress(OSError):  # it holds a file to keep
                    path.rmdir()
            elif path.relative_to(root).as_posix() not in kept:
                path.unlink(missing_ok=True)
