"""Answers do not depend on the road: cold or warm, old or new, folded, indexed or not."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from lance import LanceOperation
from lance.dataset import Index

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.api.local.backend import LocalBackend
from omnigraph.api.view import View
from omnigraph.data.derived import topology
from omnigraph.data.derived.topology import Topology
from omnigraph.read import dense_reader
from omnigraph.read.execution import Budget
from omnigraph.read.operators import order
from omnigraph.read.road import Road
from omnigraph.storage.table import Table
from omnigraph.versioning.writes import DeleteRows, StagedVersion, TableWrite
from tests.engine.trial import by_index, try_queries
from tests.engine.worlds import World, random_world
from tests.pipeline.loads import edge, node, text
from tests.sample import access_of, write

SEEDS = range(1_000, 1_003)
QUERIES = 40
LINES = 3


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cache_that_keeps_nothing_changes_no_answer(seed: int, tmp_path: Path) -> None:
    world = random_world(Random(seed))
    graph = world.graph(tmp_path / "g")

    check(world, cold(graph), seed)
    check(world, open_graph(graph.uri, read_only=True).at(), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_done_for_large_tables_changes_no_answer(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = random_world(Random(seed))
    graph = world.graph(tmp_path / "g")
    monkeypatch.setattr(dense_reader, "_LEAST_WHOLE", 4)
    monkeypatch.setattr(order, "_LEAST_CUT", 0)

    check(world, cold(graph), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_branches_and_old_commits_answer_as_what_they_hold(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    world = random_world(random)
    first = world.thinned(random)
    graph = first.graph(tmp_path / "g")
    old = graph.snapshot().commit.id
    graph.create_branch("draft")
    fewer = first.thinned(random)
    remove(graph, first, fewer, "draft")
    load_rest(graph, world, first)

    check(world, graph.at(), seed)
    check(fewer, graph.at("draft"), seed)
    check(first, graph.at(old), seed)
    check(world, graph.at("main"), seed + 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_small_writes_deletions_and_folds_change_no_answer(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    world = random_world(random)
    first = world.thinned(random)
    graph = first.graph(tmp_path / "g")

    load_rest(graph, world, first)
    check(world, graph.at(), seed)
    fewer = world.thinned(random)
    remove(graph, world, fewer)
    check(fewer, graph.at(), seed)
    load_rest(graph, world, fewer)
    check(world, graph.at(), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_derived_is_extended_by_small_commits_and_not_made_anew(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    world = random_world(random)
    graph = world.graph(tmp_path / "g")
    for name in (*world.catalog.nodes, *world.catalog.edges):
        stored = world.catalog.stored(name)
        assert stored is not None
        access_of(graph).topology.numbering(graph.snapshot().table(stored.identity))
    monkeypatch.setattr(topology, "_sort_rows", unexpected)

    for round_ in range(3):
        fewer = world.thinned(random)
        remove(graph, world, fewer)
        check(fewer, graph.at(), seed + round_)
        load_rest(graph, world, fewer)
        check(world, graph.at(), seed + round_)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_fresh_process_answers_from_what_an_earlier_one_left(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    world = random_world(random)
    graph = world.graph(tmp_path / "g")
    monkeypatch.setattr(topology, "_LEAST_STORED", 0)
    check(world, graph.at(), seed)
    fewer = world.thinned(random)

    monkeypatch.setattr(topology, "_LEAST_STORED", 10**9)
    check(world, open_graph(graph.uri, read_only=True).at(), seed)
    remove(graph, world, fewer)
    check(fewer, open_graph(graph.uri, read_only=True).at(), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_files_beside_the_graph_change_no_answer(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = random_world(Random(seed))
    graph = world.graph(tmp_path / "g")
    monkeypatch.setattr(topology, "_LEAST_STORED", 0)
    check(world, graph.at(), seed)
    files = sorted((tmp_path / "g" / "_topology").iterdir())
    for number, file in enumerate(files):
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) * (number % 4) // 4])

    check(world, open_graph(graph.uri).at(), seed)

    assert files


@pytest.mark.parametrize("seed", SEEDS)
def test_a_graph_without_its_indexes_answers_the_same(seed: int, tmp_path: Path) -> None:
    world = random_world(Random(seed))
    graph = world.graph(tmp_path / "g")
    snapshot = graph.snapshot()
    keys = list(snapshot.commit.tables)
    bare: dict[str, tuple[TableWrite, ...]] = {
        key: (StagedVersion(without_indexes(snapshot.table(key))),) for key in keys
    }

    write(graph, bare)

    assert not graph.snapshot().table(keys[0]).dataset.describe_indices()
    check(world, graph.at(), seed)


@pytest.mark.parametrize("seed", range(1_000, 1_012))
def test_looking_rows_up_by_index_changes_no_answer(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = random_world(Random(seed))
    graph = world.graph(tmp_path / "g")
    taken = by_index(monkeypatch)

    check(world, graph.at(), seed)

    assert taken.count(Road.INDEX) > QUERIES // 10


@pytest.mark.parametrize("seed", SEEDS)
def test_looking_rows_up_without_indexes_changes_no_answer(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = random_world(Random(seed))
    graph = world.graph(tmp_path / "g")
    snapshot = graph.snapshot()
    write(
        graph,
        {
            key: (StagedVersion(without_indexes(snapshot.table(key))),)
            for key in snapshot.commit.tables
        },
    )
    taken = by_index(monkeypatch)

    check(world, graph.at(), seed)

    assert taken.count(Road.INDEX) > QUERIES // 10


def test_sums_of_floats_do_not_depend_on_the_order_in_which_rows_came(tmp_path: Path) -> None:
    values = {
        "a": (0.1, 1),
        "b": (0.7, 7),
        "c": (0.7, 1),
        "d": (0.7, 8),
        "e": (0.7, 3),
        "f": (0.1, 2),
    }
    nodes = {slug: node("P", slug=slug, v=v) for slug, (v, _) in values.items()}
    edges = [
        edge("Likes", slug, other)
        for slug, (_, count) in values.items()
        for other in [f"t{number}" for number in range(count)]
    ]
    targets = [node("T", slug=f"t{number}") for number in range(8)]
    schema = (
        "node P { slug: String @key  v: F64 }  node T { slug: String @key }  edge Likes: P -> T"
    )
    sums = "query q() { match { $p: P  $p likes $_ } return { sum($p.v) as s, avg($p.v) as a } }"

    found = []
    for seed in range(8):
        order = Random(seed).sample(sorted(nodes), len(nodes))
        graph = init(tmp_path / str(seed), schema, durable=False)
        graph.load(text(*targets, nodes[order[0]]), engine="inline")
        graph.query(sums)
        for slug in order[1:]:
            graph.load(nodes[slug], engine="inline")
        graph.load(text(*edges), engine="inline")
        found.append(graph.query(sums).to_dicts())

    assert [each for each in found if each != found[0]] == []


def unexpected(*_: object) -> None:
    """Fail, because this should not be called."""
    pytest.fail("the rows of a table were numbered anew")


def check(world: World, view: View, seed: int) -> None:
    """Fail unless random queries give what the oracle gives."""
    assert try_queries(world, view, Random(seed), QUERIES).run == QUERIES


def cold(graph: Graph) -> View:
    """Return the graph with a cache that has room for one thing."""
    access = replace(access_of(graph), topology=Topology(0))
    return Graph(LocalBackend(access)).at(budget=Budget())


def load_rest(graph: Graph, world: World, known: World) -> None:
    """Load what a graph lacks, a few lines at a time, so that tables are folded."""
    there = set(known.lines().splitlines(keepends=True))
    missing = [line for line in world.lines().splitlines(keepends=True) if line not in there]
    for at in range(0, len(missing), LINES):
        graph.load("".join(missing[at : at + LINES]), engine="inline")


def remove(graph: Graph, before: World, after: World, branch: str = "main") -> None:
    """Delete what is not there afterwards."""
    nodes, edges = before.data.nodes, before.data.edges
    gone: dict[str, list[str]] = {
        before.catalog.nodes[name].identity: [x for x in ids if x not in after.data.nodes[name]]
        for name, ids in nodes.items()
    }
    for name, rows in edges.items():
        kept = {each.id for each in after.data.edges[name]}
        gone[before.catalog.edges[name].identity] = [e.id for e in rows if e.id not in kept]
    write(graph, {key: (DeleteRows(pa.array(ids)),) for key, ids in gone.items() if ids}, branch)


def without_indexes(table: Table) -> Table:
    """Return a version of the same rows that has no index."""
    removed = [
        Index(
            segment.uuid,
            index.name,
            [0],
            segment.dataset_version_at_last_update,
            segment.fragment_ids,
            0,
        )
        for index in table.dataset.describe_indices()
        for segment in index.segments
    ]
    return table._detached(LanceOperation.CreateIndex([], removed))
