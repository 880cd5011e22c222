"""What is copied of a table is read by Spark alone, and is as good as the table."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from omnigraph.api.graph import Graph
from omnigraph.data.derived.topology import Topology
from omnigraph.read.sparse_reader import SparseReader
from tests.engine.asking import made
from tests.pipeline.loads import node

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from omnigraph.read.spark.copies import CopyFrame

SCHEMA = "node Person { slug: String @key }\nedge Knows: Person -> Person"
PAIRS = [("ana", "bo"), ("ana", "bo"), ("chie", "bo"), ("bo", "ana")]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A graph whose table of edges is copied."""
    people = [node("Person", slug=name) for name in ("ana", "bo", "chie")]
    edges = [f'{{"edge": "Knows", "from": "{one}", "to": "{other}"}}' for one, other in PAIRS]
    return made(tmp_path_factory.mktemp("copied"), SCHEMA, *people, *edges)


@pytest.fixture
def most_held() -> int:
    """Up to how many rows this process makes a copy; tasks make the others."""
    return 0


@pytest.fixture
def copied(
    graph: Graph,
    spark: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    most_held: int,
) -> "Callable[[], CopyFrame | None]":
    """The pairs of the edges from a copy, whose scan needs no task in Python."""
    from omnigraph.read.spark import copies as module
    from omnigraph.read.spark.copies import Copied, Copies

    monkeypatch.setattr(module, "_MOST_HELD", most_held)

    copies = Copies(tmp_path / "_copies", Topology(0), is_writable=True)
    reader = SparseReader(graph.snapshot(), {})
    what = Copied(reader.stored("Knows"), reader.table("Knows"), ("dst", "src"), once=True)

    def scan() -> "DataFrame":
        return spark.createDataFrame(
            [(end, start) for start, end in PAIRS], "dst string, src string"
        )

    return lambda: copies.frame(spark, what, len(PAIRS), scan)


def test_the_second_scan_is_copied_with_each_pair_once_and_the_most_of_a_node(
    copied: "Callable[[], CopyFrame | None]",
) -> None:
    assert copied() is None, "one scan costs no more than a copy"

    found = copied()

    assert found is not None
    assert sorted(map(tuple, found.frame.collect())) == sorted({pair[::-1] for pair in PAIRS})
    assert found.most == (1, 2), "nobody knows two, and two know bo"


@pytest.mark.parametrize("most_held", [len(PAIRS)])
def test_few_rows_are_copied_at_once_with_each_pair_once_and_the_most_of_a_node(
    copied: "Callable[[], CopyFrame | None]",
) -> None:
    found = copied()

    assert found is not None
    assert sorted(map(tuple, found.frame.collect())) == sorted({pair[::-1] for pair in PAIRS})
    assert found.most == (1, 2), "nobody knows two, and two know bo"


@pytest.mark.parametrize("most_held", [len(PAIRS)])
def test_the_checksums_of_a_copy_are_those_that_hadoop_would_write(
    copied: "Callable[[], CopyFrame | None]", spark: "SparkSession", tmp_path: Path
) -> None:
    copied()
    file = next((tmp_path / "_copies").glob("*/*.parquet"))
    jvm = spark._jvm
    assert jvm is not None
    local = jvm.org.apache.hadoop.fs.FileSystem.getLocal(jvm.org.apache.hadoop.conf.Configuration())
    path = jvm.org.apache.hadoop.fs.Path

    local.copyFromLocalFile(path(f"file://{file}"), path(f"file://{tmp_path}/again"))

    own = file.with_name(f".{file.name}.crc")
    assert own.read_bytes() == (tmp_path / ".again.crc").read_bytes()


def test_a_copy_that_was_cut_is_made_again(
    copied: "Callable[[], CopyFrame | None]", tmp_path: Path
) -> None:
    copied()
    copied()
    for file in (tmp_path / "_copies").glob("*/*.parquet"):
        file.write_bytes(file.read_bytes()[:-10])

    assert copied() is None
    found = copied()

    assert found is not None
    assert found.frame.count() == len(set(PAIRS))
