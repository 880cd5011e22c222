"""An inferred schema is sound: it compiles, and the data loads into it."""

import datetime
import json
from datetime import UTC
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import networkx
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.api.branch import Branch
from omnigraph.api.graph import init
from omnigraph.api.graph import open as open_graph
from omnigraph.cli.main import omnigraph
from omnigraph.errors import InputError, UnreadableError
from omnigraph.write.infer.inferred import Inferred, infer

PEOPLE = """name,age,joined,city_id,level,since
Ana,38,2020-01-02,1,low,2024-01-01T10:00:00Z
Bo,,2021-03-04,2,high,2024-01-01T11:00:00+02:00
Cy,41,2022-05-06,1,low,
Di,1,2022-05-06,,low,
Eve,7,2022-05-06,2,high,
Fay,7,2022-05-06,2,high,
Gus,7,2022-05-06,2,high,
Hal,7,2022-05-06,2,high,
Ida,7,2022-05-06,2,high,
Jon,7,2022-05-06,2,low,
"""


def loads(tmp_path: Path, found: Inferred) -> dict[str, int]:
    """Make a graph of what was inferred, and give the number of rows by type."""
    graph = init(tmp_path / "made.omni", found.schema, durable=False)
    loaded = graph.load(dict(found.frames), engine="inline")
    return {**loaded.nodes, **loaded.edges}


def test_a_folder_of_csv_files_becomes_types_keys_enums_and_edges(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "cities.csv").write_text("id,Full name,zip\n1,Oslo,0150\n2,Kyoto,6000\n")
    (folder / "knows.csv").write_text("source,target,weight\nAna,Bo,0.5\nBo,Cy,1\n")

    found = infer(folder)

    assert found.schema == (
        "node City {\n  full_name: String\n  zip: String\n}\n\n"
        "node Person {\n  name: String @key\n  age: I64?\n  joined: Date\n"
        "  level: enum(high, low)\n  since: DateTime?\n}\n\n"
        "edge Knows: Person -> Person {\n  weight: F64\n}\n\n"
        "edge PersonCity: Person -> City\n"
    )
    rows = loads(tmp_path, found)
    assert rows == {"City": 2, "Person": 10, "Knows": 2, "PersonCity": 9}
    assert any("points at City" in each for each in found.notes)


def test_a_column_of_csv_without_a_value_is_text(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name,born\n")
    (tmp_path / "cities.csv").write_text("name,founded\nOslo,\nKyoto,\n")

    people, cities = infer(tmp_path / "people.csv"), infer(tmp_path / "cities.csv")

    assert "born: String" in people.schema
    assert "founded: String?" in cities.schema
    assert any("holds no value; taken for text" in each for each in people.notes)


def test_what_was_tried_for_a_key_is_said(tmp_path: Path) -> None:
    (tmp_path / "things.csv").write_text("id,name,weight,serial\n1,Ana,1.5,7\n1,Ana,2.5,8\n")
    (tmp_path / "sizes.csv").write_text("width,height\n1,2\n3,4\n")

    things, sizes = infer(tmp_path / "things.csv"), infer(tmp_path / "sizes.csv")

    tried = "Thing has no key: tried 'id', 'name'; none has a different value in each row"
    assert tried in things.notes
    assert "Size has no key: no column is named like one, such as 'id'" in sizes.notes


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    table = pa.table(
        {
            "slug": ["a", "b"],
            "small": pa.array([1, 2], pa.int8()),
            "big": pa.array([2**64 - 1, None], pa.uint64()),
            "flag": [True, False],
            "day": [datetime.date(2024, 1, 1), None],
            "at": pa.array([0, 1], pa.timestamp("us")),
            "tags": [["x"], []],
            "vector": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2)),
            "raw": [b"\x00", None],
            "nested": [{"a": 1}, None],
        }
    )
    pq.write_table(table, tmp_path / "things.parquet")

    found = infer(tmp_path / "things.parquet")

    for line in ("slug: String @key", "small: I32", "big: U64?", "flag: Bool", "day: Date?"):
        assert line in found.schema
    for line in ("at: DateTime", "tags: [String]", "vector: Vector(2)", "raw: Blob?"):
        assert line in found.schema
    assert "Thing.nested: kept as JSON text" in found.notes
    assert loads(tmp_path, found) == {"Thing": 2}


