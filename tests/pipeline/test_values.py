"""A JSON value is taken or refused by its type alone, whatever stands in the lines around it."""

import json
from collections.abc import Iterable, Iterator
from datetime import date, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.api.graph import init
from omnigraph.data.values.columns import convert_each, convert_whole
from omnigraph.errors import Code
from omnigraph.schema.blobs import unpack
from omnigraph.schema.compile import compile_schema
from omnigraph.schema.types import ValueType
from omnigraph.spark.deadline import Deadline
from omnigraph.write.load.sources.records import Block, RecordReader
from omnigraph.write.load.stage import broken_rules
from tests.pipeline.loads import broken, node, rows
from tests.pipeline.truth import ACCEPTED, REFUSED

TYPES = (
    *("String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime", "Blob"),
    *("enum(blue, red)", "Vector(2)"),
    *("[String]", "[Bool]", "[I32]", "[I64]", "[U64]", "[F32]", "[F64]", "[Date]", "[DateTime]"),
)
GOOD = 1_200


ACCEPTED_ONES = [
    (kind, text, held) for kind, found in ACCEPTED.items() for text, held in found.items()
]
REFUSED_ONES = [(kind, text, why) for kind, found in REFUSED.items() for text, why in found.items()]


@cache
def reader_of(kind: str) -> RecordReader:
    return RecordReader(compile_schema(f"node Thing {{ value: {kind}? }}"))


def kind_of(name: str) -> ValueType:
    return (
        compile_schema(f"node Thing {{ value: {name}? }}").nodes["Thing"].properties["value"].type
    )


def line_of(value: str) -> bytes:
    return b'{"type":"Thing","data":{"value":%s}}\n' % value.encode()


def read(kind: str, values: Iterable[str]) -> Block:
    return reader_of(kind).read(b"".join(map(line_of, values)), Deadline())


def read_singly(kind: str, values: Iterable[str]) -> Block:
    """Read the same lines on the exact road."""
    lines = list(map(line_of, values))
    block = Block(len(lines))
    shape = reader_of(kind)._shapes["Thing"]
    shape.read_one_by_one(lines, np.arange(len(lines)), block)
    return block


def plain(column: pa.Array) -> list[object]:
    """Return what a column holds; times as text, because Python would take them for days.

    Blobs are as rows have them that were read from a table.
    """
    if pa.types.is_date64(column.type):
        column = column.view(pa.timestamp("ms")).cast(pa.string())
    elif column.type == pa.list_(pa.date64()):
        return [None if each.as_py() is None else plain(each.values) for each in column]
    elif pa.types.is_large_binary(column.type):
        column = unpack(column)
    found: list[object] = column.to_pylist()
    return found


def values_of(block: Block) -> dict[int, str]:
    """Return what each line holds, as text, so that 1 is not 1.0 and -0.0 is not 0.0."""
    return {
        int(line): repr(value)
        for each in block.rows
        for line, value in zip(each.lines, plain(each.columns["value"]), strict=True)
    }


def faults_of(block: Block) -> list[tuple[int, Code, str | None, str]]:
    found = [*block.violations, *(fault for each in block.rows for fault in broken_rules(each))]
    return sorted((each.line or 0, each.code, each.field, each.reason) for each in found)


@pytest.mark.parametrize(("kind", "value", "held"), ACCEPTED_ONES)
def test_a_value_that_fits_is_held_as_documented(kind: str, value: str, held: object) -> None:
    for block in (read(kind, [value]), read_singly(kind, [value])):
        assert faults_of(block) == []
        assert values_of(block) == {0: repr(held)}


@pytest.mark.parametrize(("kind", "value", "reason"), REFUSED_ONES)
def test_a_value_that_does_not_fit_is_refused_with_its_reason(
    kind: str, value: str, reason: str
) -> None:
    for block in (read(kind, [value]), read_singly(kind, [value])):
        assert faults_of(block) == [(0, Code.VALUE_TYPE, "value", reason)]


@pytest.mark.parametrize("kind", TYPES)
def test_null_is_held_where_it_may_be_and_refused_where_it_may_not(kind: str) -> None:
    assert values_of(read(kind, ["null"])) == {0: "None"}
    assert faults_of(read(kind, ["null"])) == []
    required = RecordReader(compile_schema(f"node Thing {{ value: {kind} }}"))
    lines = line_of("null") + b'{"type":"Thing","data":{}}\n'
    assert faults_of(required.read(lines, Deadline())) == [
        (number, Code.REQUIRED_VALUE, "value", "is required") for number in (0, 1)
    ]


