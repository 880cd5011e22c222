"""Rows, and their order, do not depend on the order in which a pattern is matched or written."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from omnigraph.api.view import View
from omnigraph.errors import QueryError, ResultOverflowError
from tests.engine.generate import RandomQuery, random_query
from tests.engine.oracle import TooManyRows
from tests.engine.orders import in_any_order, written_orders
from tests.engine.trial import answered, try_queries
from tests.engine.worlds import random_world

WORLDS = 4
QUERIES = 60
WRITTEN = 12


@pytest.mark.parametrize("seed", range(300, 300 + WORLDS))
def test_a_pattern_matched_in_any_order_gives_what_the_oracle_gives(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    world = random_world(random)
    in_any_order(monkeypatch, random)

    tally = try_queries(world, world.graph(tmp_path / "g").at(), random, QUERIES)

    assert tally.run == QUERIES


def rows(view: View, query: RandomQuery) -> list[str] | None:
    """Give the rows of a query in an order of their own, or None for a sum that does not fit."""
    try:
        found = view.query(str(query), **query.given)
    except ResultOverflowError:
        return None
    return sorted(repr(tuple(row.values())) for row in found)


@pytest.mark.parametrize("seed", range(400, 400 + WORLDS))
def test_a_pattern_written_in_any_order_gives_the_same_rows(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    world = random_world(random)
    view = world.graph(tmp_path / "g").at()
    tried = 0
    while tried < WRITTEN:
        query = replace(random_query(random, world), skip=None, limit=None)
        orders = written_orders(query, random, most=8)
        try:
            answered(world, query)
        except (QueryError, TooManyRows):
            continue
        if len(orders) < 3:
            continue
        tried += 1

        found = [rows(view, replace(query, clauses=clauses)) for clauses in orders]

        assert all(each == found[0] for each in found), str(query)
