"""Splits: cuts sources into parts that tasks read as typed rows."""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import BinaryIO

from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, StoredType, find_type
from omnigraph.schema.codec import decode_catalog
from omnigraph.spark.choice import FileWork
from omnigraph.spark.deadline import Deadline
from omnigraph.write.load.sources.fields import integer_ends
from omnigraph.write.load.sources.files import (
    File,
    lines_of,
    refuse_encoding,
    too_long,
)
from omnigraph.write.load.sources.packing import is_text, packing_of, refuse_foreign
from omnigraph.write.load.sources.records import Block, RecordReader
from omnigraph.write.load.sources.rows import to_records
from omnigraph.write.load.sources.tabular import (
    ArrowRows,
    ParquetRows,
    TypedRows,
    csv_blocks,
    open_arrow,
    open_parquet,
    typed_blocks,
)

# Bytes that are text, parsed and typed at the same time. With blocks of 2 MB a load takes a tenth
# longer and 15 MB less; blocks of 8 MB are no quicker.
_BLOCK_BYTES = 4 << 20
_LEAST_SPLIT = 4 << 20
_MOST_SPLIT = 64 << 20
_SPLITS_PER_SLOT = 4
_LINE_PROBE = 1 << 16
_BOM = b"\xef\xbb\xbf"


class Format(StrEnum):
    """How a file stores its rows."""

    JSONL = "jsonl"
    PACKED = "jsonl.gz"  # by whatever its first bytes say
    CSV = "csv"
    CSV_PACKED = "csv.gz"
    PARQUET = "parquet"
    ARROW = "arrow"
    ARROW_STREAM = "arrows"


_MAGIC = {
    b"PAR1": Format.PARQUET,
    b"ARROW1": Format.ARROW,
    b"\xff\xff\xff\xff": Format.ARROW_STREAM,
}
_BYTES_PER_LINE = 64
_BYTES_PER_ROW = {
    Format.PACKED: 8,
    Format.CSV: 24,
    Format.CSV_PACKED: 4,
    Format.PARQUET: 8,
    Format.ARROW: 24,
    Format.ARROW_STREAM: 24,
}
# Measured: how many times as long a byte takes as one of JSON lines.
_TIMES_LINES = {
    Format.PACKED: 5.8,
    Format.CSV: 2.6,
    Format.CSV_PACKED: 11,
    Format.PARQUET: 4.4,
    Format.ARROW: 1.1,
    Format.ARROW_STREAM: 1.1,
}
_IN_ONE_PART = (Format.PACKED, Format.CSV, Format.CSV_PACKED, Format.ARROW_STREAM)
_PACKED_ENDING = re.compile(r"\.(gz|zst|zstd|bz2|xz)$")


