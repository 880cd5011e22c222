"""Every type of value is merged bit by bit, and shown as it is."""

import json
import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, connect, init
from omnigraph.versioning.writes import DeleteRows, Upsert
from tests.merging.village import OURS, THEIRS, conflicts
from tests.parity.serving import serving
from tests.sample import write
from tests.templates import fresh_graph

SCHEMA = """
node Thing {
  slug: String @key
  s: String?  b: Bool?  i: I32?  l: I64?  u: U32?  w: U64?  f: F32?  d: F64?
  day: Date?  at: DateTime?  blob: Blob?  vec: Vector(2)?  e: enum(x, y)?
  ss: [String]?  fs: [F64]?  ts: [DateTime]?  ws: [U64]?
}
"""
NAN, OTHER_NAN = (
    struct.unpack("<d", struct.pack("<Q", bits))[0]
    for bits in (0x7FF8000000000000, 0x7FF8000000000001)
)
NOON = int(datetime(2024, 1, 31, 12, tzinfo=UTC).timestamp() * 1000)
# Three values of each property that no comparison by value tells apart, where there are such.
VALUES: dict[str, tuple[Any, Any, Any]] = {
    "s": ("a", "A", "ä"),
    "b": (True, False, None),
    "i": (1, -(2**31), 2**31 - 1),
    "l": (2**53, 2**53 + 1, -(2**63)),
    "u": (0, 2**32 - 1, 2**31),
    "w": (2**53, 2**53 + 1, 2**64 - 1),
    "f": (0.0, -0.0, float("nan")),
    "d": (0.0, -0.0, NAN),
    "day": (0, 1, -1),
    "at": (NOON, NOON + 1, NOON + 2),
    "blob": (b"base64:AA==", b"base64:AAA=", b"file:///x"),
    "vec": ([0.0, 1.0], [-0.0, 1.0], [1.0, 1.0]),
    "e": ("x", "y", None),
    "ss": (["a"], ["a", "a"], []),
    "fs": ([0.0], [-0.0], [NAN]),
    "ts": ([NOON], [NOON + 1], []),
    "ws": ([2**53], [2**53 + 1], [2**64 - 1]),
}


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A graph in which a row for each property got its value from the draft, and more from main."""
    graph = init(tmp_path_factory.mktemp("values") / "g", SCHEMA, durable=False)
    before, after, _ = ({name: VALUES[name][at] for name in VALUES} for at in range(3))
    put(graph, OURS, {n: {n: v, _other(n): 1} for n, v in before.items()} | {"empty": {}})
    graph.create_tag("base")
    graph.create_branch(THEIRS)
    put(graph, OURS, {n: {n: v, _other(n): 2} for n, v in before.items()})
    put(graph, THEIRS, {n: {n: v, _other(n): 1} for n, v in after.items()})
    graph.merge(THEIRS)
    return graph


@pytest.fixture(scope="module")
def against(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A graph in which both branches gave each property another value, and a third one agrees."""
    graph = init(tmp_path_factory.mktemp("values") / "g", SCHEMA, durable=False)
    put(graph, OURS, {name: {name: VALUES[name][0]} for name in VALUES})
    for branch in (THEIRS, "same"):
        graph.create_branch(branch)
    put(graph, OURS, {name: {name: VALUES[name][1]} for name in VALUES})
    put(graph, "same", {name: {name: VALUES[name][1]} for name in VALUES})
    put(graph, THEIRS, {name: {name: VALUES[name][2]} for name in VALUES})
    graph.create_branch("settled")
    graph.merge(THEIRS, "settled", resolutions="theirs")
    return graph


def _other(name: str) -> str:
    return "l" if name == "i" else "i"


