"""Result: the rows of a query, as Arrow inside and in many forms outside."""

import io
import json
import operator
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.drawing import draw_table
from omnigraph.data.values.soundness import check_representable, check_sound_table
from omnigraph.errors import InputError, Json, RemoteError, UnavailableError, hint_install
from omnigraph.frozen import dataclass
from omnigraph.html import html_table, notebook_part
from omnigraph.look.words import counted
from omnigraph.schema.values import JS_SAFE_INTEGER, to_json_value

if TYPE_CHECKING:
    import networkx
    import pandas as pd
    import polars

    from omnigraph.notebook.picture import Picture

_COMMIT = b"graph_commit_id"
_SHOWN_ROWS = 20
_PIECE_ROWS = 4_096
_PIECE_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of a query; iterating over it yields dicts.

    `commit` is the id of the commit that was read, for a change that expects the branch there.
    """

    query_name: str
    table: pa.Table
    commit: str | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order of the query."""
        return list(self.table.column_names)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, object]]:
        for batch in self.table.to_batches():
            yield from batch.to_pylist()

    @overload
    def __getitem__(self, place: int) -> dict[str, object]: ...

    @overload
    def __getitem__(self, place: slice) -> list[dict[str, object]]: ...

    def __getitem__(self, place: int | slice) -> "dict[str, object] | list[dict[str, object]]":
        """Return a row, counted from the end when negative, or several."""
        if isinstance(place, slice):
            rows: list[dict[str, object]] = self.table[place].to_pylist()
            return rows
        count, at = len(self), _number_of(place)
        if not -count <= at < count:
            raise IndexError(f"the result has {count} rows, and none at {at}")
        row: dict[str, object] = self.table.slice(at % count, 1).to_pylist()[0]
        return row

    def __repr__(self) -> str:
        about = f"{counted(len(self), 'row')}, columns {', '.join(self.columns)}"
        return f"Result({self.query_name!r}, {about})"

    def __str__(self) -> str:
        return draw_table(self.columns, *_first_rows(self))

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self.table

    def to_dicts(self) -> list[dict[str, object]]:
        """Return the rows as dicts."""
        rows: list[dict[str, object]] = self.table.to_pylist()
        return rows

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows as a pandas DataFrame.

        Integers beside null are floats there, or nullable integers where a float would be another
        number. Inside of nodes, edges and lists they stay integers, and null is None.
        """
        import pandas as pd

        columns = zip(self.columns, self.table.columns, strict=True)
        return pd.DataFrame({name: _to_series(column) for name, column in columns})

    def to_polars(self) -> "polars.DataFrame":
        """Return the rows as a polars DataFrame; needs the extra `frames`."""
        try:
            import polars
        except ImportError:
            raise missing_package("polars") from None
        return polars.DataFrame(self.table)

    def to_spark(self, session: Any) -> Any:  # noqa: ANN401 - only the Spark rooms import it
        """Return the rows as a DataFrame of a Spark session; U64 becomes a decimal there."""
        fields = [field.with_type(_to_spark_type(field.type)) for field in self.table.schema]
        return session.createDataFrame(self.table.cast(pa.schema(fields)))

    def to_networkx(
        self, source: str | None = None, target: str | None = None
    ) -> "networkx.MultiDiGraph":
        """Return the rows as a networkx graph, with an edge between the values of two columns.

        These are the first two columns unless `source` and `target` name others; the rest become
        attributes of the edges. A row with null at one end adds the other end alone. Raises
        InputError for columns of objects or lists. Needs the extra `frames`.
        """
        try:
            import networkx
        except ImportError:
            raise missing_package("networkx") from None
        ends = [self._end(source, 0), self._end(target, 1)]
        self._check_ends(ends)
        found = networkx.MultiDiGraph()
        for row in self:
            one, other = (row[name] for name in ends)
            if one is None or other is None:
                found.add_nodes_from(end for end in (one, other) if end is not None)
                continue
            rest = {name: value for name, value in row.items() if name not in ends}
            found.add_edges_from([(one, other, rest)])
        return found

    def to_stream(self) -> "ResultStream":
        """Return the rows as a stream of batches, to be read once."""
        batches = iter(self.table.to_batches())
        return ResultStream(self.query_name, self.table.schema, batches, len(self), self.commit)

    def to_ipc(self) -> bytes:
        """Return the rows as an Arrow IPC stream."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return bytes(sink.getvalue())

    def to_json(self) -> list[Json]:
        """Return the rows as JSON that every client reads exactly: large integers are text."""
        names = self.columns
        return [
            dict(zip(names, row, strict=True)) for row in zip(*self.json_columns(), strict=True)
        ]

    def json_columns(self) -> list[list[Json]]:
        """Return the values of each column as JSON."""
        return [_to_json_column(column) for column in self.table.columns]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def graph(self, source: str | None = None, target: str | None = None) -> "Picture":
        """Return the nodes and edges of the rows as a picture for notebooks.

        Whole nodes and edges (`return { $a, $e, $b }`) are drawn as they are; of other rows each is
        an edge between the values of two columns, the first two unless `source` and `target` name
        others.
        """
        from omnigraph.data.graph_picture import picture_entities, picture_pairs

        title = f"{self.query_name}: {counted(len(self), 'row')}"
        found = None
        if source is None and target is None:
            found = picture_entities(title, self.table)
        if found is not None:
            return found
        return picture_pairs(title, self.table, self._end(source, 0), self._end(target, 1))

    def _repr_html_(self) -> str:
        return notebook_part(result_html(self))

    def _end(self, name: str | None, place: int) -> str:
        """Return the column that holds one end of the edges."""
        if name is None and len(self.columns) > place:
            return self.columns[place]
        if name is None or name not in self.columns:
            message = (
                f"expected two columns, found {len(self.columns)}"
                if name is None
                else f"the result has no column '{name}'"
            )
            raise InputError(message, hint=f"the columns are {', '.join(self.columns)}")
        return name

    def _check_ends(self, names: Iterable[str]) -> None:
        """Raise InputError if a column holds what cannot be a node of networkx."""
        for name in names:
            if pa.types.is_nested(self.table.schema.field(name).type):
                message = f"the ends of edges are single values; '{name}' holds objects or lists"
                raise InputError(message, hint="return a property of the node, such as its id")


