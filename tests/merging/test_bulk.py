"""Large merges are done by tasks, a part of the rows at a time; what comes of it is the same."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import InputError, MergeConflictsError
from omnigraph.merge import stored_change
from omnigraph.merge.bulk import make_task_merger
from omnigraph.merge.conflict import Resolutions, Side
from omnigraph.merge.merge import merge, preview
from omnigraph.merge.options import MergeOptions
from omnigraph.merge.outcome import Merge
from omnigraph.merge.rowmerge import TypeMerge
from omnigraph.merge.stored_change import StoredChange
from omnigraph.spark.settings import SparkSettings
from omnigraph.storage.finding.delta import Extent
from omnigraph.versioning.writes import Upsert
from omnigraph.write.draft import TypeChange
from tests.changes.town import do
from tests.engine.worlds import World, random_world
from tests.merging.nursery import IN_PARTS
from tests.merging.statements import edge, part_ways, person, remove, update, weigh
from tests.merging.test_patch import edit, other_worlds, types_of
from tests.merging.village import OURS, THEIRS, part
from tests.sample import write

VALUE = "ValueConstraintViolation"
SIDES = [None, Side.OURS, Side.THEIRS]


def outcome(graph: Graph, how: MergeOptions) -> dict[str, Any]:
    """Merge the draft into a branch of its own that stands where main does.

    Gives all that is known of the merge, and what it left.
    """
    into = f"copy{len(graph.branches())}"
    graph.create_branch(into)
    foreseen = shown(preview(graph.repository, THEIRS, into, how))
    if foreseen["merge_conflicts"]:
        with pytest.raises(MergeConflictsError) as refused:
            merge(graph.repository, THEIRS, into, how)
        assert list(refused.value.documents) == foreseen["merge_conflicts"]
    else:
        done = merge(graph.repository, THEIRS, into, how)
        assert shown(done) == foreseen
    return {**foreseen, "left": everything(graph, into)}


def shown(found: Merge) -> dict[str, Any]:
    mine = ("commit", "target", "actor_id")
    return {name: each for name, each in found.to_json().items() if name not in mine}


def everything(graph: Graph, target: str) -> dict[str, list[str]]:
    """Return all rows, each as a text that tells the last bit."""
    snapshot = graph.snapshot(target)
    found = {}
    for key, state in snapshot.commit.tables.items():
        rows = snapshot.table(key).scan().sort_by("id")
        assert rows.num_rows == state.row_count
        found[key] = [repr(row) for row in rows.to_pylist()]
    return found


def wandered(folder: Path, seed: int) -> Graph:
    """Make a graph of a random schema whose two branches changed at random, and crossed."""
    random = Random(seed)
    world: World = random_world(random)
    graph = world.graph(folder)
    graph.create_branch(THEIRS)
    others = list(other_worlds(graph, world, random))
    for step in range(10):
        branch, stored = random.choice(["main", THEIRS]), random.choice(types_of(world.catalog))
        changed = edit(graph.snapshot(branch), random.choice(others), random, stored)
        write(graph, {stored.identity: (changed,)}, branch)
        if step == 5 and seed % 2:
            cross(graph)
    return graph


def cross(graph: Graph) -> None:
    """Merge both branches into each other as they are, so that they have two bases."""
    heads = [graph.snapshot(branch).commit.id for branch in ("main", THEIRS)]
    for branch, other in (("main", heads[1]), (THEIRS, heads[0])):
        try:
            graph.merge(other, branch, resolutions="ours")
        except MergeConflictsError:
            continue


@pytest.mark.parametrize("seed", range(6))
def test_a_merge_in_parts_gives_what_a_merge_in_memory_gives(seed: int, tmp_path: Path) -> None:
    graph = wandered(tmp_path / "g", seed)

    for side in SIDES:
        for strict in (False, True):
            how = MergeOptions(resolutions=Resolutions(side), strict=strict)
            assert outcome(graph, replace(how, bulk=IN_PARTS)) == outcome(graph, how)


def quarrels(graph: Graph) -> None:
    """Let two sides break every rule together, and change rows that go well together."""
    do(graph, 'insert Club { slug: "choir" }', edge("Hosts", "choir", "ada"))
    ours = [
        person("dan", email="x@x"),
        update("ada", age=1, name="one"),
        edge("Joined", "ada", "chess"),
        remove("cy"),
        part_ways("chess", "ada", "Hosts"),
    ]
    theirs = [
        person("eve", email="x@x"),
        update("ada", age=2),
        update("bob", name="B"),
        weigh("ada", "bob", 9),
        edge("Joined", "ada", "choir"),
        edge("Likes", "bob", "cy"),
        part_ways("chess", "bob", "Hosts"),
    ]
    part(graph, ours, theirs)


@pytest.mark.parametrize("side", SIDES)
def test_rules_that_are_broken_together_are_told_and_settled_in_parts_as_well(
    graph: Graph, side: Side | None
) -> None:
    quarrels(graph)
    how = MergeOptions(resolutions=Resolutions(side))

    found = outcome(graph, replace(how, bulk=IN_PARTS))

    assert found == outcome(graph, how)
    kinds = {each["kind"] for each in found["merge_conflicts"]}
    broken = {"DivergentUpdate", "OrphanEdge", "UniqueViolation", "CardinalityViolation"}
    assert kinds == (broken if side is None else set())


def test_what_was_settled_before_a_value_was_set_stays_settled_in_parts(graph: Graph) -> None:
    quarrels(graph)
    chosen = Resolutions(Side.OURS, values={("Person", "eve", "email"): "y@x"})
    how = MergeOptions(resolutions=chosen)

    found = outcome(graph, replace(how, bulk=IN_PARTS))

    assert found == outcome(graph, how)
    assert [row for row in found["left"]["edge:Joined"] if "choir" in row] == []
    assert any("y@x" in row for row in found["left"]["node:Person"])


PAIRS = {
    "one value twice": ([person("dan", email="x@x")], [person("eve", email="x@x")]),
    "a new edge to a node that is gone": ([remove("cy")], [edge("Likes", "bob", "cy")]),
    "a node that goes under a new edge": ([edge("Likes", "bob", "cy")], [remove("cy")]),
    "too many edges": ([edge("Joined", "ada", "chess")], [edge("Joined", "ada", "choir")]),
    "too few edges": ([part_ways("chess", "ada", "Hosts")], [part_ways("chess", "bob", "Hosts")]),
    "other values": ([person("dan", email="d@x")], [person("eve", email="e@x")]),
    "a node without edges goes": ([update("ada", age=1)], [remove("cy")]),
    "edges that may be": ([edge("Likes", "ada", "cy")], [edge("Joined", "bob", "choir")]),
    "a value that moves on": ([update("ada", age=1)], [update("bob", email="other@x")]),
}
BROKEN = list(PAIRS)[:5]


@pytest.mark.parametrize("few_gone", [0, 10])
@pytest.mark.parametrize("name", PAIRS)
def test_tasks_tell_whether_rules_hold_and_rows_are_held_only_where_they_do_not(
    graph: Graph, name: str, few_gone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_change, "_FEW_GONE", few_gone)
    held: list[str] = []
    read = StoredChange.read

    def noted(change: StoredChange) -> TypeChange:
        held.append(change.stored.name)
        return read(change)

    monkeypatch.setattr(StoredChange, "read", noted)
    do(graph, 'insert Club { slug: "choir" }', edge("Hosts", "choir", "ada"))
    part(graph, *PAIRS[name])

    found = outcome(graph, MergeOptions(bulk=IN_PARTS))

    assert bool(found["merge_conflicts"]) == bool(held) == (name in BROKEN)
    assert found == outcome(graph, MergeOptions())
    assert not list(Path(graph.uri, "_aside").glob("*"))


def test_a_row_that_breaks_a_rule_by_itself_is_told_in_parts_as_well(graph: Graph) -> None:
    graph.create_branch(THEIRS)
    do(graph, update("bob", age=1))
    rows = graph.snapshot(THEIRS).table("node:Person").scan().to_pylist()
    broken = [{**row, "age": 999} for row in rows if row["id"] == "ada"]
    schema = graph.snapshot().table("node:Person").schema
    upsert = Upsert(pa.Table.from_pylist(broken, schema=schema))
    write(graph, {"node:Person": (upsert,)}, THEIRS)

    for side, kinds in ((None, [VALUE]), (Side.THEIRS, [VALUE]), (Side.OURS, [])):
        how = MergeOptions(resolutions=Resolutions(side))
        found = outcome(graph, replace(how, bulk=IN_PARTS))
        assert found == outcome(graph, how)
        assert [each["kind"] for each in found["merge_conflicts"]] == kinds


def test_sides_for_properties_are_taken_or_refused_in_parts_as_well(graph: Graph) -> None:
    quarrels(graph)
    found = preview(graph.repository, THEIRS, "main", MergeOptions()).conflicts
    keys = [(each.type, each.row_id or "", each.property or "") for each in found]
    updated = [key for key, each in zip(keys, found, strict=True) if each.kind == "DivergentUpdate"]
    assert updated
    chosen = Resolutions(Side.OURS, properties=dict.fromkeys(updated, Side.THEIRS))
    how = MergeOptions(resolutions=chosen)
    pointless = Resolutions(Side.OURS, properties={("Person", "bob", "name"): Side.OURS})

    assert outcome(graph, replace(how, bulk=IN_PARTS)) == outcome(graph, how)
    with pytest.raises(InputError, match="name is not a conflict of this merge"):
        preview(
            graph.repository, THEIRS, "main", replace(how, bulk=IN_PARTS, resolutions=pointless)
        )


def test_a_preview_in_parts_writes_nothing(graph: Graph) -> None:
    quarrels(graph)
    files = sorted(Path(graph.uri).rglob("*"))

    preview(graph.repository, THEIRS, "main", MergeOptions(bulk=IN_PARTS))

    assert sorted(Path(graph.uri).rglob("*")) == files


def test_a_few_changes_in_a_large_old_table_are_merged_in_memory(graph: Graph) -> None:
    lines = "\n".join(
        f'{{"type": "Person", "data": {{"slug": "p{number}", "age": 1}}}}'
        for number in range(60_000)
    )
    graph.load(lines, engine="inline")
    graph.load(lines, mode="merge", engine="inline")
    part(graph, [update("p1", age=2)], [update("p2", age=3)])
    here, there = graph.snapshot(), graph.snapshot(THEIRS)
    base = graph.repository.pin(graph.merge_base("main", THEIRS))
    tables = [each.table("node:Person") for each in (base, here, there)]
    bulk = make_task_merger({"engine": "inline"})

    few = TypeMerge(here.catalog.nodes["Person"], (tables[0],), tables[1], tables[2])
    many = replace(few, bases=(graph.snapshot(first(graph)).table("node:Person"),))

    assert not bulk.takes(few)
    assert bulk.takes(many)


def first(graph: Graph) -> str:
    return [commit.id for commit in graph.log()][-2]


def test_few_rows_are_merged_in_this_process_however_large_they_are(graph: Graph) -> None:
    cluster = SparkSettings(master="spark://nowhere:7077")
    parts = replace(make_task_merger({"spark": cluster}), most_held=Extent())
    part(graph, [update("ada", age=1)], [update("bob", age=2)])

    done = merge(graph.repository, THEIRS, OURS, MergeOptions(bulk=parts))

    assert str(done.outcome) == "merged"
    assert done.commit is not None


def test_an_engine_that_does_not_exist_is_refused(graph: Graph) -> None:
    part(graph, [], [update("ada", age=1)])

    with pytest.raises(InputError, match="invalid engine 'cluster'"):
        graph.merge(THEIRS, engine="cluster")
