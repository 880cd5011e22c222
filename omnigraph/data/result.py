"""Result: the rows of a query, as Arrow inside and as whatever a user needs outside."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import InputError, Json, UnavailableError
from omnigraph.html import html_table
from omnigraph.schema.values import JS_SAFE_INTEGER
from omnigraph.syntax.literal import datetime_text

if TYPE_CHECKING:
    import networkx
    import pandas as pd
    import polars

_SHOWN_ROWS = 20
_PIECE_ROWS = 4_096
_PIECE_BYTES = 256 << 10


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

    def to_polars(self) -> "polars.DataFrame":
        """Give the rows as a polars DataFrame; it needs the extra `frames`."""
        try:
            import polars
        except ImportError:
            raise _missing("polars") from None
        return polars.DataFrame(self.table)

    def to_spark(self, session: Any) -> Any:  # noqa: ANN401 - pyspark is for pipeline alone
        """Give the rows as a DataFrame of a Spark session; U64 are decimals there."""
        fields = [field.with_type(_of_spark(field.type)) for field in self.table.schema]
        return session.createDataFrame(self.table.cast(pa.schema(fields)))

    def to_networkx(
        self, source: str | None = None, target: str | None = None
    ) -> "networkx.MultiDiGraph":
        """Give the rows to networkx as edges between the values of two columns.

        They are the first two unless they are named; the others are the attributes of the edges.
        It needs the extra `frames`.
        """
        try:
            import networkx
        except ImportError:
            raise _missing("networkx") from None
        ends = [self._end(source, 0), self._end(target, 1)]
        found = networkx.MultiDiGraph()
        for row in self:
            one, other = (row[name] for name in ends)
            rest = {name: value for name, value in row.items() if name not in ends}
            found.add_edges_from([(one, other, rest)])
        return found

    def to_stream(self) -> "ResultStream":
        """Give the rows as batches, to be read once."""
        batches = iter(self.table.to_batches())
        return ResultStream(self.query_name, self.table.schema, batches, len(self))

    def to_ipc(self) -> bytes:
        """Give the rows as an Arrow IPC stream."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return bytes(sink.getvalue())

    def to_json(self) -> list[Json]:
        """Give the rows as JSON that any client reads exactly: large integers are text."""
        names = self.columns
        return [
            dict(zip(names, row, strict=True)) for row in zip(*self.json_columns(), strict=True)
        ]

    def json_columns(self) -> list[list[Json]]:
        """Give the values of each column as JSON."""
        return [_json_column(column) for column in self.table.columns]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        shown = self.table.slice(0, _SHOWN_ROWS).to_pylist()
        rows = [[_text(value) for value in row.values()] for row in shown]
        more = len(self) - len(shown)
        below = f"… and {more:,} more rows" if more > 0 else "" if rows else "no rows"
        return html_table(self.columns, rows, below)

    def _end(self, name: str | None, place: int) -> str:
        """Give the column of one end of edges."""
        if name is None and len(self.columns) > place:
            return self.columns[place]
        if name is None or name not in self.columns:
            what = "two columns" if name is None else f"a column '{name}'"
            hint = f"the columns are: {', '.join(self.columns)}"
            raise InputError(f"the result does not have {what}", hint=hint)
        return name


def _of_spark(kind: pa.DataType) -> pa.DataType:
    """Give the type that Spark has for one; it knows no unsigned numbers and no fixed lengths."""
    if pa.types.is_uint32(kind):
        return pa.int64()
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_of_spark(kind.value_type))
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return pa.struct([each.with_type(_of_spark(each.type)) for each in fields])
    return kind


@dataclass(frozen=True, slots=True)
class ResultStream:
    """The rows of a query as Arrow batches, to be read once; they may be made while they are read.

    The count is None when nobody knows yet how many rows there are.
    """

    query_name: str
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    count: int | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order of the query."""
        return list(self.schema.names)

    def __repr__(self) -> str:
        return f"ResultStream({self.query_name!r}, columns {', '.join(self.columns)})"

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches

    def results(self) -> Iterator[Result]:
        """Give the rows of each batch; when there are none, none of them once."""
        first = next(self.batches, None)
        yield self._result([] if first is None else [first])
        for batch in self.batches:
            yield self._result([batch])

    def to_result(self) -> Result:
        """Give all rows, in memory."""
        return self._result(self.batches)

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """Give the rows in batches so small that each is encoded in some milliseconds."""
        for batch in self.batches:
            step = max(1, min(_PIECE_ROWS, _PIECE_BYTES * len(batch) // max(batch.nbytes, 1)))
            for at in range(0, len(batch), step):
                yield batch.slice(at, step)

    def to_json(self) -> Iterator[bytes]:
        """Give the rows as the members of a JSON list, a piece at a time."""
        is_first = True
        for piece in self.pieces():
            text = msgspec.json.encode(self._result([piece]).to_json())[1:-1]
            yield text if is_first else b"," + text
            is_first = False

    def to_ipc(self) -> Iterator[bytes]:
        """Give the rows as an Arrow IPC stream, a piece at a time."""
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, self.schema) as writer:
            for batch in self.pieces():
                writer.write_batch(batch)
                yield sink.getvalue()
                sink.seek(0)
                sink.truncate()
        yield sink.getvalue()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches)
        return reader.__arrow_c_stream__(requested_schema)

    def _result(self, batches: Iterable[pa.RecordBatch]) -> Result:
        return Result(self.query_name, pa.Table.from_batches(batches, self.schema))


def _missing(package: str) -> UnavailableError:
    hint = "pip install omnigraph[frames]"
    return UnavailableError(f"this needs the package {package}", hint=hint)


def _json_column(column: pa.ChunkedArray) -> list[Json]:
    values = column.to_pylist()
    return values if _is_json(column) else [json_value(value) for value in values]


def _is_json(column: pa.ChunkedArray) -> bool:
    """Tell whether the values of a column are JSON as they are."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_boolean(kind):
        return True
    if pa.types.is_floating(kind):
        return pc.all(pc.is_finite(column), min_count=0).as_py() is not False
    if not pa.types.is_integer(kind):
        return False
    ends = pc.min_max(column).as_py().values()
    return all(end is None or abs(end) <= JS_SAFE_INTEGER for end in ends)


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
