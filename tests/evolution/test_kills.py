"""A change of the schema that is killed happened wholly or not at all, and can be done again."""

import random
import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from omnigraph.api.graph import open as open_graph
from omnigraph.evolve import migrate
from omnigraph.versioning.schema_lock import schema_lock
from tests.crashes.nursery import Nursery
from tests.evolution.nursery import MODULE
from tests.evolution.town import PEOPLE, SCHEMA, edited, renamed_type, rows

SCORE = "score: F64?"
KILLS = 6
SHAPES = {
    "renamed": renamed_type(
        "Person",
        "Human",
        edited(
            ("age: I32?", 'years: I32? @rename_from("age")'),
            ("since: I32?", "since: I32?  until: I32?"),
        ),
    ),
    "filled": edited((SCORE, f"{SCORE} @index\n  rank: I32 @default(3)")),
    "new types": f"{SCHEMA}node Dog {{ name: String @key }}\nedge Owns: Person -> Dog\n",
    "dropped": edited(
        ("  age: I32? @index\n", ""),
        ("edge Lives: Person -> City @card(0..1) { since: I32? }\n", ""),
    ),
}


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery(MODULE) as nursery:
        yield nursery


@pytest.fixture(autouse=True)
def short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a lock that a killed process left be taken over soon."""
    monkeypatch.setattr(migrate, "schema_lock", partial(schema_lock, lease=0.05))


def checked(root: Path, desired: str) -> bool:
    """Tell whether a schema was applied; what is there is whole, whatever happened."""
    reader = open_graph(root, read_only=True)
    applied = reader.schema == desired
    assert applied or reader.schema == SCHEMA
    for commit in reader.log():
        reader.at(commit.id).query("query q() { match { $c: City } return { $c.name } }")
    names = {row["id"] for row in rows(reader, "node:Person")}
    assert names == {f"p{number:02}" for number in range(PEOPLE)}
    columns = set(rows(reader, "node:Person")[0])
    assert columns == {"id", *reader.snapshot().catalog.by_identity["node:Person"].properties}
    return applied


def continued(root: Path, desired: str, applied: bool) -> None:
    """Open the graph for writing, write, and apply the schema if it was not."""
    graph = open_graph(root, durable=False)
    assert Path(root, "_schema.pg").read_text() == (desired if applied else SCHEMA)
    graph.mutate('query q() { insert City { name: "jena" } }')
    assert graph.apply_schema(desired, allow_data_loss=True).applied is not applied
    assert len(rows(graph, "node:City")) == 3
    assert checked(root, desired)
    assert Path(root, "_schema.pg").read_text() == desired
    assert graph.branches() == ["main"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_schema_killed_at_any_step_is_applied_or_not(
    shape: str, nursery: Nursery, place: Path, template: Path
) -> None:
    desired = SHAPES[shape]
    whole = place / "whole"
    shutil.copytree(template, whole)
    trace = nursery.answer("apply schema", root=str(whole), schema=desired)
    assert checked(whole, desired)
    flip = trace.index("head flipped")
    assert trace.index("schema locked") < flip < trace.index("schema shown")

    for cut in range(1, len(trace) + 1):
        root = place / f"cut{cut}"
        shutil.copytree(template, root)
        ended = nursery.do("apply schema", root=str(root), schema=desired, cut=cut)
        assert ended.was_killed
        applied = checked(root, desired)
        assert applied is (cut > flip), trace[cut - 1]
        continued(root, desired, applied)
        shutil.rmtree(root)


def widened(count: int) -> str:
    """Return the schema with so many more properties, each with its number as its default."""
    more = (f"x{each}: I32 @default({each})" for each in range(count))
    return edited((SCORE, "\n  ".join([SCORE, *more])))


def test_schemas_killed_at_any_moment_are_applied_one_after_the_other(
    nursery: Nursery, place: Path, template: Path
) -> None:
    chance = random.Random(3)
    root, acks = place / "graph", place / "acks"
    shutil.copytree(template, root)
    added = 0
    for _ in range(KILLS):
        schemas = [widened(added + more) for more in range(1, 41)]
        acks.unlink(missing_ok=True)
        pid = nursery.start("apply in turn", root=str(root), schemas=schemas, acks=str(acks))
        _await(acks)
        nursery.end(pid, kill_after=chance.uniform(0, 0.2))
        acknowledged = acks.read_text().count("\n")

        graph = open_graph(root, durable=False)
        with schema_lock(graph.repository, 0.05):
            pass  # so that the next one need not wait for the lock of the one that was killed
        properties = graph.catalog.nodes["Person"].properties
        now = sum(name.startswith("x") for name in properties)
        assert added + acknowledged <= now <= added + acknowledged + 1
        for row in rows(graph, "node:Person"):
            assert [row[f"x{each}"] for each in range(now)] == list(range(now))
        added = now
    assert added >= KILLS


def _await(path: Path) -> None:
    until = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < until, f"{path} never came"
        time.sleep(0.002)
