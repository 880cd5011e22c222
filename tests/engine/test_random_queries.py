"""Random queries give the rows that the oracle gives, in its order."""

from pathlib import Path
from random import Random

import pytest

from tests.engine.trial import try_queries
from tests.engine.worlds import random_world

WORLDS = 24
QUERIES = 120


@pytest.mark.parametrize("seed", range(WORLDS))
def test_random_queries_give_what_the_oracle_gives(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    world = random_world(random)

    tally = try_queries(world, world.graph(tmp_path / "g").at(), random, QUERIES)

    assert tally.run == QUERIES
    assert tally.refused_share < 0.3
