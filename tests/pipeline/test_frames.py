"""Rows of pandas, Arrow and Spark frames are rows like those of records."""

import io
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import InputError
from tests.pipeline.loads import broken, engine, history, refused, rows
from tests.pipeline.test_tables import KNOWS, PERSON, SCHEMA, expected, times
from tests.templates import fresh_graph

__all__ = ["engine"]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fresh_graph(tmp_path / "graph", SCHEMA)


def arrow_table() -> pa.Table:
    return pa.table({"slug": ["a", "b"], "name": ["n", "n"], "age": [1, None]})


def arrow_reader() -> pa.RecordBatchReader:
    batches = arrow_table().to_batches(max_chunksize=1)
    return pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches))


def pandas_frame() -> pd.DataFrame:
    ages = pd.array([1, None], dtype="Int64")
    frame = pd.DataFrame({"slug": ["a", "b"], "name": pd.Categorical(["n", "n"]), "age": ages})
    return frame.set_index(pd.Index([7, 9]))


@pytest.mark.parametrize("make", [arrow_table, arrow_reader, pandas_frame])
def test_rows_of_a_frame_are_loaded(graph: Graph, make: Callable[[], object], engine: str) -> None:
    loaded = graph.load(make(), type="Person", engine=engine)

    assert (loaded.engine, loaded.nodes) == (engine, {"Person": 2})
    assert rows(graph, PERSON) == [expected("a", age=1), expected("b")]
    assert not list(Path(graph.uri, "_aside").rglob("*.parquet")), "the spool is left behind"


def test_missing_values_of_pandas_are_null(graph: Graph) -> None:
    frame = pd.DataFrame(
        {
            "slug": ["a", "b"],
            "name": ["n", "n"],
            "nick": ["x", None],
            "score": [1.5, float("nan")],
            "seen": pd.to_datetime(pd.Series(["2024-01-31T12:00:00.123999Z", None])),
        }
    )

    graph.load(frame, type="Person", engine="inline")

    assert [(row["nick"], row["score"]) for row in rows(graph, PERSON)] == [
        ("x", 1.5),
        (None, None),
    ]
    assert times(graph) == {"a": "2024-01-31 12:00:00.123", "b": None}


def test_frames_of_several_types_are_one_commit(graph: Graph, engine: str) -> None:
    before = history(graph)["main"]
    frames = {
        "Knows": pa.table({"from": ["a", "b"], "to": ["b", "a"], "id": ["k1", "k2"]}),
        "Person": pandas_frame(),
        "Note": arrow_table().select(["name"]).rename_columns(["text"]),
    }

    loaded = graph.load(frames, engine=engine)

    assert (loaded.nodes, loaded.edges) == ({"Note": 2, "Person": 2}, {"Knows": 2})
    assert len(history(graph)["main"]) == len(before) + 1
    assert [(row["id"], row["src"]) for row in rows(graph, KNOWS)] == [("k1", "a"), ("k2", "b")]


def test_violations_name_the_type_and_the_number_of_the_row(graph: Graph) -> None:
    frame = pa.table({"slug": ["a", "b", "a"], "name": ["n", None, "n"], "age": [1, 2, 151]})

    assert broken(graph, frame, type_name="Person", engine="inline") == [
        "error[V6]: <Person>:2: Person.name: is required",
        "error[V9]: <Person>:3: Person.age: 151 is outside 0..150",
    ]
    assert broken(
        graph, frame.drop_columns(["age"]).slice(0, 1), type_name="Note", engine="inline"
    ) == [
        "error[V4]: <Note>: Note.slug: no such field",
        "error[V4]: <Note>: Note.name: no such field",
        "error[V6]: <Note>: Note.text: has no column",
    ]
    twice = frame.set_column(1, "name", [["n"] * 3]).drop_columns(["age"])
    assert broken(graph, twice, type_name="Person", engine="inline") == [
        "error[V11]: <Person>:3: Person.id: 'a' is given already in <Person>:1"
    ]


def test_a_large_frame_comes_in_several_row_groups(graph: Graph) -> None:
    count = 150_000
    frame = pa.table({"slug": [f"p{n}" for n in range(count)], "name": ["n"] * count})

    loaded = graph.load(frame, type="Person", engine="inline")

    assert loaded.nodes == {"Person": count}
    assert graph.snapshot().table(PERSON).count() == count


def test_a_frame_without_rows_makes_no_commit(graph: Graph) -> None:
    assert graph.load(arrow_table().slice(0, 0), type="Person", engine="inline").commit is None


def test_rows_of_a_spark_frame_are_loaded_from_all_its_partitions(
    graph: Graph, spark: "SparkSession"
) -> None:
    frame = spark.range(0, 300, 1, 3).selectExpr(
        "concat('p', id) as slug", "'n' as name", "cast(id % 100 as int) as age"
    )

    loaded = graph.load(frame, type="Person", engine="spark")

    assert (loaded.engine, loaded.nodes) == ("spark", {"Person": 300})
    held = {row["id"]: row["age"] for row in rows(graph, PERSON)}
    assert held == {f"p{number}": number % 100 for number in range(300)}


def test_spark_frames_of_several_types_are_one_commit(graph: Graph, spark: "SparkSession") -> None:
    people = spark.createDataFrame([("a", "n"), ("b", "n")], "slug string, name string")
    knows = spark.sql("select 'a' as `from`, 'b' as `to`, date'2024-01-31' as since")

    loaded = graph.load({"Knows": knows, "Person": people}, engine="spark")

    assert (loaded.nodes, loaded.edges) == ({"Person": 2}, {"Knows": 1})
    assert [str(row["since"]) for row in rows(graph, KNOWS)] == ["2024-01-31"]


