"""A line reads back to the row that it was made of, whatever the row holds."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.errors import InputError
from omnigraph.export import lines as lines_module
from omnigraph.export.lines import render_lines, to_blob_texts
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.blobs import unpack_rows
from omnigraph.schema.catalog import StoredType
from omnigraph.schema.compile import compile_schema
from omnigraph.spark.deadline import Deadline
from omnigraph.write.load.sources.records import RecordReader, loose_schema
from tests.pipeline.rich import ODD, SCHEMA

CATALOG = compile_schema(SCHEMA)
THING, LIKES = CATALOG.nodes["Thing"], CATALOG.edges["Likes"]
LOOSE = compile_schema("node Loose { from: String?  src: I32? }").nodes["Loose"]
MILLISECONDS = st.integers(-62_135_510_400_000, 253_402_214_400_000)

VALUES: dict[str, st.SearchStrategy[object]] = {
    "text": st.text(),
    "blob": st.binary().map(lambda data: b"base64:" + data.hex().encode()[: len(data) // 2 * 4]),
    "flag": st.booleans(),
    "i32": st.integers(-(2**31), 2**31 - 1),
    "i64": st.integers(-(2**63), 2**63 - 1),
    "u32": st.integers(0, 2**32 - 1),
    "u64": st.integers(0, 2**64 - 1),
    "f32": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "f64": st.floats(allow_nan=False, allow_infinity=False),
    "day": st.dates(),
    "at": MILLISECONDS,
    "hue": st.sampled_from(["green", "red"]),
    "vector": st.lists(
        st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=3, max_size=3
    ),
}
VALUES |= {f"{name}s": st.lists(VALUES[name], max_size=3) for name in ("text", "flag", "i32")}
VALUES |= {f"{name}s": st.lists(VALUES[name], max_size=3) for name in ("i64", "u32", "u64")}
VALUES |= {f"{name}s": st.lists(VALUES[name], max_size=3) for name in ("f32", "f64", "day", "at")}
ROWS = st.lists(
    st.fixed_dictionaries(
        {"slug": st.text(), **{name: st.none() | value for name, value in VALUES.items()}}
    ),
    max_size=8,
)


def batch_of(stored: StoredType, rows: list[dict[str, object]]) -> pa.RecordBatch:
    """Return rows as a table holds them; times are given in milliseconds."""
    arrays = []
    for field in arrow_schema(stored):
        values = [row.get(field.name) for row in rows]
        if pa.types.is_date64(field.type):
            arrays.append(pa.array(values, pa.int64()).view(pa.date64()))
        elif pa.types.is_list(field.type) and pa.types.is_date64(field.type.value_type):
            times = pa.array(values, pa.list_(pa.int64()))
            items = times.values.view(pa.date64())
            mask = times.is_null() if times.null_count else None
            arrays.append(pa.ListArray.from_arrays(times.offsets, items, field.type, mask=mask))
        else:
            arrays.append(pa.array(values, field.type))
    return pa.record_batch(arrays, schema=arrow_schema(stored))


def text_of(stored: StoredType, rows: list[dict[str, object]]) -> bytes:
    return b"".join(render_lines(stored, batch_of(stored, rows)))


@settings(max_examples=50)
@given(ROWS)
def test_rows_of_every_type_read_back(rows: list[dict[str, object]]) -> None:
    given_rows = batch_of(THING, [{"id": row["slug"], **row} for row in rows])

    text = b"".join(render_lines(THING, given_rows))

    block = RecordReader(CATALOG).read(text, Deadline())
    assert block.violations == []
    assert text.count(b"\n") == len(rows)
    read = pa.Table.from_batches([each.columns for each in block.rows], loose_schema(THING))
    back = unpack_rows(read)
    assert back.columns[1:] == pa.Table.from_batches([given_rows]).columns[1:]
    assert text_of_table(back.set_column(0, "id", back["slug"])) == text


def text_of_table(rows: pa.Table) -> bytes:
    return b"".join(text for batch in rows.to_batches() for text in render_lines(THING, batch))


@settings(max_examples=100)
@given(st.lists(st.tuples(st.text(), st.text(), st.text(), st.none() | st.text()), max_size=8))
def test_python_reads_the_same_as_what_was_written(
    rows: list[tuple[str, str, str, str | None]],
) -> None:
    names = ("id", "src", "dst", "why")

    text = text_of(LIKES, [dict(zip(names, row, strict=True)) for row in rows])

    assert [json.loads(line) for line in text.splitlines()] == [
        {"edge": "Likes", "from": src, "to": dst, "data": {"id": row_id, "why": why}}
        for row_id, src, dst, why in rows
    ]


def test_a_type_without_a_key_gives_its_id_first_and_nulls_are_written() -> None:
    assert text_of(LOOSE, [{"id": "1", "from": None, "src": 3}]) == (
        b'{"type":"Loose","data":{"id":"1","from":null,"src":3}}\n'
    )


def test_only_what_json_wants_is_escaped() -> None:
    text = text_of(LOOSE, [{"id": ODD}]).decode()
    assert '"bell\\u0007 nul\\u0000 tab\\t line\\nreturn\\r quote\\" back\\\\ slash/' in text
    assert "esc\\u001b del\x7f é \u2028 😀" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.1, "1.1"),
        (0.0, "0"),
        (-0.0, "-0.0"),
        (1e-45, "1e-45"),
        (16777216.0, "16777216"),
        (3.4028234663852886e38, "3.4028235e+38"),
    ],
)
def test_a_number_of_32_bits_is_written_as_short_as_can_be(value: float, text: str) -> None:
    assert f'"f32":{text},'.encode() in text_of(THING, [{"id": "a", "slug": "a", "f32": value}])


def test_the_one_number_that_is_rounded_twice_reads_back() -> None:
    number = np.uint32(0x15AE43FD).view(np.float32)
    assert np.float32(float(str(number))) != number, "the short text reads as its neighbour"

    text = text_of(THING, [{"id": "a", "slug": "a", "f32": number, "f32s": [number, -number]}])

    data = json.loads(text)["data"]
    assert [np.float32(each) for each in (data["f32"], *data["f32s"])] == [number, number, -number]


def test_numbers_of_32_bits_read_back_by_way_of_64() -> None:
    bits = np.random.default_rng(7).integers(0, 2**32, 200_000, dtype=np.uint32)
    numbers = bits.view(np.float32)
    numbers = numbers[np.isfinite(numbers)]
    batch = batch_of(THING, [{"id": "a", "slug": "a", "f32s": numbers.tolist()}])

    data = json.loads(b"".join(render_lines(THING, batch)))["data"]

    back = np.array(data["f32s"], np.float64).astype(np.float32)
    assert (back.view(np.uint32) == numbers.view(np.uint32)).all()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["f32", "f64", "f32s", "f64s", "vector"])
def test_a_number_that_is_not_finite_is_refused(field: str, bad: float) -> None:
    single: object = [1.0, bad, 2.0] if field.endswith("s") or field == "vector" else bad
    rows: list[dict[str, object]] = [
        {"id": "good", "slug": "good"},
        {"id": "bad", "slug": "bad", field: single},
    ]

    with pytest.raises(InputError, match=f"Thing 'bad': {field} holds NaN or infinity") as raised:
        text_of(THING, rows)

    assert raised.value.hint == "export as Parquet"


def test_rows_that_are_too_many_at_once_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[dict[str, object]] = [{"id": f"{n}", "from": "x" * n} for n in range(50)]
    whole = text_of(LOOSE, rows)
    monkeypatch.setattr(lines_module, "_MOST_BYTES", 200)

    parts = list(render_lines(LOOSE, batch_of(LOOSE, rows)))

    assert len(parts) > 10
    assert b"".join(parts) == whole


def test_a_slice_of_a_batch_gives_its_own_rows_alone() -> None:
    rows: list[dict[str, object]] = [
        {
            "id": f"{n}",
            "slug": f'"{n}"',
            "vector": None if n % 3 else [n, 0.5, n],
            "texts": ["a"] * n,
        }
        for n in range(9)
    ]
    batch = batch_of(THING, rows)
    whole = b"".join(render_lines(THING, batch)).splitlines()
    assert b"".join(render_lines(THING, batch.slice(4, 3))).splitlines() == whole[4:7]


def test_bytes_that_are_no_text_become_base64() -> None:
    blobs = [b"base64:AAEC", "https://example.org/é".encode(), b"\xff\xfe", b"two words", b"", None]
    assert to_blob_texts(pa.array(blobs, pa.large_binary())).to_pylist() == [
        "base64:AAEC",
        "https://example.org/é",
        "base64://4=",
        "base64:dHdvIHdvcmRz",
        "base64:",
        None,
    ]
