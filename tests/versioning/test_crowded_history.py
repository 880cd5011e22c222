"""Where thousands of branches have commits, a walk reads those of its own branch."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit, CommitKind, TableState
from omnigraph.versioning.heads.head import Head
from omnigraph.versioning.history.history import containing, merge_bases
from omnigraph.versioning.manifest.commit_cache import CommitCache, most_like
from omnigraph.versioning.manifest.records import commit_rows
from omnigraph.versioning.writes import Upsert
from tests.sample import PERSON, new_graph, people, write

BRANCHES, STEPS, LONG = 800, 3, 60


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """A graph whose branches all start at one commit of main, with three commits each."""
    graph = new_graph(tmp_path_factory.mktemp("crowd") / "g")
    for age in range(5):
        write(graph, {PERSON: (Upsert(people({"ada": age})),)})
    repository, manifest = graph.repository, graph.repository.manifest
    start = repository.snapshot().commit
    made = [_branch(graph, start, f"task/{number}") for number in range(BRANCHES)]
    at = manifest.newest()
    rows = [commit_rows(commit, (), at.schema) for commits in made for commit in commits]
    repository.tables.add_rows(at, pa.concat_tables(rows))
    tips = [commits[-1] for commits in made]
    heads = {each.branch: Head(each.branch, each.id, each.version, 0) for each in tips}
    manifest.flip(manifest.newest(), heads)
    return graph


def _branch(graph: Graph, start: Commit, name: str, steps: int = STEPS) -> list[Commit]:
    clock, made = graph.repository.clock, [start]
    for _ in range(steps):
        made.append(
            replace(
                made[-1],
                id=clock.ulid(),
                parents=(made[-1].id,),
                branch=name,
                version=made[-1].version + 1,
                kind=CommitKind.WRITE,
            )
        )
    return made[1:]


def test_the_log_of_a_branch_in_a_crowd_is_whole_and_reads_few_others(crowd: Graph) -> None:
    fresh = open_graph(crowd.uri, read_only=True)

    found = list(fresh.log("task/400"))

    assert [commit.version for commit in found] == [8, 7, 6, 5, 4, 3, 2, 1, 0]
    assert {commit.branch for commit in found[:STEPS]} == {"task/400"}
    assert _commits_read(fresh, crowd) < 50


def test_branches_in_a_crowd_meet_where_they_parted(crowd: Graph) -> None:
    fresh = open_graph(crowd.uri, read_only=True)
    one, other = (fresh.snapshot(f"task/{each}").commit.id for each in (1, 2))

    (base,) = merge_bases(fresh.repository, one, other)

    assert base.id == fresh.snapshot().commit.id
    assert _commits_read(fresh, crowd) < 50


def test_commits_of_many_merged_branches_are_looked_up_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = new_graph(tmp_path / "g")
    start = graph.repository.snapshot().commit
    graph.create_branch("draft")
    _add_commits(graph, _merged(graph, start))
    looks: list[object] = []
    scan = Table.scan

    def counted(table: Table, *given: Any) -> pa.Table:
        looks.append(given)
        return scan(table, *given)

    monkeypatch.setattr(Table, "scan", counted)
    fresh = open_graph(graph.uri, read_only=True)

    (base,) = merge_bases(fresh.repository, fresh.snapshot().commit.id, start.id)

    assert base.id == start.id
    assert len(looks) < 4 * LONG
    assert _commits_read(fresh, graph) < 10


def _merged(graph: Graph, start: Commit) -> list[Commit]:
    """Return the commits of more branches than a page holds, and those by which main has them."""
    branches = [_branch(graph, start, f"task/{number}", LONG) for number in range(4_200 // LONG)]
    made, last = [each for commits in branches for each in commits], start
    for commits in branches:
        parents = (last.id, commits[-1].id)
        version = max(last.version, commits[-1].version) + 1
        ulid = graph.repository.clock.ulid()
        last = replace(start, id=ulid, parents=parents, version=version, kind=CommitKind.MERGE)
        made.append(last)
    return made


def _add_commits(graph: Graph, made: list[Commit]) -> None:
    """Add commits to the manifest; main stands at the last."""
    repository, manifest = graph.repository, graph.repository.manifest
    at, last = manifest.newest(), made[-1]
    rows = [commit_rows(commit, (), at.schema) for commit in made]
    repository.tables.add_rows(at, pa.concat_tables(rows))
    manifest.flip(manifest.newest(), {"main": Head("main", last.id, last.version, 0)})


def test_the_branches_that_contain_a_commit_are_found_in_a_crowd(crowd: Graph) -> None:
    repository = crowd.repository
    at = repository.manifest.newest()
    heads = repository.manifest.heads(at)
    step = next(iter(crowd.log("task/7", after=heads["task/7"].commit)))

    found = containing(repository, at, [step.id], heads.values())

    assert found == {step.id: heads["task/7"]}


def test_a_cache_keeps_what_was_used_last_and_counts_tables() -> None:
    cache, many = CommitCache(), list(_wide(3 * most_like(next(_wide(1)))))
    cache.add(many[:1])
    for first in range(1, len(many), 10):
        cache.add(many[first : first + 10])
        assert cache.get([many[0].id])

    kept = cache.get([each.id for each in many])

    assert many[-1].id in kept
    assert many[1].id not in kept
    assert len(kept) <= 2 * most_like(many[0]) + 1


def test_a_commit_that_is_asked_for_again_takes_no_more_room() -> None:
    cache, many = CommitCache(), list(_wide(most_like(next(_wide(1)))))
    for _ in range(3):
        cache.add(many)

    assert len(cache.get([each.id for each in many])) == len(many)


def _commits_read(fresh: Graph, crowd: Graph) -> int:
    every = crowd.repository.manifest.every_commit(crowd.repository.manifest.newest())
    return len(fresh.repository.manifest.cached(every))


def _wide(count: int) -> Iterator[Commit]:
    tables = {f"node:T{number}": TableState("nodes/x", 1, 0, "main") for number in range(300)}
    for number in range(count):
        yield Commit(
            id=str(number),
            parents=(),
            branch="main",
            version=number,
            kind=CommitKind.WRITE,
            created_at=0,
            operation_id="",
            schema="",
            tables=tables,
        )