def result_html(result: Result) -> str:
    """Return the first rows of a result as a table of a page, and how many more there are."""
    return html_table(result.columns, *_first_rows(result))


def _first_rows(result: Result) -> tuple[list[list[str]], str]:
    """Return the first rows as texts, and what to say about the others."""
    shown = result.table.slice(0, _SHOWN_ROWS).to_pylist()
    rows = [[_to_text(value) for value in row.values()] for row in shown]
    more = len(result) - len(shown)
    return rows, f"… and {more:,} more rows" if more > 0 else "" if rows else "no rows"


def _to_series(column: pa.ChunkedArray) -> "pd.Series[Any]":
    """Return a column for pandas, whose values are what they were."""
    import pandas as pd

    nullable = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}
    found: pd.Series[Any]
    if pa.types.is_nested(column.type):
        # Arrays of NumPy know no time zones.
        found = column.to_pandas(integer_object_nulls=True, timestamp_as_object=True)
    elif column.null_count and column.type in nullable and not _is_json(column):
        found = column.to_pandas(types_mapper=nullable.get)
    else:
        found = column.to_pandas()
    return found


def _to_spark_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that Spark has for one; it has no unsigned numbers or fixed-size lists."""
    if pa.types.is_uint32(kind):
        return pa.int64()
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_to_spark_type(kind.value_type))
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return pa.struct([each.with_type(_to_spark_type(each.type)) for each in fields])
    return kind


@dataclass(frozen=True, slots=True)
class ResultStream:
    """The rows of a query as Arrow batches, to be read once; they may be made while being read.

    `count` is None while nobody knows how many rows there are. `commit` is the id of the commit
    that is read.
    """

    query_name: str
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    count: int | None = None
    commit: str | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order of the query."""
        return list(self.schema.names)

    def __repr__(self) -> str:
        return f"ResultStream({self.query_name!r}, columns {', '.join(self.columns)})"

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches

    def results(self) -> Iterator[Result]:
        """Yield a result for each batch; a stream without batches yields one without rows."""
        first = next(self.batches, None)
        yield self._result([] if first is None else [first])
        for batch in self.batches:
            yield self._result([batch])

    def to_result(self) -> Result:
        """Return all rows, in memory."""
        return self._result(self.batches)

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches so small that each is encoded in a few milliseconds."""
        for batch in self.batches:
            step = max(1, min(_PIECE_ROWS, _PIECE_BYTES * len(batch) // max(batch.nbytes, 1)))
            for at in range(0, len(batch), step):
                yield batch.slice(at, step)

    def to_json(self) -> Iterator[bytes]:
        """Yield the rows as the members of a JSON list, a piece at a time."""
        is_first = True
        for piece in self.pieces():
            text = msgspec.json.encode(self._result([piece]).to_json())[1:-1]
            yield text if is_first else b"," + text
            is_first = False

    def to_ipc(self) -> Iterator[bytes]:
        """Yield the rows as an Arrow IPC stream, a piece at a time."""
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, _with_commit(self.schema, self.commit)) as writer:
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
        return Result(self.query_name, pa.Table.from_batches(batches, self.schema), self.commit)


def _number_of(place: SupportsIndex) -> int:
    """Return the number of a row; raise TypeError for the name of a column, and all else."""
    try:
        return operator.index(place)
    except TypeError:
        name = place if isinstance(place, str) else "name"
        message = f"a result is indexed by the number of a row, not by {place!r}"
        column = f"[row[{name!r}] for row in result]"
        raise TypeError(f"{message}; a column is {column}") from None


def missing_package(package: str) -> UnavailableError:
    """Return the error for a package of the extra `frames` that is not installed."""
    hint = hint_install("frames")
    return UnavailableError(f"the package {package} is not installed", hint=hint)


def _to_json_column(column: pa.ChunkedArray) -> list[Json]:
    values = column.to_pylist()
    return values if _is_json(column) else [to_json_value(value) for value in values]


def _is_json(column: pa.ChunkedArray) -> bool:
    """Return whether the values of a column are JSON as they are."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_boolean(kind):
        return True
    if pa.types.is_floating(kind):
        return pc.all(pc.is_finite(column), min_count=0).as_py() is not False
    if not pa.types.is_integer(kind):
        return False
    ends = pc.min_max(column).as_py().values()
    return all(end is None or abs(end) <= JS_SAFE_INTEGER for end in ends)


def _to_text(value: object) -> str:
    plain = to_json_value(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def table_of(stream: bytes) -> pa.Table:
    """Return the rows of an Arrow IPC stream; raise RemoteError when it is none."""
    try:
        with pa.ipc.open_stream(stream) as reader:
            table = reader.read_all()
        check_sound_table(table)
        check_representable(chunk for column in table.columns for chunk in column.chunks)
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError, MemoryError) as bad:
        reason = str(bad).partition("\n")[0]
        raise RemoteError(f"the rows of the answer cannot be read: {reason}") from None
    return table


def result_of(query_name: str, stream: bytes) -> Result:
    """Return the result of an Arrow IPC stream, which may say which commit was read."""
    table = table_of(stream)
    noted = (table.schema.metadata or {}).get(_COMMIT)
    commit = None if noted is None else noted.decode(errors="replace")
    return Result(query_name, table.replace_schema_metadata(None), commit)


def _with_commit(schema: pa.Schema, commit: str | None) -> pa.Schema:
    return schema if commit is None else schema.with_metadata({_COMMIT: commit.encode()})
