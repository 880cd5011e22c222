"""The first row goes in as Python has it: dicts, graphs, lazy frames, plain JSON lines."""

import datetime
import io
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import networkx
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from omnigraph.api.graph import Graph, connect, init
from omnigraph.api.http import HttpBackend
from omnigraph.api.operations.read import ReadRecords
from omnigraph.errors import (
    InputError,
    ParamsError,
    QueryError,
    SchemaError,
    UnavailableError,
    ViolationsError,
)
from omnigraph.schema.catalog import Catalog
from omnigraph.write.counts import RowCounts
from tests.parity.serving import serving
from tests.templates import fresh_graph

SCHEMA = """
node Person { name: String @key  age: I32?  born: Date? }
node Thing { number: I64 @key  label: String? }
node Note { text: String?  at: DateTime? }
edge Knows: Person -> Person { since: I32?  @key(src, dst) }
edge Has: Thing -> Thing { weight: F64? }
"""


@pytest.fixture(params=["at hand", "behind a server"])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Graph]:
    made = fresh_graph(tmp_path / "g", SCHEMA)
    if request.param == "at hand":
        yield made
        return
    made.close()
    with serving(tmp_path / "g") as url, connect(url) as there:
        yield there


@pytest.fixture
def local(tmp_path: Path) -> Graph:
    return fresh_graph(tmp_path / "local", SCHEMA)


def people(graph: Graph) -> list[dict[str, object]]:
    text = "query q() { match { $p: Person } return { $p.name as name, $p.age as age } }"
    return graph.query(text).to_dicts()


def edges(graph: Graph, name: str) -> list[tuple[str, str]]:
    start = "Person" if name == "Knows" else "Thing"
    text = f"""query q() {{ match {{ $a: {start}  $a {name[0].lower()}{name[1:]} $b }}
        return {{ $a.id as a, $b.id as b }} }}"""
    return [(str(row["a"]), str(row["b"])) for row in graph.query(text)]


def test_dicts_are_rows_of_a_type(graph: Graph) -> None:
    rows = [{"name": "Ana", "age": np.int64(3)}, {"name": "Bo", "born": datetime.date(2020, 2, 1)}]

    graph.branch().load(rows, type="Person")
    graph.branch().load(iter([{"source": "Ana", "target": "Bo", "since": 2}]), type="Knows")

    assert people(graph) == [{"name": "Ana", "age": 3}, {"name": "Bo", "age": None}]
    assert edges(graph, "Knows") == [("Ana", "Bo")]


def test_dicts_may_come_by_type_and_records_name_theirs(graph: Graph) -> None:
    graph.load({"Person": [{"name": "Ana"}], "Thing": [{"number": 1}]})
    graph.load([{"type": "Person", "data": {"name": "Bo"}}])

    assert [row["name"] for row in people(graph)] == ["Ana", "Bo"]


def test_dicts_that_do_not_fit_are_reported_by_row(graph: Graph) -> None:
    with pytest.raises(ViolationsError) as caught:
        graph.load([{"name": "Ana"}, {"nam": "Bo"}], type="Person")
    assert caught.value.violations[0].line == 2
    with pytest.raises(InputError, match="do not name their type"):
        graph.load([{"name": "Ana"}])
    with pytest.raises(InputError, match="not a dict"):
        graph.load(iter(["Ana"]), type="Person")
    with pytest.raises(InputError, match="a row cannot hold"):
        graph.load([{"name": object()}], type="Person")


@pytest.mark.parametrize(
    "age",
    [
        Decimal("sNaN"),
        datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    ],
)
def test_a_value_that_json_cannot_hold_is_refused(local: Graph, age: object) -> None:
    network = networkx.DiGraph()
    network.add_node("Ana", type="Person", age=age)

    for data in ([{"type": "Person", "data": {"name": "Ana", "age": age}}], network):
        with pytest.raises(InputError, match="a row cannot be written as JSON"):
            local.load(data)


def test_a_decimal_without_end_is_no_number(local: Graph) -> None:
    with pytest.raises(ViolationsError, match="Infinity is not a number"):
        local.load([{"name": "Ana", "age": Decimal("Infinity")}], type="Person")


def test_a_stream_of_text_is_loaded_as_one_of_bytes_is(graph: Graph) -> None:
    graph.load(io.StringIO('{"type": "Person", "data": {"name": "Ána"}}'))

    assert people(graph) == [{"name": "Ána", "age": None}]


