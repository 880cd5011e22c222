"""Workload: does operations on a graph, acknowledges each, and kills itself at a durable step.

`python -m tests.crashes.workload ROOT --acks FILE --cut N write:1 'create branch:2:main:draft'`
does the operations in turn and dies by SIGKILL right after the N-th durable step.
"""

import argparse
import os
import shutil
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa

from omnigraph.api.access import Access
from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.api.local.backend import LocalBackend
from omnigraph.storage import layout, steps
from omnigraph.storage.store import store_at
from omnigraph.storage.tables import Tables
from omnigraph.versioning.manifest import fresh
from omnigraph.versioning.manifest.manifest import Manifest
from omnigraph.versioning.manifest.records import new_manifest
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.ulid import Clock
from omnigraph.versioning.writes import Append, DeleteRows, Overwrite, TableWrite, Upsert
from tests.crashes.model import Kind, Operation, edge, person
from tests.sample import KNOWS, PERSON, knows, new_graph, people, write


@dataclass(slots=True)
class Cut:
    """Counts the durable steps and kills the process at one of them, if there are so many."""

    at: int | None = None
    trace: list[str] = field(default_factory=list)

    def __call__(self, step: str) -> None:
        self.trace.append(step)
        if len(self.trace) == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def run(root: str, operations: Iterable[Operation], acks: str, cut: int | None) -> list[str]:
    """Do operations in turn, and give the durable steps when none of them was fatal."""
    steps.observer = observer = Cut(cut)
    graph: Graph | None = None
    for operation in operations:
        graph = perform(root, graph, operation)
        acknowledge(acks, operation)
    steps.observer = None
    return observer.trace


def perform(root: str, graph: Graph | None, operation: Operation) -> Graph:
    """Do one operation; the graph is opened unless a handle is given."""
    if operation.kind is Kind.INIT:
        return new_graph(root, durable=True)
    if graph is None or operation.kind is Kind.MIGRATE:
        graph = open_graph(root)
    match operation.kind:
        case Kind.CREATE_BRANCH:
            graph.create_branch(operation.other, operation.branch)
        case Kind.DELETE_BRANCH:
            graph.delete_branch(operation.branch)
        case Kind.RENAME_BRANCH:
            graph.rename_branch(operation.branch, operation.other)
        case Kind.WRITE | Kind.APPEND | Kind.OVERWRITE:
            write(graph, _writes(operation), operation.branch, message=operation.message)
        case Kind.OPTIMIZE:
            graph.optimize(operation.branch)
        case Kind.CLEANUP:
            graph.cleanup(keep=1, grace="0s", confirm=True)
        case Kind.SPILL:
            manifest = graph.repository.manifest
            manifest.spill(manifest.newest())
        case Kind.MIGRATE:
            pass
    return graph


def acknowledge(acks: str, operation: Operation) -> None:
    """Note that an operation was answered, so that the note outlives the process."""
    with Path(acks).open("a") as file:
        file.write(f"{operation.number}\n")
        file.flush()
        os.fsync(file.fileno())


def acknowledged(acks: str | Path) -> list[int]:
    """Return the numbers of the operations that were answered."""
    path = Path(acks)
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def make_first_format(root: str) -> None:
    """Make a graph as the first format had it: no primary key, no stamp; with three commits."""
    perform(root, None, Operation(Kind.INIT, 0))
    tables = Tables(store_at(root))
    first = Manifest(tables).head_commit("main", Manifest(tables).newest())
    shutil.rmtree(Path(root, layout.MANIFEST))
    rows = new_manifest(first)
    unmarked = rows.schema.field("object_id").remove_metadata()
    unstamped = {b"omnigraph:first_commit": first.id.encode()}
    schema = rows.schema.set(0, unmarked).with_metadata(unstamped)
    tables = Tables(store_at(root))
    assert tables.create_exclusively(layout.MANIFEST, rows.cast(schema))
    repository = Repository(store_at(root), tables, Manifest(tables), Clock(), read_only=False)
    graph = Graph(LocalBackend(Access.to(repository, keeps=True)))
    # There, a commit was no key, which the format tells.
    with patch.object(layout, "FRESH", layout.FORMAT), patch.object(fresh, "MOST_FRESH", 0):
        for number in (1, 2):
            perform(root, graph, Operation(Kind.WRITE, number))
        repository.manifest.fold(repository.manifest.newest())


def _writes(operation: Operation) -> dict[str, tuple[TableWrite, ...]]:
    number = operation.number
    new = people({person(number): number})
    link = knows([(person(number), "counter")])
    if operation.kind is Kind.APPEND:
        return {PERSON: (Append(new),), KNOWS: (Append(link),)}
    if operation.kind is Kind.OVERWRITE:
        all_people = people({"counter": number, person(number): number})
        return {PERSON: (Overwrite(all_people),), KNOWS: (Overwrite(link),)}
    changed = people({"counter": number, person(number - 1): -number})
    return {
        PERSON: (Upsert(changed), Append(new), DeleteRows(pa.array([person(number - 2)]))),
        KNOWS: (Upsert(link), DeleteRows(pa.array([edge(number - 2)]))),
    }


def _parsed(text: str) -> Operation:
    kind, number, *names = text.split(":")
    return Operation(Kind(kind), int(number), *names)


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root")
    parser.add_argument("operations", nargs="+", type=_parsed)
    parser.add_argument("--acks", required=True)
    parser.add_argument("--cut", type=int)
    given = parser.parse_args(arguments)
    run(given.root, given.operations, given.acks, given.cut)


if __name__ == "__main__":
    main()
