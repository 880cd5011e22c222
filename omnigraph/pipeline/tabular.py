"""Tabular: rows of CSV and Parquet files, one type to a file, as typed columns."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.engine.columns import Column, one_by_one, typed
from omnigraph.errors import Code, UnreadableError, Violation
from omnigraph.pipeline.files import File
from omnigraph.pipeline.records import Block, Rows, loose_schema
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.catalog import EDGE_ENDS, EdgeType, StoredType
from omnigraph.schema.types import BLOB, DATE, DATETIME, STRING, ValueType, is_text
from omnigraph.syntax.problems import nearest_name

if TYPE_CHECKING:
    from _csv import Reader as _CsvReader

_CSV_ROWS = 16_384
_PARQUET_ROWS = 65_536
_ENDS = {column: name for name, column in EDGE_ENDS.items()}


def opened_parquet(file: BinaryIO, named: File) -> pq.ParquetFile:
    """Give a Parquet file opened; raises UnreadableError when it is none."""
    try:
        return pq.ParquetFile(file)
    except pa.ArrowInvalid as bad:
        raise UnreadableError(f"'{named.name}' is not a Parquet file: {bad}") from None


def parquet_blocks(file: File, groups: range, stored: StoredType) -> Iterator[Block]:
    """Read some row groups of a Parquet file as rows of a type."""
    with file.open() as opened:
        parquet = opened_parquet(opened, file)
        names = parquet.schema_arrow.names
        wrong = _column_faults(names, stored)
        if wrong:
            yield Block(0, violations=wrong)
            return
        for batch in parquet.iter_batches(_PARQUET_ROWS, row_groups=groups):
            given = dict(zip(map(_column_name, names), batch.columns, strict=True))
            yield _block(stored, given, np.arange(len(batch)), len(batch))


def csv_blocks(file: File, stored: StoredType, *, is_zipped: bool) -> Iterator[Block]:
    """Read a CSV file with a header as rows of a type."""
    with file.unzipped() if is_zipped else file.open() as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="", errors="strict")
        rows = csv.reader(text, strict=True)
        try:
            names = next(rows, [])
            wrong = _column_faults(names, stored)
            yield Block(rows.line_num, violations=wrong)
            while not wrong:
                before = rows.line_num
                block, ended = _csv_block(rows, list(map(_column_name, names)), stored, before)
                yield block
                if ended:
                    return
        except UnicodeDecodeError:
            raise UnreadableError(
                f"'{file.name}' is not UTF-8 after line {rows.line_num}"
            ) from None
        finally:
            text.detach()


def _csv_block(
    rows: "_CsvReader", names: Sequence[str], stored: StoredType, before: int
) -> tuple[Block, bool]:
    """Read some rows; also tells whether the file ended or cannot be read further."""
    cells: list[list[str]] = []
    lines: list[int] = []
    faults: list[Violation] = []
    ended = True
    line = before
    try:
        for row in rows:
            if row and len(row) == len(names):
                cells.append(row)
                lines.append(line - before)
            elif row:
                reason = f"has {len(row)} fields, and the header has {len(names)}"
                faults.append(_fault(Code.RECORD_SHAPE, reason, stored, line=line - before))
            line = rows.line_num
            if len(cells) >= _CSV_ROWS:
                ended = False
                break
    except csv.Error as bad:
        reason = f"is not CSV: {bad}"
        faults.append(_fault(Code.RECORD_SYNTAX, reason, stored, line=line - before))
    texts = list(map(list, zip(*cells, strict=True))) or [[] for _ in names]
    pairs = zip(names, texts, strict=True)
    given = {name: _from_text(column, name, stored) for name, column in pairs}
    block = _block(stored, given, np.array(lines, np.int64), rows.line_num - before)
    return replace(block, violations=[*faults, *block.violations]), ended


def _from_text(texts: list[str], name: str, stored: StoredType) -> "pa.Array | list[object]":
    """Give the values of CSV text: an empty field is null, unless a String needs a value."""
    kind = stored.column(name)
    assert kind is not None
    item = stored.properties.get(name)
    if kind == STRING and item is not None and not item.nullable and item.default is None:
        return pa.array(texts, pa.utf8())
    values = [text or None for text in texts]
    if is_text(kind) or kind in (DATE, DATETIME, BLOB):
        return pa.array(values, pa.utf8())
    return [None if text is None else _literal(text) for text in values]


def _literal(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _block(
    stored: StoredType,
    given: Mapping[str, "pa.Array | list[object]"],
    lines: np.ndarray,
    count: int,
) -> Block:
    """Give rows from columns by name; a column that is not given is null."""
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
            spoilt.add((row, name))
            shown, line = _ENDS.get(name, name), int(lines[row])
            faults.append(_fault(Code.VALUE_TYPE, reason, stored, shown, line))
    rows = Rows(stored, pa.record_batch(columns, schema=schema), lines, frozenset(spoilt))
    return Block(count, [rows], faults)


def _column(given: "pa.Array | list[object] | None", kind: ValueType, count: int) -> Column:
    if given is None:
        return Column(pa.nulls(count, arrow_type(kind)))
    return one_by_one(given, kind) if isinstance(given, list) else typed(given, kind)


def _column_name(name: str) -> str:
    return EDGE_ENDS.get(name, name)


def _column_faults(names: Sequence[str], stored: StoredType) -> list[Violation]:
    """Give what is wrong with the columns of a table of rows: unknown, doubled or missing."""
    system = ["src", "dst"] if isinstance(stored, EdgeType) else []
    system += [] if stored.key else ["id"]
    known = {*system, *stored.properties}
    faults = []
    columns = [_column_name(name) if system else name for name in names]
    for at, (name, column) in enumerate(zip(names, columns, strict=True)):
        if column not in known:
            near = nearest_name(name, [*known, *(_ENDS if "src" in known else ())])
            hint = f"; did you mean '{near}'?" if near else ""
            faults.append(_fault(Code.RECORD_FIELD, f"no such field{hint}", stored, name))
        elif column in columns[:at]:
            faults.append(_fault(Code.REPEATED_FIELD, "is given twice", stored, name))
    needed = [name for name in system if name != "id"]
    needed += [
        item.name
        for item in stored.properties.values()
        if not (item.nullable or item.embed or item.default is not None)
    ]
    missing = [name for name in needed if name not in columns]
    return faults + [
        _fault(Code.REQUIRED_VALUE, "has no column", stored, _ENDS.get(name, name))
        for name in missing
    ]


def _fault(
    code: Code, reason: str, stored: StoredType, name: str | None = None, line: int = 0
) -> Violation:
    return Violation(code=code, reason=reason, type=stored.name, field=name, line=line)