def test_a_text_outside_an_enum_is_refused_with_all_its_values_and_the_nearest() -> None:
    assert faults_of(read("enum(blue, red)", ['"Red"', '"green"', '"blu"', '"red"'])) == [
        (0, Code.VALUE_ENUM, "value", "\"Red\" is not one of blue, red; did you mean 'red'?"),
        (1, Code.VALUE_ENUM, "value", '"green" is not one of blue, red'),
        (2, Code.VALUE_ENUM, "value", "\"blu\" is not one of blue, red; did you mean 'blue'?"),
    ]


@pytest.mark.parametrize(
    "word", ["NaN", "Infinity", "-Infinity", "nan", "+1", "01", "1.", ".5", "0x1", "1e999"]
)
@pytest.mark.parametrize("kind", ["F64", "[F32]", "I32"])
def test_what_is_no_json_number_is_no_json(kind: str, word: str) -> None:
    value = f"[{word}]" if kind.startswith("[") else word

    (fault,) = faults_of(read(kind, [value]))

    assert fault[:3] == (0, Code.RECORD_SYNTAX, None)


@pytest.mark.parametrize("kind", ["F32", "F64", "[F64]", "Vector(2)"])
def test_zero_has_the_sign_that_is_given_alone_and_among_others(kind: str) -> None:
    zeros = ("-0", "-0.0", "0", "-0e5")
    values = [{"[": f"[{zero}]", "V": f"[{zero}, 1]"}.get(kind[0], zero) for zero in zeros]

    assert values_of(read(kind, values)) == values_of(read_singly(kind, values))


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    for kind in ("I64", "F64"):
        (fault,) = faults_of(read(kind, ["9" * 10_000]))
        assert fault[1] in (Code.RECORD_SYNTAX, Code.VALUE_TYPE)


