"""Spark writes frames and streams to a graph: each batch is one commit, whatever is killed."""

import json
import os
import pickle
import signal
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.errors import StorageError
from omnigraph.storage.objects import Objects
from tests.pipeline.drivers import Driver, eventually, family
from tests.pipeline.loads import person, rows, text
from tests.sample import new_graph

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = "node Event { number: I64 @key  batch: I64? }"


@pytest.fixture
def people(tmp_path: Path) -> Graph:
    graph = new_graph(tmp_path / "graph")
    graph.load(text(person("ann", 1), person("bob", 2)), engine="inline")
    return graph


def _ages(graph: Graph, target: str = "main") -> dict[str, int | None]:
    stored = graph.snapshot(target).catalog.stored("Person")
    assert stored is not None
    return {row["slug"]: row["age"] for row in rows(graph, stored.identity, target)}


def _people(spark: "SparkSession", **ages: int | None) -> "DataFrame":
    made = [(slug, f"{slug} of the south", age) for slug, age in ages.items()]
    return spark.createDataFrame(made, "slug string, name string, age int").repartition(2)


def _save(frame: "DataFrame", graph: Graph, mode: str = "append", **options: str) -> None:
    writer = frame.write.format("omnigraph").options(path=graph.uri, type="Person", **options)
    writer.mode(mode).save()


def _refusal(action: Callable[[], object]) -> str:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as raised:
        action()
    return str(raised.value)


def _leftovers(graph: Graph) -> list[Path]:
    return [each for each in Path(graph.uri, "_aside").rglob("*") if each.is_file()]


def test_a_frame_is_one_commit(spark: "SparkSession", people: Graph) -> None:
    before = len(list(people.log()))

    _save(_people(spark, cy=3, dan=None), people, message="two more", actor="spark")

    first = next(iter(people.log()))
    assert (first.message, first.actor) == ("two more", "spark")
    assert len(list(people.log())) == before + 1
    assert _ages(people) == {"ann": 1, "bob": 2, "cy": 3, "dan": None}
    assert not _leftovers(people)


def test_a_frame_merges_replaces_and_overwrites_as_a_load_does(
    spark: "SparkSession", people: Graph
) -> None:
    people.create_branch("side")

    _save(_people(spark, ann=9, cy=3), people, load="merge", branch="side")
    assert _ages(people, "side") == {"ann": 9, "bob": 2, "cy": 3}
    _save(_people(spark, dan=4), people, mode="overwrite", branch="side")
    assert _ages(people, "side") == {"dan": 4}
    assert _ages(people) == {"ann": 1, "bob": 2}


def test_a_frame_with_bad_rows_writes_nothing_and_says_which(
    spark: "SparkSession", people: Graph
) -> None:
    before = len(list(people.log()))

    told = _refusal(lambda: _save(_people(spark, ann=9, cy=3), people))

    assert "Person 'ann' exists already" in told
    assert "nothing was written" in told
    assert len(list(people.log())) == before
    assert not _leftovers(people)


def test_an_operation_is_done_once(spark: "SparkSession", people: Graph) -> None:
    frame = _people(spark, cy=3).coalesce(1)
    for _ in range(2):
        _save(frame, people, operation="night-1")
    assert _ages(people) == {"ann": 1, "bob": 2, "cy": 3}
    told = _refusal(lambda: _save(_people(spark, dan=4), people, operation="night-1"))
    assert "night-1" in told


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"type": "Persn"}, "no type 'Persn'"),
        ({"branch": "nowhere"}, "no branch 'nowhere'"),
        ({"load": "upsert"}, "upsert"),
        ({"load": "overwrite"}, "a frame overwrites with mode('overwrite')"),
        ({"since": "x"}, "unknown option 'since'"),
    ],
)
def test_what_is_wrong_with_the_options_is_said(
    spark: "SparkSession", people: Graph, options: dict[str, str], reason: str
) -> None:
    writer = _people(spark, cy=3).write.format("omnigraph").mode("append")
    given = {"path": people.uri, "type": "Person", **options}
    assert reason in _refusal(lambda: writer.options(**given).save())


def test_a_frame_without_rows_overwrites_nothing(spark: "SparkSession", people: Graph) -> None:
    empty = _people(spark, cy=3).filter("age > 5")
    _save(empty, people)
    assert "without rows" in _refusal(lambda: _save(empty, people, mode="overwrite"))
    assert _ages(people) == {"ann": 1, "bob": 2}


WRITER = """
spark = session(SparkSettings("local[2]"))
events = spark.readStream.schema("number long, batch long").option("maxFilesPerTrigger", 1)
stream = events.json({source!r}).repartition(2)
query = (
    stream.writeStream.format("omnigraph")
    .options(path={uri!r}, type="Event", checkpointLocation={checkpoint!r})
    .trigger({trigger})
    .start()
)
say(begun=True)
query.awaitTermination()
say(ended=True)
"""


