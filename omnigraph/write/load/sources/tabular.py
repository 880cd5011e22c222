"""Tabular: rows of CSV, Parquet and Arrow files, one type per file, as typed columns."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, Protocol

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.data.values.columns import Conversion, convert, convert_each
from omnigraph.data.values.soundness import check_names, check_sound
from omnigraph.errors import MOST_VIOLATIONS, Code, UnreadableError, Violation
from omnigraph.frozen import dataclass
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.catalog import EdgeType, StoredType, field_name
from omnigraph.schema.types import BLOB, DATE, DATETIME, STRING, ValueType, is_text
from omnigraph.syntax.problems import suggest
from omnigraph.write.load.sources.fields import column_of, end_reason
from omnigraph.write.load.sources.files import LONGEST_LINE, File, refuse_encoding, too_long
from omnigraph.write.load.sources.records import Block, RecordRows, loose_schema

if TYPE_CHECKING:
    from _csv import Reader as _CsvReader

_CSV_ROWS = 16_384
# Rows of a file that are read at a time, or fewer where they are large, as vectors are.
_MOST_ROWS, _MOST_BYTES = 65_536, 32 << 20
_CSV_BYTES = 8 << 20
# What Arrow raises at a broken file, also one that names more bytes than there is memory.
_BROKEN = (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError)
_SINGLE = frozenset([int, float, bool, type(None)])


def open_parquet(file: BinaryIO, named: File) -> pq.ParquetFile:
    """Open a Parquet file; raises UnreadableError when it is not one."""
    try:
        return pq.ParquetFile(file)
    except (pa.ArrowException, UnicodeDecodeError, MemoryError) as bad:
        raise UnreadableError(f"'{named.name}' is not a Parquet file: {_first_line(bad)}") from None


def open_arrow(file: BinaryIO, named: File) -> pa.ipc.RecordBatchFileReader:
    """Open an Arrow file; raises UnreadableError when it is not one."""
    try:
        return pa.ipc.open_file(file)
    except _BROKEN as bad:
        raise UnreadableError(f"'{named.name}' is not an Arrow file: {_first_line(bad)}") from None


class TypedRows(Protocol):
    """Rows of a file whose columns have types."""

    @contextmanager
    def opened(self) -> Iterator[tuple[Sequence[str], Iterator[pa.RecordBatch]]]:
        """Open the file: the names of its columns, and its rows."""


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """Some row groups of a Parquet file."""

    file: File
    groups: range

    @contextmanager
    def opened(self) -> Iterator[tuple[Sequence[str], Iterator[pa.RecordBatch]]]:
        with self.file.open() as opened:
            parquet = open_parquet(opened, self.file)
            batches = parquet.iter_batches(self._rows_at_once(parquet), row_groups=self.groups)
            names = _names(parquet.schema_arrow, self.file, "Parquet")
            yield names, _sound(batches, self.file, "Parquet")

    def _rows_at_once(self, parquet: pq.ParquetFile) -> int:
        groups = [parquet.metadata.row_group(number) for number in self.groups]
        sizes = (each.total_byte_size for each in groups)
        return _rows_at_once(sum(each.num_rows for each in groups), sum(sizes))


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """Some batches of an Arrow file, or all of an Arrow stream, which has no numbers."""

    file: File
    numbers: range | None

    @contextmanager
    def opened(self) -> Iterator[tuple[Sequence[str], Iterator[pa.RecordBatch]]]:
        with self.file.open() as opened:
            if self.numbers is None:
                stream = _open_stream(opened, self.file)
                yield _names(stream.schema, self.file, "Arrow"), _sound(stream, self.file, "Arrow")
            else:
                arrow = open_arrow(opened, self.file)
                batches = (arrow.get_batch(number) for number in self.numbers)
                yield _names(arrow.schema, self.file, "Arrow"), _sound(batches, self.file, "Arrow")


def typed_blocks(
    rows: TypedRows,
    stored: StoredType,
    *,
    partial: bool,
    numbered: frozenset[str] = frozenset(),
) -> Iterator[Block]:
    """Read the rows of a file as rows of a type; partial ones may lack columns.

    `numbered` are ends of edges, and the id, which may be whole numbers.
    """
    with rows.opened() as (names, batches):
        wrong = _column_faults(names, stored, partial=partial)
        if wrong:
            # Each split of the file finds this, and it is reported once.
            yield Block(0, violations=[replace(each, line=None) for each in wrong])
            return
        for batch in batches:
            columns = [column_of(stored, name) for name in names]
            given = {
                name: _in_digits(each) if name in numbered else each
                for name, each in zip(columns, batch.columns, strict=True)
            }
            yield _block(stored, given, np.arange(len(batch)), len(batch), numbered)


def _in_digits(column: pa.Array) -> pa.Array:
    return column.cast(pa.utf8()) if pa.types.is_integer(column.type) else column


def _sound(batches: Iterable[pa.RecordBatch], file: File, kind: str) -> Iterator[pa.RecordBatch]:
    """Yield batches of a bounded number of rows; raises UnreadableError for a broken file."""
    try:
        for batch in batches:
            check_sound(batch.columns)
            step = _rows_at_once(len(batch), batch.nbytes)
            for first in range(0, len(batch), step):
                yield batch.slice(first, step)
    except _BROKEN as bad:
        raise UnreadableError(
            f"'{file.name}' is a broken {kind} file: {_first_line(bad)}"
        ) from None


def _rows_at_once(rows: int, size: int) -> int:
    return max(1, min(_MOST_ROWS, _MOST_BYTES * rows // max(size, 1)))


def _open_stream(file: BinaryIO, named: File) -> pa.RecordBatchReader:
    try:
        return pa.ipc.open_stream(file)
    except _BROKEN as bad:
        raise UnreadableError(f"'{named.name}' is not an Arrow file: {_first_line(bad)}") from None


def _first_line(bad: Exception) -> str:
    return str(bad).partition("\n")[0] or type(bad).__name__


def _names(schema: pa.Schema, file: File, kind: str) -> list[str]:
    """Return the names of columns; raises UnreadableError for any name that is not UTF-8."""
    try:
        check_names(schema)
        return list(schema.names)
    except UnicodeDecodeError as bad:
        raise UnreadableError(f"'{file.name}' is a broken {kind} file: {bad}") from None


def csv_blocks(
    file: File, stored: StoredType, *, is_packed: bool, partial: bool
) -> Iterator[Block]:
    """Read a CSV file with a header as rows of a type; partial ones may lack columns."""
    with file.unpacked() if is_packed else file.open() as raw:
        refuse_encoding(raw.read(4), file.name)
    with file.unpacked() if is_packed else file.open() as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="", errors="surrogateescape")
        csv.field_size_limit(LONGEST_LINE)
        rows = csv.reader(_short_lines(text), strict=True)
        try:
            names, wrong = _header(rows, stored, partial=partial)
            yield Block(rows.line_num, violations=wrong)
            while not wrong:
                before = rows.line_num
                block, ended = _csv_block(
                    rows, [column_of(stored, name) for name in names], stored, before
                )
                yield block
                if ended:
                    return
        finally:
            text.detach()


def _csv_block(
    rows: "_CsvReader", names: Sequence[str], stored: StoredType, before: int
) -> tuple[Block, bool]:
    """Read some rows; also returns whether the file ended or cannot be read further."""
    cells: list[list[str]] = []
    lines: list[int] = []
    faults: list[Violation] = []
    ended = True
    line = before
    held = 0
    try:
        for seen, row in enumerate(rows, 1):
            held += sum(map(len, row))
            if not _is_utf8(row):
                reason = "is not UTF-8"
                faults.append(_fault(Code.RECORD_SYNTAX, reason, stored, line=line - before))
            elif row and len(row) == len(names):
                cells.append(row)
                lines.append(line - before)
            elif row:
                reason = f"has {len(row)} fields, and the header has {len(names)}"
                faults.append(_fault(Code.RECORD_SHAPE, reason, stored, line=line - before))
            line = rows.line_num
            if seen >= _CSV_ROWS or held >= _CSV_BYTES:
                ended = False
                break
    except _TooLongError:
        faults.append(replace(too_long(), type=stored.name, line=line - before))
    except csv.Error as bad:
        reason = f"is not CSV: {bad}"
        faults.append(_fault(Code.RECORD_SYNTAX, reason, stored, line=line - before))
    texts = list(map(list, zip(*cells, strict=True))) or [[] for _ in names]
    pairs = zip(names, texts, strict=True)
    given = {name: _from_text(column, name, stored) for name, column in pairs}
    block = _block(stored, given, np.array(lines, np.int64), rows.line_num - before)
    return replace(block, violations=[*faults, *block.violations]), ended


class _TooLongError(Exception):
    """A line is longer than the limit."""


def _short_lines(text: io.TextIOWrapper) -> Iterator[str]:
    while line := text.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise _TooLongError
        yield line


def _header(
    rows: "_CsvReader", stored: StoredType, *, partial: bool
) -> tuple[list[str], list[Violation]]:
    """Read the names of the columns, and report what is wrong with them."""
    try:
        names = next(rows, [])
    except _TooLongError:
        return [], [replace(too_long(), type=stored.name)]
    except csv.Error as bad:
        return [], [_fault(Code.RECORD_SYNTAX, f"is not CSV: {bad}", stored)]
    if not _is_utf8(names):
        return [], [_fault(Code.RECORD_SYNTAX, "is not UTF-8", stored)]
    return names, _column_faults(names, stored, partial=partial)


def _is_utf8(row: list[str]) -> bool:
    """Whether the bytes of a row were text; other bytes are kept as lone surrogates."""
    text = "".join(row)
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _from_text(texts: list[str], name: str, stored: StoredType) -> "pa.Array | list[object]":
    """Return the values of CSV text: an empty field is null, unless a String needs a value."""
    kind = stored.column(name)
    assert kind is not None
    item = stored.properties.get(name)
    if kind == STRING and item is not None and not item.nullable and item.default is None:
        return pa.array(texts, pa.utf8())
    values = [text or None for text in texts]
    if is_text(kind) or kind in (DATE, DATETIME, BLOB):
        return pa.array(values, pa.utf8())
    found = _literals(values)
    numbers = _numbers(found)
    return found if numbers is None else numbers


def _literals(texts: Sequence[str | None]) -> list[object]:
    """Return what each text is as JSON, or the text itself where it is not."""
    try:
        found = msgspec.json.decode(f"[{','.join(text or 'null' for text in texts)}]")
    except (msgspec.DecodeError, RecursionError):
        found = []
    # Texts with a comma could only join to one value as a string, a list or an object.
    if len(found) == len(texts) and set(map(type, found)) <= _SINGLE:
        return list(found)
    return [None if text is None else _literal(text) for text in texts]


def _numbers(values: list[object]) -> pa.Array | None:
    """Return values of one type as an array, which is converted at once; None for others."""
    kinds = set(map(type, values)) - {type(None)}
    if len(kinds) != 1 or not kinds <= _SINGLE:
        return None
    try:
        return pa.array(values)
    except OverflowError:
        return None


def _literal(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _block(
    stored: StoredType,
    given: Mapping[str, "pa.Array | list[object]"],
    lines: np.ndarray,
    count: int,
    numbered: frozenset[str] = frozenset(),
) -> Block:
    """Return rows from columns by name; a missing column is null."""
    columns: list[pa.Array] = []
    spoilt: set[tuple[int, str]] = set()
    faults: list[Violation] = []
    schema = loose_schema(stored)
    for name in schema.names:
        kind = stored.column(name)
        assert kind is not None
        column = _column(given.get(name), kind, len(lines))
        columns.append(column.values)
        for row, reason in column.reasons.items():
            if len(faults) > MOST_VIOLATIONS:
                break
            spoilt.add((row, name))
            shown, line = field_name(stored, name), int(lines[row])
            why = end_reason(reason, is_integer_end=name in numbered - {"id"})
            faults.append(_fault(Code.VALUE_TYPE, why, stored, shown, line))
    named = {
        name: np.zeros(len(lines), bool)
        for name in schema.names
        if name != "id" and name not in given
    }
    batch = pa.record_batch(columns, schema=schema)
    rows = RecordRows(stored, batch, lines, frozenset(spoilt), named)
    return Block(count, [rows], faults)


def _column(given: "pa.Array | list[object] | None", kind: ValueType, count: int) -> Conversion:
    if given is None:
        return Conversion(pa.nulls(count, arrow_type(kind)))
    return convert_each(given, kind) if isinstance(given, list) else convert(given, kind)


def _column_faults(names: Sequence[str], stored: StoredType, *, partial: bool) -> list[Violation]:
    """Return what is wrong with the columns of a tabular file: unknown, repeated or missing."""
    system = ["id", "src", "dst"] if isinstance(stored, EdgeType) else ["id"]
    known = {*system, *stored.properties}
    faults: list[Violation] = []
    columns = [column_of(stored, name) for name in names]
    before: set[str] = set()
    for name, column in zip(names, columns, strict=True):
        if len(faults) > MOST_VIOLATIONS:
            break
        if column not in known:
            hint = suggest(name, [field_name(stored, each) for each in known])
            reason = "no such field" + ("" if hint is None else f"; {hint}")
            faults.append(_fault(Code.RECORD_FIELD, reason, stored, name))
        elif column in before:
            faults.append(_fault(Code.REPEATED_FIELD, "is given twice", stored, name))
        before.add(column)
    missing = [name for name in _needed(stored, partial=partial) if name not in columns]
    return faults + [
        _fault(Code.REQUIRED_VALUE, "has no column", stored, field_name(stored, name))
        for name in missing
    ]


def _needed(stored: StoredType, *, partial: bool) -> list[str]:
    """Return the columns that rows must have; partial ones need a key, which finds the rows."""
    if partial:
        return list(stored.key)
    ends = ["src", "dst"] if isinstance(stored, EdgeType) else []
    return ends + [
        item.name
        for item in stored.properties.values()
        if not (item.nullable or item.embed or item.default is not None)
    ]


def _fault(
    code: Code, reason: str, stored: StoredType, name: str | None = None, line: int = 0
) -> Violation:
    return Violation(code=code, reason=reason, type=stored.name, field=name, line=line)
