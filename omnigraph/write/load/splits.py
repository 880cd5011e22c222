"""Splits: cuts sources into parts that tasks read as typed rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import BinaryIO

from omnigraph.errors import InputError
from omnigraph.schema.catalog import Catalog, StoredType, find_type
from omnigraph.schema.codec import decode_catalog
from omnigraph.spark.deadline import Deadline
from omnigraph.write.load.fields import integer_ends
from omnigraph.write.load.files import File, lines_of, refuse_encoding, too_long
from omnigraph.write.load.records import Block, RecordReader
from omnigraph.write.load.rows import to_records
from omnigraph.write.load.tabular import csv_blocks, open_parquet, parquet_blocks

_BLOCK_BYTES = 8 << 20
_LEAST_SPLIT = 4 << 20
_MOST_SPLIT = 64 << 20
_SPLITS_PER_SLOT = 4
_LINE_PROBE = 1 << 16
_BOM = b"\xef\xbb\xbf"


class Format(StrEnum):
    """How a file stores its rows."""

    JSONL = "jsonl"
    GZIP = "jsonl.gz"
    CSV = "csv"
    CSV_GZIP = "csv.gz"
    PARQUET = "parquet"


_ENDINGS = {
    ".jsonl.gz": Format.GZIP,
    ".ndjson.gz": Format.GZIP,
    ".json.gz": Format.GZIP,
    ".csv.gz": Format.CSV_GZIP,
    ".gz": Format.GZIP,
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
}


@dataclass(frozen=True, slots=True)
class LoadSource:
    """A file, its format, and the type of its rows when the file does not say."""

    file: File
    format: Format
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a source for one task: a range of bytes, or of a Parquet file's row groups."""

    source: LoadSource
    start: int
    end: int

    @property
    def name(self) -> str:
        return self.source.file.name


def source_of(file: File, type_name: str | None, catalog: Catalog) -> LoadSource:
    """Return how to read a file, by its ending; tabular formats need the name of a type."""
    lowered = file.path.lower()
    kind = next((kind for end, kind in _ENDINGS.items() if lowered.endswith(end)), Format.JSONL)
    is_text = kind in (Format.JSONL, Format.GZIP)
    if type_name is None and is_text:
        return LoadSource(file, kind)
    if type_name is None:
        hint = "name it: --type, or type= in Python"
        raise InputError(f"'{file.name}' does not name the type of its rows", hint=hint)
    find_type(type_name, catalog)
    return LoadSource(file, kind, type_name)


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
        case Format.GZIP:
            return _gzip_blocks(split, _Lines(_reader(catalog, partial), stored), deadline)
        case Format.CSV | Format.CSV_GZIP:
            assert stored is not None
            is_zipped = split.source.format is Format.CSV_GZIP
            return csv_blocks(split.source.file, stored, is_zipped=is_zipped, partial=partial)
        case Format.PARQUET:
            assert stored is not None
            groups = range(split.start, split.end)
            numbered = integer_ends(stored, _catalog(catalog)) | {"id"}
            return parquet_blocks(
                split.source.file, groups, stored, partial=partial, numbered=numbered
            )


@lru_cache(maxsize=4)
def _reader(catalog: str, partial: bool) -> RecordReader:
    return RecordReader(_catalog(catalog), partial=partial)


@lru_cache(maxsize=4)
def _catalog(text: str) -> Catalog:
    return decode_catalog(text)


def _splits(source: LoadSource, size: int) -> Iterator[Split]:
    match source.format:
        case Format.JSONL:
            yield from _line_splits(source, size)
        case Format.PARQUET:
            yield from _row_group_splits(source, size)
        case Format.GZIP | Format.CSV | Format.CSV_GZIP:
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


def _gzip_blocks(split: Split, reader: "_Lines", deadline: Deadline) -> Iterator[Block]:
    with split.source.file.unzipped() as file:
        for number, data in enumerate(lines_of(file, _BLOCK_BYTES)):
            if number == 0 and data is not None:
                refuse_encoding(data[:4], split.name)
            yield _block(data, reader, deadline, begins=number == 0)


def _block(data: bytes | None, reader: "_Lines", deadline: Deadline, *, begins: bool) -> Block:
    if data is None:
        return Block(1, violations=[too_long()])
    return reader.read(data.removeprefix(_BOM) if begins else data, deadline)
