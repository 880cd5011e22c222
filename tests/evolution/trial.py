"""Trial: a random history of schemas and rows on several branches, compared with the model."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    DataLossError,
    MergeConflictsError,
    SchemaConflictError,
    UnsupportedMigrationError,
    ViolationsError,
)
from tests.evolution.model import EDITS, Model, Row, can_become, first_model, grown, lines

ROUNDS = 5
_MAIN = "main"


def run_history(seed: int, root: Path) -> Counter[str]:
    """Apply random schemas to branches that grow meanwhile; tells how many could be applied.

    At the end every branch, and every commit that was seen, is read by the handle that did it and
    by a new one.
    """
    random, tally = Random(seed), Counter[str]()
    model = first_model(random)
    graph = init(root, model.text(), durable=False)
    _load(graph, _MAIN, Model(), model)
    heads, seen = {_MAIN: model.accepted(Model())}, dict[str, Model]()
    for number in range(ROUNDS):
        branch = random.choice(list(heads))
        if random.random() < 0.3:
            graph.create_branch(f"b{number}", branch)
            heads[f"b{number}"], branch = heads[branch].copy(), f"b{number}"
        seen[graph.snapshot(branch).commit.id] = heads[branch]
        changed = _evolved(graph, branch, heads[branch], random, tally)
        heads[branch] = grown(changed, random)
        _load(graph, branch, changed, heads[branch])
        _check(graph, branch, heads[branch])
    for reader in (graph, open_graph(root, read_only=True)):
        for place, expected in {**heads, **seen}.items():
            _check(reader, place, expected)
    if len(heads) > 1:
        ours, theirs = random.sample(sorted(heads), 2)
        base = seen.get(graph.merge_base(ours, theirs).id)
        _merge(graph, (ours, heads[ours]), (theirs, heads[theirs]), base, tally)
    return tally


def _merge(
    graph: Graph,
    ours: tuple[str, Model],
    theirs: tuple[str, Model],
    base: Model | None,
    tally: Counter[str],
) -> None:
    """Merge two branches: nothing changes, or nothing that a side has is lost without a drop."""
    before = graph.snapshot(ours[0]).commit
    try:
        graph.merge(theirs[0], ours[0])
    except (SchemaConflictError, MergeConflictsError):
        tally["conflicts"] += 1
        assert graph.snapshot(ours[0]).commit == before
        return
    tally["merged"] += 1
    assert graph.fsck().is_sound
    for side, other in ((ours[1], theirs[1]), (theirs[1], ours[1])):
        _check_kept(graph, ours[0], side, other, base or Model())


def _check_kept(graph: Graph, place: str, side: Model, other: Model, base: Model) -> None:
    """Find every row and value of a side in what was merged, unless the other side dropped it.

    What a side wrote since the base is never among what the other dropped.
    """
    snapshot = graph.snapshot(place)
    for number, each in side.types.items():
        names = {each.name, other.types.get(number, each).name}
        named = [snapshot.catalog.stored(name) for name in sorted(names)]
        stored = next((found for found in named if found is not None), None)
        new = {key: row for key, row in side.rows[number].items() if key not in _rows(base, number)}
        if stored is None:
            assert number in base.types
            assert number not in other.types
            assert not new
            continue
        table = snapshot.table(stored.identity).scan().to_pylist()
        found = {row["id"]: row for row in table}
        theirs = {item.number: item.name for item in other.items(number)}
        for item in each.properties:
            name = item.name if item.name in stored.properties else theirs.get(item.number, "")
            if name not in stored.properties:
                assert item.number not in theirs
                assert all(row[item.number] is None for row in new.values())
                continue
            for key, row in side.rows[number].items():
                assert found[key][name] == row[item.number], (each.name, name, key)


def _rows(model: Model, number: int) -> dict[str, Row]:
    return model.rows.get(number, {})


def _evolved(graph: Graph, branch: str, model: Model, random: Random, tally: Counter[str]) -> Model:
    """Apply some edits and give the model that the branch has to agree with afterwards."""
    wanted = model.copy()
    edits = [random.choice(EDITS) for _ in range(random.randrange(1, 5))]
    for edit in edits:
        edit(wanted, random)
    can_apply = can_become(model, wanted)
    text, before = wanted.text(), _content(graph)
    plan = graph.plan_schema(text, branch)
    assert (plan.supported and not plan.violation_count) is can_apply, (edits, text, plan)
    assert _content(graph) == before
    tally["applied" if can_apply else "refused"] += 1
    if can_apply:
        if plan.drops:
            tally["drops"] += 1
            with pytest.raises(DataLossError):
                graph.apply_schema(text, branch)
        done = graph.apply_schema(text, branch, allow_data_loss=True)
        assert done.plan.steps == plan.steps
        assert graph.branch(branch).schema == text
        assert graph.plan_schema(text, branch).steps == ()
        return wanted.accepted(model)
    try:
        graph.apply_schema(text, branch, allow_data_loss=True)
    except (UnsupportedMigrationError, ViolationsError):
        assert _content(graph) == before
        return model
    raise AssertionError(f"applied: {edits} {text}")


def _check(graph: Graph, place: str, model: Model) -> None:
    """Compare every row, as tables and as queries have it, with the model."""
    snapshot = graph.snapshot(place)
    for number, each in model.types.items():
        stored = snapshot.catalog.stored(each.name)
        assert stored is not None
        wanted = model.stored(number)
        found = snapshot.table(stored.identity).scan().to_pylist()
        for row in found:
            for name in ("src", "dst", "key"):
                row.pop(name, None)
        assert sorted(found, key=lambda row: str(row["id"])) == wanted
        if each.ends is None:
            shown = (f"$x.{item.name} as {item.name}" for item in each.properties)
            what = ", ".join(["$x.key as id", *shown])
            asked = f"query q() {{ match {{ $x: {each.name} }} return {{ {what} }} }}"
            answered = graph.at(place).query(asked)
            assert sorted(answered, key=lambda row: str(row["id"])) == wanted


def _load(graph: Graph, branch: str, before: Model, after: Model) -> None:
    text = "\n".join(lines(before, after))
    if text:
        graph.load(text, branch=branch, engine="inline")


def _content(graph: Graph) -> dict[str, bytes]:
    """Return everything that lies in the graph's folder, but for the manifest with its lock."""
    root = Path(graph.uri)
    found = (each for each in root.rglob("*") if each.is_file() and "__manifest" not in each.parts)
    return {str(each.relative_to(root)): each.read_bytes() for each in found}
