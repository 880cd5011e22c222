"""The pipeline loads into, reads from and writes out a graph whose schema changed."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.api.graph import Graph, init
from tests.evolution.town import PEOPLE, edited, renamed_type, rows, town
from tests.pipeline.loads import edge, node, text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCORE = "score: F64?"
SCHEMA = renamed_type(
    "Person",
    "Human",
    edited(
        ("age: I32?", 'years: I32? @rename_from("age")'),
        (SCORE, f"{SCORE}\n  rank: U32 @default(3)\n  tags: [String]?"),
        ("{ since: I32? }", '{ begun: I32? @rename_from("since")  note: String @default("x") }'),
    ),
)
AGAIN = SCHEMA.replace(' @rename_from("age")', "").replace("tags:", "age: String?\n  tags:")


@pytest.fixture
def evolved(tmp_path: Path) -> Graph:
    """A town after renames, new properties, and a name that is used again."""
    graph = town(tmp_path / "town")
    graph.apply_schema(SCHEMA)
    graph.apply_schema(AGAIN)
    return graph


def test_rows_are_loaded_after_a_change_of_the_schema(evolved: Graph, engine: str) -> None:
    evolved.load(
        text(
            node("Human", name="new", years=50, age="old", tags=["a"]),
            node("Human", name="p01", years=51, rank=9),
            edge("Lives", "new", "ulm", begun=4),
        ),
        mode="merge",
        engine=engine,
    )

    by_id = {str(row["id"]): row for row in rows(evolved, "node:Person")}
    assert len(by_id) == PEOPLE + 1
    assert [by_id["new"][name] for name in ("years", "age", "rank", "tags")] == [
        50,
        "old",
        3,
        ["a"],
    ]
    assert [by_id["p01"][name] for name in ("years", "age", "rank", "tags")] == [51, None, 9, None]
    assert [by_id["p02"][name] for name in ("years", "age", "rank", "tags")] == [2, None, 3, None]
    (lives,) = [row for row in rows(evolved, "edge:Lives") if row["src"] == "new"]
    assert (lives["begun"], lives["note"]) == (4, "x")


@pytest.mark.long
def test_spark_reads_every_commit_under_its_own_schema(
    evolved: Graph, spark: "SparkSession"
) -> None:
    first = list(evolved.log())[-2].id

    def read(type_name: str, **options: str) -> list[dict[str, object]]:
        reader = spark.read.format("omnigraph").option("path", evolved.uri)
        frame = reader.option("type", type_name).options(**options).load()
        return [row.asDict() for row in frame.orderBy("id").collect()]

    humans, people = read("Human"), read("Person", snapshot=first)
    assert [row["years"] for row in humans] == list(range(PEOPLE))
    assert {(row["age"], row["rank"], row["tags"]) for row in humans} == {(None, 3, None)}
    assert [row["age"] for row in people] == list(range(PEOPLE))
    assert set(people[0]) & {"years", "rank", "tags"} == set()
    assert {row["note"] for row in read("Lives")} == {"x"}


def test_an_export_after_a_change_of_the_schema_loads_back(evolved: Graph, tmp_path: Path) -> None:
    lines = b"".join(evolved.export()).decode()
    other = init(tmp_path / "other", AGAIN.replace('@rename_from("Person")', ""), durable=False)

    other.load(lines, engine="inline")

    types = {json.loads(line).get("type") for line in lines.splitlines()}
    assert {"Human", "City"} <= types
    assert "Person" not in types
    for name, key in (("node:Human", "node:Person"), ("edge:Lives", "edge:Lives")):
        mine, theirs = rows(evolved, key), rows(other, name)
        assert [{k: row[k] for k in sorted(row)} for row in mine] == [
            {k: row[k] for k in sorted(row)} for row in theirs
        ]


def test_files_of_an_export_have_the_new_names(evolved: Graph, tmp_path: Path) -> None:
    done = evolved.export_to(tmp_path / "out", format="parquet")

    import pyarrow.parquet as pq

    (humans,) = [file for file in done.files if "Human" in file]
    found = pq.read_table(humans)
    assert {"years", "age", "rank", "tags"} <= set(found.column_names)
    assert sorted(found["years"].to_pylist()) == list(range(PEOPLE))
