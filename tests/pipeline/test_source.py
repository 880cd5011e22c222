"""Spark reads a graph: exact values, one commit, and the same rows whoever filters them."""

import json
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.connector import feed, queries
from omnigraph.connector.feed import FeedReader
from omnigraph.connector.options import SourceOptions, store_options
from omnigraph.connector.queries import pin_query
from omnigraph.connector.source import OmniGraphSource
from omnigraph.errors import InputError
from omnigraph.read.spark.frames import name_variables
from omnigraph.spark.connector import register
from omnigraph.storage.store import CLOUDS, store_at
from tests.pipeline.drivers import Driver
from tests.pipeline.loads import person, text
from tests.pipeline.rich import ODD, rich_graph
from tests.sample import new_graph
from tests.stores import Lane

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PUSH_DOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture
def people(tmp_path: Path) -> Graph:
    graph = new_graph(tmp_path / "graph")
    graph.load(text(person("ann", 1), person("bob", 2), person("cy")), engine="inline")
    return graph


Read = Callable[..., "DataFrame"]


@pytest.fixture
def read(spark: "SparkSession") -> Read:
    """Return what reads a type of a graph, or some of its columns."""

    def read(graph: Graph, type_name: str = "Person", **options: str) -> "DataFrame":
        reader = spark.read.format("omnigraph").option("path", graph.uri)
        return reader.option("type", type_name).options(**options).load()

    return read


@pytest.fixture
def pushing(spark: "SparkSession") -> Iterator[None]:
    """Let Spark push down filters while a test runs."""
    spark.conf.set(PUSH_DOWN, "true")
    yield
    spark.conf.set(PUSH_DOWN, "false")


def slugs(frame: "DataFrame") -> list[str]:
    return sorted(row["slug"] for row in frame.select("slug").collect())


def said(action: Callable[[], object]) -> str:
    """Return our error as Spark quotes it: the message, and the hint behind it."""
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException) as raised:
        action()
    lines = str(raised.value).splitlines()
    at = max(at for at, line in enumerate(lines) if line.startswith("omnigraph.errors."))
    following = lines[at + 1] if at + 1 < len(lines) else ""
    before, _, hint = following.partition("= hint: ")
    return f"{lines[at]}; {hint}" if hint and not before.strip() else lines[at]


def test_spark_finds_the_source_by_itself(people: Graph, read: Read) -> None:
    assert slugs(read(people)) == ["ann", "bob", "cy"]


def test_registering_it_does_no_harm(spark: "SparkSession", people: Graph, read: Read) -> None:
    register(spark)
    register(spark)
    assert slugs(read(people)) == ["ann", "bob", "cy"]


def test_every_type_has_one_of_spark(tmp_path: Path, read: Read) -> None:
    frame = read(rich_graph(tmp_path / "graph"), "Thing")
    assert {field.name: field.dataType.simpleString() for field in frame.schema.fields} == {
        "id": "string",
        "slug": "string",
        "text": "string",
        "blob": "binary",
        "flag": "boolean",
        "i32": "int",
        "i64": "bigint",
        "u32": "bigint",
        "u64": "decimal(20,0)",
        "f32": "float",
        "f64": "double",
        "day": "date",
        "at": "timestamp",
        "hue": "string",
        "vector": "array<float>",
        "texts": "array<string>",
        "flags": "array<boolean>",
        "i32s": "array<int>",
        "i64s": "array<bigint>",
        "u32s": "array<bigint>",
        "u64s": "array<decimal(20,0)>",
        "f32s": "array<float>",
        "f64s": "array<double>",
        "days": "array<date>",
        "ats": "array<timestamp>",
    }
    assert [field.name for field in frame.schema.fields if not field.nullable] == ["id", "slug"]
    row = next(row for row in frame.collect() if row["slug"] == ODD).asDict()
    assert row["text"] == ODD
    assert row["blob"] == b"base64:AAEC"
    assert (row["i32"], row["i64"], row["u32"]) == (-(2**31), -(2**63), 2**32 - 1)
    assert (row["u64"], row["u64s"]) == (Decimal(2**64 - 1), [Decimal(2**64 - 1), Decimal(0)])
    assert (row["f64"], row["day"], row["vector"][2]) == (
        5e-324,
        date(1, 1, 1),
        1.401298464324817e-45,
    )
    assert row["days"] == [date(9999, 12, 31)]