def things(graph: Graph, things: dict[str, dict[str, Any]]) -> pa.Table:
    """Return rows with some properties, the others null."""
    schema = graph.snapshot().table("node:Thing").schema
    columns = []
    for field in schema:
        values = [
            slug if field.name in ("id", "slug") else row.get(field.name)
            for slug, row in things.items()
        ]
        columns.append(_column(values, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_date64(kind):
        return pa.array(values, pa.int64()).view(kind)
    if kind == pa.list_(pa.date64()):
        ticks = pa.array(values, pa.list_(pa.int64()))
        valid = pa.array([each is None for each in values])
        return pa.ListArray.from_arrays(
            ticks.offsets, ticks.values.view(pa.date64()), type=kind, mask=valid
        )
    if kind == pa.date32():
        return pa.array(values, pa.int32()).view(kind)
    return pa.array(values, kind)


def put(graph: Graph, branch: str, values: dict[str, dict[str, Any]]) -> None:
    write(graph, {"node:Thing": (Upsert(things(graph, values)),)}, branch)


def bits(graph: Graph, target: str, slug: str, name: str) -> bytes:
    """Return a value as the bytes that are stored."""
    rows = graph.snapshot(target).table("node:Thing").scan()
    (at,) = [n for n, each in enumerate(rows["id"].to_pylist()) if each == slug]
    cell = rows.select([name]).slice(at, 1).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, cell.schema) as stream:
        stream.write_table(pa.table({name: pa.concat_arrays(cell[name].chunks)}))
    return bytes(sink.getvalue())


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_merged_beside_another_property_to_the_last_bit(
    beside: Graph, name: str
) -> None:
    merged = bits(beside, OURS, name, name)

    assert merged == bits(beside, THEIRS, name, name)
    assert merged != bits(beside, "base", name, name)
    rows = beside.snapshot().table("node:Thing").scan(["id", _other(name)]).to_pylist()
    found = {row["id"]: row[_other(name)] for row in rows}
    assert (found[name], found["empty"]) == (2, None)


@pytest.mark.parametrize("name", VALUES)
def test_values_that_differ_in_one_bit_are_a_conflict_that_can_be_settled(
    against: Graph, name: str
) -> None:
    found = against.preview_merge(THEIRS, OURS).conflicts_json()

    assert [(each["row_id"], each["property"]) for each in found].count((name, name)) == 1
    assert len(found) == len(VALUES)
    json.dumps(found, allow_nan=False)
    assert bits(against, "settled", name, name) == bits(against, THEIRS, name, name)


def test_equal_values_of_any_type_are_no_conflict(against: Graph) -> None:
    found = against.preview_merge("same", OURS)

    assert (str(found.outcome), found.conflicts) == ("merged", ())
    assert list(against.diff("same", OURS)) == []


def test_a_conflict_shows_large_integers_times_and_blobs_as_they_are(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "g", SCHEMA)
    names = ["w", "at", "ts", "blob", "day"]
    put(graph, OURS, {"x": {name: VALUES[name][0] for name in names}})
    graph.create_branch(THEIRS)
    put(graph, OURS, {"x": {name: VALUES[name][1] for name in names}})
    put(graph, THEIRS, {"x": {name: VALUES[name][2] for name in names}})

    found = {each["property"]: each for each in conflicts(graph)}

    shown = {name: (c["base"], c["ours"], c["theirs"]) for name, c in found.items()}
    assert shown == {
        "w": (str(2**53), str(2**53 + 1), str(2**64 - 1)),
        "at": ("2024-01-31T12:00:00.000Z", "2024-01-31T12:00:00.001Z", "2024-01-31T12:00:00.002Z"),
        "ts": (["2024-01-31T12:00:00.000Z"], ["2024-01-31T12:00:00.001Z"], []),
        "blob": ("base64:AA==", "base64:AAA=", "file:///x"),
        "day": ("1970-01-01", "1970-01-02", "1969-12-31"),
    }


def test_sides_that_merged_each_other_before_are_shown_times_to_the_millisecond(
    tmp_path: Path,
) -> None:
    graph = fresh_graph(tmp_path / "g", SCHEMA)
    put(graph, OURS, {"x": {"at": NOON, "ts": [NOON]}})
    graph.create_branch(THEIRS)
    put(graph, OURS, {"x": {"at": NOON + 1, "ts": [NOON + 1]}})
    put(graph, THEIRS, {"x": {"at": NOON + 2, "ts": [NOON + 2]}})
    graph.create_branch("before", THEIRS)
    graph.merge(OURS, THEIRS, resolutions="ours")
    graph.merge("before", OURS, resolutions="ours")

    found = {each["property"]: each for each in conflicts(graph)}

    first, second = "2024-01-31T12:00:00.001Z", "2024-01-31T12:00:00.002Z"
    shown = {name: (each["ours"], each["theirs"]) for name, each in found.items()}
    assert shown == {"at": (first, second), "ts": ([first], [second])}


def test_a_blob_is_the_same_in_a_conflict_and_in_blame_of_a_server(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "g", SCHEMA)
    put(graph, OURS, {"x": {"blob": b"base64:AA=="}})
    graph.create_branch(THEIRS)
    put(graph, OURS, {"x": {"blob": b"base64:AAA="}})
    put(graph, THEIRS, {"x": {"blob": b"https://example.org/x"}})
    here = graph.preview_merge(THEIRS, OURS).conflicts
    blamed = {each.property: each.value for each in graph.blame("Thing", "x")}

    with serving(tmp_path / "g") as url, connect(url) as there:
        assert there.preview_merge(THEIRS, OURS).conflicts == here
        assert {each.property: each.value for each in there.blame("Thing", "x")} == blamed
    assert (here[0].ours, here[0].theirs) == (b"base64:AAA=", b"https://example.org/x")


def test_the_images_of_a_removed_row_hold_no_vector_and_no_blob(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "g", SCHEMA)
    put(graph, OURS, {"x": {"vec": [0.0, 1.0], "blob": b"base64:AA==", "i": 1}})
    graph.create_branch(THEIRS)
    put(graph, THEIRS, {"x": {"vec": [1.0, 1.0], "blob": b"base64:AAA=", "i": 2}})
    write(graph, {"node:Thing": (DeleteRows(pa.array(["x"])),)})

    (found,) = conflicts(graph)

    assert (found["base"]["i"], found["ours"], found["theirs"]["i"]) == (1, None, 2)
    assert not {"vec", "blob"} & {*found["base"], *found["theirs"]}
    graph.merge(THEIRS, resolutions="theirs")
    assert list(graph.diff(OURS, THEIRS)) == []


def test_a_change_of_a_time_is_shown_to_the_millisecond(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "g", SCHEMA)
    put(graph, OURS, {"x": {"at": NOON, "ts": [NOON]}})
    put(graph, OURS, {"x": {"at": NOON + 1, "ts": [NOON + 1]}})

    (found,) = graph.diff(graph.snapshot().commit.parent or "", OURS)

    assert found.before is not None
    assert found.after is not None
    shown = found.to_json()
    assert shown["before"]["at"] == "2024-01-31T12:00:00.000Z"  # type: ignore[index,call-overload]
    assert shown["after"]["at"] == "2024-01-31T12:00:00.001Z"  # type: ignore[index,call-overload]
    assert shown["after"]["ts"] == ["2024-01-31T12:00:00.001Z"]  # type: ignore[index,call-overload]
    blamed = {each.property: each.to_json()["value"] for each in graph.blame("Thing", "x")}
    assert blamed["at"] == "2024-01-31T12:00:00.001Z"


def test_a_change_of_a_blob_or_a_vector_is_named_and_not_shown(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "g", SCHEMA)
    put(graph, OURS, {"x": {"vec": [0.0, 1.0], "blob": b"base64:AA=="}})
    put(graph, OURS, {"x": {"vec": [1.0, 1.0], "blob": b"base64:AAA=", "i": 1}})

    (found,) = graph.diff(graph.snapshot().commit.parent or "", OURS)

    assert set(found.changed) == {"vec", "blob", "i"}
    assert "vec" not in (found.after or {})
    assert str(found) == "~ Thing x  i null → 1, blob, vec"
