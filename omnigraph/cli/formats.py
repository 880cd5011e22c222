"""Formats: the rows of a query as text: table, kv, csv, jsonl and json."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING

from omnigraph.cli.output import cell
from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.span import terminal_columns

if TYPE_CHECKING:
    from omnigraph.data.result import Result

FORMATS = ("table", "kv", "csv", "jsonl", "json", "arrow")
WIDEST_COLUMN = 80
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRows:
    """The rows of a query as JSON values, column by column, and what they were read from.

    They are not counted when more rows follow, and nobody knows yet how many.
    """

    query_name: str
    branch: str | None
    snapshot: str | None
    columns: Sequence[str]
    values: Sequence[Sequence[Json]] = field(repr=False)
    count: int
    is_counted: bool = True

    @classmethod
    def of_result(cls, result: "Result", branch: str | None, snapshot: str | None) -> "ShownRows":
        """Return the rows of a result of this process."""
        return cls(
            query_name=result.query_name,
            branch=branch,
            snapshot=snapshot,
            columns=result.columns,
            values=result.json_columns(),
            count=len(result),
        )

    @classmethod
    def of_document(cls, document: dict[str, "Json"]) -> "ShownRows":
        """Return the rows of the stable machine form."""
        columns, rows, target = document["columns"], document["rows"], document["target"]
        assert isinstance(columns, list)
        assert isinstance(rows, list)
        assert isinstance(target, dict)
        names = [str(name) for name in columns]
        values = [[row[name] for row in rows if isinstance(row, dict)] for name in names]
        branch, snapshot = target["branch"], target["snapshot"]
        return cls(
            query_name=str(document["query_name"]),
            branch=None if branch is None else str(branch),
            snapshot=None if snapshot is None else str(snapshot),
            columns=names,
            values=values,
            count=len(rows),
        )

    def document(self) -> dict[str, Json]:
        """Return the rows in the stable machine form."""
        return {**self.metadata(), "rows": list(self.objects())}

    def metadata(self) -> dict[str, Json]:
        """Return everything about the rows but themselves."""
        count = self.count if self.is_counted else None
        counts: dict[str, Json] = {"row_count": count, "columns": [*self.columns]}
        return {**about(self.query_name, self.branch, self.snapshot), **counts}

    def objects(self) -> Iterator[dict[str, Json]]:
        """Yield each row as an object."""
        for row in zip(*self.values, strict=True):
            yield dict(zip(self.columns, row, strict=True))

    def cells(self) -> Iterator[list[str]]:
        """Yield each row as texts for people."""
        for row in zip(*self.values, strict=True):
            yield ["null" if value is None else cell(value) for value in row]


def about(query_name: str, branch: str | None, snapshot: str | None) -> dict[str, Json]:
    """Return which query is asked, and of what."""
    return {"query_name": query_name, "target": {"branch": branch, "snapshot": snapshot}}


def as_jsonl(rows: ShownRows) -> Iterator[str]:
    """Yield a line about the rows, and then a line for each, many lines at a time."""
    yield _lines([{"kind": "metadata", **rows.metadata()}])
    objects = rows.objects()
    while some := list(islice(objects, _ROWS_AT_ONCE)):
        yield _lines(some)


def as_csv(rows: ShownRows) -> Iterator[str]:
    """Yield the rows as RFC 4180 does, with a header, many at a time; null is empty."""
    table = zip(*map(_csv_column, rows.values), strict=True)
    some: Sequence[Sequence[object]] = [rows.columns]
    while some:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\r\n").writerows(some)
        yield text.getvalue()
        some = list(islice(table, _ROWS_AT_ONCE))


def as_table(
    rows: ShownRows, widest: int = WIDEST_COLUMN, layout: str = "truncate"
) -> Iterator[str]:
    """Yield the rows in columns; a long cell is cut, or goes on in the next line."""
    fit = _wrapped if layout == "wrap" else _cut
    table = [[fit(each, widest) for each in row] for row in rows.cells()]
    widths = [
        max([terminal_columns(name), *(_width(row[at]) for row in table)])
        for at, name in enumerate(rows.columns)
    ]
    yield _padded(rows.columns, widths)
    yield "  ".join("-" * width for width in widths)
    for row in table:
        for number in range(max(map(len, row))):
            yield _padded([each[number] if number < len(each) else "" for each in row], widths)


def as_kv(rows: ShownRows) -> Iterator[str]:
    """Yield each row as a block of names and values."""
    widest = max(map(terminal_columns, rows.columns), default=0)
    for number, row in enumerate(rows.cells(), start=1):
        yield f"-- row {number}"
        for name, text in zip(rows.columns, row, strict=True):
            yield f"{name}{' ' * (widest - terminal_columns(name))}  {text}"


def _csv_column(values: Sequence[Json]) -> Iterable[object]:
    """Return the cells of a column; texts, numbers and null are written as they should be."""
    plain = not any(isinstance(value, bool | list | dict) for value in values)
    return values if plain else ["" if value is None else cell(value) for value in values]


def _lines(objects: Iterable[Json]) -> str:
    dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    return "\n".join(map(dump, objects)) + "\n"


def _width(lines: Sequence[str]) -> int:
    return max(map(terminal_columns, lines))


def _padded(cells: Sequence[str], widths: Iterable[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    return "  ".join(
        text + " " * (width - terminal_columns(text)) for text, width in pairs
    ).rstrip()


def _cut(text: str, widest: int) -> list[str]:
    flat = _flat(text)
    if terminal_columns(flat) <= widest:
        return [flat]
    return [flat[: _fitting(flat, widest - 1)] + "…"]


def _wrapped(text: str, widest: int) -> list[str]:
    lines: list[str] = []
    for line in text.split("\n"):
        rest = _flat(line)
        while terminal_columns(rest) > widest:
            at = _fitting(rest, widest) or 1
            at = rest.rfind(" ", 1, at + 1) if " " in rest[1 : at + 1] else at
            lines.append(rest[:at].rstrip())
            rest = rest[at:].lstrip()
        lines.append(rest)
    return lines


def _fitting(text: str, width: int) -> int:
    """Count the characters at the start of a text that take up at most so many columns."""
    used = 0
    for count, char in enumerate(text):
        used += terminal_columns(char)
        if used > width:
            return count
    return len(text)


def _flat(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)
