"""Inspect: compares the files that a version should have with those that exist."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

import pyarrow.compute as pc

from omnigraph.frozen import dataclass
from omnigraph.storage.failures import report_as
from omnigraph.storage.fragments import data_path
from omnigraph.storage.indexes import LOOKED_UP, IndexKind
from omnigraph.storage.objects import Stored
from omnigraph.storage.table import Table

_MOST_SOUGHT = 1_000


class PartKind(StrEnum):
    """What a file is to a version of a table."""

    MANIFEST = "version"
    DATA = "data"
    DELETIONS = "deletions"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or the folder of an index segment, with the size in bytes that it should have."""

    kind: PartKind
    path: str
    size: int | None


def sizes_of(listing: Iterable[Stored]) -> dict[str, int]:
    """Return the bytes of every file and of every folder of an index segment."""
    found: dict[str, int] = {}
    for each in listing:
        found[each.path] = each.size
        before, inside, rest = each.path.partition("/_indices/")
        if inside:
            folder = f"{before}{inside}{rest.partition('/')[0]}"
            found[folder] = found.get(folder, 0) + each.size
    return found


def broken_parts(table: Table, sizes: Mapping[str, int]) -> Iterator[tuple[Part, int | None]]:
    """Yield the parts of a version that are missing or have the wrong size, with the actual size.

    The folder of an index may hold more: a file that was needed only to build it and could not be
    removed at the time.
    """
    for part in _parts(table):
        size = sizes.get(f"{table.path}/{part.path}")
        if size is None or not _is_whole(part, size):
            yield part, size


def _is_whole(part: Part, size: int) -> bool:
    if part.size is None:
        return True
    return size >= part.size if part.kind is PartKind.INDEX else size == part.size


def _parts(table: Table) -> Iterator[Part]:
    with report_as(f"cannot read {table.path}"):
        for fragment in table.dataset.get_fragments():
            for file in fragment.metadata.files:
                yield Part(PartKind.DATA, f"data/{data_path(file)}", file.file_size_bytes)
            deletions = fragment.deletion_file()
            if deletions is not None:
                yield Part(PartKind.DELETIONS, deletions, None)
        for index in table.dataset.describe_indices():
            for segment in index.segments:
                yield Part(PartKind.INDEX, f"_indices/{segment.uuid}", segment.size_bytes)


def wrong_deletions(table: Table, known: set[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the files of deletions that leave another number of rows than the version says.

    With each come the rows that are left, and those that should be. Versions share these files, so
    each is read once: what is in `known` is left out, and what is read is added to it. Raises
    StorageError when one cannot be read.
    """
    for fragment in table.dataset.get_fragments():
        path = f"{table.path}/{fragment.deletion_file()}"
        if not fragment.num_deletions or path in known:
            continue
        known.add(path)
        due = fragment.physical_rows - fragment.num_deletions
        with report_as(f"cannot read {path}"):
            # Lance counts rows without the file, but has to read it to tell which are left.
            scanner = table.dataset.scanner([], fragments=[fragment], with_row_address=True)
            left = sum(batch.num_rows for batch in scanner.to_batches())
        if left != due:
            yield path, left, due


def segments_of(table: Table) -> set[str]:
    """Return the index segments of a version, which other versions may share."""
    with report_as(f"cannot read {table.path}"):
        indexes = table.dataset.describe_indices()
        return {f"{table.path}/{each.uuid}" for index in indexes for each in index.segments}


def wrong_lookups(table: Table) -> list[str]:
    """Return the columns whose BTREE finds the wrong rows for some of their values."""
    return [column for column in _looked_up(table) if not _finds_all(table, column)]


def _looked_up(table: Table) -> Iterator[str]:
    """Yield the columns that have a BTREE for looking rows up."""
    with report_as(f"cannot read {table.path}"):
        for index in table.dataset.describe_indices():
            column = index.field_names[0]
            is_btree = index.index_type.upper() == IndexKind.BTREE
            if is_btree and table.schema.field(column).type in LOOKED_UP:
                yield column


def _finds_all(table: Table, column: str) -> bool:
    rows = table.count()
    if not rows or not table.takes_conditions:
        return True
    step = max(rows // _MOST_SOUGHT, 1)
    with report_as(f"cannot look up {column} in {table.path}"):
        values = table.dataset.take(list(range(0, rows, step)), [column])[column]
        wanted = values.drop_null().combine_chunks().unique()
        found = table.dataset.scanner(columns=[column], filter=pc.field(column).isin(wanted))
        present: set[object] = set(found.to_table()[column].to_pylist())
    return set(wanted.to_pylist()) <= present
