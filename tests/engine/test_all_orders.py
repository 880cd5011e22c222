"""Two hundred random queries, each written in all orders of its clauses, give the same rows."""

from pathlib import Path
from random import Random

import pytest

from tests.engine.orders import try_written_orders
from tests.engine.worlds import random_world

WORLDS = 10
QUERIES = 20
ALL = 120


@pytest.mark.parametrize("seed", range(700, 700 + WORLDS))
def test_a_query_written_in_all_orders_gives_the_same_rows(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    world = random_world(random)

    try_written_orders(world, world.graph(tmp_path / "g").at(), random, queries=QUERIES, most=ALL)
