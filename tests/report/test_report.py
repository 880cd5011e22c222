"""A report is one page that shows the schema, the history, changes and results, and no link."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from omnigraph.api.graph import Graph, init
from omnigraph.cli.main import omnigraph
from omnigraph.report.diagram import draw_schema
from omnigraph.schema.compile import compile_schema
from tests.changes.town import do

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


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """A graph with two branches, one merged, and a text that would be a script."""
    made = init(tmp_path / "town.omni", SCHEMA, durable=False)
    do(made, 'insert Person { name: "ann" }', 'insert City { name: "oslo" }')
    side = made.create_branch("side")
    do(side, "insert Person { name: $n, note: $t }", n="bo", t=HOSTILE)
    do(made, 'insert Lives { from: "ann", to: "oslo" }')
    made.merge("side", message=HOSTILE)
    return made


def read(page: str) -> _Reader:
    """Give a page that was read as a whole."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_a_page_shows_types_edges_commits_and_branches(graph: Graph) -> None:
    page = read(graph.report())

    said = " ".join(page.texts)
    for word in ("Person", "City", "Knows", "Lives", "Left", "name: String", "[main]", "[side]"):
        assert word in said
    assert said.count(graph.snapshot().commit.id[-8:]) == 2


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

    said = " ".join(read(page).texts)
    assert "Since the beginning" in said
    assert "+ Person ann" in said
    assert "+ ann -Lives-> oslo" in said
    assert "All people" in said


def test_a_page_about_an_old_commit_shows_its_schema(graph: Graph) -> None:
    before = graph.snapshot().commit.id
    graph.apply_schema(SCHEMA + "node Ship { name: String @key }")

    assert "Ship" in graph.report()
    assert "Ship" not in graph.report(before).replace("add node Ship", "")


def test_many_edges_between_two_types_stay_inside_the_drawing() -> None:
    edges = "\n".join(f"edge E{place}: A -> B" for place in range(8))
    types = "node A { name: String @key }\nnode B { name: String @key }"
    drawing = draw_schema(compile_schema(f"{types}\n{edges}"), {})

    left, top, width, height = (float(n) for n in re.findall(r"-?\d+", drawing.split('"')[3]))
    labels = re.findall(r'class="edge" x="([-.\d]+)" y="([-.\d]+)"', drawing)
    assert len(labels) == 8
    assert all(left < float(x) < left + width for x, _ in labels)
    assert all(top < float(y) < top + height for _, y in labels)


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


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_a_browser_shows_the_page_without_a_complaint(graph: Graph, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(graph.report())
    options = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
    shown = subprocess.run(
        [
            "chromium",
            *options.split(),
            *("--disable-component-update", "--disable-sync", "--enable-logging=stderr"),
            f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert shown.stdout.count("<circle") == len(list(graph.log())) + 1
    assert "CONSOLE" not in shown.stderr
