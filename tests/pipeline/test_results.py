"""A result becomes a DataFrame of Spark, and a DataFrame of Spark becomes rows."""

from pathlib import Path
from typing import TYPE_CHECKING

from tests.api.people import QUERIES, people

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_result_becomes_a_spark_frame_with_the_same_values(
    spark: "SparkSession", tmp_path: Path
) -> None:
    with people(tmp_path / "g") as graph:
        result = graph.query(QUERIES, "all")
        frame = result.to_spark(spark)
        rows = [each.asDict() for each in frame.orderBy("slug").collect()]
        there = result.to_dicts()
        names = [name for name in result.columns if name not in ("seen", "count")]
        assert [{n: row[n] for n in names} for row in rows] == [
            {n: row[n] for n in names} for row in there
        ]
        assert rows[0]["count"] == 2**64 - 1
        assert frame.selectExpr("unix_millis(seen)").first()[0] == 1706702400250

        draft = graph.create_branch("draft")
        renamed = frame.selectExpr("concat(slug, '2') as slug", "name", "age", "seen")
        draft.load(renamed, type="Person")
        copied = {row["slug"]: row for row in draft.query(QUERIES, "all")}
        assert copied["ana2"]["seen"] == copied["ana"]["seen"]


def test_whole_nodes_become_structs_of_spark(spark: "SparkSession", tmp_path: Path) -> None:
    with people(tmp_path / "g") as graph:
        frame = graph.query(QUERIES, "whole", slug="ana").to_spark(spark)
        assert frame.select("p.slug", "p.count").first() == ("ana", 2**64 - 1)
        assert graph.query(QUERIES, "person", slug="nobody").to_spark(spark).count() == 0
