"""A report is one page that shows the schema, the history, changes and results, and no link."""

import re
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner

from omnigraph.api.graph import Graph, init
from omnigraph.cli.main import omnigraph
from omnigraph.report.diagram import draw_schema
from omnigraph.report.layout import BOX_HEIGHT, BOX_WIDTH, lay_out
from omnigraph.schema.compile import compile_schema
from tests.changes.town import do
from tests.templates import copied_graph, fresh_graph

SCHEMA = """
node Person { name: String @key  note: String? }
node City { name: String @key }
edge Knows: Person -> Person
edge Lives: Person -> City
edge Left: Person -> City
"""
QUERIES = """
query everybody() { match { $p: Person } return { $p.name as name, $p.note as note } }
query one($name: String) { match { $p: Person { name: $name } } return { $p.name as name } }
query add($name: String) { insert Person { name: $name } }
"""
HOSTILE = "<script>alert('x')</script>"
_VOID = ("meta", "br")


class _Reader(HTMLParser):
    """Reads a page, and fails when its tags are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def town(root: Path) -> Graph:
    made = fresh_graph(root, SCHEMA)
    do(made, 'insert Person { name: "ann" }', 'insert City { name: "oslo" }')
    side = made.create_branch("side")
    do(side, "insert Person { name: $n, note: $t }", n="bo", t=HOSTILE)
    do(made, 'insert Lives { from: "ann", to: "oslo" }')
    made.merge("side", message=HOSTILE)
    return made


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """A graph with two branches, one merged, and a text that would be a script."""
    return copied_graph(tmp_path / "town.omni", town)


def read(page: str) -> _Reader:
    """Return a page that was read as a whole."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_a_branch_that_is_deleted_while_a_page_is_made_is_left_out(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("gone")
    listed = graph.branches()
    graph.delete_branch("gone")
    monkeypatch.setattr(Graph, "branches", lambda _: listed)

    assert "2 branches" in " ".join(read(graph.report()).texts)


def test_a_page_shows_types_edges_commits_and_branches(graph: Graph) -> None:
    page = read(graph.report())

    said = " ".join(page.texts)
    for word in ("Person", "City", "Knows", "Lives, Left", "Person → City", "main", "side"):
        assert word in said
    assert "name:  String" in said
    assert said.count(graph.snapshot().commit.id[-8:]) == 3


def test_the_head_says_what_it_is_and_how_much_there_is(graph: Graph) -> None:
    texts = read(graph.report()).texts

    assert texts[0] == "town · OmniGraph"
    head = " ".join(texts[:12])
    assert "OmniGraph  report town" in head
    assert "2 node types and 3 edge types · 3 nodes and 1 edge · 2 branches" in head


def test_every_text_is_escaped_and_nothing_comes_from_outside(graph: Graph) -> None:
    found = graph.query(QUERIES, "everybody")
    text = graph.report(compared={HOSTILE: graph.diff("side")}, answered={HOSTILE: found})
    page = read(text)

    assert "script" not in page.tags
    assert page.links == []
    assert not re.search(r"https?://", text)
    assert HOSTILE in " ".join(page.texts)


def test_changes_and_results_stand_under_their_titles(graph: Graph) -> None:
    first = list(graph.log())[-1].id
    page = graph.report(
        compared={"Since the beginning": graph.diff(first, "main")},
        answered={"All people": graph.query(QUERIES, "everybody")},
    )

    said = re.sub(r"\s+", " ", " ".join(read(page).texts))
    assert "Changes Since the beginning" in said
    assert "+ added Person ann" in said
    assert "+ added Lives ann → oslo" in said
    assert "Answers All people 2 rows" in said


def test_a_change_says_what_was_before_and_after_and_who_made_it(graph: Graph) -> None:
    before = graph.branch().commit.id
    as_ida = graph.branch("main", actor="ida", message="a note")
    do(as_ida, 'update Person set { note: "gone" } where name = "ann"')
    do(graph.branch("main", actor="jo"), 'delete Person where name = "bo"')

    page = graph.report(compared={"Lately": graph.diff(before, "main")})

    rows = re.findall(r'<tbody class="(\w+)"[^>]*>(.*?)</tbody>', page.partition("Lately")[2])
    found = {kind: " ".join(re.sub(r"<[^>]+>", " ", row).split()) for kind, row in rows}
    assert re.search("~ changed Person ann ida .* note null gone", found["changed"])
    assert re.search("− removed Person bo jo ", found["removed"])


def test_who_deleted_on_a_branch_is_known_behind_its_merge(graph: Graph) -> None:
    before = graph.branch().commit.id
    graph.create_branch("tidy")
    do(graph.branch("tidy", actor="jo"), 'delete Person where name = "bo"')
    do(graph.branch("main", actor="kim"), 'insert City { name: "rome" }')
    graph.merge("tidy", actor="ida")

    page = graph.report(compared={"Lately": graph.diff(before, "main")})

    removed = re.findall(r'<tbody class="removed"[^>]*>(.*?)</tbody>', page)
    assert len(removed) == 1
    assert '<span class="actor">jo</span>' in removed[0]


