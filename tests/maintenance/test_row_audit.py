"""Fsck finds damage of rows in any of many branches that share nearly all of them."""

from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.maintain import row_audit
from omnigraph.versioning.damage import Damage
from omnigraph.versioning.writes import Append, DeleteRows, TableWrite
from tests.sample import KNOWS, PERSON, knows, new_graph, people, write

BRANCHES = 12


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """People who know each other in a ring, and branches with a person more each."""
    graph = new_graph(tmp_path / "g")
    names = [f"p{number}" for number in range(200)]
    ring = zip(names, [*names[1:], names[0]], strict=True)
    write(
        graph, {PERSON: (Append(people(dict.fromkeys(names, 1))),), KNOWS: (Append(knows(ring)),)}
    )
    for number in range(BRANCHES):
        graph.create_branch(f"b{number}")
        write(graph, {PERSON: (Append(people({f"new{number}": 1})),)}, f"b{number}")
        write(graph, {KNOWS: (Append(knows([(f"new{number}", "p1")])),)}, f"b{number}")
    return graph


def gone(name: str) -> DeleteRows:
    return DeleteRows(pa.array([name]))


DAMAGE: dict[str, tuple[dict[str, tuple[TableWrite, ...]], Damage, str]] = {
    "an id twice": ({PERSON: (Append(people({"p7": 2})),)}, Damage.ID_TWICE, "p7"),
    "a new id twice": ({PERSON: (Append(people({"new5": 2})),)}, Damage.ID_TWICE, "new5"),
    "a node went": ({PERSON: (gone("p9"),)}, Damage.END_MISSING, "p9"),
    "a new node went": ({PERSON: (gone("new5"),)}, Damage.END_MISSING, "new5"),
    "a new edge": ({KNOWS: (Append(knows([("p1", "nobody")])),)}, Damage.END_MISSING, "nobody"),
    "an edge of another": ({KNOWS: (Append(knows([("new6", "p1")])),)}, Damage.END_MISSING, "new6"),
}


def test_branches_that_share_rows_are_sound(graph: Graph) -> None:
    assert graph.fsck().findings == ()


@pytest.mark.parametrize("few", [True, False], ids=["compared", "looked up"])
@pytest.mark.parametrize("what", DAMAGE)
def test_damage_of_one_of_many_branches_is_found(
    graph: Graph, what: str, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_audit, "_MOST_COMPARED", 20_000 if few else 0)
    writes, kind, told = DAMAGE[what]
    write(graph, writes, "b5")

    found = graph.fsck().findings

    assert {each.kind for each in found} == {kind}, found
    assert all(told in each.message for each in found)
