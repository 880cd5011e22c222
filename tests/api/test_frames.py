"""Results become frames of every sort, and frames of every sort are loaded."""

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import polars
import pyarrow as pa
import pytest

from omnigraph import Graph, init
from omnigraph.errors import InputError, UnavailableError
from tests.api.people import QUERIES, people


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    with people(tmp_path_factory.mktemp("frames") / "people.omni") as found:
        yield found


ANA = {
    "slug": "ana",
    "name": "Ana <b>",
    "age": 37,
    "born": date(1988, 2, 29),
    "seen": datetime(2024, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC),
    "tags": ["a", "b"],
    "count": 2**64 - 1,
}


def test_every_frame_holds_the_same_values(graph: Graph) -> None:
    result = graph.query(QUERIES, "all")
    rows = result.to_dicts()
    assert {name: rows[0][name] for name in ANA} == ANA
    assert list(result) == rows
    assert result.to_polars().to_dicts() == rows
    assert pa.table(result).to_pylist() == rows
    assert polars.DataFrame(result).to_dicts() == rows
    frame = result.to_pandas()
    assert (list(frame.columns), len(frame)) == (result.columns, 3)
    assert frame["slug"].tolist() == ["ana", "bo", "cy"]
    assert result.to_json()[0]["count"] == str(2**64 - 1)  # type: ignore[index,call-overload]


def test_integers_that_no_float_holds_are_the_same_in_pandas_beside_null(tmp_path: Path) -> None:
    wide = {"i": [2**53 + 1, None], "u": [None, 2**64 - 1], "few": [1, None]}
    rows = [dict(zip(wide, row, strict=True)) for row in zip(*wide.values(), strict=True)]
    with init(tmp_path / "g", "node N { k: String @key  i: I64?  u: U64?  few: I64? }") as graph:
        graph.load([{"k": key, **row} for key, row in zip("ab", rows, strict=True)], type="N")
        frame = graph.query("match { $n: N } return { $n.* }").to_pandas()
        assert frame["n.i"].tolist()[0] == 2**53 + 1
        assert frame["n.u"].tolist()[1] == 2**64 - 1
        assert [str(each) for each in frame.dtypes[1:]] == ["Int64", "UInt64", "float64"]

        frame.columns = ["k", *wide]
        again = frame.drop(columns="few")
        assert graph.load(again, type="N", mode="merge").commit is None


NESTED = """
node N { k: String @key  i: I64?  u: U64?  many: [I64]?  seen: [DateTime]?  v: Vector(2)? }
"""


def test_what_is_inside_of_nodes_and_lists_is_the_same_in_pandas(tmp_path: Path) -> None:
    first = datetime(2024, 1, 31, 12, tzinfo=UTC)
    wide = {"k": "a", "i": 2**53 + 1, "u": 2**64 - 1, "many": [2**63 - 1], "seen": [first]}
    with init(tmp_path / "g", NESTED) as graph:
        graph.load([wide, {"k": "b", "v": [0.5, 1.5]}], type="N")
        result = graph.query("match { $n: N } return { $n, $n.k as k, $n.many, $n.seen, $n.v }")
        all_of = graph.query("match { $n: N } return { collect($n.i) as i, collect($n) as n }")
        frame = result.to_pandas()

        whole = frame["n"].tolist()
        assert [(each["i"], each["u"]) for each in whole] == [(2**53 + 1, 2**64 - 1), (None, None)]
        assert whole[0]["many"].tolist() == [2**63 - 1]
        assert whole[0]["seen"].tolist() == [first]
        assert frame["n.seen"][0].tolist() == [first]
        assert frame["n.v"][1].dtype == "float32"
        assert all_of.to_pandas()["n"][0][0]["i"] == 2**53 + 1

        again = frame.drop(columns="n").rename(columns=lambda each: each.removeprefix("n."))
        assert graph.load(again, type="N", mode="merge").commit is None


def test_rows_are_the_edges_of_a_network(graph: Graph) -> None:
    network = graph.query(QUERIES, "friends").to_networkx()
    assert list(network.edges(data=True)) == [
        ("ana", "bo", {"age": 41}),
        ("bo", "cy", {"age": None}),
    ]
    named = graph.query(QUERIES, "friends").to_networkx("friend", "slug")
    assert list(named.edges()) == [("bo", "ana"), ("cy", "bo")]