def test_only_so_many_changes_are_shown_and_the_rest_is_counted(graph: Graph) -> None:
    before = graph.branch().commit.id
    graph.load([{"name": f"p{place:03}"} for place in range(70)], type="Person")

    page = graph.report(compared={"Lately": graph.diff(before, "main")})

    assert page.count('<tbody class="added"') == 50
    assert "… and 20 more" in page


def test_a_page_about_an_old_commit_shows_its_schema(graph: Graph) -> None:
    before = graph.snapshot().commit.id
    graph.apply_schema(SCHEMA + "node Ship { name: String @key }")

    assert "Ship" in graph.report()
    assert "Ship" not in graph.report(before).replace("add node Ship", "")


def test_all_edges_between_two_types_are_one_line_that_names_them() -> None:
    edges = "\n".join(f"edge E{place}: A -> B" for place in range(8))
    types = "node A { name: String @key }\nnode B { name: String @key }"
    drawing = draw_schema(compile_schema(f"{types}\n{edges}"), {})

    assert drawing.count('class="edge"') == 1
    assert ">E0, E1 +6</text>" in drawing
    assert "<title>A → B: E0, E1, E2, E3, E4, E5, E6, E7</title>" in drawing


def fifty_types() -> str:
    """Return a schema of fifty types: rings, a star, a chain, and some without edges."""
    nodes = [f"node T{place} {{ name: String @key }}" for place in range(50)]
    ring = [f"edge R{place}: T{place} -> T{(place + 1) % 12}" for place in range(12)]
    star = [f"edge S{place}: T12 -> T{place}" for place in range(13, 26)]
    chain = [f"edge C{place}: T{place} -> T{place + 1}" for place in range(26, 44)]
    return "\n".join([*nodes, *ring, *star, *chain, "edge Own: T3 -> T3", "edge Far: T0 -> T30"])


def test_fifty_types_stay_readable_on_a_page() -> None:
    catalog = compile_schema(fifty_types())
    drawing = draw_schema(catalog, {})
    layout = lay_out(list(catalog.nodes), [(e.source, e.target) for e in catalog.edges.values()])

    # The page is 1,190 wide: names of 13 pixels are drawn with 12 at least.
    assert layout.width <= 1_190 * 13 / 12
    boxes = list(layout.boxes.values())
    assert len(boxes) == 50
    apart = [
        abs(one.x - other.x) >= BOX_WIDTH or abs(one.y - other.y) >= BOX_HEIGHT
        for one, other in combinations(boxes, 2)
    ]
    assert all(apart)
    assert all(0 <= box.x <= layout.width - BOX_WIDTH for box in boxes)
    assert all(0 <= box.y <= layout.height - BOX_HEIGHT for box in boxes)
    assert drawing.count('class="box"') == 50


def test_lines_that_pass_a_column_go_between_its_boxes() -> None:
    catalog = compile_schema(fifty_types())
    layout = lay_out(list(catalog.nodes), [(e.source, e.target) for e in catalog.edges.values()])

    assert layout.bends
    for points in layout.bends.values():
        for point in points:
            assert not any(
                box.x < point.x < box.x + BOX_WIDTH and box.y < point.y < box.y + BOX_HEIGHT
                for box in layout.boxes.values()
            )


def test_labels_of_lines_do_not_cover_each_other() -> None:
    types = "\n".join(f"node {name} {{ name: String @key }}" for name in "ABCD")
    edges = "edge Ab: A -> B\nedge Ba: B -> A\nedge Cd: C -> D\nedge Dc: D -> C\nedge Ad: A -> D"
    drawing = draw_schema(compile_schema(f"{types}\n{edges}"), {})

    labels = re.findall(r'<text x="([-.\d]+)" y="([-.\d]+)">(\w+)</text>', drawing)
    assert len(labels) == 5
    for (x, y, _), (other_x, other_y, _) in combinations(labels, 2):
        assert abs(float(x) - float(other_x)) > 12 or abs(float(y) - float(other_y)) >= 13


def test_a_schema_without_types_has_a_page_too(tmp_path: Path) -> None:
    empty = init(tmp_path / "empty.omni", "", durable=False)

    assert "no node types" in " ".join(read(empty.report()).texts)


def test_the_command_writes_a_page_with_the_queries_of_a_file(graph: Graph, tmp_path: Path) -> None:
    queries, out = tmp_path / "all.gq", tmp_path / "page.html"
    queries.write_text(QUERIES)

    done = CliRunner().invoke(
        omnigraph,
        [
            "report",
            graph.uri,
            *("--out", str(out)),
            *("--query", str(queries)),
            *("--params", '{"name": "ann"}'),
            *("--diff", "side", "main"),
        ],
    )

    assert done.exit_code == 0, done.output
    said = " ".join(read(out.read_text()).texts)
    assert "everybody" in said
    assert "one" in said
    assert "From side to main" in said


def test_a_page_that_cannot_be_written_is_an_error(graph: Graph, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        omnigraph, ["report", graph.uri, "--out", str(tmp_path / "no" / "page.html")]
    )

    assert done.exit_code == 1
    assert "cannot write" in done.output