@pytest.mark.parametrize("form", ["list", "lines", "by name", "records"])
def test_json_in_any_form_is_read(tmp_path: Path, form: str) -> None:
    rows = [{"name": "Ana", "n": 1, "tags": ["a"]}, {"name": "Bo", "n": None}]
    texts = {
        "list": json.dumps(rows),
        "lines": "\n".join(map(json.dumps, rows)),
        "by name": json.dumps({"people": rows}),
        "records": "\n".join(json.dumps({"type": "Person", "data": each}) for each in rows),
    }
    path = tmp_path / "people.json"
    path.write_text(texts[form])

    found = infer(path)

    assert found.schema.startswith(
        "node Person {\n  name: String @key\n  n: I64?\n  tags: [String]?"
    )
    assert loads(tmp_path, found) == {"Person": 2}


def test_networkx_and_graphml_are_read(tmp_path: Path) -> None:
    network = networkx.DiGraph()
    network.add_node("a", type="Person", age=3)
    network.add_node("b", type="Person")
    network.add_node("x", type="City")
    network.add_edge("a", "b", type="Knows", since=2)
    network.add_edge("a", "x", type="LivesIn")
    networkx.write_graphml(network, tmp_path / "g.graphml")

    for found in (infer(network), infer(tmp_path / "g.graphml")):
        assert "edge Knows: Person -> Person" in found.schema
        assert "edge LivesIn: Person -> City" in found.schema
        assert sum(table.num_rows for table in found.frames.values()) == 5
    assert loads(tmp_path, infer(network)) == {"Person": 2, "City": 1, "Knows": 1, "LivesIn": 1}


_NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=6)
_VALUES = (
    st.none()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.text(st.characters(codec="utf-8"), max_size=5)
    | st.lists(st.integers(-5, 5), max_size=2)
    | st.sampled_from(["2024-01-01", "007", "1e3", "true", "2024-01-01T00:00:00Z", ""])
)

_ROW = st.dictionaries(_NAMES, _VALUES, min_size=1, max_size=4)


@settings(max_examples=25, deadline=None)
@given(rows=st.lists(_ROW, min_size=1, max_size=6))
def test_whatever_json_holds_fits_the_schema_that_is_inferred(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "rows.json").write_text(json.dumps(rows))

    found = infer(folder / "rows.json")

    assert sum(loads(folder, found).values()) >= len(rows)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(
        st.lists(
            st.sampled_from(["1", "01", "x", "", "1.5", "-0", "true", "2024-02-29", "9" * 30]),
            min_size=2,
            max_size=2,
        ),
        min_size=1,
        max_size=6,
    )
)
def test_whatever_csv_holds_fits_the_schema_that_is_inferred(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    lines = ["a,b", *(",".join(row) for row in rows if any(row))]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")

    assert sum(loads(folder, infer(folder / "rows.csv")).values()) >= len(lines) - 1


def test_dicts_may_hold_what_only_python_has(tmp_path: Path) -> None:
    day = datetime.date(2024, 1, 31)
    rows = [{"name": "a", "at": {"day": day}, "size": Decimal("1.5")}, {"name": "b", "size": "?"}]

    found = infer({"Note": rows})

    assert found.frames["Note"]["at"].to_pylist() == ['{"day": "2024-01-31"}', None]
    assert loads(tmp_path, found) == {"Note": 2}
    with pytest.raises(UnreadableError, match="half of a surrogate pair"):
        infer({"Note": [{"name": "\ud800"}]})


def test_a_field_of_csv_may_be_long(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text(f"name,text\na,{'x' * 200_000}\n")

    assert loads(tmp_path, infer(tmp_path / "notes.csv")) == {"Note": 1}


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1\n")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableError, match="has 1 fields"):
        infer(tmp_path / "a.csv")
    with pytest.raises(UnreadableError, match="no file to import"):
        infer(tmp_path / "empty")
    with pytest.raises(UnreadableError, match="cannot read"):
        infer(tmp_path / "none.csv")
    with pytest.raises(InputError, match="no schema can be inferred"):
        infer(3)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": 10**5000}], "'a' has a value that is not JSON"),
        ([{"a": [10**5000, "x"]}], "'a' has a value that is not JSON"),
        ([{"a": {(1, 2): 3}}], "'a' has a value that is not JSON"),
        ([{1: "a"}], "the name of a column is 1, not a text"),
        ([{"\ud800": "a"}], "invalid Unicode"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the frame cannot be read"),
        (pa.table([[1], [2]], names=["a", "a"]), "two columns of one name"),
        (pd.DataFrame({"a": pd.Series(["\ud800"], dtype=object)}), "invalid Unicode"),
    ],
)
def test_rows_of_python_that_no_table_holds_are_told(rows: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        infer({"P": rows})


def test_values_of_python_that_arrow_does_not_mix_are_texts_and_nat_is_null() -> None:
    rows = [{"a": Decimal("Infinity"), "b": pd.NaT}, {"a": 1, "b": datetime.datetime.now(UTC)}]

    schema = infer({"P": rows}).schema

    assert "a: String" in schema
    assert "b: DateTime?" in schema


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([10**20, 10**20 + 1], "String"),
        ([2**64 - 1, -1], "String"),
        ([2**64 - 1, 0], "U64"),
        ([2**53 + 1, 0.5], "String"),
        ([10**22, 0.5], "F64"),
    ],
)
def test_whole_numbers_that_no_type_holds_exactly_are_text(
    tmp_path: Path, values: list[object], kind: str
) -> None:
    (tmp_path / "things.csv").write_text("".join(f"{each}\n" for each in ["n", *values]))

    found = infer(tmp_path / "things.csv")

    assert f"  n: {kind}" in found.schema
    assert any("kept as text" in note for note in found.notes) is (kind == "String")
    assert loads(tmp_path, found) == {"Thing": 2}