def test_times_are_exact_and_nulls_are_null(tmp_path: Path, read: Read) -> None:
    frame = read(rich_graph(tmp_path / "graph"), "Thing", columns="slug,at,ats,f32,texts")
    rows = {
        row["slug"]: row
        for row in frame.selectExpr(
            "slug", "unix_millis(at) at", "transform(ats, t -> unix_millis(t)) ats", "f32", "texts"
        ).collect()
    }
    moments = [datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, 23, 59, 59, tzinfo=UTC)]
    first, last = (int(moment.timestamp()) * 1000 for moment in moments)
    assert (rows[ODD]["at"], rows[""]["at"]) == (first + 1, last + 999)
    assert rows[ODD]["ats"] == [1_706_702_400_123, -1]
    assert (rows["empty"]["texts"], rows["empty"]["f32"], rows["empty"]["at"]) == ([], None, None)


def test_edges_are_read_with_their_ends(tmp_path: Path, read: Read) -> None:
    frame = read(rich_graph(tmp_path / "graph"), "Likes")
    assert frame.columns == ["id", "src", "dst", "why"]
    assert frame.filter("id = 'mine'").collect() == [("mine", "empty", "one\n", None)]


def test_a_type_without_rows_gives_none(people: Graph, read: Read) -> None:
    assert read(people, "Company").collect() == []


def test_columns_are_read_in_the_order_given(people: Graph, read: Read) -> None:
    assert read(people, columns="age, slug").columns == ["age", "slug"]
    assert sorted(map(tuple, read(people, COLUMNS="slug").collect())) == [
        ("ann",),
        ("bob",),
        ("cy",),
    ]


def test_a_schema_of_the_users_chooses_columns(spark: "SparkSession", people: Graph) -> None:
    reader = spark.read.format("omnigraph").options(path=people.uri, type="Person")
    assert reader.schema("age int, slug string").load().filter("age = 1").collect() == [(1, "ann")]
    wrong = {
        "age bigint": "InputError: Person.age is int, but the schema says bigint",
        "agee int": "InputError: Person has no column 'agee'; did you mean 'age'?",
        "age int NOT NULL": "InputError: Person.age is nullable, but not in the schema",
    }
    for schema, reason in wrong.items():
        assert said(reader.schema(schema).load().count).endswith(reason)


def test_a_branch_and_a_commit_are_read_as_they_are(people: Graph, read: Read) -> None:
    before = people.snapshot().commit.id
    people.create_branch("more")
    people.load(text(person("eve")), branch="more", engine="inline")
    people.load(text(person("al")), engine="inline")
    assert slugs(read(people, Branch="more")) == ["ann", "bob", "cy", "eve"]
    assert slugs(read(people, SNAPSHOT=before)) == ["ann", "bob", "cy"]
    assert slugs(read(people)) == ["al", "ann", "bob", "cy"]


def test_a_frame_stays_at_its_commit_while_others_write(people: Graph, read: Read) -> None:
    frame = read(people)
    people.load(text(person("ann", 99)), mode="merge", engine="inline")
    people.load(text(person("dan")), engine="inline")

    assert slugs(frame) == ["ann", "bob", "cy"]
    assert frame.join(frame.select("slug"), "slug").filter("age = 99").count() == 0
    assert slugs(read(people)) == ["ann", "bob", "cy", "dan"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "InputError: the option 'path' is missing; set it to the URI of the graph"),
        (
            {"path": "{uri}"},
            "InputError: the option 'type' is missing; set it to a node or edge type",
        ),
        (
            {"path": "people"},
            "InputError: 'people' is not an absolute path; Spark's processes",
        ),
        ({"path": "/nowhere"}, "GraphNotFoundError: no graph at /nowhere"),
        ({"path": "ftp://x/y"}, "StoreError: ftp://x/y: unknown kind of store 'ftp'; use a path"),
        ({"type": "Persn"}, "InputError: no type 'Persn'; did you mean 'Person'?"),
        ({"brnch": "x"}, "InputError: unknown option 'brnch'; did you mean 'branch'?"),
        ({"branch": "x"}, "BranchNotFoundError: no branch 'x'"),
        ({"snapshot": "x"}, "CommitNotFoundError: no commit 'x'"),
        (
            {"branch": "a", "snapshot": "b"},
            "InputError: the options 'branch' and 'snapshot' exclude",
        ),
        ({"columns": "slug,agee"}, "InputError: Person has no column 'agee'; did you mean 'age'?"),
        ({"columns": "age,age"}, "InputError: the column 'age' is listed twice"),
        ({"pushdown": "true"}, "InputError: unknown option 'pushdown'; the options are"),
        ({"time": "soon"}, "InputError: the option 'time' is not a time: 'soon'"),
    ],
)
def test_what_is_wrong_with_the_options_is_said(
    spark: "SparkSession", people: Graph, options: dict[str, str], reason: str
) -> None:
    complete = {"path": people.uri, "type": "Person", **options}
    if options == {}:
        complete = {"type": "Person"}
    elif options == {"path": "{uri}"}:
        complete = {"path": people.uri}
    reader = spark.read.format("omnigraph").options(**complete)
    assert said(lambda: reader.load().count()).removeprefix("omnigraph.errors.").startswith(reason)


