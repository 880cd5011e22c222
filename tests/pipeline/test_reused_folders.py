"""Promise: a graph that is made where another was is never taken for it, by any process."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import GraphNotFoundError, GraphReplacedError
from tests.pipeline.loads import engine, node, person, text
from tests.sample import SCHEMA, ages
from tests.server.serving import serving
from tests.standin import Bucket
from tests.stores import Lane

__all__ = ["engine"]

ONE_ORDER = "node Person { slug: String @key  first: String  last: String }"
OTHER_ORDER = "node Person { slug: String @key  last: String  first: String }"
QUERY = "query all() { match { $p: Person } return { $p.slug, $p.first, $p.last } }"
ADA = {"p.slug": "ada", "p.first": "Ada", "p.last": "Lovelace"}


def _load_ada(graph: Graph, engine: str = "inline") -> None:
    graph.load(text(node("Person", slug="ada", first="Ada", last="Lovelace")), engine=engine)


def _rows(graph: Graph) -> list[dict[str, object]]:
    return graph.query(QUERY).to_dicts()


def test_properties_in_another_order_are_not_swapped(engine: str, tmp_path: Path) -> None:
    root = tmp_path / "graph"
    for schema in (ONE_ORDER, OTHER_ORDER, ONE_ORDER):
        graph = init(root, schema, durable=False)
        _load_ada(graph, engine)
        assert _rows(graph) == [ADA]
        assert _rows(open_graph(root)) == [ADA]
        shutil.rmtree(root)


@pytest.fixture(params=["local", "bucket"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, bucket: Bucket
) -> tuple[str, Callable[[], None]]:
    """Return a root, and how everything below it is removed."""
    if request.param == "local":
        return str(tmp_path / "graph"), lambda: shutil.rmtree(tmp_path / "graph")
    lane: Lane = request.getfixturevalue("standin")
    return lane.root, bucket.objects.clear


@pytest.mark.parametrize("commits", [0, 1, 5])
def test_a_handle_on_a_graph_that_was_replaced_says_so(
    commits: int, place: tuple[str, Callable[[], None]]
) -> None:
    root, remove = place
    old = init(root, SCHEMA, durable=False)
    for number in range(3):
        old.load(text(person(f"old-{number}")))
    old.query("query all() { match { $p: Person } return { $p.slug } }")
    remove()
    new = init(root, SCHEMA, durable=False)
    for number in range(commits):
        new.load(text(person(f"new-{number}")))
    expected = {f"new-{number}": None for number in range(commits)}

    for _ in range(2):
        with pytest.raises(GraphReplacedError, match="another was made there"):
            old.snapshot()
        with pytest.raises(GraphReplacedError):
            old.query("query all() { match { $p: Person } return { $p.slug } }")
        with pytest.raises(GraphReplacedError):
            old.load(text(person("stray")))
        with pytest.raises(GraphReplacedError):
            old.create_branch("stray")

    assert ages(new) == ages(open_graph(root)) == expected
    assert new.branches() == ["main"]


def test_a_handle_on_a_graph_that_was_removed_says_so(
    place: tuple[str, Callable[[], None]],
) -> None:
    root, remove = place
    graph = init(root, SCHEMA, durable=False)
    graph.load(text(person("ann")))

    remove()

    with pytest.raises(GraphNotFoundError):
        graph.snapshot()


def test_a_graph_that_was_moved_or_copied_back_stays_open(tmp_path: Path) -> None:
    root = tmp_path / "graph"
    graph = init(root, SCHEMA, durable=False)
    graph.load(text(person("ann")))

    shutil.copytree(root, tmp_path / "copy")
    shutil.rmtree(root)
    (tmp_path / "copy").rename(root)

    assert ages(graph) == {"ann": None}
    graph.load(text(person("bob")))
    assert ages(graph) == ages(open_graph(root)) == {"ann": None, "bob": None}


def test_a_server_does_not_mix_the_graph_it_opened_with_one_made_in_its_place(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as service:
        assert service.read()
        root = Path(service.graph.uri)
        shutil.rmtree(root)
        new = init(root, SCHEMA, durable=False)

        answers = [service.ask("GET", "/branches"), service.ask("GET", "/snapshot")]

        assert {(each.status_code, each.json()["code"]) for each in answers} == {
            (500, "graph_replaced")
        }
        assert all(str(root) not in each.text for each in answers)
        assert "start" in answers[0].json()["error"]
        assert ages(new) == {}
