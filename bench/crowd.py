"""Crowd: a graph with many branches, each a few commits ahead of where all of them started."""

from pathlib import Path

import pyarrow as pa

from omnigraph import Graph, init
from omnigraph.versioning.commit import Commit, CommitKind
from omnigraph.versioning.heads.head import Head
from omnigraph.versioning.manifest.records import commit_rows
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.writes import Append, WriteSet, stage

PERSON = "node:Person"
SCHEMA = """
node Person { name: String @key  age: I64  city: String }
node City { name: String @key }
edge Lives: Person -> City
"""
ADD = """query add($name: String, $age: I64) {
  insert Person { name: $name, age: $age, city: "north" }
}"""
ROWS, BEFORE, STEPS = 1_000, 30, 3
_AT_A_TIME = 250


def make_crowd(root: Path, branches: int) -> Graph:
    """Make a graph whose main has some commits, and from there on branches of three commits each.

    The commits of many branches go into the manifest together, which is a hundred times as quick as
    one by one and leaves the same rows and heads.
    """
    graph = init(root, SCHEMA, durable=False)
    graph.load(_people(ROWS), type="Person", engine="inline")
    for number in range(BEFORE):
        graph.mutate(ADD, name=f"m{number}", age=number)
    start = graph.repository.snapshot()
    for first in range(0, branches, _AT_A_TIME):
        numbers = range(first, min(first + _AT_A_TIME, branches))
        _publish(graph, [_branch(graph, start, number) for number in numbers])
    manifest = graph.repository.manifest
    manifest.compact(manifest.newest())
    return graph


def name_of(number: int) -> str:
    """Return the name of a branch."""
    return f"task/{number:05d}"


def _people(count: int) -> pa.Table:
    names = [f"p{number}" for number in range(count)]
    return pa.table({"name": names, "age": list(range(count)), "city": ["south"] * count})


def _branch(graph: Graph, start: Snapshot, number: int) -> list[Commit]:
    repository, name, at = graph.repository, name_of(number), start
    made = []
    for step in range(STEPS):
        table, row_id = at.table(PERSON), f"b{number}-{step}"
        row = pa.table({"id": [row_id], "name": [row_id], "age": [number], "city": ["west"]})
        rows = row.select(table.schema.names).cast(table.schema)
        staged = stage(WriteSet(base=at, writes={PERSON: (Append(rows),)}), name)
        commit = Commit(
            id=repository.clock.ulid(),
            parents=(at.commit.id,),
            branch=name,
            version=at.commit.version + 1,
            kind=CommitKind.WRITE,
            created_at=repository.clock.time(),
            operation_id=repository.clock.ulid(),
            schema=at.commit.schema,
            tables={**at.commit.tables, **staged.tables},
        )
        made.append(commit)
        at = repository.pin(commit)
    return made


def _publish(graph: Graph, branches: list[list[Commit]]) -> None:
    repository = graph.repository
    manifest = repository.manifest
    at = manifest.fold(manifest.newest())
    rows = [commit_rows(each, [PERSON], at.schema) for commits in branches for each in commits]
    added = repository.tables.add_rows(at, pa.concat_tables(rows))
    fragment = max(each.fragment_id for each in added.dataset.get_fragments())
    tips = [commits[-1] for commits in branches]
    heads = {each.branch: Head(each.branch, each.id, each.version, fragment) for each in tips}
    manifest.flip(manifest.newest(), heads)
