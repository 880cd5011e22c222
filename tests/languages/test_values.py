"""Values of JSON and Python become what a type holds, or say why not."""

import math
from datetime import UTC, date, datetime, timedelta, timezone

import pyarrow as pa
import pytest

from omnigraph.schema.identity import fnv1a64, key_id, mint
from omnigraph.schema.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    I32,
    I64,
    STRING,
    U32,
    U64,
    ListType,
    Scalar,
    ValueType,
    VectorType,
    enum_of,
)
from omnigraph.schema.values import BadValue, Value, coerce

NOON = datetime(2024, 1, 31, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "kind", "expected"),
    [
        ("a", STRING, "a"),
        (True, BOOL, True),
        (-(2**31), I32, -(2**31)),
        (2**63 - 1, I64, 2**63 - 1),
        ("9007199254740993", I64, 9007199254740993),
        ("18446744073709551615", U64, 2**64 - 1),
        (3, F64, 3.0),
        (0.1, F32, 0.10000000149011612),
        ("2024-01-31", DATE, date(2024, 1, 31)),
        (0, DATE, date(1970, 1, 1)),
        (-1, DATE, date(1969, 12, 31)),
        (date(2024, 1, 31), DATE, date(2024, 1, 31)),
        ("2024-01-31T12:00:00Z", DATETIME, NOON),
        ("2024-01-31t14:00:00+02:00", DATETIME, NOON),
        ("2024-01-31 12:00:00.1239Z", DATETIME, NOON + timedelta(milliseconds=123)),
        (1706702400000, DATETIME, NOON),
        (NOON.astimezone(timezone(timedelta(hours=5))), DATETIME, NOON),
        ("open", enum_of(["open", "shut"]), "open"),
        ([1, 2.5], VectorType(2), (1.0, 2.5)),
        (["a", "b"], ListType(Scalar.STRING), ("a", "b")),
        ([], ListType(Scalar.I32), ()),
        ("base64:aGk=", BLOB, "base64:aGk="),
        ("s3://bucket/key", BLOB, "s3://bucket/key"),
        (b"hi", BLOB, b"hi"),
    ],
)
def test_a_value_that_fits_is_taken(given: object, kind: ValueType, expected: Value) -> None:
    found = coerce(given, kind)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("given", "kind", "reason"),
    [
        (1, STRING, "expected String, got 1"),
        ("\ud800", STRING, "surrogate"),
        (1, BOOL, "expected Bool"),
        (True, I32, "expected I32, got true"),
        (2**31, I32, "does not fit I32"),
        (-1, U32, "does not fit U32"),
        (1.0, I64, "expected I64"),
        ("5", I32, "expected I32"),
        ("1e3", I64, "expected I64"),
        (2**64, U64, "does not fit U64"),
        ("1.5", F64, "expected F64"),
        (1e39, F32, "does not fit F32"),
        (10**400, F64, "does not fit F64"),
        ("2024-02-30", DATE, "is not a date"),
        ("20240131", DATE, "is not a date"),
        (10**9, DATE, "outside the years"),
        (NOON, DATE, "expected Date"),
        ("2024-01-31T12:00:00", DATETIME, "RFC 3339"),
        ("2024-01-31T12:00:60Z", DATETIME, "RFC 3339"),
        ("0001-01-01T00:00:00+14:00", DATETIME, "RFC 3339"),
        (datetime(2024, 1, 31), DATETIME, "needs a time zone"),  # noqa: DTZ001
        ("opne", enum_of(["open", "shut"]), "did you mean 'open'"),
        ([1], VectorType(2), "expected 2 numbers, got 1"),
        ([1, math.nan], VectorType(2), "finite"),
        ([1, None], VectorType(2), "item 1 is null"),
        (["a", 1], ListType(Scalar.STRING), "expected String"),
        ("abc", ListType(Scalar.STRING), "expected a list"),
        ("base64:*", BLOB, "not valid base64"),
        ("no uri", BLOB, "base64:… or as a URI"),
        (None, STRING, "got null"),
        ({}, I32, "got an object"),
    ],
)
def test_a_value_that_does_not_fit_says_why(given: object, kind: ValueType, reason: str) -> None:
    with pytest.raises(BadValue, match=reason):
        coerce(given, kind)


def test_an_array_of_another_library_is_a_vector() -> None:
    assert coerce(pa.array([1.0, 0.5], pa.float32()), VectorType(2)) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("values", "kinds", "expected"),
    [
        (["Alice"], [STRING], "Alice"),
        ([7], [I64], "7"),
        ([True], [BOOL], "true"),
        ([date(2024, 1, 31)], [DATE], "2024-01-31"),
        ([NOON], [DATETIME], "2024-01-31T12:00:00.000Z"),
        ([0.1], [F64], "0.1"),
        ([coerce(0.1, F32)], [F32], "0.1"),
        ([-0.0], [F64], "0.0"),
        ([1e16], [F64], "1e+16"),
        (["a", 1, True, 0.5, NOON], [STRING, I64, BOOL, F64, DATETIME], None),
        (['a"b', "ü"], [STRING, STRING], '["a\\"b","ü"]'),
    ],
)
def test_the_id_of_a_keyed_node_is_its_key(
    values: list[Value], kinds: list[ValueType], expected: str | None
) -> None:
    composite = '["a",1,true,0.5,"2024-01-31T12:00:00.000Z"]'
    assert key_id(values, kinds) == (expected or composite)


def test_a_key_refuses_what_equals_nothing() -> None:
    with pytest.raises(ValueError, match="NaN"):
        key_id([math.nan], [F64])


def test_an_identity_that_is_taken_gets_a_number() -> None:
    assert mint("node:A", {"node:B"}) == "node:A"
    assert mint("node:A", {"node:A", "node:A#2"}) == "node:A#3"


def test_the_hash_is_fnv_1a_of_64_bits() -> None:
    assert f"{fnv1a64(''):016x}" == "cbf29ce484222325"
    assert f"{fnv1a64('foobar'):016x}" == "85944171f73967e8"
