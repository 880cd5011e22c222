"""Staging: versions of a table assembled from pieces that many processes write and index."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceOperation
from lance.dataset import Index as Segment
from lance.fragment import FragmentMetadata

from omnigraph.errors import StorageError
from omnigraph.frozen import dataclass
from omnigraph.schema.blobs import unpack_rows
from omnigraph.storage import layout
from omnigraph.storage.failures import report_as
from omnigraph.storage.fragments import (
    Addresses,
    Remains,
    deletion_of,
    fragment_bytes,
    fragments_of,
    remove_at,
)
from omnigraph.storage.indexes import (
    DueSegment,
    IndexKind,
    IndexSpec,
    build_segment,
    covered_fragments,
    due_segments,
    joined_rows,
    segment_rows,
    whole_segments,
)
from omnigraph.storage.store import Store
from omnigraph.storage.table import Rows, Table, batch_limits
from omnigraph.storage.tables import Tables

__all__ = [  # Segment is re-exported for modules that may not import lance
    "Indexing",
    "Piece",
    "Remains",
    "Segment",
    "Share",
    "TablePlace",
    "build_due",
    "build_if_possible",
    "bytes_per_row",
    "count_rows",
    "covered_by",
    "fragment_numbers",
    "fragments_of",
    "group_fragments",
    "of_pieces",
    "place_of",
    "plan_indexing",
    "plan_whole_indexing",
    "remove_rows",
    "shares",
    "with_pieces",
    "with_segments",
    "without_removed",
    "write_pieces",
]

_ALIKE = "KMeans"
_SCAN_ROWS = 65_536
_SCAN_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class TablePlace:
    """One version of one table of one graph, in a form that any process can open.

    The path and version are not enough: another graph may have been created where one was removed,
    and a long-lived process may have seen both.
    """

    graph: str
    store: Store
    path: str
    version: int

    def open(self) -> Table:
        """Open the table; a process keeps what it has opened.

        It keeps no first versions, which are empty: after a restore, another table may have one of
        the same name and number. Those with rows are detached, and their numbers are used once.
        """
        options = tuple(sorted(self.store.options.items()))
        of = _kept_tables if self.version >= layout.DETACHED else _tables
        tables = of(self.graph, self.store.root, self.store.is_local, options)
        return tables.open(self.path, self.version)


@dataclass(frozen=True, slots=True)
class Piece:
    """A written fragment that belongs to no version yet."""

    metadata: FragmentMetadata


@dataclass(frozen=True, slots=True)
class Share:
    """Some rows of one version of a table, for one process to read.

    They are the rows of some fragments, or those whose column holds one of the sought values.
    """

    place: TablePlace
    fragments: tuple[int, ...]
    sought: tuple[str, pa.Array] | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells these rows from others, apart from the sought values."""
        return self.place.path, self.place.version, self.fragments

    def batches(
        self, columns: Sequence[str], where: pc.Expression | None = None
    ) -> Iterable[pa.RecordBatch]:
        """Yield the rows, or those that meet a condition, batch by batch."""
        table = self.place.open()
        dataset = table.dataset
        if not self.fragments and self.sought is None:
            return
        with report_as(f"cannot read {self.place.path}"):
            every = {each.fragment_id: each for each in dataset.get_fragments()}
            chosen = [every[number] for number in self.fragments]
            scanner = dataset.scanner(
                columns=list(columns),
                filter=self._sought() if where is None else where,
                fragments=chosen or None,
                scan_in_order=True,
                **batch_limits(table, chosen or list(every.values()), _SCAN_BYTES, _SCAN_ROWS),
            )
            yield from map(unpack_rows, scanner.to_batches())

    def _sought(self) -> pc.Expression | None:
        if self.sought is None:
            return None
        column, values = self.sought
        return pc.field(column).isin(values)


@dataclass(frozen=True, slots=True)
class Indexing:
    """The index segments that a version of a table needs, and those that they replace."""

    table: Table
    due: tuple[DueSegment, ...]
    replaced: tuple[Segment, ...]


def place_of(table: Table) -> TablePlace:
    """Return the address of a version, to hand to other processes."""
    tables = table._tables
    return TablePlace(tables.graph, tables.store, table.path, table.version)


def write_pieces(place: TablePlace, rows: Rows) -> list[Piece]:
    """Write rows as fragments for a later version of a table."""
    table = place.open()
    with report_as(f"cannot write to {place.path}"):
        written = table.write(rows)
    return [Piece(each) for each in written]


def with_pieces(table: Table, pieces: Iterable[Piece]) -> Table:
    """Return the table with the rows of pieces added; its indexes do not cover them yet."""
    with report_as(f"cannot append to {table.path}"):
        return table._detached(LanceOperation.Append([each.metadata for each in pieces]))


def of_pieces(table: Table, pieces: Iterable[Piece]) -> Table:
    """Return the table with the rows of pieces only; its indexes stay declared."""
    with report_as(f"cannot overwrite {table.path}"):
        old = [each.fragment_id for each in table.dataset.get_fragments()]
        new = [each.metadata for each in pieces]
        change = LanceOperation.Update(removed_fragment_ids=old, new_fragments=new)
        return table._detached(change)


