"""A notebook shows graphs, schemas and changes as pictures, as widgets where it runs them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import InputError
from omnigraph.notebook.drawing import MOST_NODES
from omnigraph.notebook.picture import Picture
from tests.changes.town import do
from tests.templates import copied_graph, fresh_graph

SCHEMA = """
node Person { name: String @key  note: String? }
node City { name: String @key }
edge Knows: Person -> Person
edge Lives: Person -> City
"""
WHOLE = "query q() { match { $a: Person  $a $e:lives $b } return { $a, $e, $b } }"
NODES = "query q() { match { $a: Person  $a lives $b } return { $a, $b } }"
NAMES = "query q() { match { $a: Person  $a lives $b } return { $a.name as a, $b.name as b } }"
HOSTILE = "<script>alert('x')</script>"
WIDGET = "application/vnd.jupyter.widget-view+json"


def town(root: Path) -> Graph:
    made = fresh_graph(root, SCHEMA)
    do(made, 'insert Person { name: "oslo" note: "a person" }', 'insert City { name: "oslo" }')
    do(made, 'insert Person { name: "bo" }', 'insert City { name: "rome" }')
    do(made, 'insert Lives { from: "oslo", to: "oslo" }', 'insert Lives { from: "bo", to: "rome" }')
    return made


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Return a graph in which a person and a city have the same key."""
    return copied_graph(tmp_path / "town.omni", town)


def labels(html: str) -> list[str]:
    """Return what the nodes of a picture are called."""
    return sorted(re.findall(r'data-label="([^"]*)"', html))


def joined(picture: Picture) -> list[tuple[str, str]]:
    """Return the edges of a picture, by the keys of their ends."""
    return sorted(re.findall(r'data-source="([^"]*)" data-target="([^"]*)"', picture.html))


def test_whole_nodes_and_edges_are_drawn_as_they_are(graph: Graph) -> None:
    picture = graph.query(WHOLE).graph()

    assert labels(picture.html) == ["bo", "oslo", "oslo", "rome"]
    assert joined(picture) == [("0 bo", "1 rome"), ("0 oslo", "1 oslo")]
    assert picture.details["0 oslo"] == {"id": "oslo", "name": "oslo", "note": "a person"}
    assert "4 nodes, 2 edges" in picture.html


def test_nodes_without_edges_are_joined_by_their_rows_and_that_is_said(graph: Graph) -> None:
    picture = graph.query(NODES).graph()

    assert joined(picture) == [("0 bo", "1 rome"), ("0 oslo", "1 oslo")]
    assert "dotted lines join what stands in one row" in picture.html


def test_plain_columns_are_joined_two_by_two(graph: Graph) -> None:
    found = graph.query(NAMES)

    assert joined(found.graph()) == [("0 bo", "0 rome"), ("0 oslo", "0 oslo")]
    assert joined(found.graph("b", "a")) == [("0 oslo", "0 oslo"), ("0 rome", "0 bo")]
    with pytest.raises(InputError, match="no column 'c'"):
        found.graph("c", "a")


def test_a_picture_of_nothing_says_so(graph: Graph) -> None:
    nobody = WHOLE.replace("$a $e", '$a.name = "none"  $a $e')

    assert "no nodes" in graph.query(nobody).graph().html


def test_nodes_past_what_can_be_seen_are_counted(graph: Graph) -> None:
    people = [{"name": f"p{place:04}"} for place in range(MOST_NODES + 20)]
    graph.load(people, type="Person")

    picture = graph.query("query q() { match { $a: Person } return { $a } }").graph()

    assert picture.html.count("data-node=") == MOST_NODES
    assert "22 more nodes not drawn" in picture.html


def test_a_schema_is_a_picture_with_the_properties_of_its_types(graph: Graph) -> None:
    picture = graph.schema_view()

    assert picture.title == "Schema: 2 node types and 2 edge types"
    assert picture.details == {
        "Person": {"name": "String", "note": "String?"},
        "City": {"name": "String"},
    }
    assert picture.html.count('class="box"') == 2
    assert graph.branch().schema_view() == graph.at("main").schema_view() == picture


def test_a_review_is_a_table_of_what_was_and_what_is(graph: Graph) -> None:
    draft = graph.create_branch("draft")
    do(draft, f'update Person set {{ note: "{HOSTILE}" }} where name = "bo"')

    bundle = graph.review("draft")._repr_mimebundle_()

    html = str(bundle["text/html"])
    assert '<tbody class="changed" data-type="Person">' in html
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert WIDGET in bundle


def test_a_notebook_is_given_the_widget_and_the_still_picture(graph: Graph) -> None:
    picture = graph.query(WHOLE).graph()

    bundle = picture._repr_mimebundle_(include=None, exclude=None)

    assert set(bundle) == {"text/plain", "text/html", WIDGET}
    assert bundle["text/plain"] == "Picture(title='q: 2 rows')"
    assert picture.html in str(bundle["text/html"])
    assert (picture.widget.html, picture.widget.details) == (picture.html, picture.details)
    assert "export default" in picture.widget._esm


def test_without_the_extra_a_picture_stands_still(graph: Graph, tmp_path: Path) -> None:
    program = f"""
import sys
sys.modules["anywidget"] = None
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "anywidget" else found(name, *rest)
import omnigraph as og
picture = og.open({graph.uri!r}).schema_view()
assert set(picture._repr_mimebundle_()) == {{"text/plain", "text/html"}}
try:
    picture.widget
except og.OmniGraphError as error:
    assert "omnigraph[notebook]" in error.hint
else:
    raise AssertionError("a widget without anywidget")
assert "anywidget" not in [name for name, module in sys.modules.items() if module]
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, timeout=120, check=True)


def test_reprs_say_what_a_value_is_on_one_line(graph: Graph) -> None:
    draft = graph.create_branch("draft")
    acting = graph.branch("draft", actor="ida")
    receipt = acting.mutate('query add() { insert Person { name: "cy" } }')
    commit = draft.commit.id

    assert repr(receipt) == (
        "Receipt('add', branch='draft', nodes=1, edges=0, rows='1 inserted', "
        f"actor='ida', commit='{commit}')"
    )
    assert repr(graph.query(NAMES)) == "Result('q', 2 rows, columns a, b)"
    assert repr(graph.schema_view()) == "Picture(title='Schema: 2 node types and 2 edge types')"


def test_every_value_has_the_look_in_a_notebook(graph: Graph) -> None:
    draft = graph.create_branch("draft")
    receipt = draft.mutate('query add() { insert Person { name: "cy" } }')
    shown = (
        graph,
        draft,
        graph.at("draft"),
        graph.snapshot(),
        draft.commit,
        graph.log(),
        receipt,
        graph.query(NAMES),
        graph.review("draft"),
        graph.preview_merge("draft"),
        graph.schema_view(),
    )
    for each in shown:
        html = each._repr_html_()
        assert html.startswith('<div class="omnigraph part"><style>'), each
        assert html.count("<style>") == html.count("</style>") == 1, each
        assert not re.search(r"https?://|<script|url\((?!#)", html), each
