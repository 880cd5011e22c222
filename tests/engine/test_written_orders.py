"""A question has one plan and one answer, in whatever order its patterns are written."""

from collections.abc import Iterator
from random import Random

import pytest

from bench.permuted import Asked
from bench.social import SCHEMA, social_tables
from omnigraph.api.graph import Graph, init
from tests.engine.orders import plan_run, try_questions

SIZES = (400, 3_000)
SEEDS = range(5)
QUESTIONS = 5
MOST_ORDERS = 6


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """A small town of persons who follow each other."""
    with init(tmp_path_factory.mktemp("town") / "g", SCHEMA, durable=False) as graph:
        graph.load(social_tables(*SIZES), engine="inline")
        yield graph


@pytest.mark.parametrize("seed", SEEDS)
def test_patterns_in_any_order_have_one_plan_and_give_the_same_rows(
    graph: Graph, seed: int
) -> None:
    try_questions(graph, Random(seed), sizes=SIZES, questions=QUESTIONS, most=MOST_ORDERS)


def test_conditions_of_one_variable_are_tested_in_one_order(graph: Graph) -> None:
    conditions = ("$p.age > 30", '$p.gender = "male"', '$p.name contains "7"', "$p.age < 50")
    asked = Asked(conditions, ("$p: Person",), "return { count($p) as n }")

    assert len({plan_run(graph, text) for text in asked.written(Random(0))}) == 1
