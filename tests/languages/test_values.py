"""Values of JSON and Python become what a type holds, or say why not."""

import math
from datetime import UTC, date, datetime, timedelta, timezone

import pyarrow as pa
import pytest

from omnigraph.schema import types
from omnigraph.schema.identity import fnv1a64, key_id, mint
from omnigraph.schema.values import BadValue, Value, coerce

NOON = datetime(2024, 1, 31, 12, 0, tzinfo=UTC)
EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("given", "kind", "expected"),
    [
        ("a", types.STRING, "a"),
        (True, types.BOOL, True),
        (-(2**31), types.I32, -(2**31)),
        (2**63 - 1, types.I64, 2**63 - 1),
        ("9007199254740993", types.I64, 9007199254740993),
        ("18446744073709551615", types.U64, 2**64 - 1),
        (3, types.F64, 3.0),
        (0.1, types.F32, 0.10000000149011612),
        ("2024-01-31", types.DATE, date(2024, 1, 31)),
        (0, types.DATE, date(1970, 1, 1)),
        (-1, types.DATE, date(1969, 12, 31)),
        (date(2024, 1, 31), types.DATE, date(2024, 1, 31)),
        ("2024-01-31T12:00:00Z", types.DATETIME, NOON),
        ("2024-01-31t14:00:00+02:00", types.DATETIME, NOON),
        ("2024-01-31 12:00:00.1239Z", types.DATETIME, NOON + timedelta(milliseconds=123)),
        (1706702400000, types.DATETIME, NOON),
        (NOON.astimezone(timezone(timedelta(hours=5))), types.DATETIME, NOON),
        ("open", types.enum_of(["open", "shut"]), "open"),
        ([1, 2.5], types.VectorType(2), (1.0, 2.5)),
        (["a", "b"], types.ListType(types.Scalar.STRING), ("a", "b")),
        ([], types.ListType(types.Scalar.I32), ()),
        ("base64:aGk=", types.BLOB, "base64:aGk="),
        ("s3://bucket/key", types.BLOB, "s3://bucket/key"),
        (b"hi", types.BLOB, b"hi"),
    ],
)
def test_a_value_that_fits_is_taken(given: object, kind: types.ValueType, expected: Value) -> None:
    found = coerce(given, kind)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("given", "kind", "reason"),
    [
        (1, types.STRING, "expected String, got 1"),
        ("\ud800", types.STRING, "surrogate"),
        (1, types.BOOL, "expected Bool"),
        (True, types.I32, "expected I32, got true"),
        (2**31, types.I32, "does not fit I32"),
        (-1, types.U32, "does not fit U32"),
        (1.0, types.I64, "expected I64"),
        ("5", types.I32, "expected I32"),
        ("1e3", types.I64, "expected I64"),
        (2**64, types.U64, "does not fit U64"),
        ("1.5", types.F64, "expected F64"),
        (1e39, types.F32, "does not fit F32"),
        (10**400, types.F64, "does not fit F64"),
        ("2024-02-30", types.DATE, "is not a date"),
        ("20240131", types.DATE, "is not a date"),
        (10**9, types.DATE, "outside the years"),
        (NOON, types.DATE, "expected Date"),
        ("2024-01-31T12:00:00", types.DATETIME, "RFC 3339"),
        ("2024-01-31T12:00:60Z", types.DATETIME, "RFC 3339"),
        ("0001-01-01T00:00:00+14:00", types.DATETIME, "RFC 3339"),
        (datetime(2024, 1, 31), types.DATETIME, "needs a time zone"),  # noqa: DTZ001
        (datetime(1, 1, 1, tzinfo=EAST), types.DATETIME, "outside the years"),
        ("opne", types.enum_of(["open", "shut"]), "did you mean 'open'"),
        ([1], types.VectorType(2), "expected 2 numbers, got 1"),
        ([1, math.nan], types.VectorType(2), "finite"),
        ([1, None], types.VectorType(2), "item 1 is null"),
        (["a", 1], types.ListType(types.Scalar.STRING), "expected String"),
        ("abc", types.ListType(types.Scalar.STRING), "expected a list"),
        ("base64:*", types.BLOB, "not valid base64"),
        ("no uri", types.BLOB, "base64:… or as a URI"),
        ("urn:\ud800", types.BLOB, "half of a surrogate pair"),
        (None, types.STRING, "got null"),
        ({}, types.I32, "got an object"),
    ],
)
def test_a_value_that_does_not_fit_says_why(
    given: object, kind: types.ValueType, reason: str
) -> None:
    with pytest.raises(BadValue, match=reason):
        coerce(given, kind)


def test_an_array_of_another_library_is_a_vector() -> None:
    assert coerce(pa.array([1.0, 0.5], pa.float32()), types.VectorType(2)) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("values", "kinds", "expected"),
    [
        (["Alice"], [types.STRING], "Alice"),
        ([7], [types.I64], "7"),
        ([True], [types.BOOL], "true"),
        ([date(2024, 1, 31)], [types.DATE], "2024-01-31"),
        ([NOON], [types.DATETIME], "2024-01-31T12:00:00.000Z"),
        ([0.1], [types.F64], "0.1"),
        ([coerce(0.1, types.F32)], [types.F32], "0.1"),
        ([coerce(3.4028234663852886e38, types.F32)], [types.F32], "3.4028235e+38"),
        ([-0.0], [types.F64], "0.0"),
        ([1e16], [types.F64], "1e+16"),
        (
            ["a", 1, True, 0.5, NOON],
            [types.STRING, types.I64, types.BOOL, types.F64, types.DATETIME],
            None,
        ),
        (['a"b', "ü"], [types.STRING, types.STRING], '["a\\"b","ü"]'),
    ],
)
def test_the_id_of_a_keyed_node_is_its_key(
    values: list[Value], kinds: list[types.ValueType], expected: str | None
) -> None:
    composite = '["a",1,true,0.5,"2024-01-31T12:00:00.000Z"]'
    assert key_id(values, kinds) == (expected or composite)


def test_a_key_refuses_what_equals_nothing() -> None:
    with pytest.raises(ValueError, match="NaN"):
        key_id([math.nan], [types.F64])


def test_an_identity_that_is_taken_gets_a_number() -> None:
    assert mint("node:A", {"node:B"}) == "node:A"
    assert mint("node:A", {"node:A", "node:A#2"}) == "node:A#3"


def test_the_hash_is_fnv_1a_of_64_bits() -> None:
    assert f"{fnv1a64(''):016x}" == "cbf29ce484222325"
    assert f"{fnv1a64('foobar'):016x}" == "85944171f73967e8"