def test_a_misspelt_option_is_told_when_the_frame_is_made(
    spark: "SparkSession", people: Graph
) -> None:
    reader = spark.read.format("omnigraph").options(path=people.uri, typ="Person")
    told = said(reader.load).removeprefix("omnigraph.errors.")
    assert told.startswith("InputError: unknown option 'typ'; did you mean 'type'?"), told


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    schema = """node Person {
      slug: String @key  name: String?  age: I32? @index  born: Date?  seen: DateTime?
      points: U32?  ratio: F64?
    }"""
    graph = init(tmp_path_factory.mktemp("rows") / "graph", schema, durable=False)
    for number, slug in enumerate(("ann", "bob", "cy", "dan", "eve", "", "é")):
        data = {
            "slug": slug,
            "name": [None, f"{slug} of the north", f"{slug} of the south"][number % 3],
            "age": None if number == 2 else number,
            "born": None if number == 3 else f"200{number}-01-02",
            "seen": f"200{number}-01-02T12:00:00.00{number}Z",
            "points": 2**32 - 1 - number,
            "ratio": [None, 0.0, -0.0, 1.5][number % 4],
        }
        graph.load(json.dumps({"type": "Person", "data": data}), engine="inline")
    return graph


@pytest.mark.parametrize(
    ("where", "same"),
    [
        ("slug >= 'b' and age > 1", "slug >= 'b' AND age > 1"),
        ("age is null", "age IS NULL"),
        ("not (age = 1)", "NOT (age = 1)"),
        ("age != 1", "age != 1"),
        ("age in [1, 3] or age is null", "age IN (1, 3) OR age IS NULL"),
        ("not (age in [1, 3])", "age NOT IN (1, 3)"),
        ("name starts_with 'a' or name contains 'of'", "name LIKE 'a%' OR name LIKE '%of%'"),
        ("born > date('2001-01-01')", "born > DATE'2001-01-01'"),
    ],
)
def test_a_condition_finds_the_same_rows_whoever_decides_it(
    rows: Graph, read: Read, where: str, same: str
) -> None:
    where = where.replace("'", '"')
    assert slugs(read(rows, where=where)) == slugs(read(rows).filter(same))
    assert slugs(read(rows, where=where, columns="slug")) == slugs(read(rows).filter(same))


def test_what_the_store_does_not_decide_is_refused(rows: Graph, read: Read) -> None:
    refused = {
        "ratio > 0.5": "InputError: the store does not decide `ratio > 0.5`; leave it to Spark",
        "age + 1 > 2": "InputError: the store does not decide",
        "agee > 1": "QueryError: ",
        "age > 1 delete Person where age > 2": "InputError: the option 'where' is one condition",
    }
    for where, reason in refused.items():
        told = said(partial(read, rows, where=where))
        assert told.removeprefix("omnigraph.errors.").startswith(reason), told


@pytest.mark.usefixtures("pushing")
def test_several_queries_on_one_frame_do_not_get_into_each_others_way(
    people: Graph, read: Read
) -> None:
    for frame in (read(people), read(people, where="age = 1 or age = 2 or age is null")):
        assert slugs(frame.filter("age = 1")) == ["ann"]
        assert slugs(frame) == ["ann", "bob", "cy"]
        assert slugs(frame.filter("age = 1").union(frame.filter("age = 2"))) == ["ann", "bob"]
        assert frame.join(frame.filter("age = 2"), "slug").count() == 1
        assert frame.count() == 3


def test_a_frame_is_of_the_commit_that_a_branch_had_at_a_time(people: Graph, read: Read) -> None:
    before = people.snapshot().commit
    people.load(text(person("dan")), engine="inline")
    after = people.snapshot().commit

    at = {each.id: datetime.fromtimestamp(each.created_at / 1e6, UTC) for each in (before, after)}

    assert slugs(read(people, time=at[before.id].isoformat())) == ["ann", "bob", "cy"]
    assert slugs(read(people, time=at[after.id].isoformat())) == ["ann", "bob", "cy", "dan"]
    assert "had no commit at" in said(lambda: read(people, time="2001-01-31T12:00:00Z"))


def test_a_query_is_a_frame_with_the_columns_of_its_return(
    spark: "SparkSession", people: Graph
) -> None:
    def asked(query: str, **options: str) -> "DataFrame":
        reader = spark.read.format("omnigraph").options(path=people.uri, query=query)
        return reader.options(**options).load()

    aged = "query aged($age: I32) { match { $p: Person  $p.age < $age } return { $p.slug, $p } }"
    frame = asked(aged, params='{"age": 2}')
    people.load(text(person("al", 0)), engine="inline")

    assert [(row[0], row[1]["age"]) for row in frame.collect()] == [("ann", 1)]
    assert frame.count() == 1
    assert asked("match { $p: Person } return { count(*) as n }").collect() == [(4,)]
    assert "'q' is a mutation" in said(lambda: asked("query q() { delete Person where age = 1 }"))
    assert "ParamsError" in said(lambda: asked(aged))
    assert "exclude each other" in said(lambda: asked(aged, type="Person"))


