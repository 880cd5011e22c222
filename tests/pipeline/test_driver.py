"""Promise: what comes back from the tasks of a load does not grow with its rows."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import ViolationsError
from omnigraph.spark import choice
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.spark.runner import Enough, InlineRunner, Parcel
from omnigraph.write.load import checks, replaced
from omnigraph.write.load import load as loading
from omnigraph.write.load.sources import splits
from tests.pipeline.loads import edge, node, written
from tests.templates import fresh_graph

Item = TypeVar("Item")
Found = TypeVar("Found")

SCHEMA = """
node Person { slug: String @key  email: String? @unique  age: I64? }
edge Knows: Person -> Person
"""
SPLITS = 4
# What docs/spark.md says a part of the input, a fragment and an index segment take.
PER_SPLIT = 1_000 + 3 * 450
PER_SEGMENT = 700


class Received(InlineRunner):
    """Runs tasks in this process, and counts the bytes in which their answers would come back."""

    answers = 0
    bytes = 0

    def map(
        self,
        task: Callable[[Item], Found],
        items: Sequence[Item],
        progress: Progress = NO_PROGRESS,
        enough: Enough[Found] | None = None,
    ) -> list[Found]:
        return [_counted(each) for each in super().map(task, items, progress, enough)]

    def map_reduce(
        self,
        task: Callable[[Item], Iterable[Parcel]],
        items: Sequence[Item],
        reduce: Callable[[Sequence[Parcel]], Found],
        progress: Progress = NO_PROGRESS,
        *,
        buckets: int,
    ) -> list[Found]:
        emit = InlineRunner(self.deadline)
        found = emit.map_reduce(task, items, reduce, progress, buckets=buckets)
        return [_counted(each) for each in found]


def _counted(answer: Found) -> Found:
    Received.answers += 1
    Received.bytes += len(pickle.dumps(answer))
    return answer


@pytest.fixture(autouse=True)
def received(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let loads run on a runner that counts, and every task carry back little."""
    monkeypatch.setattr(choice, "runner_for_files", lambda *_, **__: Received())
    monkeypatch.setattr(checks, "_FEW_VALUES", 0)
    monkeypatch.setattr(replaced, "_FEW_ROWS", 0)
    monkeypatch.setattr(loading, "_HELD_BYTES", 16 * 1_000)
    monkeypatch.setattr(splits, "_LEAST_SPLIT", 1)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fresh_graph(tmp_path / "graph", SCHEMA)


def lines(count: int, age: int) -> Iterator[str]:
    """Yield people and edges between them, alternately."""
    for number in range(count // 2):
        slug = f"p{number:06}"
        yield node("Person", slug=slug, email=f"{slug}@here", age=age)
        yield edge("Knows", slug, f"p{number // 2:06}")


def came_back(load: Callable[[], object]) -> tuple[int, int]:
    """Return how many answers tasks gave, and their bytes."""
    Received.answers = Received.bytes = 0
    load()
    return Received.answers, Received.bytes


@pytest.mark.parametrize("count", [400, 20_000])
def test_a_load_gets_back_what_its_fragments_and_segments_take(
    graph: Graph, tmp_path: Path, count: int
) -> None:
    first = written(tmp_path / "first.jsonl", *lines(count, 1))
    second = written(tmp_path / "second.jsonl", *lines(count, 2))

    appended = came_back(lambda: graph.load(first, engine="inline"))
    merged = came_back(lambda: graph.load(second, mode="merge", engine="inline"))

    # Splits, one bucket of values, segments of the indexes; and what is left of fragments.
    for answers, size in (appended, merged):
        assert answers <= SPLITS + 1 + 16
        assert size < SPLITS * PER_SPLIT + 16 * PER_SEGMENT


@pytest.mark.parametrize("count", [400, 20_000])
def test_a_refused_load_gets_back_no_more_where_every_row_is_bad(
    graph: Graph, tmp_path: Path, count: int
) -> None:
    edges = (edge("Knows", f"p{number:06}", "nobody") for number in range(count))
    path = written(tmp_path / "edges.jsonl", *edges)

    def load() -> None:
        with pytest.raises(ViolationsError) as raised:
            graph.load(path, engine="inline", report=tmp_path / "report.jsonl")
        assert raised.value.total == 2 * count

    _, size = came_back(load)

    assert size < 2 * SPLITS * PER_SPLIT


@pytest.mark.parametrize("count", [400, 20_000])
def test_a_load_of_broken_lines_gets_back_no_more(graph: Graph, tmp_path: Path, count: int) -> None:
    path = written(tmp_path / "broken.jsonl", *["{"] * count)

    def load() -> None:
        with pytest.raises(ViolationsError) as raised:
            graph.load(path, engine="inline", report=tmp_path / "report.jsonl")
        assert raised.value.total == count

    _, size = came_back(load)

    assert size < SPLITS * PER_SPLIT
