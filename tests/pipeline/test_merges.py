"""A merge on Spark gives what a merge in this process gives."""

from dataclasses import replace
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.merge.bulk import make_task_merger
from omnigraph.merge.conflict import Resolutions, Side
from omnigraph.merge.options import MergeOptions
from omnigraph.spark.settings import SparkSettings
from tests.merging.test_bulk import outcome, quarrels, wandered
from tests.merging.village import OURS, THEIRS, village

pytestmark = pytest.mark.usefixtures("spark")
ON_SPARK = make_task_merger({"engine": "spark", "spark": SparkSettings(master="local[2]")})


def check_same(graph: Graph, side: Side | None) -> None:
    how = MergeOptions(resolutions=Resolutions(side))
    assert outcome(graph, replace(how, bulk=ON_SPARK)) == outcome(graph, how)


@pytest.mark.parametrize("side", [None, Side.THEIRS])
def test_rules_that_are_broken_together_are_told_and_settled(
    tmp_path: Path, side: Side | None
) -> None:
    graph = village(tmp_path)
    quarrels(graph)

    check_same(graph, side)


def test_branches_of_random_types_and_values_that_crossed_are_merged(tmp_path: Path) -> None:
    check_same(wandered(tmp_path / "g", 1), Side.OURS)


def test_a_merge_says_on_which_engine_it_runs(tmp_path: Path) -> None:
    graph = village(tmp_path)
    quarrels(graph)

    done = graph.merge(THEIRS, OURS, resolutions="ours", engine="spark")

    assert str(done.outcome) == "merged"
    assert {
        row["p.slug"]
        for row in graph.query("query q() { match { $p: Person } return { $p.slug } }")
    } == {"ada", "bob", "dan"}
