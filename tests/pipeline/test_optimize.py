"""Optimize gives the same graph with either engine."""

from pathlib import Path

import pyarrow as pa

from omnigraph.versioning.writes import Append, DeleteRows
from tests.pipeline.loads import engine
from tests.sample import KNOWS, PERSON, ages, edges, knows, new_graph, people, write

__all__ = ["engine"]


def test_tasks_of_either_engine_write_fragments_and_segments(tmp_path: Path, engine: str) -> None:
    graph = new_graph(tmp_path / "graph")
    for first in range(0, 3_000, 600):
        rows: dict[str, int | None] = {f"p{n}": n % 90 for n in range(first, first + 600)}
        write(graph, {PERSON: (Append(people(rows)),)})
    write(graph, {KNOWS: (Append(knows([("p1", "p2")])),), PERSON: (DeleteRows(pa.array(["p3"])),)})
    before = ages(graph), edges(graph)

    done = graph.optimize(engine=engine)

    assert done.engine == engine
    assert done.commit is not None
    assert (ages(graph), edges(graph)) == before
    assert len(graph.snapshot().table(PERSON).dataset.get_fragments()) == 1
    assert {each.pending for each in graph.coverage()} == {0}
    assert graph.fsck().findings == ()
    assert graph.optimize(engine=engine).commit is None
