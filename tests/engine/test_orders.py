"""Rows, and their order, do not depend on the order in which a pattern is matched or written."""

from pathlib import Path
from random import Random

import pytest

from tests.engine.orders import in_any_order, try_written_orders
from tests.engine.trial import try_queries
from tests.engine.worlds import random_world

WORLDS = 4
QUERIES = 60


@pytest.mark.parametrize("seed", range(300, 300 + WORLDS))
def test_a_pattern_matched_in_any_order_gives_what_the_oracle_gives(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    world = random_world(random)
    in_any_order(monkeypatch, random)

    tally = try_queries(world, world.graph(tmp_path / "g").at(), random, QUERIES)

    assert tally.run == QUERIES


@pytest.mark.parametrize("seed", range(400, 400 + WORLDS))
def test_a_pattern_written_in_any_order_gives_the_same_rows(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    world = random_world(random)

    try_written_orders(world, world.graph(tmp_path / "g").at(), random, queries=12, most=8)
