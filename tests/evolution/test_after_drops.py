"""After a drop and after what was dropped came back, everything else works as before."""

from pathlib import Path
from typing import Any

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import HeadMovedError
from omnigraph.evolve import migrate
from omnigraph.evolve.migrate import migrate_tables
from omnigraph.versioning.commit import TableState
from tests.evolution.test_drops import NO_AGE, NO_CITY, PERSON, change, dropped, effects
from tests.evolution.town import PEOPLE, SCHEMA, edited, rows

NO_LIVES = edited(("edge Lives: Person -> City @card(0..1) { since: I32? }\n", ""))
BARE = "node P { slug: String @key }\n"
KINDS = {
    "tags": "[String]?",
    "days": "[Date]?",
    "place": "Vector(3)? @index",
    "photo": "Blob?",
    "born": "DateTime?",
    "size": "U64?",
    "open": "Bool?",
}
VALUES = {
    "tags": ["a", "b"],
    "days": ["2024-01-02"],
    "place": [1.0, 2.0, 3.0],
    "photo": "base64:AAEC",
    "born": "2024-01-02T03:04:05Z",
    "size": 7,
    "open": True,
}


def whole(kinds: dict[str, str]) -> str:
    body = "".join(f"  {name}: {kind}\n" for name, kind in kinds.items())
    return f"node Thing {{\n  name: String @key\n{body}}}\n"


@pytest.mark.parametrize("name", KINDS)
def test_a_property_of_every_kind_comes_back(tmp_path: Path, name: str) -> None:
    graph = init(tmp_path / "g", whole(KINDS), durable=False)
    graph.load([{"name": "a", **VALUES}, {"name": "b"}], type="Thing", engine="inline")
    before = rows(graph, "node:Thing")
    others = {each: kind for each, kind in KINDS.items() if each != name}

    dropped(graph, whole(others))
    graph.load([{"name": "c"}], type="Thing", engine="inline")
    kept = [{each: row[each] for each in ("id", *others)} for row in before]
    found = rows(graph, "node:Thing")[:2]
    assert [{each: row[each] for each in ("id", *others)} for row in found] == kept
    graph.apply_schema(whole(KINDS))

    assert rows(graph, "node:Thing")[:2] == before
    assert rows(graph, "node:Thing")[2][name] is None
    graph.apply_schema(whole(KINDS).replace("}\n", "  more: String?\n}\n"))
    graph.load([{"name": "d", **VALUES}], type="Thing", engine="inline", mode="merge")
    assert rows(graph, "node:Thing")[3][name] == before[0][name]


@pytest.mark.parametrize("is_back", [False, True])
@pytest.mark.parametrize("schema", [NO_AGE, NO_CITY])
def test_a_graph_is_sound_and_kept_well_after_a_drop(
    graph: Graph, tmp_path: Path, schema: str, is_back: bool
) -> None:
    first = graph.snapshot().commit.id
    dropped(graph, schema)
    change(graph, 'update Person set { mood: "sad" } where name = "p03"')
    if is_back:
        graph.apply_schema(SCHEMA)
    before = rows(graph, PERSON)

    graph.optimize()
    assert graph.fsck().is_sound
    assert rows(graph, PERSON) == before
    (mood,) = (each for each in graph.blame("Person", "p03") if each.property == "mood")
    assert mood.value == "sad"
    assert list(graph.diff(first, "main"))
    assert list(graph.changes(since=first))
    assert b"p03" in b"".join(graph.export())
    assert graph.report() is not None
    graph.backup(tmp_path / "copy")
    copy = open_graph(tmp_path / "copy", read_only=True)
    assert rows(copy, PERSON) == before
    assert copy.plan_schema(SCHEMA).steps == graph.plan_schema(SCHEMA).steps


def test_a_drop_waits_for_no_writer_and_loses_none(graph: Graph) -> None:
    branch = graph.branch(expect=graph.snapshot().commit.id)
    change(graph, 'insert City { name: "jena" }')

    with pytest.raises(HeadMovedError, match="stands at"):
        branch.apply_schema(NO_CITY, allow_data_loss=True)
    dropped(graph, NO_CITY)
    graph.apply_schema(SCHEMA)
    assert {row["id"] for row in rows(graph, "node:City")} == {"bonn", "jena", "ulm"}


