"""Aside: a folder of a graph's store for what a load keeps between its jobs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa

from omnigraph.storage import layout
from omnigraph.storage.store import Store
from omnigraph.write.load.files import file_in
from omnigraph.write.load.spool import write_part


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

    def discard(self) -> None:
        """Remove everything that was stored; a cleanup removes what the store keeps."""
        self.store.objects.discard(self.folder)


def new_aside(store: Store) -> Aside:
    """Return a folder that nobody else uses."""
    return Aside(store, f"{layout.ASIDE}/{uuid4().hex}")