@pytest.mark.parametrize("name", ["t", "Города"])
def test_edges_lead_to_the_type_whose_ids_they_name_whatever_another_is_called(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / f"{name}.csv").write_text("name\na\nb\n")
    (tmp_path / "people.csv").write_text("name\nx\ny\n")
    (tmp_path / "knows.csv").write_text("from,to\nx,y\n")

    found = infer(tmp_path)

    assert "edge Knows: Person -> Person" in found.schema
    assert loads(tmp_path, found) == {"Person": 2, "T": 2, "Knows": 1}


def test_nodes_and_edges_of_a_network_keep_their_names_beside_attributes_called_alike(
    tmp_path: Path,
) -> None:
    network = networkx.DiGraph()
    network.add_node("a", type="people", id="z", p_id="y")
    network.add_node("b", type="person", ID="z")
    network.add_node("c", type="person")
    network.add_edge("b", "c", type="Knows", source="a", **{"from": "a"})

    found = infer(network)

    assert "edge Knows: Person2 -> Person2" in found.schema
    assert loads(tmp_path, found) == {"Person": 1, "Person2": 2, "Knows": 1}
    assert found.frames["Person"].to_pylist() == [{"id": "a", "p_id": "z", "p_p_id": "y"}]
    assert found.frames["Person2"]["p_ID"].to_pylist() == ["z", None]
    ends = {"from": "b", "to": "c"}
    assert found.frames["Knows"].to_pylist() == [{**ends, "p_from": "a", "p_source": "a"}]


def test_networks_of_several_files_are_apart(tmp_path: Path) -> None:
    for number in (2, 3):
        path = networkx.path_graph(number, networkx.DiGraph)
        networkx.write_graphml(path, tmp_path / f"{number}.graphml")

    found = infer(tmp_path)

    assert "edge Edge: Node -> Node\n" in found.schema
    assert "edge Edge2: Node2 -> Node2\n" in found.schema
    assert loads(tmp_path, found) == {"Node": 2, "Node2": 3, "Edge": 1, "Edge2": 2}


def test_a_table_whose_ends_are_nowhere_is_a_node_type_of_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "things.csv").write_text("name\na\nb\n")
    (tmp_path / "thing.csv").write_text("from,to\nq,z\n")

    assert loads(tmp_path, infer(tmp_path)) == {"Thing": 2, "Thing2": 1}


def test_the_key_stays_with_its_column_when_another_is_called_alike(tmp_path: Path) -> None:
    (tmp_path / "things.csv").write_text("Name,name\na,q\nb,q\n")

    found = infer(tmp_path)

    assert found.schema == "node Thing {\n  name: String @key\n  name_2: String\n}\n"
    assert loads(tmp_path, found) == {"Thing": 2}


def _fixed(rows: list[list[float | None]], size: int) -> pa.Array:
    return pa.array(rows, pa.list_(pa.float64(), size))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (_fixed([[1.0, float("nan")]], 2), "[1.0, NaN]"),
        (_fixed([[1.0, None]], 2), "[1.0, null]"),
        (_fixed([[1.0, 1e300]], 2), "[1.0, 1e+300]"),
        (_fixed([[]], 0), "[]"),
        (pa.array([20_000_000], pa.int32()).view(pa.date32()), "56728-02-22"),
        (pa.array([[20_000_000]], pa.list_(pa.date32())), ["56728-02-22"]),
        (pa.array([1 << 40], pa.timestamp("s", "Asia/Tokyo")), "36812-02-20T00:36:16Z"),
        (pa.array([1 << 40], pa.timestamp("s")), "36812-02-20T00:36:16Z"),
    ],
)
def test_vectors_and_times_that_no_property_holds_are_text(
    tmp_path: Path, values: pa.Array, text: object
) -> None:
    found = infer({"Thing": pa.table({"name": ["a"], "value": values})})

    assert f"value: {'[String]' if isinstance(text, list) else 'String'}\n" in found.schema
    assert found.frames["Thing"]["value"].to_pylist() == [text]
    assert loads(tmp_path, found) == {"Thing": 1}