@pytest.mark.parametrize("lane", ["moto"], indirect=True)
def test_the_variables_of_a_store_are_given_as_options_and_reach_the_tasks(
    lane: Lane, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = init(lane.root, "node Person { slug: String @key }", durable=False)
    graph.load('{"type": "Person", "data": {"slug": "ann"}}', engine="inline")
    for name in lane.environment:
        monkeypatch.delenv(name)
    assert slugs(read(graph, **lane.environment)) == ["ann"]


@pytest.mark.parametrize("lane", ["moto"], indirect=True)
def test_the_variables_of_the_process_that_plans_reach_tasks_that_do_not_have_them(
    lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = init(lane.root, "node Person { slug: String @key }", durable=False)
    graph.load('{"type": "Person", "data": {"slug": "ann"}}', engine="inline")
    asked = {"path": graph.uri, "query": "match { $p: Person } return { $p.slug }"}
    pinned = pin_query(SourceOptions.of(asked, queries.OPTIONS))
    changes = {"path": graph.uri, "since": "beginning"}
    feeder = FeedReader(SourceOptions.of(changes, feed.OPTIONS))
    parts = feeder.partitions(feeder.initialOffset(), feeder.latestOffset())
    sent = pickle.dumps((pinned.reader(pinned.schema), feeder, parts))

    for name in lane.environment:
        monkeypatch.delenv(name)
    asking, feeding, (part,) = pickle.loads(sent)

    assert [row for each in asking.read(part) for row in each.to_pylist()] == [{"p.slug": "ann"}]
    assert [row["id"] for each in feeding.read(part) for row in each.to_pylist()] == ["ann"]


def test_a_login_that_is_an_option_is_not_shown(people: Graph) -> None:
    given = {"path": people.uri, "query": "match { $p: Person } return { $p.slug }"}
    secret = {"AWS_SECRET_ACCESS_KEY": "do not show"}

    pinned = pin_query(SourceOptions.of({**given, **secret}, queries.OPTIONS))

    assert "do not show" not in repr(pinned)


def test_the_login_of_another_cloud_is_given_as_options_too() -> None:
    given = {"path": "az://box/graph", "AZURE_STORAGE_ACCOUNT_NAME": "one"}
    asked = SourceOptions.of(given, ["path"])

    assert asked.store.options["azure_storage_account_name"] == "one"


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_a_query_names_its_store_by_options_that_the_source_knows(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (name for name in os.environ if name.startswith(CLOUDS)):
        monkeypatch.delenv(name)
    given = {name.upper(): f"the {name}" for name in store_options()}
    given |= {"AWS_ENDPOINT_URL_S3": "https://s3.example", "AWS_S3_FORCE_PATH_STYLE": "false"}
    own = store_at(f"{scheme}://box/graph", given)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://another.example")

    asked = SourceOptions.of({"path": own.root, **name_variables(own)}, ["path"])

    assert asked.store == own


def test_a_variable_that_no_store_asks_for_is_refused_with_the_one_that_is_meant() -> None:
    for name, meant in {
        "AWS_ACCES_KEY_ID": "aws_access_key_id",
        "azure_storage_acount_name": "azure_storage_account_name",
    }.items():
        with pytest.raises(InputError, match=f"unknown option '{name.lower()}'") as refused:
            SourceOptions.of({"path": "s3://box/graph", name: "x"}, ["path"])
        assert refused.value.hint == f"did you mean '{meant}'?"


def test_the_name_is_one_that_spark_looks_for() -> None:
    from pyspark_omnigraph import DefaultSource

    assert DefaultSource is OmniGraphSource
    assert DefaultSource.name() == "omnigraph"


CLIENT = """
from omnigraph.spark.connector import register
spark = session(SparkSettings(remote="{remote}"))
register(spark)
frame = spark.read.format("omnigraph").options(path={uri!r}, type="Person").load()
say(rows=[row.slug for row in frame.filter("age = 1").collect()], count=frame.count())
"""


def test_the_source_works_through_spark_connect(
    people: Graph, connect_server: str, tmp_path: Path
) -> None:
    script = CLIENT.format(remote=connect_server, uri=people.uri)
    with closing(Driver(script, tmp_path, os.environ)) as client:
        assert client.heard() == {"rows": ["ann"], "count": 3}