def remove_rows(place: TablePlace, addresses: Addresses) -> list[Remains]:
    """Write the deletion files of the fragments that have these addresses.

    No version knows of them until `without_removed`; a file that a repeated task wrote is waste.
    """
    with report_as(f"cannot delete from {place.path}"):
        return remove_at(place.open().dataset, addresses)


def without_removed(table: Table, remains: Sequence[Remains]) -> Table:
    """Return the table without the rows that were removed from its fragments."""
    if not remains:
        return table
    with report_as(f"cannot delete from {table.path}"):
        return table._detached(deletion_of(remains))


def group_fragments(table: Table, most_rows: int) -> Addresses:
    """Return the first fragment of each group of about `most_rows` rows, in ascending order."""
    firsts: list[int] = []
    rows = most_rows
    for number, count in _sizes(table):
        if rows >= most_rows:
            firsts.append(number)
            rows = 0
        rows += count
    return np.array(firsts, np.uint64)


def _sizes(table: Table) -> Iterable[tuple[int, int]]:
    return sorted((each.fragment_id, each.physical_rows) for each in table.dataset.get_fragments())


def shares(table: Table, most_rows: int) -> list[Share]:
    """Split a table into shares of about `most_rows` rows."""
    place = place_of(table)
    found: list[Share] = []
    taken: list[int] = []
    rows = 0
    for fragment in table.dataset.get_fragments():
        taken.append(fragment.fragment_id)
        rows += fragment.physical_rows
        if rows >= most_rows:
            found.append(Share(place, tuple(taken)))
            taken, rows = [], 0
    return [*found, Share(place, tuple(taken))] if taken else found


def count_rows(table: Table, fragments: frozenset[int]) -> int:
    """Count the rows of some fragments."""
    every = table.dataset.get_fragments()
    return sum(each.count_rows() for each in every if each.fragment_id in fragments)


def bytes_per_row(table: Table) -> int:
    """Return how many bytes a row takes in files, on average."""
    every = table.dataset.get_fragments()
    rows = sum(each.physical_rows for each in every)
    return sum(map(fragment_bytes, every)) // max(rows, 1)


def covered_by(table: Table, spec: IndexSpec) -> frozenset[int] | None:
    """Return the numbers of the fragments that an index covers; None without such an index."""
    with report_as(f"cannot read {table.path}"):
        found = covered_fragments(table.dataset, spec)
    return None if found is None else frozenset(found)


def fragment_numbers(table: Table) -> frozenset[int]:
    """Return the numbers of the fragments that make up a version."""
    return frozenset(each.fragment_id for each in table.dataset.get_fragments())


def plan_indexing(table: Table, declared: Iterable[IndexSpec] = ()) -> Indexing:
    """Fold a table and plan its indexes, in segments that many processes build."""
    folded = table._folded()
    with report_as(f"cannot index {table.path}"):
        due, replaced = due_segments(folded.dataset, declared, joined_rows(table.count()))
    return _cut(Indexing(folded, tuple(due), tuple(replaced)))


def plan_whole_indexing(table: Table, declared: Iterable[IndexSpec]) -> Indexing:
    """Plan indexes that cover the whole table, in segments that many processes build."""
    with report_as(f"cannot index {table.path}"):
        due, replaced = whole_segments(table.dataset, declared)
    return _cut(Indexing(table, tuple(due), tuple(replaced)))


def build_due(place: TablePlace, due: DueSegment) -> Segment:
    """Build one index segment, which belongs to no version yet."""
    with report_as(f"cannot index {place.path}"):
        return build_segment(place.open()._tables.private(place.open()), due)


def build_if_possible(place: TablePlace, due: DueSegment) -> Segment | None:
    """Build one index segment; None for vectors too similar to be told apart."""
    try:
        return build_due(place, due)
    except StorageError as failed:
        if due.kind is IndexKind.VECTOR and _ALIKE in failed.message:
            return None
        raise


def with_segments(planned: Indexing, added: Sequence[Segment]) -> Table:
    """Return the table with the segments that were built for it.

    Where none was built for an index, its segments are not replaced.
    """
    if not added:
        return planned.table
    names = {each.name for each in added}
    replaced = [each for each in planned.replaced if each.name in names]
    with report_as(f"cannot index {planned.table.path}"):
        return planned.table._detached(LanceOperation.CreateIndex(list(added), replaced))


def _cut(planned: Indexing) -> Indexing:
    """Split the segments of scalars and texts; a vector index finds more as one segment."""
    rows = {each.fragment_id: each.physical_rows for each in planned.table.dataset.get_fragments()}
    total = sum(rows.values())
    parts = (_parts(each, rows, segment_rows(total, each.kind)) for each in planned.due)
    return replace(planned, due=tuple(part for each in parts for part in each))


def _parts(due: DueSegment, rows: Mapping[int, int], most_rows: int) -> Iterator[DueSegment]:
    if due.partitions:
        yield due
        return
    taken: list[int] = []
    held = 0
    for fragment in due.fragments:
        taken.append(fragment)
        held += rows[fragment]
        if held >= most_rows:
            yield replace(due, fragments=tuple(taken))
            taken, held = [], 0
    if taken:
        yield replace(due, fragments=tuple(taken))


def _tables(graph: str, root: str, is_local: bool, options: tuple[tuple[str, str], ...]) -> Tables:
    tables = Tables(Store(root, is_local, dict(options)))
    tables.graph = graph
    return tables


_kept_tables = lru_cache(maxsize=8)(_tables)
