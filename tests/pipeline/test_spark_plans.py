"""Every case of a plan is lowered to the operations of Spark that its file shows.

Shown is what Spark makes of them before it chooses how to run them, without the numbers that it
gives to columns. Another version of Spark may write it otherwise: `--update-cases`.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import pytest

from omnigraph.api.graph import Graph
from omnigraph.query.compile import compile_queries
from omnigraph.query.plan import Operator, ReadPlan
from omnigraph.query.plan import Path as PathOperator
from omnigraph.read.execution import Budget, Execution
from omnigraph.read.spark import lowering
from omnigraph.read.spark.lowering import lower
from omnigraph.read.sparse_reader import SparseReader
from omnigraph.span import Source
from omnigraph.spark.connector import register
from tests.engine.asking import made
from tests.engine.trial import by_tasks
from tests.languages.casefile import Case, read_cases, update
from tests.pipeline.loads import node

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = read_cases(Path(__file__).parent / "cases" / "spark_plans.case")
SLICES = 8


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A graph of the schema that all cases share, with one person."""
    ana = node("Person", slug="ana", at=[1.0, 0.0])
    return made(tmp_path_factory.mktemp("plans"), CASES[0].given["schema"], ana)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_query_becomes_the_plan_of_its_case(
    case: Case,
    graph: Graph,
    spark: "SparkSession",
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    by_tasks(monkeypatch)

    found = _plan_on_spark(graph, _plan(graph, case), spark)

    if request.config.getoption("--update-cases"):
        update(case, found, CASES)
    else:
        assert found == case.expected


def test_every_operator_has_a_case(graph: Graph) -> None:
    used = {type(operator) for case in CASES for operator in _plan(graph, case).operators}
    assert used == set(get_args(Operator)) - {PathOperator}, "paths do not run on Spark"


def _plan(graph: Graph, case: Case) -> ReadPlan:
    catalog = graph.snapshot().catalog
    (plan,) = compile_queries(Source("query.gq", case.given["query"]), catalog).values()
    return cast(ReadPlan, plan)


def _plan_on_spark(
    graph: Graph, plan: ReadPlan, spark: "SparkSession", expected: Sequence[float] = ()
) -> str:
    register(spark)
    run = Execution(
        reader=SparseReader(graph.snapshot(), {}),
        params={},
        now=datetime.now(UTC),
        budget=Budget(),
        environment={},
    )
    frame = lower(run, plan, spark, SLICES, expected=expected).matches.frame
    text = str(frame._jdf.queryExecution().optimizedPlan().toString())
    return re.sub(r"#\d+L?", "", text)


def test_few_expected_rows_are_sent_to_the_tasks_that_read_many(
    graph: Graph, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    by_tasks(monkeypatch)
    monkeypatch.setattr(lowering, "FEW_ROWS", 0)
    monkeypatch.setattr(lowering, "_MANY_TIMES", 0)
    text = "query q() { match { $p knows $q } return { $p.name as p, $q.slug as q } }"
    (plan,) = compile_queries(Source("query.gq", text), graph.snapshot().catalog).values()
    assert isinstance(plan, ReadPlan)
    many = 2 * lowering._MOST_SENT

    plans = [_plan_on_spark(graph, plan, spark, [rows] * len(plan.operators)) for rows in (1, many)]

    assert ["broadcast" in each for each in plans] == [True, False]
