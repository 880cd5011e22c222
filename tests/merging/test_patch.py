"""What a diff from A to B says, done to A, gives B; whatever the schema, the values, the edits."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.api.graph import Graph
from omnigraph.data.values.columns import with_timestamps
from omnigraph.merge.compare.row_change import Change
from omnigraph.schema.catalog import Catalog, StoredType, field_name
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.writes import DeleteRows, Overwrite, TableWrite, Upsert
from tests.engine.worlds import World, random_data, random_world
from tests.sample import write

BRANCHES = ("main", "draft")
EDITS = 14

Rows = dict[str, dict[str, object]]


@settings(max_examples=6)
@given(seed=st.integers(0, 2**32))
def test_a_diff_is_a_patch(seed: int) -> None:
    random = Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="omnigraph-patch-"))
    try:
        world = random_world(random)
        graph = world.graph(folder / "g")
        points = edited(graph, world, random)
        for old, new in [(random.choice(points), random.choice(points)) for _ in range(8)]:
            check(graph, old, new)
        check(graph, *BRANCHES)
    finally:
        shutil.rmtree(folder)


def types_of(catalog: Catalog) -> list[StoredType]:
    return [*catalog.nodes.values(), *catalog.edges.values()]


def edited(graph: Graph, world: World, random: Random) -> list[str]:
    """Change two branches at random, often enough for their fragments to be folded."""
    graph.create_branch("draft")
    points = [graph.snapshot().commit.id]
    types = types_of(world.catalog)
    others = list(other_worlds(graph, world, random))
    for _ in range(EDITS):
        branch, stored = random.choice(BRANCHES), random.choice(types)
        step = edit(graph.snapshot(branch), random.choice(others), random, stored)
        points.append(write(graph, {stored.identity: (step,)}, branch).id)
    return points


def other_worlds(graph: Graph, world: World, random: Random) -> Iterator[Snapshot]:
    """Return graphs of other values with the same schema, as branches that nobody compares."""
    first = list(graph.log())[-1].id
    for name in ("one", "two"):
        graph.create_branch(name, first)
        lines = World(world.schema, random_data(random, world.catalog)).lines()
        if lines:
            graph.load(lines, branch=name, engine="inline")
        yield graph.snapshot(name)


def edit(here: Snapshot, other: Snapshot, random: Random, stored: StoredType) -> TableWrite:
    """Put in rows of another graph, or take some out."""
    if random.random() < 0.3:
        ids = here.table(stored.identity).scan(["id"])["id"].to_pylist()
        return DeleteRows(pa.array([each for each in ids if random.random() < 0.4], pa.utf8()))
    rows = other.table(stored.identity).scan()
    some = rows.filter(pa.array([random.random() < 0.6 for _ in range(rows.num_rows)], pa.bool_()))
    return Overwrite(some) if random.random() < 0.2 else Upsert(some)


def content(graph: Graph, target: str, stored: StoredType) -> Rows:
    """Return the rows of a type by their ids, as a diff names their values."""
    rows = with_timestamps(graph.snapshot(target).table(stored.identity).scan())
    named = rows.rename_columns([field_name(stored, name) for name in rows.column_names])
    return {str(row["id"]): row for row in named.to_pylist()}


def check(graph: Graph, old: str, new: str) -> None:
    """Fail unless the diff is the smallest patch that makes the one into the other."""
    catalog = graph.snapshot(new).catalog
    found = graph.diff(old, new)
    changes = list(found)
    for stored in types_of(catalog):
        mine = [each for each in changes if each.type_name == stored.name]
        before, after = content(graph, old, stored), content(graph, new, stored)
        assert [repr(row) for row in patched(before, mine)] == [
            repr(after[each]) for each in sorted(after)
        ]
        assert len({each.id for each in mine}) == len(mine)
        for each in mine:
            check_change(each, before, after)
        counts = found.stats.get(stored.name, {})
        assert sum(counts.values()) == len(mine)
        for op, count in counts.items():
            assert count == sum(each.op == op for each in mine)


def patched(before: Rows, changes: list[Change]) -> list[dict[str, object]]:
    """Do what changes say, and give the rows by their ids."""
    rows = dict(before)
    for each in changes:
        if each.after is None:
            del rows[each.id]
        else:
            rows[each.id] = dict(each.after)
    return [rows[each] for each in sorted(rows)]


def check_change(change: Change, before: Rows, after: Rows) -> None:
    old, new = before.get(change.id), after.get(change.id)
    assert repr(change.before) == repr(old)
    assert repr(change.after) == repr(new)
    if old is not None and new is not None:
        differ = {name for name in old if repr(old[name]) != repr(new[name])}
        assert set(change.changed) == differ
        assert differ
