"""Dicts, networkx graphs and plain lines are loaded as they are written, or refused."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import InputError
from tests.pipeline.loads import broken, history, rows
from tests.templates import fresh_graph

SCHEMA = """
node N { slug: String @key  text: String?  day: Date?  at: DateTime? }
edge E: N -> N { note: String? }
"""
NODES = '{"slug": "a"}\n{"slug": "b"}\n{"slug": "c"}'
MIXED = SCHEMA + "node Note { text: String? }\nedge On: Note -> N { type: String? }\n"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fresh_graph(tmp_path / "g", SCHEMA)


def network(**values: object) -> networkx.MultiDiGraph:
    """Return two nodes of the only type, and an edge with these attributes."""
    found = networkx.MultiDiGraph()
    found.add_nodes_from(["a", "b", "c"])
    found.add_edge("a", "b", **values)
    return found


@pytest.mark.parametrize("name", ["from", "to", "source", "target", "src", "dst"])
def test_an_attribute_that_is_called_like_an_end_moves_no_edge(graph: Graph, name: str) -> None:
    given = network(**{name: "c"})

    assert broken(graph, given) == [f"error[V4]: <networkx>:4: E.{name}: no such field"]


@pytest.mark.parametrize("name", ["source", "src"])
def test_an_end_that_is_given_again_under_another_name_is_no_field(graph: Graph, name: str) -> None:
    row = {"from": "a", "to": "b", name: "c"}
    line = f'{{"from": "a", "to": "b", "{name}": "c"}}'

    for data in ([row], {"E": [row]}, line):
        given: Any = data
        type_name = None if isinstance(data, Mapping) else "E"
        (told,) = broken(graph, given, type_name=type_name)
        assert told.endswith(f":1: E.{name}: no such field")


def test_a_network_may_hold_a_property_that_is_called_like_a_type(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "mixed", MIXED)
    found = networkx.DiGraph()
    found.add_node("note", type="Note")
    found.add_node("a", type="N")
    found.add_edge("note", "a", type="quote")

    graph.load(found)

    assert [row["type"] for row in rows(graph, "edge:On")] == ["quote"]


@pytest.mark.parametrize(
    ("values", "hint"),
    [({"type": "e"}, None), ({"key": ("On", "1")}, None), ({"type": "EE"}, "did you mean 'E'?")],
)
def test_an_edge_of_a_type_that_the_schema_lacks_is_not_loaded_as_another(
    graph: Graph, values: dict[str, Any], hint: str | None
) -> None:
    before = history(graph)

    with pytest.raises(InputError, match=r"no type '(e|On|EE)'") as refused:
        graph.load(network(**values))

    assert history(graph) == before
    if hint is not None:
        assert refused.value.hint == hint


@pytest.mark.parametrize(
    ("node", "values"), [(("Q", "q"), {}), ("q", {"type": "Q"}), (("Q", "q"), {"type": "R"})]
)
def test_a_node_of_a_type_that_the_schema_lacks_is_not_loaded_as_another(
    graph: Graph, node: object, values: dict[str, Any]
) -> None:
    found = networkx.DiGraph()
    found.add_node(node, **values)

    with pytest.raises(InputError, match="no type 'Q'"):
        graph.load(found)


def test_a_type_that_is_no_text_names_none(graph: Graph, tmp_path: Path) -> None:
    found = networkx.DiGraph()
    found.add_node("a", type=["N"])

    assert broken(graph, found) == ["error[V4]: <networkx>:1: N.type: no such field"]
    with pytest.raises(InputError, match="does not name its type"):
        fresh_graph(tmp_path / "mixed", MIXED).load(found)


def test_a_node_without_a_key_has_its_name_as_its_id_and_no_other(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "mixed", MIXED)
    found = networkx.DiGraph()
    found.add_node("n1", type="Note", id="n1")
    graph.load(found)
    found.add_node("n2", type="Note", id="other")

    with pytest.raises(InputError, match="the node 'n2' has the attribute 'id' 'other'"):
        graph.load(found)


@pytest.mark.parametrize("unit", ["ns", "ps"])
def test_times_of_numpy_that_python_does_not_have_are_refused(graph: Graph, unit: str) -> None:
    second = np.datetime64(1, "s").astype(f"datetime64[{unit}]")

    for value in (second, np.array([second]), second - second):
        for name in ("at", "text"):
            with pytest.raises(InputError, match=r"a row cannot hold a (datetime|timedelta)64"):
                graph.load([{"slug": "a", name: value}], type="N")


def test_days_of_numpy_are_days_and_what_is_no_time_is_null(graph: Graph) -> None:
    day = np.datetime64("2024-02-29")
    nothing = [pd.NaT, pd.NA, np.datetime64("NaT", "ns"), np.datetime64("NaT")]

    graph.load([{"slug": "a", "day": day}], type="N")
    graph.load([{"slug": f"n{at}", "text": each} for at, each in enumerate(nothing)], type="N")

    assert rows(graph, "node:N")[0]["day"] == date(2024, 2, 29)
    assert {row["text"] for row in rows(graph, "node:N")} == {None}


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('{"from": "a", "to": "b", "note": "x", "note": "y"}', "note"),
        ('{"from": "a", "from": "c", "to": "b"}', "from"),
        ('{"from":"a","to":"b","note":"x:y","note":":"}', "note"),
    ],
)
def test_a_field_of_a_plain_line_that_is_given_twice_is_told(
    graph: Graph, line: str, field: str
) -> None:
    graph.load(NODES, type="N")
    sound = '{"from": "a", "to": "b", "note": "x:y"}'

    given = f"{sound}\n{line}\n{sound}"
    assert broken(graph, given, type_name="E") == [
        f"error[V5]: <text>:2: E.{field}: is given twice"
    ]
    graph.load(f"{sound}\n{sound}", type="E")
    assert [row["note"] for row in rows(graph, "edge:E")] == ["x:y", "x:y"]


def test_half_of_a_surrogate_pair_in_a_plain_line_is_told_with_its_field(graph: Graph) -> None:
    node, edge = r'{"slug": "\ud800"}', r'{"from": "a", "to": "b", "note": "\ud800", "\ud800:": 1}'

    (told,) = broken(graph, node, type_name="N")
    assert told.startswith("error[V7]: <text>:1: N.slug: ")
    odd, unknown = sorted(broken(graph, edge, type_name="E"), reverse=True)
    assert odd.startswith("error[V7]: <text>:1: E.note: ")
    assert unknown == r"error[V4]: <text>:1: E.\ud800:: no such field"


@pytest.mark.parametrize("data", [{"N": [{"slug": "a"}], "E": []}, {"N": iter([{"slug": "a"}])}])
def test_a_type_without_rows_changes_nothing(graph: Graph, data: dict[str, Any]) -> None:
    assert graph.load({**data, "E": iter([])}).nodes == {"N": 1}


def test_dicts_that_have_come_to_their_end_change_nothing(graph: Graph) -> None:
    every: list[Any] = [[], (), iter([]), {"N": [], "E": []}]
    for empty in every:
        assert graph.load(empty, type=None if isinstance(empty, dict) else "N").commit is None
    with pytest.raises(InputError, match="a row is a NoneType"):
        graph.load(iter([None]), type="N")
