"""Storage: the cost of small commits, reads and branches as history and tables grow."""

import argparse
import gc
import resource
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.compute as pc

from bench.record import Derived, Timing, measure, over, seconds, store, timing
from omnigraph import Graph, init
from omnigraph.schema.arrow import arrow_schema
from omnigraph.versioning.publish import publish
from omnigraph.versioning.writes import Append, TableWrite, Upsert, WriteSet, stage

SCHEMA = """
node Person { slug: String @key  name: String @index  age: I32? @index }
edge Knows: Person -> Person
"""
WINDOW = 40


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--commits", type=int, default=5_000)
    options.add_argument("--types", type=int, default=50)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--branches", type=int, default=1_000)
    chosen = options.parse_args()
    findings: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        findings |= _history(Path(folder, "history"), chosen.commits)
        findings |= _durable(Path(folder, "durable"))
        findings |= _branches(Path(folder, "wide"), chosen.types, chosen.rows, chosen.branches)
    for name, found in findings.items():
        print(f"{name:48} {found}")
    path = store("storage", ["pylance", "pyarrow"], findings)
    print(f"stored in {path.relative_to(Path.cwd())}")


def _history(root: Path, commits: int) -> dict[str, object]:
    """Commit row after row: the time of a write and of a point read, early and late."""
    graph = init(root, SCHEMA, durable=False)
    peer = _raw_upsert(root.with_name("peer"), graph)
    checkpoints = sorted({50, commits // 10, commits // 2, commits})
    findings: dict[str, object] = {}
    times: list[float] = []
    reads: list[float] = []
    for number in range(1, commits + 1):
        times.append(seconds(partial(_upsert, graph, number)))
        if any(0 <= checkpoint - number < WINDOW for checkpoint in checkpoints):
            _point_read(graph, "p1")
            reads.append(seconds(lambda: _point_read(graph, "p1")))
        if number in checkpoints:
            findings[f"write_at_commit_{number}"] = timing(times[-WINDOW:])
            findings[f"point_read_after_{number}"] = timing(reads[-WINDOW:])
            findings[f"head_read_after_{number}"] = measure(graph.snapshot, runs=200, warm_up=10)
            findings[f"raw_lance_upsert_at_{number}"] = measure(peer, runs=WINDOW)
            findings[f"resident_mb_after_{number}"] = _resident_mb()
    first, last = checkpoints[0], checkpoints[-1]
    findings["write_last_over_first"] = _ratio(findings, "write_at_commit", last, first)
    findings["point_read_last_over_first"] = _ratio(findings, "point_read_after", last, first)
    findings["raw_lance_last_over_first"] = _ratio(findings, "raw_lance_upsert_at", last, first)
    findings["write_all"] = timing(times)
    return findings


def _durable(root: Path) -> dict[str, object]:
    graph = init(root, SCHEMA, durable=True)
    numbers = iter(range(1_000))
    written = measure(lambda: _upsert(graph, next(numbers)), runs=60, warm_up=10)
    return {"write_with_sync": written}


def _raw_upsert(root: Path, graph: Graph) -> Callable[[], object]:
    """Return the peer: one row replaced in a small Lance table by Lance's own upsert.

    It does not grow, so it tells how fast the machine is at the moment.
    """
    rows = _people(graph, 0)

    def upsert() -> None:
        dataset = lance.write_dataset(rows, str(root), mode="overwrite")
        merge = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(rows)

    return upsert


def _branches(root: Path, types: int, rows: int, branches: int) -> dict[str, object]:
    """Make and delete a branch of a graph with many large tables, then among many branches."""
    names = [f"T{number}" for number in range(types)]
    schema = "\n".join(f"node {name} {{ number: I64? }}" for name in names)
    graph = init(root, schema, durable=False)
    for name in names:
        key, arrow = f"node:{name}", arrow_schema(graph.catalog.nodes[name])
        ids = pc.cast(pa.array(range(rows)), pa.utf8())
        table = pa.table({"id": ids, "number": range(rows)}, schema=arrow)
        _publish(graph, {key: (Append(table),)})
    findings: dict[str, object] = {}
    findings |= _create_and_delete(graph, f"{types}_types_of_{rows}_rows")
    for number in range(branches):
        graph.create_branch(f"many/{number}")
    findings |= _create_and_delete(graph, f"{branches}_branches")
    shutil.rmtree(root)
    return findings


def _create_and_delete(graph: Graph, what: str) -> dict[str, object]:
    created, deleted = [], []
    for number in range(40):
        created.append(seconds(partial(graph.create_branch, f"b{number}")))
        deleted.append(seconds(partial(graph.delete_branch, f"b{number}")))
    return {f"create_branch_{what}": timing(created), f"delete_branch_{what}": timing(deleted)}


def _upsert(graph: Graph, number: int) -> None:
    _publish(graph, {"node:Person": (Upsert(_people(graph, number)),)})


def _publish(graph: Graph, writes: dict[str, tuple[TableWrite, ...]]) -> None:
    write_set = WriteSet(base=graph.snapshot(), writes=writes)
    publish(graph.repository, "main", stage(write_set, "main"))


def _people(graph: Graph, number: int) -> pa.Table:
    slug = f"p{number}"
    row = {"id": [slug], "slug": [slug], "name": [f"person number {number}"], "age": [number % 90]}
    return pa.table(row, schema=arrow_schema(graph.catalog.nodes["Person"]))


def _point_read(graph: Graph, slug: str) -> None:
    found = graph.snapshot().table("node:Person").scan(["age"], pc.field("id") == slug)
    assert found.num_rows == 1


def _ratio(findings: dict[str, object], name: str, last: int, first: int) -> Derived:
    later, earlier = findings[f"{name}_{last}"], findings[f"{name}_{first}"]
    assert isinstance(later, Timing)
    assert isinstance(earlier, Timing)
    return over(later, earlier)


def _resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


if __name__ == "__main__":
    main()