def test_a_row_without_one_end_is_a_node_of_the_network(graph: Graph) -> None:
    optional = "match { $p: Person  optional { $p knows $f } } return { $p.slug, $f.slug as f }"
    network = graph.query(optional).to_networkx()
    assert sorted(network.nodes()) == ["ana", "bo", "cy"]
    assert sorted(network.edges()) == [("ana", "bo"), ("bo", "cy")]


@pytest.mark.parametrize("ends", ["$p, $f.slug", "$p.slug, $p.tags"])
def test_objects_and_lists_are_no_ends(graph: Graph, ends: str) -> None:
    result = graph.query(f"match {{ $p: Person  $p knows $f }} return {{ {ends} }}")
    with pytest.raises(InputError, match=r"'p(.tags)?' holds objects or lists"):
        result.to_networkx()


def test_columns_that_are_not_there_are_no_ends(graph: Graph) -> None:
    with pytest.raises(InputError, match="no column 'frend'"):
        graph.query(QUERIES, "friends").to_networkx("slug", "frend")
    with pytest.raises(InputError, match="two columns"):
        graph.query(QUERIES, "person", slug="ana").to_networkx()


def test_a_graph_becomes_a_network_with_its_properties(graph: Graph) -> None:
    network = graph.branch().to_networkx()
    assert set(network) == {
        ("Person", "ana"),
        ("Person", "bo"),
        ("Person", "cy"),
        ("Team", "ana"),
    }
    ana = network.nodes["Person", "ana"]
    assert {name: ana[name] for name in ANA} == ANA
    assert "photo" not in ana
    assert network.number_of_edges() == 3
    (knows,) = network.get_edge_data(("Person", "ana"), ("Person", "bo")).items()
    assert (knows[0][0], knows[1]) == ("Knows", {"since": date(2020, 5, 1), "weight": 0.5})
    assert network.has_edge(("Person", "bo"), ("Team", "ana"))


def test_part_of_a_graph_becomes_a_network(graph: Graph) -> None:
    persons = graph.at().to_networkx(types=["Person"])
    assert (len(persons), persons.number_of_edges()) == (3, 2)
    bare = graph.at().to_networkx(edges=[])
    assert (len(bare), bare.number_of_edges()) == (4, 0)
    with pytest.raises(InputError, match="unknown type 'Persn'") as raised:
        graph.at().to_networkx(types=["Persn"])
    assert raised.value.hint == "did you mean 'Person'?"
    with pytest.raises(InputError, match="'MemberOf' joins types that are not selected"):
        graph.at().to_networkx(types=["Person"], edges=["MemberOf"])


@pytest.mark.parametrize("package", ["polars", "networkx"])
def test_a_package_that_is_not_there_is_named(
    graph: Graph, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    result = graph.query(QUERIES, "friends")
    asks: dict[str, list[Callable[[], object]]] = {
        "polars": [result.to_polars],
        "networkx": [result.to_networkx, graph.at().to_networkx],
    }
    for ask in asks[package]:
        with pytest.raises(
            UnavailableError, match=f"the package {package} is not installed"
        ) as raised:
            ask()
        assert raised.value.hint == "pip install 'omnigraph[frames]'"


def test_a_polars_frame_is_loaded(graph: Graph) -> None:
    draft = graph.create_branch("polars")
    frame = polars.DataFrame(
        {
            "slug": ["dag", "eve"],
            "name": ["Dag", None],
            "age": [1, 2],
            "born": [date(2000, 1, 1), None],
            "seen": [datetime(2024, 1, 1, tzinfo=UTC), None],
            "tags": [["x"], []],
        }
    ).with_columns(name=polars.col("name").fill_null("Eve"))
    draft.load(frame, type="Person")
    draft.load({"Knows": polars.DataFrame({"from": ["dag"], "to": ["eve"], "weight": [1.5]})})
    rows = {row["slug"]: row for row in draft.query(QUERIES, "all")}
    assert rows["dag"]["born"] == date(2000, 1, 1)
    assert rows["dag"]["seen"] == datetime(2024, 1, 1, tzinfo=UTC)
    assert (rows["dag"]["tags"], rows["eve"]["tags"]) == (["x"], [])
    assert draft.to_networkx().has_edge(("Person", "dag"), ("Person", "eve"))


def test_a_result_of_one_graph_is_loaded_into_another(graph: Graph, tmp_path: Path) -> None:
    from omnigraph import init

    with init(tmp_path / "g", "node Person { slug: String @key  age: I32? }") as other:
        other.load(graph.query(QUERIES, "ages"), type="Person")
        assert other.query(QUERIES, "ages").to_dicts() == graph.query(QUERIES, "ages").to_dicts()
