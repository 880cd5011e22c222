"""Checks: what must be true of a graph after a crash, told as a list of violations."""

from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import CommitCleanedError, GraphExistsError, GraphNotFoundError
from omnigraph.maintain.fsck import fsck
from omnigraph.storage import layout
from omnigraph.storage.store import store_at
from omnigraph.versioning.commit import Commit, CommitKind
from omnigraph.versioning.damage import Damage
from omnigraph.versioning.heads.layers import layers_of
from omnigraph.versioning.manifest.fresh import fresh_texts
from omnigraph.versioning.manifest.records import FORMAT, PRIMARY_KEY, stamp_of
from tests.crashes.model import FIRST, NOTHING, Content, Kind, Model, Operation, agrees, applied
from tests.crashes.workload import perform
from tests.sample import KNOWS, ages, edges

Verdict = dict[str, Any]  # {"violations": [...], "landed": which of the candidates it is}


def check(root: str, candidates: list[Model], following: list[Operation], depth: int) -> Verdict:
    """Open a graph twice and compare it with the models it may agree with.

    `following` holds, for each candidate, an operation that must succeed afterwards; without
    one, nothing is written. `depth` bounds how many commits of each branch are read.
    """
    found: list[str] = []
    files = _files(root)
    seen = _seen(root, depth, found, read_only=True)
    if _files(root) != files:
        found.append("opening for reading changed files")
    landed = next((at for at, each in enumerate(candidates) if agrees(seen, each)), None)
    if landed is None:
        return {"violations": [*found, f"neither all nor nothing: {seen} is none of {candidates}"]}
    if seen["branches"]:
        again = _seen(root, depth, found, read_only=False)
        if not agrees(again, candidates[landed]):
            found.append(f"opening for writing changed {seen} into {again}")
        _check_manifest(root, found)
    if following:
        _check_following(root, candidates[landed], following[landed], depth, found)
    return {"violations": found, "landed": landed}


def observed(graph: Graph, depth: int, found: list[str]) -> Model:
    """Read a graph as a model, and note what is wrong with it by itself.

    What a cleanup removed cannot be read; a branch never stands there.
    """
    seen: Model = {"branches": {}, "contents": {}}
    for branch in graph.branches():
        commits = list(graph.log(branch))
        _check_chain(branch, commits, found)
        _content(graph, commits[0], found)
        told = [each for each in commits if each.kind is not CommitKind.PHYSICAL]
        seen["branches"][branch] = [each.message or FIRST for each in reversed(told)]
        for commit in told[:depth]:
            message = commit.message or FIRST
            with suppress(CommitCleanedError):
                if message not in seen["contents"]:
                    seen["contents"][message] = _content(graph, commit, found)
    return seen


def _seen(root: str, depth: int, found: list[str], *, read_only: bool) -> Model:
    try:
        graph = open_graph(root, read_only=read_only)
    except GraphNotFoundError:
        return NOTHING
    return observed(graph, depth, found)


def _check_following(
    root: str, model: Model, operation: Operation, depth: int, found: list[str]
) -> None:
    graph = perform(root, None, operation)
    seen = observed(graph, depth, found)
    if not agrees(seen, applied(model, operation)):
        found.append(f"after {operation}: {seen} instead of {applied(model, operation)}")
    try:
        perform(root, None, Operation(Kind.INIT, 0))
        found.append("a second init was not refused")
    except GraphExistsError:
        pass


def _check_chain(branch: str, commits: list[Commit], found: list[str]) -> None:
    links = all(newer.parents == (older.id,) for newer, older in pairwise(commits))
    counted = [each.version for each in commits] == list(range(len(commits) - 1, -1, -1))
    if not (links and counted and not commits[-1].parents):
        found.append(f"the log of {branch} is no chain to the first commit: {commits}")


def _content(graph: Graph, commit: Commit, found: list[str]) -> Content:
    snapshot = graph.snapshot(commit.id)
    for key, state in commit.tables.items():
        rows = snapshot.table(key).scan(["id"]).num_rows
        if not state.row_count == rows == snapshot.table(key).count():
            found.append(f"{commit.id}: {key} has {rows} rows and not {state.row_count}")
    people = {slug: age or 0 for slug, age in ages(graph, commit.id).items()}
    links = sorted(f"{source}-{target}" for source, target in edges(graph, commit.id))
    for target in {name for _, name in edges(graph, commit.id)}:
        indexed = snapshot.table(KNOWS).scan(["id"], pc.field("dst") == target)["id"]
        if sorted(indexed.to_pylist()) != [each for each in links if each.endswith(f"-{target}")]:
            found.append(f"{commit.id}: the index of dst gives other rows than a scan")
    return {"people": people, "edges": links}


def _check_manifest(root: str, found: list[str]) -> None:
    """A graph that was opened for writing has the present format, whatever it was before."""
    newest = open_graph(root, read_only=True).repository.manifest.newest()
    mark = (newest.schema.field("object_id").metadata or {}).get(PRIMARY_KEY.encode())
    least = layout.SPILLED if layers_of(newest) else FORMAT
    least = layout.FRESH if fresh_texts(newest) else least
    if not least <= stamp_of(newest) <= layout.FRESH or mark != b"true":
        found.append(f"the manifest has format {stamp_of(newest)}, its key the mark {mark!r}")
    # The workload checks nothing, so its edges may end nowhere.
    told = (each for each in fsck(store_at(root)).findings if each.kind is not Damage.END_MISSING)
    found += [f"damage: {each}" for each in told]


def _files(root: str) -> set[str]:
    return {str(path) for path in Path(root).rglob("*")}


def schema_files(root: str) -> dict[str, bool]:
    """Tell which of the readable copies of the schema are there."""
    names = (layout.SCHEMA_SOURCE, layout.SCHEMA_IR)
    return {name: path.exists() for path, name in ((Path(root, each), each) for each in names)}
