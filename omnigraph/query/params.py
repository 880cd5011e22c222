"""Params: binds what JSON or Python gives to the parameters that a query declares."""

from collections.abc import Mapping

from omnigraph.errors import Code, ParamsError
from omnigraph.query.expr import ParamRef
from omnigraph.query.plan import Limit, Plan, ReadPlan
from omnigraph.schema.values import BadValue, Value, coerce
from omnigraph.syntax.problems import Problems


def bind_params(plan: Plan, given: Mapping[str, object]) -> dict[str, Value | None]:
    """Give a value of the declared type for every parameter, null for an omitted optional one.

    Raises ParamsError with every parameter that is missing, unknown, null or of another type.
    """
    problems = Problems()
    declared = {param.name: param.type for param in plan.params}
    for name in given:
        if name not in declared:
            hint = problems.nearest(name, declared)
            problems.report(
                Code.UNKNOWN_PARAM, None, f"{plan.name} has no parameter '${name}'", hint
            )
    bound: dict[str, Value | None] = {}
    for name, kind in declared.items():
        value = given.get(name)
        if value is not None:
            bound[name] = _coerced(name, value, plan, problems)
        elif kind.nullable:
            bound[name] = None
        elif name in given:
            problems.report(Code.NULL_PARAM, None, f"'${name}' is {kind} and cannot be null")
        else:
            hint = f"{plan.name} needs a value of type {kind}"
            problems.report(Code.MISSING_PARAM, None, f"'${name}' is missing", hint)
    _check_bounds(plan, bound, problems)
    if problems.total:
        raise ParamsError(problems.items, total=problems.total)
    return bound


def _coerced(name: str, value: object, plan: Plan, problems: Problems) -> Value | None:
    kind = next(param.type for param in plan.params if param.name == name)
    try:
        return coerce(value, kind.type)
    except BadValue as bad:
        problems.report(Code.PARAM_TYPE, None, f"'${name}' is {kind}: {bad}")
        return None


def _check_bounds(plan: Plan, bound: Mapping[str, Value | None], problems: Problems) -> None:
    """Report a negative skip or limit."""
    operators = plan.operators if isinstance(plan, ReadPlan) else ()
    for limit in operators:
        if not isinstance(limit, Limit):
            continue
        for word, count in (("skip", limit.skip), ("limit", limit.limit)):
            value = bound.get(count.name) if isinstance(count, ParamRef) else None
            if isinstance(count, ParamRef) and isinstance(value, int) and value < 0:
                message = f"'${count.name}' is used as {word} and cannot be negative"
                problems.report(Code.PARAM_BOUND, None, message)