def test_a_restored_property_keeps_a_rule_that_it_gets_anew(graph: Graph) -> None:
    loose = edited(("mail: String? @unique", "mail: String?"))
    bare = edited(("  mail: String? @unique\n", ""), ('  @check(mail, ".+@.+")\n', ""))
    dropped(graph, loose)
    change(graph, 'update Person set { mail: "p01@x" } where name = "p02"')
    dropped(graph, bare)

    plan = graph.plan_schema(SCHEMA)

    assert [each.id for each in plan.violations] == ["p02"]
    graph.apply_schema(loose)
    assert len({row["mail"] for row in rows(graph, PERSON)}) == PEOPLE - 1


def test_a_property_is_added_after_the_last_one_was_dropped_and_the_files_are_new(
    graph: Graph,
) -> None:
    bare = edited(
        ("  score: F64?\n", ""),
        ("  @range(score, 0.0..9.0)\n", ""),
    )
    asked = "query q() { match { $p: Person } return { $p.score as s } order { $p.name } }"
    graph.query(asked)
    dropped(graph, bare)
    graph.optimize()

    graph.apply_schema(bare.replace("bio:", "marks: F64 @default(1.5)\n  bio:"))

    marks = graph.query(asked.replace("score", "marks"))
    assert {row["s"] for row in marks} == {1.5}
    graph.apply_schema(SCHEMA.replace("bio:", "marks: F64 @default(1.5)\n  bio:"))
    assert [row["s"] for row in graph.query(asked)] == [each / 2 for each in range(PEOPLE)]


@pytest.mark.parametrize(
    ("first", "then", "text"),
    [
        (SCHEMA, NO_CITY, 'insert City { name: "jena" }'),
        (NO_LIVES, SCHEMA, 'delete City where name = "ulm"'),
    ],
)
def test_a_writer_in_between_is_seen(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, first: str, then: str, text: str
) -> None:
    if first != SCHEMA:
        dropped(graph, first)
    other = open_graph(graph.uri, durable=False)
    plans: list[dict[str, TableState]] = []

    def meanwhile(*given: Any, **more: Any) -> dict[str, TableState]:
        made = migrate_tables(*given, **more)
        if not plans:
            change(other, text)
        plans.append(made)
        return made

    monkeypatch.setattr(migrate, "migrate_tables", meanwhile)

    done = graph.apply_schema(then, allow_data_loss=True)

    assert len(plans) == 2
    assert graph.fsck().is_sound
    if then == SCHEMA:
        assert {row["dst"] for row in rows(graph, "edge:Lives")} == {"bonn"}
    else:
        assert done.plan.steps[0].rows_hidden == 3


@pytest.fixture
def thinned(tmp_path: Path) -> Graph:
    """Two edges with the same text, of which the type is dropped and one has no source any more."""
    graph = init(tmp_path / "g", f"{BARE}edge E: P -> P {{ t: String? }}\n", durable=False)
    graph.load([{"slug": each} for each in "abc"], type="P", engine="inline")
    given = [{"from": "a", "to": "b", "t": "1"}, {"from": "c", "to": "b", "t": "1"}]
    graph.load(given, type="E", engine="inline")
    dropped(graph, f"{BARE}edge E: P -> P\n")
    dropped(graph, BARE)
    change(graph, 'delete P where slug = "c"')
    return graph


def test_edges_that_stay_away_are_in_the_way_of_no_new_rule(thinned: Graph) -> None:
    ruled = f"{BARE}edge E: P -> P {{ t: String? @unique }}\n"

    assert thinned.plan_schema(ruled).violation_count == 0
    thinned.apply_schema(ruled)

    assert [(row["src"], row["t"]) for row in rows(thinned, "edge:E")] == [("a", "1")]
    assert thinned.fsck().is_sound


def test_values_of_edges_that_stay_away_are_not_counted(thinned: Graph) -> None:
    assert effects(thinned, f"{BARE}edge E: P -> P {{ t: String? }}\n") == [
        ("restore edge E", "shows 1 row again"),
        ("restore property E.t: String?", "shows 1 value again and writes one column of 1 row"),
    ]
