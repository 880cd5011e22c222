"""What a user has set for Spark does not change the answers of queries."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.api.graph import Graph
from omnigraph.read.spark import opening
from tests.engine.asking import made
from tests.engine.trial import by_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "node Person { slug: String @key  age: I32?  score: F64? }"
SCORES = "match { $p: Person } return { $p.slug as slug, $p.score as score }"
OFFENSIVE = {
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.legacy.followThreeValuedLogicInArrayExists": "false",
    "spark.sql.retainGroupColumns": "false",
}


@pytest.fixture
def graph(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Graph]:
    """A graph of which tasks read every table, in a Spark that was set up to leave things out."""
    by_tasks(monkeypatch)
    people = [
        {"slug": f"p{number}", "age": number % 3, "score": None if number % 4 else number / 2}
        for number in range(20)
    ]
    lines = [json.dumps({"type": "Person", "data": each}) for each in people]
    conf = spark._jsparkSession.sharedState().conf()
    opening._idle.clear()
    for name, value in OFFENSIVE.items():
        conf.set(name, value)
    yield made(tmp_path, SCHEMA, *lines)
    for name in OFFENSIVE:
        conf.remove(name)
    opening._idle.clear()


@pytest.mark.parametrize(
    "text",
    [
        "match { $p: Person  not $p.score in [2.0, 4.0] } return { $p.slug as slug }",
        "match { $p: Person } return { $p.age as age, sum($p.score) as score } order { age }",
    ],
    ids=["unknown", "groups"],
)
def test_a_query_means_the_same_whatever_is_set(graph: Graph, text: str) -> None:
    assert graph.at(engine="spark").query(text).table.equals(graph.at().query(text).table)


def _flip(folder: Path) -> None:
    for each in folder.glob("*.parquet"):
        content = bytearray(each.read_bytes())
        content[20] ^= 0xFF
        each.write_bytes(content)


@pytest.mark.parametrize("damage", [shutil.rmtree, _flip])
def test_rows_of_a_damaged_copy_are_not_left_out(
    graph: Graph, damage: Callable[[Path], None]
) -> None:
    stream = graph.at(engine="spark").stream(SCORES)
    for each in (Path(graph.uri) / "_copies").iterdir():
        damage(each)

    found = [row for batch in stream for row in batch.to_pylist()]

    assert found == graph.at().query(SCORES).table.to_pylist()
