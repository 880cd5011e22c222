"""What a load leaves behind is few fragments, every one of them indexed, and little memory used."""

import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.storage.table import Table
from omnigraph.write.load import stage
from omnigraph.write.load.sources import splits as sources
from tests.pipeline.loads import engine, node, rows, text, written

__all__ = ["engine"]

SCHEMA = """
node Page {
  slug: String @key
  title: String @index
  rank: I32 @index
  note: String?
}
edge Links: Page -> Page
"""
PAGE = "node:Page"
FILES, PAGES = 6, 400


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return init(tmp_path / "graph", SCHEMA, durable=False)


def page(number: int, word: str = "stone") -> str:
    return node("Page", slug=f"p{number:05}", title=f"{word} number{number}", rank=number)


def pages(folder: Path, word: str = "stone", count: int = PAGES) -> list[Path]:
    """Write pages in several files, each of which becomes a piece."""
    return [
        written(
            folder / f"{word}-{file}.jsonl",
            *(page(number, word) for number in range(file * count, (file + 1) * count)),
        )
        for file in range(FILES)
    ]


def uncovered(table: Table) -> dict[str, set[int]]:
    """Return the fragments that an index lacks, by the name of the index."""
    fragments = {each.fragment_id for each in table.dataset.get_fragments()}
    described = table.dataset.describe_indices()
    return {
        each.name: fragments - {number for part in each.segments for number in part.fragment_ids}
        for each in described
    }


def found(table: Table, words: str) -> set[str]:
    """Return the ids of the pages whose title holds a word."""
    query = table.dataset.scanner(["id"], full_text_query={"query": words, "columns": ["title"]})
    return set(map(str, query.to_table()["id"]))


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_every_index_covers_every_new_fragment(
    graph: Graph, tmp_path: Path, engine: str, mode: str
) -> None:
    graph.load(text(page(0, "old"), page(99_999, "old")), engine="inline")
    files = pages(tmp_path)
    if mode == "append":
        files = files[1:]

    graph.load(files, mode=mode, engine=engine)

    table = graph.snapshot().table(PAGE)
    names = {"id_btree", "slug_btree", "title_inverted", "rank_btree"}
    assert uncovered(table) == {name: set() for name in names}
    kept = {"append": 2, "merge": 1, "overwrite": 0}[mode]
    assert table.count() == len(files) * PAGES + kept
    assert found(table, "number1234") == {"p01234"}
    assert len(found(table, "stone")) == len(files) * PAGES
    assert len(found(table, "old")) == kept


def test_a_text_search_finds_rows_of_the_smallest_load_at_once(graph: Graph) -> None:
    for number in range(6):
        graph.load(page(number, f"word{number}"), engine="inline")

    table = graph.snapshot().table(PAGE)
    assert [found(table, f"word{number}") for number in range(6)] == [
        {f"p{number:05}"} for number in range(6)
    ]


def test_a_load_leaves_few_fragments_however_many_files_it_had(
    graph: Graph, tmp_path: Path
) -> None:
    files = [written(tmp_path / f"{number}.jsonl", page(number)) for number in range(60)]

    graph.load(files, engine="inline")

    table = graph.snapshot().table(PAGE)
    assert len(table.dataset.get_fragments()) == 1
    assert [row["rank"] for row in rows(graph, PAGE)] == list(range(60))


def test_many_small_loads_leave_few_fragments(graph: Graph) -> None:
    for number in range(30):
        graph.load(page(number), engine="inline")

    table = graph.snapshot().table(PAGE)
    assert len(table.dataset.get_fragments()) <= 8
    assert table.count() == 30


def test_rows_beyond_the_size_of_a_buffer_become_several_pieces(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "_MOST_BUFFERED", 100_000)
    monkeypatch.setattr(sources, "_BLOCK_BYTES", 100_000)
    notes = [
        node("Page", slug=f"p{number:05}", title="t", rank=number, note="x" * 1000)
        for number in range(3000)
    ]

    graph.load(written(tmp_path / "pages.jsonl", *notes), engine="inline")

    table = graph.snapshot().table(PAGE)
    assert uncovered(table)["rank_btree"] == set()
    assert sorted(table.scan(["rank"])["rank"].to_pylist()) == list(range(3000))


MEASURED = """
import re, sys
from pathlib import Path
from omnigraph.api.graph import open
from omnigraph.write.load.sources import splits as sources

sources._MOST_SPLIT = sources._LEAST_SPLIT
open(sys.argv[1], durable=False).load(Path(sys.argv[2]), engine="inline")
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def test_memory_does_not_grow_with_the_size_of_the_file(tmp_path: Path) -> None:
    peaks = []
    for size in (40, 160):
        graph = init(tmp_path / f"graph{size}", "node Page { slug: String @key  note: String }")
        path = tmp_path / f"{size}.jsonl"
        lines = (node("Page", slug=f"p{number}", note="x" * 1000) for number in range(size * 1000))
        path.write_text("\n".join(lines))
        command = [sys.executable, "-c", MEASURED, graph.uri, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout) >> 10)

    small, large = peaks
    assert large < small + 80, f"{small} MiB for 40 MB and {large} MiB for 160 MB"
