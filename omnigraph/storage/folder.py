"""Folder: an empty folder, on a local disk or in a bucket, that many processes write files to."""

from collections.abc import Iterator
from contextlib import contextmanager
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

    def _holds_something(self) -> bool:
        if not self.store.is_local:
            with report_as(f"cannot list {self.store.root}"):
                pages = obstore.list(self.store.objects.store, chunk_size=1)
                return any(pages)
        folder = Path(self.store.root)
        with report_as(f"cannot list {folder}"):
            return folder.is_dir() and any(folder.iterdir())