@pytest.mark.parametrize("kind", [kind for kind in TYPES if kind in REFUSED])
def test_a_bad_line_among_thousands_changes_nothing_for_the_good_ones(kind: str) -> None:
    accepted = [value for value in ACCEPTED[kind] for _ in range(GOOD // len(ACCEPTED[kind]))]
    alone = values_of(read(kind, accepted))
    bad = next(iter(REFUSED[kind]))
    for place in (0, len(accepted) // 3, len(accepted)):
        mixed = [*accepted[:place], bad, *accepted[place:]]

        block = read(kind, mixed)

        found = values_of(block)
        assert [found[n] for n in range(len(mixed)) if n != place] == list(alone.values())
        assert faults_of(block) == [(place, Code.VALUE_TYPE, "value", REFUSED[kind][bad])]


def scalars(kind: str) -> st.SearchStrategy[str]:
    """Return JSON values that fit a type, hardly fit it, or hardly do not."""
    edges = st.sampled_from([*ACCEPTED[kind], *REFUSED.get(kind, {})])
    numbers = st.integers(-(2**65), 2**65) | st.floats(allow_nan=False, allow_infinity=False)
    offsets = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
    moments = st.datetimes(timezones=offsets).map(lambda moment: moment.isoformat())
    days = st.dates().map(date.isoformat)
    texts = st.text() | days | moments | st.integers(-(2**70), 2**70).map(str)
    return edges | (numbers | texts | st.booleans() | st.none()).map(json.dumps)


def json_values(kind: str) -> st.SearchStrategy[str]:
    item = kind.strip("[]") if kind.startswith("[") else kind
    if kind.startswith("["):
        return st.lists(scalars(item), max_size=4).map(
            lambda each: f"[{','.join(each)}]"
        ) | scalars(item)
    if kind.startswith("Vector"):
        return st.lists(scalars("F32"), min_size=1, max_size=3).map(
            lambda each: f"[{','.join(each)}]"
        )
    return scalars(kind)


@pytest.mark.parametrize("kind", TYPES)
@settings(max_examples=15)
@given(data=st.data())
def test_many_lines_at_once_are_read_as_each_line_alone(kind: str, data: st.DataObject) -> None:
    given_values = data.draw(st.lists(json_values(kind), min_size=1, max_size=12))
    filling = data.draw(st.sampled_from([0, 1, 70, 200]))
    good = list(ACCEPTED[kind])
    mixed = [*given_values, *(good[number % len(good)] for number in range(filling))]

    at_once, singly = read(kind, mixed), read_singly(kind, mixed)

    assert values_of(at_once) == values_of(singly)
    assert faults_of(at_once) == faults_of(singly)


ARROW: dict[str, tuple[pa.DataType, ...]] = {
    "String": (
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
    ),
    "enum(blue, red)": (pa.string(), pa.dictionary(pa.int32(), pa.large_string())),
    "Bool": (pa.bool_(), pa.int8(), pa.string()),
    **{
        kind: (
            pa.int8(),
            pa.uint16(),
            pa.int32(),
            pa.uint32(),
            pa.int64(),
            pa.uint64(),
            pa.float64(),
        )
        for kind in ("I32", "I64", "U32", "U64")
    },
    "F32": (pa.float32(), pa.float64(), pa.int64(), pa.uint64()),
    "F64": (pa.float32(), pa.float64(), pa.int64(), pa.uint64()),
    "Date": (pa.date32(), pa.string(), pa.int64(), pa.timestamp("us", "UTC")),
    "DateTime": (
        *(pa.timestamp(unit, "UTC") for unit in ("s", "ms", "us")),
        *(pa.timestamp("us", "Asia/Kolkata"), pa.timestamp("us"), pa.string(), pa.int64()),
    ),
    "Blob": (pa.string(), pa.binary(), pa.large_binary()),
    "Vector(2)": (pa.list_(pa.float64()), pa.list_(pa.float32(), 2), pa.large_list(pa.int64())),
    "[String]": (pa.list_(pa.string()), pa.large_list(pa.large_string())),
    "[I64]": (pa.list_(pa.int32()), pa.list_(pa.uint64()), pa.large_list(pa.int64())),
    "[F32]": (pa.list_(pa.float64()), pa.list_(pa.float32(), 3)),
    "[DateTime]": (pa.list_(pa.timestamp("us", "UTC")), pa.list_(pa.string())),
}


def arrow_values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Return values of an Arrow type that Python can hold as well."""
    if pa.types.is_fixed_size_list(kind):
        return st.lists(
            arrow_values(kind.value_type), min_size=kind.list_size, max_size=kind.list_size
        )
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return st.lists(arrow_values(kind.value_type) | st.none(), max_size=3)
    if pa.types.is_integer(kind):
        signed = kind.bit_width - 1
        bounds = (
            (-(2**signed), 2**signed - 1)
            if pa.types.is_signed_integer(kind)
            else (0, 2 ** (signed + 1) - 1)
        )
        return st.integers(*bounds)
    if pa.types.is_floating(kind):
        return st.floats(width=kind.bit_width)
    if pa.types.is_timestamp(kind):
        step = {"s": 1, "ms": 1_000, "us": 1_000_000}[kind.unit]
        return st.integers(-62_135_596_800 * step, 253_402_300_800 * step - 1)
    if pa.types.is_date32(kind):
        return st.dates()
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return st.binary(max_size=8)
    if pa.types.is_boolean(kind):
        return st.booleans()
    words = [*ACCEPTED["Blob"], *ACCEPTED["Date"], *ACCEPTED["DateTime"], '"red"', '"12"']
    texts = st.sampled_from([json.loads(word) for word in words if word.startswith('"')])
    return texts | st.text(max_size=4)


def arrow_columns(kind: str) -> Iterator[tuple[str, pa.DataType]]:
    return ((kind, given_type) for given_type in ARROW[kind])


@pytest.mark.parametrize(
    ("kind", "given_type"), [pair for kind in ARROW for pair in arrow_columns(kind)], ids=str
)
@settings(max_examples=10)
@given(data=st.data())
def test_a_column_converted_at_once_is_the_one_converted_value_by_value(
    kind: str, given_type: pa.DataType, data: st.DataObject
) -> None:
    held = st.lists(arrow_values(given_type) | st.none(), max_size=8)
    plain_type = given_type.value_type if pa.types.is_dictionary(given_type) else given_type
    drawn = data.draw(
        held if not pa.types.is_dictionary(given_type) else st.lists(arrow_values(plain_type))
    )
    column = pa.array(drawn, plain_type).cast(given_type)
    start = data.draw(st.integers(0, len(column)))
    column = column[start:]

    quick, exact = (
        convert_whole(column, kind_of(kind)),
        convert_each(column.to_pylist(), kind_of(kind)),
    )

    if quick is not None:
        assert exact.reasons == {}
        assert quick.type == exact.values.type
        assert repr(plain(quick)) == repr(plain(exact.values))


def test_a_row_of_every_type_comes_back_from_the_graph(tmp_path: Path) -> None:
    properties = "\n".join(f"p{n}: {kind}?" for n, kind in enumerate(TYPES))
    graph = init(
        tmp_path / "graph", f"node Thing {{ key: String @key\n{properties} }}", durable=False
    )
    lines = []
    for number in range(max(map(len, ACCEPTED.values()))):
        picked = [list(ACCEPTED[kind])[number % len(ACCEPTED[kind])] for kind in TYPES]
        fields = "".join(f', "p{n}": {value}' for n, value in enumerate(picked))
        lines.append(f'{{"type": "Thing", "data": {{"key": "k{number:02}"{fields}}}}}')

    graph.load("\n".join(lines), engine="inline")

    stored = graph.snapshot().table("node:Thing").scan()
    assert [str(value) for value in stored["id"]] == [f"k{n:02}" for n in range(len(lines))]
    for n, kind in enumerate(TYPES):
        held = plain(stored[f"p{n}"].combine_chunks())
        expected = list(ACCEPTED[kind].values())
        assert repr(held) == repr([expected[at % len(expected)] for at in range(len(lines))])


def test_a_required_value_that_is_not_given_is_the_default_and_a_nullable_one_is_null(
    tmp_path: Path,
) -> None:
    schema = """
    node Task {
      name: String @key
      state: enum(open, done) @default("open")
      effort: F32 @default(0.5)
      note: String? @default("none")
    }
    """
    graph = init(tmp_path / "graph", schema, durable=False)

    graph.load(
        node("Task", name="a") + "\n" + node("Task", name="b", state="done", effort=None),
        engine="inline",
    )

    common = {"effort": 0.5, "note": None}
    assert rows(graph, "node:Task") == [
        {"id": "a", "name": "a", "state": "open", **common},
        {"id": "b", "name": "b", "state": "done", **common},
    ]
    assert broken(graph, node("Task", name="c", state="shut"), engine="inline") == [
        'error[V8]: <text>:1: Task.state: "shut" is not one of done, open'
    ]


@pytest.mark.parametrize(
    ("key", "value", "row_id"),
    [
        ("String", '"ann"', "ann"),
        ("String", '""', ""),
        ("I32", "-7", "-7"),
        ("U64", '"18446744073709551615"', "18446744073709551615"),
        ("Bool", "true", "true"),
        ("Date", "0", "1970-01-01"),
        ("DateTime", '"2024-01-31T12:00:00+01:00"', "2024-01-31T11:00:00.000Z"),
        ("F64", "0.1", "0.1"),
        ("F32", "0.1", "0.1"),
        ("F64", "-0.0", "0.0"),
        ("F64", "1e300", "1e+300"),
        ("enum(blue, red)", '"red"', "red"),
    ],
)
def test_the_id_of_a_row_is_the_text_of_its_key(
    tmp_path: Path, key: str, value: str, row_id: str
) -> None:
    graph = init(tmp_path / "graph", f"node Thing {{ key: {key} @key }}", durable=False)

    graph.load(f'{{"type": "Thing", "data": {{"key": {value}}}}}', engine="inline")

    assert [row["id"] for row in rows(graph, "node:Thing")] == [row_id]


def test_a_key_of_several_properties_is_a_json_array(tmp_path: Path) -> None:
    schema = "node City { country: String  zip: I32  since: Date  @key(country, zip, since) }"
    graph = init(tmp_path / "graph", schema, durable=False)

    graph.load(node("City", country='P"T', zip=17, since="2024-01-31"), engine="inline")

    assert [row["id"] for row in rows(graph, "node:City")] == ['["P\\"T",17,"2024-01-31"]']
