"""Formats: the rows of a query as text: table, kv, csv, jsonl and json."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from omnigraph.errors import Json, terminal_columns

if TYPE_CHECKING:
    from omnigraph.result import Result

FORMATS = ("table", "kv", "csv", "jsonl", "json", "arrow")
WIDEST_COLUMN = 80


def document(result: "Result", branch: str | None, snapshot: str | None) -> dict[str, Json]:
    """Give a result in the stable machine form."""
    return {**metadata(result, branch, snapshot), "rows": result.to_json()}


def metadata(result: "Result", branch: str | None, snapshot: str | None) -> dict[str, Json]:
    """Give everything about a result but its rows."""
    counts: dict[str, Json] = {"row_count": len(result), "columns": [*result.columns]}
    return {**about(result.query_name, branch, snapshot), **counts}


def about(query_name: str, branch: str | None, snapshot: str | None) -> dict[str, Json]:
    """Give which query is asked, and of what."""
    return {"query_name": query_name, "target": {"branch": branch, "snapshot": snapshot}}


def as_jsonl(result: "Result", branch: str | None, snapshot: str | None) -> Iterator[str]:
    """Give a line about the result, and then a line for each row."""
    yield _line({"kind": "metadata", **metadata(result, branch, snapshot)})
    yield from (_line(row) for row in result.to_json())


def as_csv(result: "Result") -> str:
    """Give the rows as RFC 4180 does, with a header; null is empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(result.columns)
    writer.writerows(_cells(result))
    return text.getvalue()


def as_table(result: "Result", widest: int = WIDEST_COLUMN) -> Iterator[str]:
    """Give the rows in columns; a long cell is cut."""
    rows = [[_cut(cell, widest) for cell in row] for row in _cells(result, null="null")]
    widths = [
        max(terminal_columns(name), *(terminal_columns(row[at]) for row in rows))
        if rows
        else terminal_columns(name)
        for at, name in enumerate(result.columns)
    ]
    yield _padded(result.columns, widths)
    yield "  ".join("-" * width for width in widths)
    yield from (_padded(row, widths) for row in rows)


def as_kv(result: "Result") -> Iterator[str]:
    """Give each row as a block of names and values."""
    widest = max(map(terminal_columns, result.columns), default=0)
    for number, row in enumerate(_cells(result, null="null"), start=1):
        yield f"-- row {number}"
        for name, cell in zip(result.columns, row, strict=True):
            yield f"{name}{' ' * (widest - terminal_columns(name))}  {cell}"


def _cells(result: "Result", null: str = "") -> Iterator[list[str]]:
    for row in result.to_json():
        assert isinstance(row, dict)
        yield [_cell(value, null) for value in row.values()]


def _cell(value: Json, null: str) -> str:
    if value is None:
        return null
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _line(row: Json) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _padded(cells: Sequence[str], widths: Iterable[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    return "  ".join(
        cell + " " * (width - terminal_columns(cell)) for cell, width in pairs
    ).rstrip()


def _cut(cell: str, widest: int) -> str:
    flat = "".join(char if char.isprintable() else " " for char in cell)
    if terminal_columns(flat) <= widest:
        return flat
    kept = flat
    while terminal_columns(kept) > widest - 1:
        kept = kept[: len(kept) - max(1, (terminal_columns(kept) - widest) // 2)]
    return kept + "…"
