"""Promise: whatever call into the store fails, once or from then on, the answer is true.

A definite error of any operation leaves the graph as it was; a success did what was asked.
"""

import shutil
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import OmniGraphError, OutcomeUnknownError
from tests.promises.faults import Call, Faults, Plan, When, at
from tests.sample import new_graph

ADD = "query add($slug: String) { insert Person { slug: $slug  name: $slug } }"
ROW = '{"type": "Person", "data": {"slug": "bob", "name": "Bob"}}\n'
EXTRA = " node Extra { name: String @key }"
MOMENTS = 12
# The forms of the fast lane; they keep something beside the manifest, too.
QUICK = {"rename branch", "set review", "publish run"}

ACTS: dict[str, Callable[[Graph], object]] = {
    "mutate": lambda g: g.branch(operation_id="x").mutate(ADD, slug="n"),
    "load": lambda g: g.load(ROW),
    "ingest": lambda g: g.ingest(ROW, branch="fresh"),
    "merge": lambda g: g.merge("side"),
    "revert": lambda g: g.revert(g.snapshot().commit.id),
    "resolve": lambda g: g.branch().resolve("Person", into="ann", duplicate="twin"),
    "create branch": lambda g: g.create_branch("fresh"),
    "rename branch": lambda g: g.rename_branch("side", "fresh"),
    "delete branch": lambda g: g.delete_branch("side"),
    "create tag": lambda g: g.create_tag("fresh"),
    "delete tag": lambda g: g.delete_tag("kept"),
    "begin run": lambda g: g.begin_run(operation_hash="x"),
    "publish run": lambda g: g.publish_run(g.runs()[0].run_id),
    "abort run": lambda g: g.abort_run(g.runs()[0].run_id),
    "comment": lambda g: g.comment_review("side", "hello"),
    "set review": lambda g: g.set_review("old", "approved"),
    "apply schema": lambda g: g.apply_schema(g.schema + EXTRA),
    "optimize": lambda g: g.optimize(),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A graph on which every operation has something to do."""
    root = tmp_path_factory.mktemp("template") / "graph"
    graph = new_graph(root)
    for slug in ("ann", "twin"):
        graph.mutate(ADD, slug=slug)
    for name in ("side", "old"):
        graph.create_branch(name)
    graph.branch("side").mutate(ADD, slug="aside")
    graph.set_review("side", "approved")
    graph.set_review("old", "open")
    graph.create_tag("kept")
    graph.branch(graph.begin_run().run_branch).mutate(ADD, slug="by the run")
    graph.mutate(ADD, slug="last")
    yield root
    shutil.rmtree(root)


@pytest.mark.parametrize("how", ["once", "from then on"])
@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=[] if each in QUICK else [pytest.mark.long]) for each in ACTS],
)
def test_whatever_call_fails_a_definite_error_means_that_nothing_happened(
    name: str, how: str, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = Faults()
    faults.install(monkeypatch)
    with faults.broken(lambda _: None) as calls:
        assert _told(ACTS[name], _copied(template, tmp_path / "whole")) is None
    before = _seen(template)
    whens: tuple[When, When] = ("before", "after")
    lies = []

    for number, when in product(range(0, len(calls), max(1, len(calls) // MOMENTS)), whens):
        root = tmp_path / f"{number}-{when}"
        graph = _copied(template, root)
        with faults.broken(at(number, when) if how == "once" else _from(number, when)):
            told = _told(ACTS[name], graph)
        is_changed = _seen(root) != before
        if not isinstance(told, OutcomeUnknownError) and is_changed != (told is None):
            lies.append((calls[number].name, when, repr(told), is_changed))
        shutil.rmtree(root)

    assert lies == []


def _copied(template: Path, root: Path) -> Graph:
    shutil.copytree(template, root)
    return open_graph(root)


def _told(act: Callable[[Graph], object], graph: Graph) -> OmniGraphError | None:
    try:
        act(graph)
    except OmniGraphError as failed:
        return failed
    return None


def _from(number: int, when: When) -> Plan:
    """Break a call, and before their work all that come later."""

    def plan(call: Call) -> When | None:
        return when if call.number == number else "before" if call.number > number else None

    return plan


def _seen(root: Path) -> tuple[object, ...]:
    """Return all that users see of what stands where."""
    graph = open_graph(root, read_only=True)
    names = graph.branches()
    reviews = {each: graph.review_record(each) for each in names}
    runs = {each.run_id: str(each.status) for each in graph.runs()}
    return {each: graph.branch(each).commit.id for each in names}, graph.tags(), runs, reviews