def test_violations_of_a_spark_frame_are_told(graph: Graph, spark: "SparkSession") -> None:
    frame = spark.createDataFrame([("a", 1), ("b", 151)], "slug string, age int")

    found = refused(graph, frame.selectExpr("slug", "'n' as name", "age"), type_name="Person")

    assert [(each.file, each.reason) for each in found.violations] == [
        ("<Person>", "151 is outside 0..150")
    ]


def test_a_frame_that_cannot_be_read_to_its_end_loads_nothing(graph: Graph) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield arrow_table().to_batches()[0]
        raise OSError("the source is gone")

    before = history(graph)
    reader = pa.RecordBatchReader.from_batches(arrow_table().schema, batches())

    with pytest.raises(Exception, match="the source is gone"):
        graph.load(reader, type="Person", engine="inline")

    assert history(graph) == before
    assert not list(Path(graph.uri, "_aside").rglob("*.parquet"))


def test_what_is_no_frame_is_refused(graph: Graph) -> None:
    with pytest.raises(InputError, match="a list is not a frame"):
        graph.load({"Person": [1, 2]}, engine="inline")


def test_a_stream_of_bytes_is_no_frame(graph: Graph) -> None:
    with pytest.raises(InputError, match="a BytesIO is not a frame"):
        graph.load({"Person": io.BytesIO(b"")}, engine="inline")


def test_a_wrong_column_of_a_spark_frame_is_told_once(graph: Graph, spark: "SparkSession") -> None:
    frame = spark.range(0, 30, 1, 3).selectExpr("concat('p', id) as slug", "'n' as name", "id as x")

    assert broken(graph, frame, type_name="Person", engine="spark") == [
        "error[V4]: <Person>: Person.x: no such field"
    ]


def test_a_pandas_column_of_mixed_values_is_refused_in_our_words(graph: Graph) -> None:
    frame = pd.DataFrame({"slug": ["a", "b"], "name": ["n", 1]})

    with pytest.raises(InputError, match="name"):
        graph.load(frame, type="Person", engine="inline")


def test_a_pandas_column_of_python_integers_may_hold_those_that_only_fit_u64(
    tmp_path: Path,
) -> None:
    graph = fresh_graph(tmp_path / "g", "node N { k: String @key  u: U64?  us: [U64]? }")
    most = 2**64 - 1
    numbers = pd.Series([most, None], dtype=object)
    lists = pd.Series([[most, 0], None], dtype=object)

    graph.load(pd.DataFrame({"k": ["a", "b"], "u": numbers, "us": lists}), type="N")

    assert graph.query("match { $n: N } return { $n.u as u, $n.us as us }").to_dicts() == [
        {"u": most, "us": [most, 0]},
        {"u": None, "us": None},
    ]
    for odd in (2**64, -1):
        frame = pd.DataFrame({"k": ["c", "d"], "u": pd.Series([most, odd], dtype=object)})
        with pytest.raises(InputError, match="the frame cannot be read"):
            graph.load(frame, type="N")


def test_a_date_of_milliseconds_is_a_time_where_the_type_has_one(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "g", "node N { k: String @key  at: DateTime?  day: Date? }")
    day = 86_400_000
    at, whole = (pa.array([each], pa.int64()).view(pa.date64()) for each in (day + 1, day))

    graph.load(pa.table({"k": ["a"], "at": at, "day": whole}), type="N", engine="inline")

    (row,) = graph.query("match { $n: N } return { $n.at as at, $n.day as day }").to_dicts()
    moment = datetime(1970, 1, 2, 0, 0, 0, 1_000, tzinfo=UTC)
    assert row == {"at": moment, "day": date(1970, 1, 2)}


@pytest.mark.parametrize(
    "column",
    [
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pa.array([{}], pa.struct([])),
        pa.RunEndEncodedArray.from_arrays([1], ["n"]),
    ],
    ids=lambda column: str(column.type),
)
def test_a_frame_of_a_kind_that_parquet_lacks_is_refused_in_our_words(
    graph: Graph, column: pa.Array
) -> None:
    before = history(graph)

    with pytest.raises(InputError, match=r"the frame cannot be read: (Unhandled|Cannot)"):
        graph.load(pa.table({"slug": ["a"], "name": column}), type="Person", engine="inline")

    assert history(graph) == before
    assert not list(Path(graph.uri, "_aside").rglob("*.parquet"))


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(pd.DataFrame([["a", 1, 2]], columns=["k", "x", "x"]), id="a column twice"),
        pytest.param(pd.DataFrame({"k": ["a"], "x": [1j]}), id="complex"),
        pytest.param(
            pd.DataFrame({"k": ["a"], "x": pd.arrays.SparseArray([1.0])}), id="a sparse column"
        ),
        pytest.param(pd.DataFrame({"k": pd.Series(["\ud800"], dtype=object)}), id="half of a pair"),
    ],
)
def test_a_pandas_frame_that_arrow_cannot_hold_is_refused_in_our_words(
    tmp_path: Path, frame: pd.DataFrame
) -> None:
    graph = fresh_graph(tmp_path / "g", "node N { k: String @key  x: F64? }")

    with pytest.raises(InputError, match="the frame cannot be read: ") as told:
        graph.load(frame, type="N")

    assert str(told.value).encode()
