"""Result: the rows of a query, as Arrow inside and as whatever a user needs outside."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph.errors import Json
from omnigraph.schema.values import JS_SAFE_INTEGER
from omnigraph.syntax.literal import datetime_text

if TYPE_CHECKING:
    import pandas as pd

_SHOWN_ROWS = 20


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of a query; iterating gives them as dicts."""

    query_name: str
    table: pa.Table

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order of the query."""
        return list(self.table.column_names)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, object]]:
        for batch in self.table.to_batches():
            yield from batch.to_pylist()

    def __repr__(self) -> str:
        return f"Result({self.query_name!r}, {len(self)} rows, columns {', '.join(self.columns)})"

    def to_arrow(self) -> pa.Table:
        """Give the rows as an Arrow table."""
        return self.table

    def to_dicts(self) -> list[dict[str, object]]:
        """Give the rows as dicts."""
        return list(self)

    def to_pandas(self) -> "pd.DataFrame":
        """Give the rows as a pandas DataFrame."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def to_polars(self) -> Any:  # noqa: ANN401 - polars need not be installed
        """Give the rows as a polars DataFrame; polars has to be installed."""
        import polars

        return polars.from_arrow(self.table)

    def to_ipc(self) -> bytes:
        """Give the rows as an Arrow IPC stream."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return bytes(sink.getvalue())

    def to_json(self) -> list[Json]:
        """Give the rows as JSON that any client reads exactly: large integers are text."""
        return [json_value(row) for row in self]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        shown = self.table.slice(0, _SHOWN_ROWS).to_pylist()
        body = "".join(_html_row(row) for row in shown)
        more = len(self) - len(shown)
        foot = f"<p>… and {more:,} more rows</p>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


def _html_row(row: Mapping[str, object]) -> str:
    cells = "".join(f"<td>{escape(_text(value))}</td>" for value in row.values())
    return f"<tr>{cells}</tr>"


def _text(value: object) -> str:
    plain = json_value(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def json_value(value: object) -> Json:
    """Give a value as JSON that any client reads exactly."""
    match value:
        case bool() | None | str():
            return value
        case int():
            return value if abs(value) <= JS_SAFE_INTEGER else str(value)
        case float():
            return value if value - value == 0 else None
        case datetime():
            return datetime_text(value)
        case date():
            return value.isoformat()
        case bytes():
            return value.decode()
        case Mapping():
            return {str(name): json_value(each) for name, each in value.items()}
        case Sequence():
            return [json_value(each) for each in value]
        case _:
            raise TypeError(f"a result holds no {type(value).__name__}")
