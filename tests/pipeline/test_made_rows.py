"""How many rows the joins of a pattern make of one is known from the edges of the busiest node."""

from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING

import pytest

from omnigraph.api.graph import Graph
from omnigraph.query.compile import compile_queries
from omnigraph.query.plan import ReadPlan
from omnigraph.read.execution import Budget, Execution
from omnigraph.read.spark import lowering
from omnigraph.read.spark.lowering import lower
from omnigraph.read.spark.matches import MadeRows
from omnigraph.read.sparse_reader import SparseReader
from omnigraph.span import Source
from tests.engine.asking import made
from tests.pipeline.loads import node

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "node Person { slug: String @key  age: I32? }\nedge Knows: Person -> Person"
FANS = 6


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Everybody knows one other at most, and six know ana, who knows bo."""
    fans = [f"fan{number}" for number in range(FANS)]
    people = [node("Person", slug=slug) for slug in ("ana", "bo", *fans)]
    pairs = [*((fan, "ana") for fan in fans), ("ana", "bo")]
    edges = [f'{{"edge": "Knows", "from": "{one}", "to": "{other}"}}' for one, other in pairs]
    return made(tmp_path_factory.mktemp("stars"), SCHEMA, *people, *edges)


def _is_narrow(graph: Graph, pattern: str, spark: "SparkSession") -> bool:
    text = f"query q() {{ match {{ {pattern} }} return {{ $a.slug as a, $c.age as c }} }}"
    (plan,) = compile_queries(Source("query.gq", text), graph.snapshot().catalog).values()
    assert isinstance(plan, ReadPlan)
    run = Execution(
        reader=SparseReader(graph.snapshot(), {}),
        params={},
        now=datetime.now(UTC),
        budget=Budget(),
        environment={},
    )
    return lower(run, plan, spark, slices=2).narrow


@pytest.mark.parametrize(
    ("pattern", "most"),
    [
        ("$a knows $c", FANS),
        ('$a: Person { slug: "bo" }  $b knows $a  $c knows $b', FANS**2),
        ('$a: Person { slug: "bo" }  $a knows $b  $b knows $c', 1),
        ('$a: Person { slug: "bo" }  $a $k:knows $c', 1),
        ("$a: Person  $c: Person", inf),
        ("$a knows $c  $c knows $d", inf),
    ],
)
def test_a_plan_is_narrow_up_to_the_rows_that_are_made_of_one(
    graph: Graph,
    spark: "SparkSession",
    monkeypatch: pytest.MonkeyPatch,
    pattern: str,
    most: float,
) -> None:
    found = []
    for bound in (most, min(most - 1, 2**60)):
        monkeypatch.setattr(lowering, "_MOST_MADE", bound)
        found.append(_is_narrow(graph, pattern, spark))

    assert found == [True, False]


def test_one_node_bounds_the_rows_of_all_joins() -> None:
    rows = MadeRows()
    rows.begin("a", 1)
    rows.expand("a", "b", (3, 1_000))
    rows.expand("b", "c", (4, 1_000))

    assert rows.most == 12


def test_edges_that_are_read_meet_the_rows_that_lead_to_their_starts() -> None:
    rows = MadeRows()
    rows.begin("a", 1_000_000)
    rows.expand("a", "b", (3, 1_000))
    assert rows.most == 3
    rows.expand("b", "c", (4, 1_000))
    assert rows.most == 1_000, "so many are sent that lead to the start of an edge"


def test_nodes_that_are_read_meet_no_more_rows_than_are_sent() -> None:
    rows = MadeRows()
    rows.begin("a", 1_000_000)
    rows.expand("a", "b", (3, 1_000))
    rows.look_up("b")
    assert rows.most == 1_000
    rows.expand("b", "c", (4, 1_000))
    assert rows.most == 4_000
    rows.look_up("c")
    assert rows.most == 1 << 18, "less than a million that lead to it by two hops"


def test_what_is_not_known_may_be_any_number() -> None:
    rows = MadeRows()
    rows.begin("a", 10)
    rows.expand("a", "b", None)

    assert rows.most == inf
