"""An inferred schema is sound: it compiles, and the data loads into it."""

import datetime
import json
from datetime import UTC
from decimal import Decimal
from pathlib import Path

import networkx
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

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
