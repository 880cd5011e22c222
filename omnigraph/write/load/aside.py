"""Aside: a folder of a graph's store for what a load keeps between its jobs."""

import pickle
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar
from uuid import uuid4

import pyarrow as pa

from omnigraph.frozen import dataclass
from omnigraph.storage import layout
from omnigraph.storage.store import Store
from omnigraph.write.load.sources.files import file_in
from omnigraph.write.load.sources.spool import write_part

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Aside:
    """A folder of a graph's store that a load removes when it ends."""

    store: Store
    folder: str

    def write_rows(self, rows: pa.Table) -> str:
        """Store some rows as a Parquet file and return its path."""
        path, _ = write_part(self.store, self.folder, rows.to_reader())
        return path

    def write_batches(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> str:
        """Store batches as they are and return the path of their file."""
        path = f"{self.folder}/{uuid4().hex}.arrows"
        with (
            self.store.objects.writer(path) as file,
            pa.ipc.new_stream(file, schema) as writer,
        ):
            for batch in batches:
                writer.write_batch(batch)
        return path

    def read_batches(self, path: str) -> Iterator[pa.RecordBatch]:
        """Yield the batches that `write_batches` stored, in any process."""
        with file_in(self.store, path, path).open() as opened:
            yield from pa.ipc.open_stream(opened)

    def answer(self, found: Found, most_held: int) -> "Answer[Found]":
        """Return what a task found, stored if it has more bytes than the task should carry back."""
        held = pickle.dumps(found)
        if len(held) <= most_held:
            return Answer(held)
        path = f"{self.folder}/{uuid4().hex}.pickle"
        self.store.objects.write(path, held)
        return Answer(b"", self, path)

    def discard(self) -> None:
        """Remove everything that was stored; a cleanup removes what the store keeps."""
        self.store.objects.discard(self.folder)


@dataclass(frozen=True, slots=True)
class Answer(Generic[Found]):
    """What a task found, here if it is small, or in a file of the store."""

    held: bytes
    aside: Aside | None = None
    path: str = ""

    def read(self) -> Found:
        """Return what was found, in any process."""
        data = self.held
        if self.aside is not None:
            with file_in(self.aside.store, self.path, self.path).open() as opened:
                data = opened.read()
        found: Found = pickle.loads(data)  # noqa: S301 - written by our own tasks
        return found


def new_aside(store: Store) -> Aside:
    """Return a folder that nobody else uses."""
    return Aside(store, f"{layout.ASIDE}/{uuid4().hex}")