def _events(folder: Path, files: int, each: int) -> None:
    folder.mkdir()
    for number in range(files):
        lines = [{"number": number * each + at, "batch": number} for at in range(each)]
        path = folder / f"{number:03}.json"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def _numbers(graph: Graph) -> list[int]:
    stored = graph.snapshot().catalog.stored("Event")
    assert stored is not None
    return sorted(row["number"] for row in rows(graph, stored.identity))


def _has_commits(graph: Graph, count: int) -> bool:
    return len(list(graph.log())) >= count


def _kill(driver: Driver) -> None:
    """Kill a driver with its JVM and its Python workers, all at once."""
    for process in [driver.process.pid, *family(driver.process.pid)]:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    driver.process.wait(60)


def test_a_stream_that_is_killed_again_and_again_writes_every_batch_once(tmp_path: Path) -> None:
    files, each = 6, 50
    graph = init(tmp_path / "graph", EVENTS, durable=False)
    _events(tmp_path / "source", files, each)
    places = {
        "uri": graph.uri,
        "source": str(tmp_path / "source"),
        "checkpoint": str(tmp_path / "checkpoint"),
    }
    first = len(list(graph.log()))

    for kill in range(2):
        script = WRITER.format(**places, trigger="processingTime='1 second'")
        with closing(Driver(script, tmp_path, os.environ)) as driver:
            assert driver.heard() == {"begun": True}
            assert eventually(partial(_has_commits, graph, first + 1 + 2 * kill), 200)
            time.sleep(0.2 * kill)
            _kill(driver)
    with closing(
        Driver(WRITER.format(**places, trigger="availableNow=True"), tmp_path, os.environ)
    ) as driver:
        assert [told for told in driver.all_heard() if told == {"ended": True}], driver.complaints()

    assert _numbers(graph) == list(range(files * each))
    # How many files a batch takes is up to Spark; each batch is one commit.
    assert first < len(list(graph.log())) <= first + files


def test_a_batch_is_written_though_its_files_cannot_be_removed_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from omnigraph.connector.options import SourceOptions
    from omnigraph.connector.writing import STREAM_OPTIONS, StreamWriter, target_of

    graph = init(tmp_path / "events", EVENTS, durable=False)
    asked = SourceOptions.of({"path": graph.uri, "type": "Event"}, STREAM_OPTIONS)
    target = target_of(asked, overwrite=False)
    part = target.stored(iter([pa.record_batch({"number": [7]})]))
    part.query = "of-a-checkpoint"

    def fail(*_: object) -> None:
        raise StorageError("the store is away")

    monkeypatch.setattr(Objects, "delete_many", fail)
    StreamWriter(target).commit([part], 0)

    assert _numbers(graph) == [7]


def test_a_batch_that_changed_nothing_is_not_applied_when_it_is_repeated_later(
    people: Graph,
) -> None:
    from omnigraph.connector.options import SourceOptions
    from omnigraph.connector.writing import STREAM_OPTIONS, StreamWriter, target_of

    def write_batch() -> None:
        asked = {"path": people.uri, "type": "Person", "load": "merge"}
        target = target_of(SourceOptions.of(asked, STREAM_OPTIONS), overwrite=False)
        ann = {"slug": "ann", "name": "ann of the north", "age": 1}
        part = target.stored(iter([pa.RecordBatch.from_pylist([ann])]))
        part.query = "of-a-checkpoint"
        StreamWriter(target).commit([part], 7)

    people.load(text(person("ann", 1)), mode="merge", engine="inline")
    before = _ages(people)
    write_batch()
    assert _ages(people) == before
    people.load(text(person("ann", 40)), mode="merge", engine="inline")
    write_batch()

    assert _ages(people)["ann"] == 40


def test_a_stream_that_would_replace_all_rows_by_each_batch_is_refused(
    spark: "SparkSession", people: Graph, tmp_path: Path
) -> None:
    _events(tmp_path / "source", 1, 3)
    events = spark.readStream.schema("number long, batch long").json(str(tmp_path / "source"))
    ages = events.groupBy("batch").count().selectExpr("string(batch) slug", "string(batch) name")
    writer = ages.writeStream.format("omnigraph").outputMode("complete")
    places = {"path": people.uri, "checkpointLocation": str(tmp_path / "checkpoint")}
    query = writer.options(type="Person", **places).trigger(availableNow=True).start()

    told = _refusal(lambda: query.awaitTermination(200))

    assert "does not write in the mode complete" in told
    assert _ages(people) == {"ann": 1, "bob": 2}