def test_a_date_of_milliseconds_keeps_its_time(tmp_path: Path) -> None:
    milliseconds = pa.array([1_000, None], pa.int64()).view(pa.date64())

    found = infer({"Thing": pa.table({"name": ["a", "b"], "at": milliseconds})})

    assert found.frames["Thing"]["at"].to_pylist()[0].second == 1
    assert "at: DateTime?" in found.schema
    assert loads(tmp_path, found) == {"Thing": 2}


def test_lines_end_at_a_newline_and_nowhere_else(tmp_path: Path) -> None:
    texts = [f"a{each}b" for each in "\u2028\u2029\x85\x1c"]
    lines = [json.dumps({"name": each}, ensure_ascii=False) for each in texts]
    (tmp_path / "notes.jsonl").write_bytes("\r\n".join(lines).encode())

    assert infer(tmp_path).frames["Note"]["name"].to_pylist() == texts


def test_records_of_edges_lose_no_field_and_move_nowhere(tmp_path: Path) -> None:
    nodes = [{"type": "N", "data": {"name": each}} for each in "abc"]
    edge = {"edge": "E", "from": "a", "to": "b"}
    (tmp_path / "some.json").write_text(json.dumps([*nodes, {**edge, "data": {"from": "c"}}]))
    (tmp_path / "flat.json").write_text(json.dumps([{**edge, "since": 3}]))

    found = infer(tmp_path / "some.json")

    assert found.frames["E"].to_pylist() == [{"from": "a", "to": "b", "p_from": "c"}]
    assert loads(tmp_path, found) == {"N": 3, "E": 1}
    assert infer(tmp_path / "flat.json").frames["Flat"]["since"].to_pylist() == [3]


@pytest.mark.parametrize("text", ['{"v": 1, "v": 2}', '{"v": 1}\n{"v": 1, "v": 2}', '{"v": [1]}'])
def test_a_field_that_is_given_twice_is_no_row(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes.jsonl").write_text(text.replace("[1]", '{"v": 1, "v": 2}'))

    with pytest.raises(UnreadableError, match="'v' is given twice"):
        infer(tmp_path / "notes.jsonl")


def test_import_shows_the_schema_and_makes_the_graph_when_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(PEOPLE)

    shown = CliRunner().invoke(omnigraph, ["import", "people.csv", "g.omni"])
    assert (shown.exit_code, Path("g.omni").exists()) == (0, False)
    assert shown.stdout.startswith("node Person {")
    assert "--yes" in shown.stdout
    made = CliRunner().invoke(omnigraph, ["import", "people.csv", "g.omni", "--yes", "--json"])

    assert made.exit_code == 0, made.output
    document = json.loads(made.stdout)
    assert document["rows"] == {"Person": 10}
    assert open_graph("g.omni").branch().commit.id == document["commit"]


def test_an_import_that_cannot_be_loaded_leaves_no_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes/people.csv").write_text(PEOPLE)
    load = Branch.load

    def fail(branch: Branch, *given: Any, **how: Any) -> NoReturn:
        load(branch, *given, **how, dry_run=True)
        raise InputError("the rows do not fit")

    for place in (".", "new/g.omni"):
        before = sorted(tmp_path.rglob("*"))
        with monkeypatch.context() as patched:
            patched.setattr(Branch, "load", fail)
            told = CliRunner().invoke(omnigraph, ["import", "nodes", place, "--yes"])
        assert "the rows do not fit" in told.output
        left = set(tmp_path.rglob("*")) - set(before)
        assert left <= {tmp_path / "new"}

        again = CliRunner().invoke(omnigraph, ["import", "nodes", place, "--yes"])
        assert again.exit_code == 0, again.output


def test_an_import_leaves_a_graph_that_was_there_or_has_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(PEOPLE)
    load = Branch.load

    def fail(branch: Branch, *given: Any, **how: Any) -> NoReturn:
        load(branch, *given, **how)
        raise InputError("the connection is gone")

    for reason in ("the connection is gone", "there is a graph"):
        with monkeypatch.context() as patched:
            patched.setattr(Branch, "load", fail)
            told = CliRunner().invoke(omnigraph, ["import", "people.csv", "g.omni", "--yes"])

        assert reason in told.output
        assert open_graph("g.omni").snapshot().table("node:Person").count() == 10
