"""Conditions: the conditions of the option `where`, which the store decides as the language does.

They are part of what a frame is, and not what Spark pushes down: Spark keeps what it pushed down
for one query of a frame and uses it for the next one, which then misses rows.
"""

from collections.abc import Callable
from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import datasource as spark

from omnigraph.errors import InputError
from omnigraph.query.checked import Delete
from omnigraph.query.compile import compile_queries
from omnigraph.query.expr import (
    And,
    Comparison,
    Constant,
    Expr,
    ListOf,
    Not,
    NullTest,
    Or,
    Predicate,
    PropertyRef,
    parts,
)
from omnigraph.query.parsing.ast import Operator
from omnigraph.query.plan import MutationPlan
from omnigraph.query.planning.explain import predicate_text
from omnigraph.schema.catalog import Catalog, StoredType
from omnigraph.span import Source
from omnigraph.spark.filters import to_expression

_FILTERS: dict[Operator, Callable[[tuple[str, ...], Any], spark.Filter]] = {
    Operator.EQUAL: spark.EqualTo,
    Operator.LESS: spark.LessThan,
    Operator.LESS_EQUAL: spark.LessThanOrEqual,
    Operator.GREATER: spark.GreaterThan,
    Operator.GREATER_EQUAL: spark.GreaterThanOrEqual,
    Operator.STARTS_WITH: spark.StringStartsWith,
    Operator.CONTAINS: spark.StringContains,
}
_HINT = "leave it to Spark: frame.filter(…)"


def parse_condition(text: str, stored: StoredType, catalog: Catalog) -> Predicate:
    """Return the condition of a text, as after the `where` of a statement.

    Raises QueryError, or InputError for a condition that the store does not decide.
    """
    around = f"query condition() {{ delete {stored.name} where {text} }}"
    plan = compile_queries(Source("where", around), catalog)["condition"]
    assert isinstance(plan, MutationPlan)
    statement, *others = plan.statements
    if others or not isinstance(statement, Delete):
        raise InputError("the option 'where' is one condition", hint="combine them with `and`")
    to_condition(statement.where, stored)
    return statement.where


def to_condition(predicate: Predicate, stored: StoredType) -> pc.Expression:
    """Return a condition for the store; raises InputError for one that it does not decide."""
    match predicate:
        case And(items):
            return reduce(and_, (to_condition(each, stored) for each in items))
        case Or(items):
            return reduce(or_, (to_condition(each, stored) for each in items))
        case Not(item):
            return ~to_condition(item, stored)
        case NullTest(PropertyRef(_, name, _), negated):
            test = spark.IsNotNull if negated else spark.IsNull
            return _decided(test((name,)), stored, predicate)
        case Comparison(PropertyRef(_, name, _), Operator.NOT_EQUAL, Constant(value)):
            return ~_decided(spark.EqualTo((name,), value), stored, predicate)
        case Comparison(PropertyRef(_, name, _), Operator.IN, members):
            return _decided(spark.In((name,), _members(members, predicate)), stored, predicate)
        case Comparison(PropertyRef(_, name, _), operator, Constant(value)):
            build = _FILTERS.get(operator)
            if build is not None:
                return _decided(build((name,), value), stored, predicate)
    raise _undecided(predicate)


def columns_of(predicate: Predicate) -> list[str]:
    """Return the columns that a condition reads."""
    found = (part.property for part in parts(predicate) if isinstance(part, PropertyRef))
    return list(dict.fromkeys(found))


def _members(members: Expr, predicate: Predicate) -> tuple[Any, ...]:
    match members:
        case Constant(value) if isinstance(value, tuple):
            return value
        case ListOf(items) if all(isinstance(each, Constant) for each in items):
            return tuple(each.value for each in items if isinstance(each, Constant))
    raise _undecided(predicate)


def _decided(condition: spark.Filter, stored: StoredType, predicate: Predicate) -> pc.Expression:
    found = to_expression(condition, stored)
    if found is None:
        raise _undecided(predicate)
    return found


def _undecided(predicate: Predicate) -> InputError:
    return InputError(f"the store does not decide `{predicate_text(predicate)}`", hint=_HINT)