def test_plain_json_lines_are_rows_of_a_type(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    path.write_text('{"name": "Ana"}\n\n// a comment\n{"type": "Person", "data": {"name": "Bo"}}\n')

    graph.load(path, type="Person")
    graph.load('{"from": "Ana", "to": "Bo", "since": 1}', type="Knows")

    assert [row["name"] for row in people(graph)] == ["Ana", "Bo"]
    assert edges(graph, "Knows") == [("Ana", "Bo")]
    with pytest.raises(ViolationsError) as caught:
        graph.load('{"name": "Cy"}\nnothing\n', type="Person")
    assert [(each.line, str(each.code)) for each in caught.value.violations] == [(2, "V1")]


def test_a_networkx_graph_is_loaded(graph: Graph) -> None:
    network = networkx.DiGraph()
    network.add_node("Ana", type="Person", age=3)
    network.add_node("Bo", type="Person")
    network.add_edge("Ana", "Bo", type="Knows", since=1)

    graph.load(network)

    assert people(graph) == [{"name": "Ana", "age": 3}, {"name": "Bo", "age": None}]
    assert edges(graph, "Knows") == [("Ana", "Bo")]


def test_what_networkx_gets_it_gives_back(local: Graph, tmp_path: Path) -> None:
    local.load({"Person": [{"name": "Ana"}, {"name": "Bo"}], "Thing": [{"number": 7}]})
    local.load([{"text": "hello"}], type="Note")
    local.load({"Knows": [{"from": "Ana", "to": "Bo"}], "Has": [{"from": 7, "to": 7}]})
    again = fresh_graph(tmp_path / "again", SCHEMA)

    again.load(local.branch().to_networkx())

    assert sorted(again.export()) == sorted(local.export())


def test_lazy_frames_are_computed(graph: Graph, tmp_path: Path) -> None:
    pq.write_table(pa.table({"name": ["Bo"]}), tmp_path / "some.parquet")

    graph.load(pl.LazyFrame({"name": ["Ana"]}), type="Person")
    graph.load(ds.dataset(tmp_path / "some.parquet"), type="Person")

    assert [row["name"] for row in people(graph)] == ["Ana", "Bo"]


@pytest.mark.parametrize("ends", [("from", "to"), ("src", "dst"), ("source", "target")])
def test_whole_numbers_mean_the_same_on_nodes_and_edges(
    graph: Graph, ends: tuple[str, str]
) -> None:
    graph.load(pa.table({"number": [1, 2], "id": [1, 2]}), type="Thing")

    graph.load(pa.table({ends[0]: [1], ends[1]: [2]}), type="Has")
    graph.load('{"edge": "Has", "from": 2, "to": "1"}\n{"edge": "Has", "from": 1, "to": 1}')

    assert sorted(edges(graph, "Has")) == [("1", "1"), ("1", "2"), ("2", "1")]


@pytest.mark.parametrize("as_table", [False, True])
def test_an_end_that_is_no_whole_number_is_refused_in_these_words(
    local: Graph, as_table: bool
) -> None:
    rows = [{"from": 1.5, "to": 1}]
    given = pa.Table.from_pylist(rows) if as_table else rows

    with pytest.raises(ViolationsError) as refused:
        local.load(given, type="Has")

    (fault, *_) = refused.value.violations
    assert (fault.field, fault.reason) == ("from", "expected a whole number or its digits, got 1.5")


def test_an_id_that_is_that_of_the_key_is_accepted_and_another_is_not(graph: Graph) -> None:
    loaded = graph.load('{"type": "Person", "data": {"id": "Ana", "name": "Ana"}}')
    assert loaded.counts == RowCounts(inserted=1)

    with pytest.raises(ViolationsError) as caught:
        graph.load('{"type": "Person", "data": {"id": "b1", "name": "Bo"}}')

    assert [each.reason for each in caught.value.violations] == [
        "the id 'b1' is not that of the key, which is 'Bo'"
    ]


def test_parameters_come_as_a_dict_or_as_keywords(graph: Graph) -> None:
    graph.load([{"name": "Ana", "age": 3}], type="Person")
    text = """query q($name: String, $age: I32) {
        match { $p: Person { name: $name, age: $age } } return { $p.name as name } }"""

    assert graph.query(text, {"name": "Ana", "age": 3})[0] == {"name": "Ana"}
    assert graph.query(text, {"name": "Ana"}, age=3)[-1] == {"name": "Ana"}
    assert graph.query(text, "q", {"name": "Ana", "age": 3})[:5] == [{"name": "Ana"}]
    with pytest.raises(InputError, match="given twice"):
        graph.query(text, {"name": "Ana", "age": 3}, age=3)
    add = "query add($name: String) { insert Person { name: $name } }"
    assert graph.mutate(add, {"name": "Bo"}).affected_nodes == 1


def test_a_result_is_printed_as_a_table(graph: Graph) -> None:
    graph.load([{"name": "Ana", "age": 3}, {"name": "漢字"}], type="Person")
    text = "query q() { match { $p: Person } return { $p.name as name, $p.age as age } }"

    assert str(graph.query(text)).splitlines() == [
        "name  age",
        "----  ----",
        "Ana   3",
        "漢字  null",
    ]
    with pytest.raises(IndexError, match="2 rows"):
        graph.query(text)[2]
    with pytest.raises(TypeError) as wrong:
        graph.query(text)["name"]  # type: ignore[call-overload]
    assert str(wrong.value) == (
        "a result is indexed by the number of a row, not by 'name'; "
        "a column is [row['name'] for row in result]"
    )


def test_the_name_of_a_file_as_a_text_is_told_to_be_one(graph: Graph, tmp_path: Path) -> None:
    for road, name in (
        (lambda text: init(tmp_path / "new", text), "people.pg"),
        (graph.apply_schema, "/a folder/people.pg"),
        (graph.query, "people.gq"),
        (graph.mutate, "queries/people.gq"),
    ):
        with pytest.raises((SchemaError, QueryError)) as wrong:
            road(name)
        assert wrong.value.hint == f"if it is the name of a file, pass Path('{name}'), or its text"
    with pytest.raises(QueryError, match="expected") as other:
        graph.query("people()")
    assert other.value.hint is None


@contextmanager
def adding(graph: Graph, name: str) -> Iterator[None]:
    with graph.run(message="by hand") as branch:
        branch.load([{"name": name}], type="Person")
        yield


def test_a_run_is_published_at_the_end_of_its_block(graph: Graph) -> None:
    with adding(graph, "Ana"):
        assert people(graph) == []

    assert [row["name"] for row in people(graph)] == ["Ana"]
    assert graph.branch().commit.message == "by hand"


def test_a_run_is_aborted_when_its_block_raises(graph: Graph) -> None:
    with pytest.raises(ZeroDivisionError), adding(graph, "Ana"):
        raise ZeroDivisionError

    assert people(graph) == []
    assert [str(each.status) for each in graph.runs()] == ["aborted"]


def test_a_published_run_keeps_its_actor_and_its_message(local: Graph) -> None:
    run = local.begin_run(actor="ida")
    branch = local.branch(run.run_branch, actor="ida", message="from the archive")
    branch.load([{"name": "Ana"}], type="Person")

    local.publish_run(run.run_id)

    commit = local.branch().commit
    assert (commit.actor, commit.message) == ("ida", "from the archive")


def test_a_parameter_that_no_server_can_be_sent_is_refused_in_our_words(tmp_path: Path) -> None:
    fresh_graph(tmp_path / "g", SCHEMA).close()
    zone = datetime.timezone(datetime.timedelta(hours=-5))
    late = datetime.datetime(9999, 12, 31, 23, tzinfo=zone)
    with serving(tmp_path / "g") as url, connect(url) as there:
        for number in (float("nan"), float("inf")):
            with pytest.raises(UnavailableError, match=r"'\$w' holds NaN or infinity"):
                there.query(
                    "query q($w: F64) { match { $a $e:has $b  $e.weight = $w } return { $a.id } }",
                    w=number,
                )
        with pytest.raises(ParamsError, match="outside the years 1 to 9999 in UTC"):
            there.mutate("query q($at: DateTime) { insert Note { at: $at } }", at=late)


def test_a_stored_query_and_an_algorithm_refuse_in_our_words_what_no_server_can_be_sent(
    tmp_path: Path,
) -> None:
    fresh_graph(tmp_path / "g", SCHEMA).close()
    stored = tmp_path / "stored.gq"
    stored.write_text("query q($w: F64) { match { $t: Thing } return { $t.id, $w as w } }")
    zone = datetime.timezone(datetime.timedelta(hours=-5))
    late = datetime.datetime(9999, 12, 31, 23, tzinfo=zone)
    with serving(tmp_path / "g", queries=stored) as url, connect(url) as there:
        for value in (float("nan"), [1.0, float("inf")], late, Decimal(1), np.int64(1), "\ud800"):
            with pytest.raises(UnavailableError, match=r"'\$w' holds what JSON cannot represent"):
                there.queries["q"](w=value)
        for number in (float("nan"), float("inf")):
            with pytest.raises(InputError, match=f"'damping' is a number, not {number}"):
                there.algo.pagerank("Has", damping=number)


def test_a_network_of_a_server_is_of_one_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh_graph(tmp_path / "g", SCHEMA).close()
    types_of = HttpBackend.catalog
    with serving(tmp_path / "g") as url, connect(url) as there:
        there.load([{"name": "Ana", "age": 3}], type="Person")

        def rename_behind(backend: HttpBackend, operation: ReadRecords) -> Catalog:
            found = types_of(backend, operation)
            there.apply_schema(SCHEMA.replace("age: I32?", 'years: I32? @rename_from("age")', 1))
            return found

        monkeypatch.setattr(HttpBackend, "catalog", rename_behind)
        found = there.branch().to_networkx(types=["Person"])
    assert found.nodes["Person", "Ana"]["age"] == 3


def test_times_of_an_unknown_zone_are_moments_all_the_same(graph: Graph) -> None:
    times = pa.array([1_700_000_000_001_000, None], pa.int64())
    frame = pa.table({"at": times.view(pa.timestamp("us", "Nowhere/Else"))})

    graph.load(frame, type="Note")

    found = graph.query("match { $n: Note } return { $n.at as at } order { at }").to_dicts()
    moment = datetime.datetime(2023, 11, 14, 22, 13, 20, 1_000, tzinfo=datetime.UTC)
    assert {row["at"] for row in found} == {moment, None}


def test_times_that_python_cannot_hold_are_refused(graph: Graph) -> None:
    frame = pa.table({"at": pa.array([1 << 62], pa.int64()).view(pa.timestamp("us", "UTC"))})

    with pytest.raises(ViolationsError, match="at"):
        graph.load(frame, type="Note")
