"""Idle: the ids of records that change nothing, stored until it is known that none came twice."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.storage import layout
from omnigraph.storage.store import Store
from omnigraph.write.load.files import file_in
from omnigraph.write.load.spool import write_part


@dataclass(frozen=True, slots=True)
class Aside:
    """A folder of a graph's store that a load removes when it ends."""

    store: Store
    folder: str

    def write(self, ids: pa.Array) -> "IdleIds":
        """Store some ids; any process can read them."""
        return IdleIds(self.store, self.write_rows(pa.table({"id": ids})))

    def write_rows(self, rows: pa.Table) -> str:
        """Store some rows as a Parquet file and return its path."""
        path, _ = write_part(self.store, self.folder, rows.to_reader())
        return path

    def discard(self) -> None:
        """Remove everything that was stored; a cleanup removes what the store keeps."""
        self.store.objects.discard(self.folder)


def new_aside(store: Store) -> Aside:
    """Return a folder that nobody else uses."""
    return Aside(store, f"{layout.ASIDE}/{uuid4().hex}")


@dataclass(frozen=True, slots=True)
class IdleIds:
    """Ids in a file, to be read like a share of a table."""

    store: Store
    path: str

    @property
    def key(self) -> tuple[object, ...]:
        """What tells these ids from others."""
        return (self.path,)

    def batches(self, columns: Sequence[str]) -> Iterable[pa.RecordBatch]:
        """Return the ids, batch by batch."""
        with file_in(self.store, self.path, self.path).open() as opened:
            yield from pq.ParquetFile(opened).iter_batches(columns=list(columns))
