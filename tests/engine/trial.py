"""Trial: one query on the engine and on the oracle, and how a failing one is made small."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow.compute as pc
import pytest

from omnigraph.api.view import View
from omnigraph.errors import ExpressionError, OmniGraphError, QueryError, ResultOverflowError
from omnigraph.query.check import check_query
from omnigraph.query.checked import CheckedRead, CheckedUnion
from omnigraph.query.compile import read_queries
from omnigraph.read import answer
from omnigraph.read.operators import scan
from omnigraph.read.road import Road, RoadChoice
from omnigraph.span import Source
from omnigraph.syntax.problems import Problems
from tests.engine.computed import NoValue
from tests.engine.generate import RandomQuery, random_query
from tests.engine.oracle import Answer, Oracle, Overflow, TooManyRows
from tests.engine.worlds import World

Table = tuple[list[str], list[tuple[object, ...]]]


class Wrong(AssertionError):
    """The engine and the oracle do not agree."""


@dataclass(slots=True)
class Tally:
    """What became of some queries."""

    run: int = 0
    refused: int = 0
    large: int = 0

    def add(self, other: "Tally") -> None:
        self.run += other.run
        self.refused += other.refused
        self.large += other.large

    @property
    def refused_share(self) -> float:
        return self.refused / max(self.run + self.refused, 1)


def try_queries(world: World, view: View, random: Random, count: int) -> Tally:
    """Try random queries; raises Wrong, with the smallest query found that still fails."""
    tally = Tally()
    while tally.run < count:
        query = random_query(random, world)
        try:
            expected = answered(world, query)
        except QueryError:
            tally.refused += 1
            continue
        except TooManyRows:
            tally.large += 1
            continue
        tally.run += 1
        if (reason := failure(view, query, expected)) is not None:
            raise Wrong(_report(world, view, query, reason))
    return tally


def answered(world: World, query: RandomQuery) -> Answer | Overflow | NoValue:
    """Return the oracle's answer, or that a sum is too large, or something cannot be computed."""
    source, problems = Source("<query>", str(query)), Problems()
    file = read_queries(source, problems)
    checked = check_query(file.queries[0], world.catalog, problems) if file.queries else None
    if problems.total or checked is None:
        raise QueryError(problems.in_order(), source=source, total=problems.total)
    assert isinstance(checked.body, CheckedRead | CheckedUnion)
    oracle = Oracle(world.catalog, world.data, query.values, datetime.now(UTC))
    try:
        return oracle.answer(checked.body)
    except (Overflow, NoValue) as failed:
        return failed


def failure(view: View, query: RandomQuery, expected: Answer | Overflow | NoValue) -> str | None:
    """Run a query on the engine, and say what is wrong with its answer, if anything is."""
    try:
        result = view.query(str(query), **query.given)
    except (ResultOverflowError, ExpressionError) as error:
        # A query with both a sum and a value that do not exist may tell either.
        return None if not isinstance(expected, Answer) else f"{error}, but the oracle has rows"
    except OmniGraphError as error:
        return f"{type(error).__name__}: {error}"
    except Exception as error:
        return f"a bare {type(error).__name__}: {error}"
    if not isinstance(expected, Answer):
        return f"the engine has rows, the oracle {type(expected).__name__}"
    return difference(expected, result.columns, [tuple(row.values()) for row in result])


def difference(
    expected: Answer, columns: list[str], found: Sequence[tuple[object, ...]]
) -> str | None:
    """Say how rows differ from those of the oracle, in content or in order."""
    if columns != expected.columns:
        return f"the columns are {columns}, not {expected.columns}"
    if len(found) != len(expected.rows):
        return _shown(f"{len(found)} rows, not {len(expected.rows)}", expected, found)
    for at, (row, wanted) in enumerate(zip(found, expected.rows, strict=True)):
        if not _equal(row, wanted):
            return _shown(f"row {at} is {row}, not {wanted}", expected, found)
    return None


def smallest(world: World, view: View, query: RandomQuery) -> RandomQuery:
    """Return a query that fails too, and of which nothing can be left out."""
    for smaller in query.smaller():
        try:
            fails = failure(view, smaller, answered(world, smaller)) is not None
        except (QueryError, TooManyRows):
            continue
        if fails:
            return smallest(world, view, smaller)
    return query


def _report(world: World, view: View, query: RandomQuery, reason: str) -> str:
    small = smallest(world, view, query)
    now = failure(view, small, answered(world, small))
    return f"{reason}\n\n{small}\n{small.given}\n\n{now}\n\n{world.schema}\n\n{world.lines()}"


def _shown(reason: str, expected: Answer, found: Sequence[tuple[object, ...]]) -> str:
    wanted = "\n".join(f"  {row}" for row in expected.rows[:20])
    got = "\n".join(f"  {row}" for row in found[:20])
    return f"{reason}\nthe oracle:\n{wanted}\nthe engine:\n{got}"


def _equal(one: object, other: object) -> bool:
    """Tell whether two cells are equal: of one type, floats as near as floats can be."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    return bool(one == other)


def by_index(monkeypatch: pytest.MonkeyPatch) -> list[Road]:
    """Let every query look its rows up if it can; gives the roads that are then taken."""
    taken: list[Road] = []
    answered = answer._execute

    def noted(*given: Any) -> answer.PlanAnswer:
        found = answered(*given)
        taken.append(found.road)
        return found

    monkeypatch.setattr(answer, "choose_road", lambda *_: RoadChoice(Road.INDEX, 0, 0))
    monkeypatch.setattr(answer, "_execute", noted)
    monkeypatch.setattr(scan, "build_condition", lambda *_: pc.field("id").is_valid())
    return taken


def by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tasks of Spark read every table, and its own code do what it can compile."""
    from omnigraph.read.spark import frames, opening

    for module in (opening, frames):
        monkeypatch.setattr(module, "FEW_ROWS", 0)