READER = """
spark = session(SparkSettings("local[2]"))
changes = spark.readStream.format("omnigraph").options(path={uri!r}, since={since!r}).load()
query = (
    changes.writeStream.format("json").option("path", {target!r})
    .option("checkpointLocation", {checkpoint!r})
    .trigger({trigger})
    .start()
)
say(begun=True)
query.awaitTermination()
say(ended=True)
"""


def test_a_stream_of_changes_that_is_killed_gives_every_commit_once(
    spark: "SparkSession", people: Graph, tmp_path: Path
) -> None:
    places = {
        "uri": people.uri,
        "since": people.snapshot().commit.id,
        "target": str(tmp_path / "target"),
        "checkpoint": str(tmp_path / "checkpoint"),
    }
    people.load(text(person("cy", 3)), engine="inline")
    with closing(
        Driver(READER.format(**places, trigger="processingTime='1 second'"), tmp_path, os.environ)
    ) as driver:
        assert driver.heard() == {"begun": True}
        written = tmp_path / "target" / "_spark_metadata" / "0"
        assert eventually(written.exists, 200)
        people.load(text(person("cy", 4)), mode="merge", engine="inline")
        _kill(driver)
    people.mutate('query q() { delete Person where slug = "ann" }')
    for _ in range(2):  # of a query that was killed, the first may do no more than finish its batch
        script = READER.format(**places, trigger="availableNow=True")
        with closing(Driver(script, tmp_path, os.environ)) as driver:
            heard = driver.all_heard()
            assert {"ended": True} in heard, driver.complaints()

    found = spark.read.json(places["target"]).orderBy("version").collect()

    assert [(row["op"], row["id"]) for row in found] == [
        ("insert", "cy"),
        ("update", "cy"),
        ("delete", "ann"),
    ]
    assert [json.loads(row["after"])["age"] for row in found[:2]] == [3, 4]
    assert json.loads(found[1]["before"])["age"] == 3
    assert list(found[1]["changed"]) == ["age"]
    assert len({row["commit"] for row in found}) == 3


def test_a_feed_of_a_type_passes_commits_that_did_not_have_it_by_its_name(tmp_path: Path) -> None:
    from omnigraph.connector.feed import OPTIONS, FeedReader
    from omnigraph.connector.options import SourceOptions

    graph = init(tmp_path / "events", EVENTS, durable=False)
    graph.apply_schema(f"{EVENTS} node Town {{ slug: String @key }}")
    graph.load([{"slug": "oslo"}], type="Town", engine="inline")
    graph.apply_schema(f'{EVENTS} node City @rename_from("Town") {{ slug: String @key }}')
    graph.load([{"slug": "rome"}], type="City", engine="inline")
    asked = {"path": graph.uri, "types": "City", "since": "beginning"}

    reader = pickle.loads(pickle.dumps(FeedReader(SourceOptions.of(asked, OPTIONS))))
    parts = reader.partitions(reader.initialOffset(), reader.latestOffset())
    found = [row for part in parts for each in reader.read(part) for row in each.to_pylist()]

    assert [(row["type"], row["id"]) for row in found] == [("Town", "oslo"), ("City", "rome")]


def test_a_batch_of_changes_that_ends_with_an_optimize_is_the_same_when_it_is_planned_again(
    people: Graph,
) -> None:
    from omnigraph.connector.feed import OPTIONS, FeedReader
    from omnigraph.connector.options import SourceOptions

    reader = FeedReader(SourceOptions.of({"path": people.uri}, OPTIONS))

    def read(start: dict[str, str], end: dict[str, str]) -> list[str]:
        parts = reader.partitions(start, end)
        return [
            row["id"] for part in parts for each in reader.read(part) for row in each.to_pylist()
        ]

    start = reader.initialOffset()
    people.load(text(person("cy", 3)), engine="inline")
    assert people.optimize().commit is not None
    end = reader.latestOffset()
    assert read(start, end) == ["cy"]
    people.load(text(person("dot", 4)), engine="inline")

    assert read(start, end) == ["cy"]
    assert read(end, reader.latestOffset()) == ["dot"]


def test_a_stream_of_changes_begins_where_it_is_told_to(
    spark: "SparkSession", people: Graph, tmp_path: Path
) -> None:
    people.load('{"type": "Company", "data": {"name": "acme"}}', engine="inline")

    def read(name: str, **options: str) -> list[str]:
        reader = spark.readStream.format("omnigraph").options(path=people.uri, **options)
        writer = reader.load().writeStream.format("memory").queryName(name)
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(200)
        return sorted(row["id"] for row in spark.table(name).collect())

    assert read("all_changes", since="beginning") == ["acme", "ann", "bob"]
    assert read("some_changes", since="beginning", types="Company") == ["acme"]
    assert read("new_changes") == []
    told = _refusal(lambda: read("wrong", since="x"))
    assert "no commit 'x'" in told
