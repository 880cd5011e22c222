"""Two hundred random queries, each written in all orders, have the same rows and one plan."""

from pathlib import Path
from random import Random

import pytest

from bench.social import SCHEMA, social_tables
from omnigraph.api.graph import init
from tests.engine.orders import try_questions, try_written_orders
from tests.engine.worlds import random_world

WORLDS = 10
QUERIES = 20
ALL = 120
SIZES = (400, 3_000)


@pytest.mark.parametrize("seed", range(700, 700 + WORLDS))
def test_a_query_written_in_all_orders_gives_the_same_rows(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    world = random_world(random)

    try_written_orders(world, world.graph(tmp_path / "g").at(), random, queries=QUERIES, most=ALL)


@pytest.mark.parametrize("seed", range(800, 800 + WORLDS))
def test_a_question_written_in_all_orders_has_one_plan(seed: int, tmp_path: Path) -> None:
    with init(tmp_path / "g", SCHEMA, durable=False) as graph:
        graph.load(social_tables(*SIZES), engine="inline")

        try_questions(graph, Random(seed), sizes=SIZES, questions=QUERIES, most=ALL)
