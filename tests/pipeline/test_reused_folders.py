"""Promise: a graph that is made where another was is never taken for it, by any process."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init, restore
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import CommitNotFoundError, GraphNotFoundError, GraphReplacedError
from omnigraph.storage.staging import place_of
from omnigraph.storage.store import store_at
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


def test_a_handle_on_a_graph_that_was_restored_writes_on_top_of_what_is_there_now(
    place: tuple[str, Callable[[], None]], tmp_path: Path
) -> None:
    root, remove = place
    old = init(root, SCHEMA, durable=False)
    old.load(text(person("kept")))
    old.backup(tmp_path / "copy")
    for number in range(3):
        old.load(text(person(f"lost-{number}")))
    remove()
    restore(tmp_path / "copy", root, durable=False)
    new = open_graph(root, durable=False)
    new.load(text(person("new-0")))
    assert sorted(ages(old)) == ["kept", "new-0"]
    new.load(text(person("new-1")))

    old.load(text(person("later")))

    assert sorted(ages(new)) == sorted(ages(old)) == ["kept", "later", "new-0", "new-1"]
    assert new.fsck().is_sound


def test_a_process_whose_last_commit_was_taken_back_builds_on_what_others_did_instead(
    place: tuple[str, Callable[[], None]],
) -> None:
    root, _ = place
    old = init(root, SCHEMA, durable=False)
    for number in range(5):
        old.load(text(person(f"kept-{number}")))
    objects, hint = store_at(root).objects, "__manifest/_versions/latest_version_hint.json"
    before, hinted = {each.path for each in objects.listing()}, objects.read(hint)
    old.load(text(person("lost")))
    objects.delete_many(each.path for each in objects.listing() if each.path not in before)
    if hinted is not None:
        objects.write(hint, hinted)
    new = open_graph(root, durable=False)
    theirs = new.load(text(person("theirs"))).commit

    mine = old.load(text(node("Company", name="mine"))).commit

    assert theirs is not None
    assert mine is not None
    assert [each.id for each in open_graph(root).log()][:2] == [mine.id, theirs.id]
    assert sorted(ages(old)) == [*(f"kept-{number}" for number in range(5)), "theirs"]
    assert new.fsck().findings == ()


@pytest.mark.parametrize(
    ("before", "after", "given"),
    [
        ("size: F32?", "size: F64?", 0.1),
        ("size: I64?", "size: I32?", 5),
        ("text: String  size: I32?", "size: I32?", 5),
    ],
)
def test_a_table_that_was_made_again_in_a_restored_graph_is_written_as_it_is_now(
    place: tuple[str, Callable[[], None]],
    tmp_path: Path,
    before: str,
    after: str,
    given: float,
) -> None:
    root, remove = place
    one, other = (f"{SCHEMA}node Note {{ key: String @key  {each} }}" for each in (before, after))
    read = "query all() { match { $n: Note } return { $n.key, $n.size } }"
    old = init(root, SCHEMA, durable=False)
    old.load(text(person("kept")))
    old.backup(tmp_path / "copy")
    old.apply_schema(one)
    assert old.query(read).to_dicts() == []
    as_it_was = place_of(old.snapshot().table("node:Note"))
    assert len(as_it_was.open().schema) == len(old.snapshot().table("node:Note").schema)
    remove()
    restore(tmp_path / "copy", root, durable=False)
    new = open_graph(root, durable=False)
    new.apply_schema(other)
    as_it_is = place_of(new.snapshot().table("node:Note"))

    old.load(text(node("Note", key="a", size=given)), engine="inline")

    assert new.query(read).to_dicts() == [{"n.key": "a", "n.size": given}]
    assert new.fsck().findings == ()
    assert (as_it_is.path, as_it_is.version) == (as_it_was.path, as_it_was.version)
    assert as_it_is.open().schema == new.snapshot().table("node:Note").schema


def test_commits_that_a_restored_graph_lacks_are_unknown_to_a_process_that_saw_them(
    place: tuple[str, Callable[[], None]], tmp_path: Path
) -> None:
    root, remove = place
    old = init(root, SCHEMA, durable=False)
    old.load(text(person("kept")))
    old.backup(tmp_path / "copy")
    old.load(text(person("lost")))
    lost = old.branch().commit.id
    remove()
    restore(tmp_path / "copy", root, durable=False)

    asked: list[Callable[[str], object]] = [
        old.commit,
        old.snapshot,
        lambda commit: list(old.log(after=commit)),
        lambda commit: old.create_branch("stray", commit),
        lambda commit: old.create_tag("stray", commit),
    ]
    for ask in asked:
        with pytest.raises(CommitNotFoundError):
            ask(lost)

    assert open_graph(root, durable=False).branches() == ["main"]
    assert old.fsck().is_sound


@pytest.mark.parametrize("commits", [0, 1, 2, 3])
def test_a_bucket_whose_newest_objects_were_taken_back_is_read_and_written_as_it_is_now(
    commits: int, standin: Lane, bucket: Bucket
) -> None:
    old = init(standin.root, SCHEMA, durable=False)
    old.load(text(person("kept")))
    kept = dict(bucket.objects)
    for number in range(2):
        old.load(text(person(f"lost-{number}")))
    for name in bucket.objects.keys() - kept.keys():
        del bucket.objects[name]
    new = open_graph(standin.root, durable=False)
    for number in range(commits):
        new.load(text(person(f"new-{number}")))

    old.create_branch("draft")
    assert ages(old) == ages(new)
    old.load(text(person("later")))

    expected = {"kept", "later", *(f"new-{number}" for number in range(commits))}
    assert set(ages(new)) == set(ages(old)) == expected
    assert new.fsck().is_sound


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