@dataclass(frozen=True, slots=True)
class LoadSource:
    """A file, its format, and the type of its rows when the file does not say."""

    file: File
    format: Format
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a source for one task: a range of bytes, of row groups or of batches."""

    source: LoadSource
    start: int
    end: int

    @property
    def name(self) -> str:
        return self.source.file.name


def source_of(file: File, type_name: str | None, catalog: Catalog) -> LoadSource:
    """Return how to read a file; tabular formats need the name of a type."""
    kind = _format_of(file)
    if type_name is None and kind in (Format.JSONL, Format.PACKED):
        return LoadSource(file, kind)
    if type_name is None:
        hint = "name it: --type, or type= in Python"
        raise InputError(f"'{file.name}' does not name the type of its rows", hint=hint)
    find_type(type_name, catalog)
    return LoadSource(file, kind, type_name)


def _format_of(file: File) -> Format:
    """Return the format of a file: by its first bytes, and for texts by its ending.

    An object is not opened for this, if it has the ending of a format.
    """
    plain, packed = _PACKED_ENDING.subn("", file.path.lower())
    by_ending = Format.CSV if plain.endswith(".csv") else Format.JSONL
    if not file.folder.is_local and plain.endswith((".jsonl", ".ndjson", ".json", ".csv")):
        return _packed(by_ending) if packed else by_ending
    if not file.folder.is_local and plain.endswith(".parquet"):
        return Format.PARQUET
    head = file.head()
    if not is_text(head):
        known = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
        if known is not None:
            return known
        refuse_foreign(head, file.name)
    if plain.endswith(".parquet") and not packed:
        return Format.PARQUET  # which is refused where it is opened
    return _packed(by_ending) if packed or packing_of(head) is not None else by_ending


def _packed(kind: Format) -> Format:
    return Format.CSV_PACKED if kind is Format.CSV else Format.PACKED


def splits_of(sources: Sequence[LoadSource], slots: int) -> list[Split]:
    """Split sources; JSON lines at line ends, so that each line is in one split."""
    total = sum(source.file.size for source in sources)
    size = min(max(total // (_SPLITS_PER_SLOT * slots), _LEAST_SPLIT), _MOST_SPLIT)
    return [split for source in sources for split in _splits(source, size)]


def blocks(
    split: Split, catalog: str, deadline: Deadline, *, partial: bool = False
) -> Iterator[Block]:
    """Read the records of a split; the lines of each block are numbered from 0.

    Partial records say which fields they name and may lack required ones.
    """
    for block in _read(split, catalog, deadline, partial):
        deadline.check()
        yield block


def _read(split: Split, catalog: str, deadline: Deadline, partial: bool) -> Iterator[Block]:
    stored = None if split.source.type is None else _catalog(catalog).stored(split.source.type)
    match split.source.format:
        case Format.JSONL:
            return _json_blocks(split, _Lines(_reader(catalog, partial), stored), deadline)
        case Format.PACKED:
            return _packed_blocks(split, _Lines(_reader(catalog, partial), stored), deadline)
        case Format.CSV | Format.CSV_PACKED:
            assert stored is not None
            is_packed = split.source.format is Format.CSV_PACKED
            return csv_blocks(split.source.file, stored, is_packed=is_packed, partial=partial)
        case Format.PARQUET | Format.ARROW | Format.ARROW_STREAM:
            assert stored is not None
            numbered = integer_ends(stored, _catalog(catalog)) | {"id"}
            return typed_blocks(tabular_rows(split), stored, partial=partial, numbered=numbered)


def tabular_rows(split: Split) -> TypedRows:
    """Return the part of a tabular file that a split covers."""
    file, parts = split.source.file, range(split.start, split.end)
    match split.source.format:
        case Format.PARQUET:
            return ParquetRows(file, parts)
        case Format.ARROW:
            return ArrowRows(file, parts)
        case _:
            return ArrowRows(file, None)


@lru_cache(maxsize=4)
def _reader(catalog: str, partial: bool) -> RecordReader:
    return RecordReader(_catalog(catalog), partial=partial)


@lru_cache(maxsize=4)
def _catalog(text: str) -> Catalog:
    return decode_catalog(text)


def estimate_work(source: LoadSource) -> FileWork:
    """Return about how long one process reads and stores a source, and in how many parts."""
    lines = FileWork.of_lines(source.file.size)
    is_whole = source.format in _IN_ONE_PART
    return FileWork(
        lines.seconds * _TIMES_LINES.get(source.format, 1), 1 if is_whole else lines.parts
    )


def estimate_rows(source: LoadSource) -> int:
    """Return about how many rows a source has, rather too many than too few."""
    return source.file.size // _BYTES_PER_ROW.get(source.format, _BYTES_PER_LINE)


def _splits(source: LoadSource, size: int) -> Iterator[Split]:
    match source.format:
        case Format.JSONL:
            yield from _line_splits(source, size)
        case Format.PARQUET:
            yield from _row_group_splits(source, size)
        case Format.ARROW:
            yield from _batch_splits(source, size)
        case Format.PACKED | Format.CSV | Format.CSV_PACKED | Format.ARROW_STREAM:
            yield Split(source, 0, source.file.size)


def _line_splits(source: LoadSource, size: int) -> Iterator[Split]:
    start = 0
    with source.file.open() as file:
        while start < source.file.size:
            end = start + size
            if end < source.file.size:
                file.seek(end)
                end += _until_newline(file)
            end = min(end, source.file.size)
            yield Split(source, start, end)
            start = end


def _until_newline(file: BinaryIO) -> int:
    read = 0
    while data := file.read(_LINE_PROBE):
        at = data.find(b"\n")
        if at >= 0:
            return read + at + 1
        read += len(data)
    return read


def _row_group_splits(source: LoadSource, size: int) -> Iterator[Split]:
    with source.file.open() as file:
        metadata = open_parquet(file, source.file).metadata
        start = held = 0
        for number in range(metadata.num_row_groups):
            held += metadata.row_group(number).total_byte_size
            if held >= size:
                yield Split(source, start, number + 1)
                start, held = number + 1, 0
        if start < metadata.num_row_groups or not metadata.num_row_groups:
            yield Split(source, start, metadata.num_row_groups)


def _batch_splits(source: LoadSource, size: int) -> Iterator[Split]:
    """Split an Arrow file between its batches, which are taken to be of one size."""
    with source.file.open() as file:
        count = open_arrow(file, source.file).num_record_batches
    step = max(1, count * size // max(source.file.size, 1))
    for start in range(0, max(count, 1), step):
        yield Split(source, start, min(start + step, count))


@dataclass(frozen=True, slots=True)
class _Lines:
    """Reads lines: records, or plain rows of one type."""

    reader: RecordReader
    stored: StoredType | None

    def read(self, data: bytes, deadline: Deadline) -> Block:
        """Read whole lines, numbered from 0."""
        records = data if self.stored is None else to_records(data, self.stored)
        return self.reader.read(records, deadline)


def _json_blocks(split: Split, reader: "_Lines", deadline: Deadline) -> Iterator[Block]:
    with split.source.file.open() as file:
        file.seek(split.start)
        for number, data in enumerate(lines_of(file, _BLOCK_BYTES, split.end - split.start)):
            begins = split.start == 0 and number == 0
            if begins and data is not None:
                refuse_encoding(data[:4], split.name)
            yield _block(data, reader, deadline, begins=begins)


def _packed_blocks(split: Split, reader: "_Lines", deadline: Deadline) -> Iterator[Block]:
    with split.source.file.unpacked() as file:
        for number, data in enumerate(lines_of(file, _BLOCK_BYTES)):
            if number == 0 and data is not None:
                refuse_encoding(data[:4], split.name)
            yield _block(data, reader, deadline, begins=number == 0)


def _block(data: bytes | None, reader: "_Lines", deadline: Deadline, *, begins: bool) -> Block:
    if data is None:
        return Block(1, violations=[too_long()])
    return reader.read(data.removeprefix(_BOM) if begins else data, deadline)
