"""Params: binds values from JSON or Python to the parameters that a query declares."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import TypeAlias

from omnigraph.errors import Code, ParamsError
from omnigraph.frozen import dataclass
from omnigraph.query.expr import Collect, ParamRef, Rrf, TextMatch
from omnigraph.query.parsing.parser import LONE_QUERY
from omnigraph.query.plan import Limit, Plan
from omnigraph.query.resolve import MOST_EDITS
from omnigraph.schema.parsing.type_parser import TypeRef
from omnigraph.schema.values import BadValue, Value, coerce
from omnigraph.syntax.json_numbers import parse_finite, refuse_constant
from omnigraph.syntax.problems import Problems

_ANY = 2**64
# What NumPy calls truth values, integers with and without a sign, and floats.
_NUMPY_NUMBERS = ("b", "i", "u", "f")


def bind_params(plan: Plan, given: Mapping[str, object]) -> dict[str, Value | None]:
    """Return a value of the declared type for every parameter; omitted optional ones are null.

    Raises ParamsError with every parameter that is missing, unknown, null or of another type.
    """
    problems = Problems()
    declared, counts = _declared(_Same(plan))
    for name in given:
        if name not in declared:
            hint = problems.nearest(name, declared)
            message = f"{_named(plan)} has no parameter '${name}'"
            problems.report(Code.UNKNOWN_PARAM, None, message, hint)
    bound: dict[str, Value | None] = {}
    for name, kind in declared.items():
        value = given.get(name)
        if value is not None:
            bound[name] = _coerce_param(name, value, kind, problems)
        elif kind.nullable:
            bound[name] = None
        elif name in given:
            problems.report(Code.NULL_PARAM, None, f"'${name}' is {kind} and cannot be null")
        else:
            hint = f"{_named(plan)} needs a value of type {kind}"
            problems.report(Code.MISSING_PARAM, None, f"'${name}' is missing", hint)
    if counts:
        _check_bounds(counts, bound, problems)
    if problems.total:
        raise ParamsError(problems.items, total=problems.total)
    return bound


def _named(plan: Plan) -> str:
    return "the query" if plan.name == LONE_QUERY else f"query '{plan.name}'"


def params_of_texts(plan: Plan, texts: Mapping[str, str]) -> dict[str, object]:
    """Parse each text as JSON if that fits its parameter; else keep the text itself."""
    declared = {param.name: param.type for param in plan.params}
    return {name: _of_text(text, declared.get(name)) for name, text in texts.items()}


def _of_text(text: str, kind: TypeRef | None) -> object:
    if kind is None:  # `bind_params` will say that there is no such parameter
        return text
    try:
        value = parse_json(text)
        if value is not None:
            coerce(value, kind.type)
    except (ValueError, RecursionError):
        return text
    return text if value is None and not kind.nullable else value


def parse_json(text: str) -> object:
    """Return the value of a JSON text; raises ValueError or RecursionError.

    What a load refuses is refused: numbers that are not finite, and names that are given twice.
    """
    return json.loads(
        text, object_pairs_hook=_object, parse_constant=refuse_constant, parse_float=parse_finite
    )


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"'{name}' is given twice")
        found[name] = value
    return found


def _coerce_param(name: str, value: object, kind: TypeRef, problems: Problems) -> Value | None:
    try:
        return coerce(_plain(value), kind.type)
    except BadValue as bad:
        problems.report(Code.PARAM_TYPE, None, f"'${name}' is {kind}: {bad}")
        return None


def _plain(value: object) -> object:
    """Return a number or a truth value of NumPy as that of Python, and all else as it is."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind in _NUMPY_NUMBERS and getattr(value, "ndim", None) == 0:
        return value.item()  # type: ignore[attr-defined]
    return value


def _check_bounds(
    counts: "tuple[_Count, ...]", bound: Mapping[str, Value | None], problems: Problems
) -> None:
    """Report numbers that are too small or too large for what the query does with them."""
    for param, what, least, most in counts:
        value = bound.get(param.name)
        if isinstance(value, int) and not least <= value <= most:
            message = f"'${param.name}' is used as {what} and must be at least {least}"
            if value > most:
                message = f"'${param.name}' is used as {what} and must be at most {most}"
            problems.report(Code.PARAM_BOUND, None, message)


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """A plan compared by identity, so that a cache need not compare it part by part."""

    plan: Plan

    def __hash__(self) -> int:
        return id(self.plan)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.plan is other.plan


# A parameter that is used as a count, what it counts, and its bounds.
_Count: TypeAlias = tuple[ParamRef, str, int, int]


@lru_cache(maxsize=256)
def _declared(same: _Same) -> tuple[dict[str, TypeRef], tuple[_Count, ...]]:
    """Return the types of a plan's parameters, and those that are used as counts."""
    return {param.name: param.type for param in same.plan.params}, tuple(_counts(same.plan))


def _counts(node: object) -> Iterator[_Count]:
    """Yield every parameter used as a count, with what it counts and its bounds."""
    match node:
        case Limit(skip, limit):
            yield from _count(skip, "skip", 0, _ANY)
            yield from _count(limit, "limit", 0, _ANY)
        case TextMatch(edits=edits):
            yield from _count(edits, "the number of edits", 0, MOST_EDITS)
        case Rrf(k=k):
            yield from _count(k, "k", 1, _ANY)
        case Collect(item=item, limit=limit):
            yield from _count(limit, "limit", 0, _ANY)
            yield from _counts(item)
        case tuple():
            for item in node:
                yield from _counts(item)
        case _ if is_dataclass(node):
            for each in fields(node):
                yield from _counts(getattr(node, each.name))


def _count(value: object, what: str, least: int, most: int) -> Iterator[_Count]:
    if isinstance(value, ParamRef):
        yield value, what, least, most
