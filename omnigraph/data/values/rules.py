"""Rules: what every row of a type must hold by itself, each rule one function over columns."""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.comparison import compare
from omnigraph.errors import Code
from omnigraph.frozen import dataclass
from omnigraph.query.parsing.ast import Operator
from omnigraph.schema.catalog import EdgeType, NodeType, PatternCheck, Property, Range, StoredType
from omnigraph.schema.types import EnumType
from omnigraph.schema.values import BadValue, coerce
from omnigraph.syntax.problems import shorten


@dataclass(frozen=True, slots=True)
class Breach:
    """One row of a batch that breaks a rule."""

    row: int
    code: Code
    field: str
    reason: str


_RowRule: TypeAlias = Callable[[StoredType, pa.RecordBatch], Iterator[Breach]]


def find_breaches(stored: StoredType, batch: pa.RecordBatch) -> list[Breach]:
    """Return every breach of a type's rules in a batch, which has the type's columns."""
    return [breach for rule in RULES for breach in rule(stored, batch)]


def check_required(stored: StoredType, batch: pa.RecordBatch) -> Iterator[Breach]:
    """A property that is not nullable has a value, or a text to make its vector from."""
    for name in ("src", "dst") if isinstance(stored, EdgeType) else ():
        yield from _breach_each(batch[name].is_null(), Code.REQUIRED_VALUE, name, "is required")
    for item in stored.properties.values():
        if item.nullable or not batch[item.name].null_count:
            continue
        missing = batch[item.name].is_null()
        if item.embed is not None:
            missing = pc.and_(missing, pc.invert(has_text(batch[item.embed.source])))
        yield from _breach_each(missing, Code.REQUIRED_VALUE, item.name, "is required")


def check_enums(stored: StoredType, batch: pa.RecordBatch) -> Iterator[Breach]:
    """A value of an enum is one of the values it lists."""
    for item in stored.properties.values():
        if isinstance(item.type, EnumType):
            values = batch[item.name]
            known = pc.is_in(values, value_set=pa.array(item.type.values, pa.utf8()))
            broken = pc.and_(values.is_valid(), pc.invert(known))
            for row in _true_rows(broken):
                reason = _enum_reason(item, values[row].as_py())
                yield Breach(row, Code.VALUE_ENUM, item.name, reason)


def check_ranges(stored: StoredType, batch: pa.RecordBatch) -> Iterator[Breach]:
    """A value lies inside its `@range`; null is exempt, NaN is not."""
    for rule in stored.ranges if isinstance(stored, NodeType) else ():
        values = batch[rule.property]
        for row in _true_rows(
            _is_outside(values, rule.ends(stored.properties[rule.property].type))
        ):
            reason = f"{values[row].as_py()} is outside {_bounds(rule)}"
            yield Breach(row, Code.VALUE_RANGE, rule.property, reason)


def check_patterns(stored: StoredType, batch: pa.RecordBatch) -> Iterator[Breach]:
    """A text matches its `@check` somewhere; null is exempt."""
    for rule in stored.checks if isinstance(stored, NodeType) else ():
        values = batch[rule.property]
        broken = pc.invert(pc.match_substring_regex(values, rule.pattern))
        for row in _true_rows(broken):
            yield Breach(row, Code.VALUE_CHECK, rule.property, _check_reason(rule, values[row]))


def check_keys(stored: StoredType, batch: pa.RecordBatch) -> Iterator[Breach]:
    """A number in a key is finite."""
    for name in stored.key:
        values = batch[name]
        if pa.types.is_floating(values.type):
            broken = pc.invert(pc.is_finite(values))
            reason = "a key cannot hold NaN or infinity"
            yield from _breach_each(broken, Code.VALUE_TYPE, name, reason)


RULES: tuple[_RowRule, ...] = (
    check_required,
    check_enums,
    check_ranges,
    check_patterns,
    check_keys,
)


def has_text(column: pa.Array) -> pa.Array:
    """Return for each row whether it holds a text that a vector can be made from."""
    return pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(column), ""), fill_value=False)


def _breach_each(mask: pa.Array, code: Code, field: str, reason: str) -> Iterator[Breach]:
    return (Breach(row, code, field, reason) for row in _true_rows(mask))


def _true_rows(mask: pa.Array) -> list[int]:
    rows: list[int] = pc.indices_nonzero(pc.fill_null(mask, fill_value=False)).to_pylist()
    return rows


def _is_outside(values: pa.Array, ends: tuple[int | float | None, int | float | None]) -> pa.Array:
    bounds = zip((Operator.GREATER_EQUAL, Operator.LESS_EQUAL), ends, strict=True)
    tests = [
        compare(values, operator, _to_scalar(bound))
        for operator, bound in bounds
        if bound is not None
    ]
    return pc.invert(reduce(pc.and_, tests))


def _to_scalar(bound: int | float) -> pa.Scalar:
    wide = isinstance(bound, int) and bound > 2**63 - 1
    return pa.scalar(bound, pa.uint64()) if wide else pa.scalar(bound)


def _bounds(rule: Range) -> str:
    low = "" if rule.minimum is None else rule.minimum
    high = "" if rule.maximum is None else rule.maximum
    return f"{low}..{high}"


def _enum_reason(item: Property, value: str) -> str:
    try:
        coerce(value, item.type)
    except BadValue as bad:
        return str(bad)
    raise AssertionError(f"{value!r} is a value of {item.type}")


def _check_reason(rule: PatternCheck, value: pa.Scalar) -> str:
    return f"'{shorten(value.as_py())}' does not match {rule.pattern}"
