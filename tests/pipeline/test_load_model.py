"""Loads of any records in any order leave what a plain model of the rules leaves."""

import shutil
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import ViolationsError
from omnigraph.write.load import checks, lookups
from tests.pipeline.loads import edge, history, node, rows, text

SCHEMA = """
node Person { slug: String @key  badge: I32? @unique  note: String? }
node Team { name: String? }
edge Member: Person -> Team @card(0..2) { @key(src, dst) }
edge Led: Team -> Person @card(1..2) { @unique(dst) }
"""
PEOPLE, TEAMS = ("a", "b", "c"), ("x", "y")

# Stands for a property that a record does not name.
UNNAMED = "unnamed"

Row: TypeAlias = tuple[object, ...]
Table: TypeAlias = dict[str, Row]


@dataclass(frozen=True)
class Record:
    """A line: its type, its id, and what else it says."""

    type: str
    id: str
    row: Row

    @property
    def line(self) -> str:
        match self.type:
            case "Person":
                given = {"badge": self.row[0], "note": self.row[1]}
                named = {name: value for name, value in given.items() if value is not UNNAMED}
                return node("Person", slug=self.id, **named)
            case "Team":
                return node("Team", id=self.id)
            case "Member":
                return edge("Member", str(self.row[0]), str(self.row[1]))
            case _:
                return edge("Led", str(self.row[0]), str(self.row[1]), id=self.id)


@dataclass(frozen=True)
class Model:
    """The rows of a graph by type and id."""

    tables: dict[str, Table] = field(
        default_factory=lambda: {name: {} for name in ("Person", "Team", "Member", "Led")}
    )

    def loaded(self, records: list[Record], mode: str) -> "Model | None":
        """Return the model after a load, or None when the load breaks a rule."""
        if len({(each.type, each.id) for each in records}) < len(records):
            return None
        given: dict[str, Table] = {}
        for each in records:
            given.setdefault(each.type, {})[each.id] = each.row
        tables = dict(self.tables)
        for name, table in given.items():
            if mode == "append" and tables[name].keys() & table.keys():
                return None
            kept = {} if mode == "overwrite" else tables[name]
            old = tables[name] if mode == "merge" else {}
            tables[name] = kept | {key: _whole(row, old.get(key)) for key, row in table.items()}
        after = replace(self, tables=tables)
        return after if after.is_sound else None

    @property
    def is_sound(self) -> bool:
        people, teams, members, led = self.tables.values()
        badges = [badge for badge, _ in people.values() if badge is not None]
        ends = all(a in people and b in teams for a, b in members.values())
        ends &= all(a in teams and b in people for a, b in led.values())
        many = Counter(a for a, _ in members.values())
        leaders = Counter(a for a, _ in led.values())
        return (
            ends
            and len(set(badges)) == len(badges)
            and len({b for _, b in led.values()}) == len(led)
            and max(many.values(), default=0) <= 2
            and all(1 <= leaders[team] <= 2 for team in teams)
        )


def _whole(row: Row, before: Row | None) -> Row:
    """Return the row that a record leaves: what it does not name stays, or is null."""
    old = before or (None,) * len(row)
    return tuple(was if value is UNNAMED else value for value, was in zip(row, old, strict=True))


people = st.builds(
    lambda slug, badge, note: Record("Person", slug, (badge, note)),
    st.sampled_from(PEOPLE),
    st.none() | st.integers(0, 2) | st.just(UNNAMED),
    st.sampled_from((None, "n", UNNAMED)),
)
teams = st.sampled_from(TEAMS).map(lambda name: Record("Team", name, ()))
members = st.tuples(st.sampled_from((*PEOPLE, "z")), st.sampled_from(TEAMS)).map(
    lambda ends: Record("Member", f'["{ends[0]}","{ends[1]}"]', ends)
)
leads = st.builds(
    lambda number, ends: Record("Led", number, ends),
    st.sampled_from("123"),
    st.tuples(st.sampled_from(TEAMS), st.sampled_from(PEOPLE)),
)
records = st.lists(people | people | teams | members | leads, max_size=7)
loads = st.lists(
    st.tuples(st.sampled_from(["append", "merge", "merge", "replace", "overwrite"]), records),
    max_size=5,
)


def held(graph: Graph) -> Model:
    """Return what a graph holds as a model."""
    found = Model()
    for row in rows(graph, "node:Person"):
        found.tables["Person"][row["id"]] = (row["badge"], row["note"])
    for row in rows(graph, "node:Team"):
        found.tables["Team"][row["id"]] = ()
    for name in ("Member", "Led"):
        for row in rows(graph, f"edge:{name}"):
            found.tables[name][row["id"]] = (row["src"], row["dst"])
    return found


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an empty graph once, to be copied."""
    return Path(init(tmp_path_factory.mktemp("model") / "graph", SCHEMA, durable=False).uri)


def taken(graph: Graph, lines: str, mode: str) -> bool:
    """Load lines, and tell whether they were taken."""
    try:
        graph.load(lines, mode=mode, engine="inline")
    except ViolationsError:
        return False
    return True


@pytest.mark.parametrize("road", ["whole tables", "lookups by index and many buckets"])
@settings(max_examples=15)
@given(steps=loads)
def test_a_load_is_taken_when_the_model_takes_it_and_leaves_the_same_rows(
    template: Path, road: str, steps: list[tuple[str, list[Record]]]
) -> None:
    place = template.with_name("copy")
    shutil.rmtree(place, ignore_errors=True)
    graph, model = open_graph(shutil.copytree(template, place), durable=False), Model()
    with pytest.MonkeyPatch.context() as patch:
        if road != "whole tables":
            patch.setattr(lookups, "_SCAN_SECONDS", 1.0)
            patch.setattr(checks, "_ROWS_PER_BUCKET", 2)
        for mode, given_records in steps:
            after, before = model.loaded(given_records, mode), history(graph)
            lines = text(*(each.line for each in given_records))

            assert taken(graph, lines, mode) == (after is not None), f"{mode} of {lines}"

            event("taken" if after else "refused")
            assert after or history(graph) == before
            model = after or model
            assert held(graph) == model
