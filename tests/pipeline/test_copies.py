"""Spark reads large tables from copies in Parquet, and does without them when they are gone."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.read.spark import copies
from tests.engine.asking import made
from tests.engine.trial import by_tasks, try_queries
from tests.engine.worlds import random_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person { slug: String @key  age: I32?  aGE: I64?  seen: DateTime?  wealth: U64? }
edge Knows: Person -> Person
"""
QUERY = """
match { $p knows $q  $p.age < $q.age }
return { $p.slug as p, $p.seen as s, $q.aGE as n, $q.wealth as w }
"""
QUERIES = 6


@pytest.fixture
def graph(spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """A graph of which tasks read every table; several edges join the same persons."""
    assert spark is not None
    by_tasks(monkeypatch)
    random = Random(11)
    persons = [
        {
            "slug": f"p{number:02}",
            "age": random.choice([None, *range(20, 30)]),
            "aGE": number,
            "seen": f"{random.choice((1066, 1582, 1900, 2026))}-01-31T12:00:00.{number:03}Z",
            "wealth": random.choice([0, 2**53 + 1, 2**64 - 1]),
        }
        for number in range(20)
    ]
    ends = [[f"p{random.randrange(20):02}" for _ in range(2)] for _ in range(50)]
    lines = [{"type": "Person", "data": each} for each in persons]
    edges = [{"edge": "Knows", "from": one, "to": other} for one, other in [*ends, *ends[:20]]]
    return made(tmp_path, SCHEMA, *map(json.dumps, [*lines, *edges]))


def test_the_first_query_of_a_table_makes_a_copy_with_the_same_rows(graph: Graph) -> None:
    expected = graph.at().query(QUERY).table

    for _ in range(2):
        assert graph.at(engine="spark").query(QUERY).table.equals(expected)
        assert len(_folders(graph)) == 3, "two of persons, and one of pairs"


def test_the_second_query_of_a_table_of_many_rows_lets_tasks_make_a_copy(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "_MOST_HELD", 0)
    expected = graph.at().query(QUERY).table

    for made_by_then in (0, 3, 3):
        assert graph.at(engine="spark").query(QUERY).table.equals(expected)
        assert len(_folders(graph)) == made_by_then, "two of persons, and one of pairs"


@pytest.mark.parametrize("most_held", [0, 1_000])
def test_queries_of_copies_give_the_rows_of_the_oracle(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_held: int
) -> None:
    assert spark is not None
    by_tasks(monkeypatch)
    monkeypatch.setattr(copies, "_MOST_HELD", most_held)
    monkeypatch.setattr(copies, "_SCANS", 0)  # the first query makes them
    random = Random(31)
    world = random_world(random)
    graph = world.graph(tmp_path / "g")

    tally = try_queries(world, graph.at(engine="spark"), random, QUERIES)

    assert tally.run == QUERIES
    assert _folders(graph)


def _cut(folder: Path) -> None:
    for each in folder.glob("*.parquet"):
        each.write_bytes(each.read_bytes()[:-10])


def _flip(folder: Path) -> None:
    for each in folder.glob("*.parquet"):
        content = bytearray(each.read_bytes())
        content[20] ^= 0xFF
        each.write_bytes(content)


def _unlabel(folder: Path) -> None:
    (folder / "_copy.json").unlink()


@pytest.mark.parametrize("damage", [shutil.rmtree, _cut, _flip, _unlabel])
def test_a_damaged_copy_is_as_good_as_none(graph: Graph, damage: Callable[[Path], None]) -> None:
    expected = graph.at().query(QUERY).table
    assert graph.at(engine="spark").query(QUERY).table.equals(expected)
    for each in _folders(graph):
        damage(each)

    assert graph.at(engine="spark").query(QUERY).table.equals(expected)


def test_a_copy_that_vanishes_under_a_query_is_done_without(
    graph: Graph,
) -> None:
    expected = graph.at().query(QUERY).table
    stream = graph.at(engine="spark").stream(QUERY)
    for each in _folders(graph):
        shutil.rmtree(each)

    assert [row for batch in stream for row in batch.to_pylist()] == expected.to_pylist()


def test_a_branch_reads_the_copies_of_another_and_makes_those_of_its_own_versions(
    graph: Graph,
) -> None:
    graph.at(engine="spark").query(QUERY)
    branch = graph.create_branch("draft")
    before = _folders(graph)

    assert graph.at("draft", engine="spark").query(QUERY).table.num_rows
    assert _folders(graph) == before
    branch.load('{"type": "Person", "data": {"slug": "zoe", "age": 1}}')
    found = graph.at("draft", engine="spark").query(QUERY).table
    assert found.equals(graph.at("draft").query(QUERY).table)
    assert len(_folders(graph)) == len(before) + 2, "pairs are shared, persons are not"


def test_a_graph_that_is_only_read_uses_copies_and_makes_none(
    graph: Graph,
) -> None:
    reading = open_graph(graph.uri, read_only=True)

    expected = graph.at().query(QUERY).table
    assert reading.at(engine="spark").query(QUERY).table.equals(expected)
    assert not _folders(graph)


def test_cleanup_removes_the_copies_of_versions_that_are_gone(
    graph: Graph,
) -> None:
    graph.at(engine="spark").query(QUERY)
    (Path(graph.uri) / "_copies" / ".left").mkdir()
    (Path(graph.uri) / "_copies" / ".left" / "part").write_text("of a process that was killed")
    graph.load('{"type": "Person", "data": {"slug": "zoe", "age": 1}}')
    graph.at(engine="spark").query(QUERY)

    graph.cleanup(keep=1, grace="0s", confirm=True)

    left = [each for each in _folders(graph) if any(each.iterdir())]
    assert len(left) == 3
    assert not any(path.name.startswith(".left") for path in left)
    expected = graph.at().query(QUERY).table
    assert graph.at(engine="spark").query(QUERY).table.equals(expected)


def _folders(graph: Graph) -> list[Path]:
    folder = Path(graph.uri) / "_copies"
    return sorted(folder.iterdir()) if folder.exists() else []
