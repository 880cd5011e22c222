"""New commits are keys of the manifest, and become rows of it later; nobody sees a difference."""

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import OperationReusedError
from omnigraph.maintain.fsck import fsck
from omnigraph.storage import layout
from omnigraph.storage.store import store_at
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.damage import Damage
from omnigraph.versioning.manifest import fresh
from omnigraph.versioning.manifest.fresh import FRESH_KEY, fresh_texts
from omnigraph.versioning.manifest.records import stamp_of
from omnigraph.versioning.writes import Append
from tests.changes.meanwhile import READY, meanwhile
from tests.maintenance.interrupting import die
from tests.sample import PERSON, ages, new_graph, people, write

WRITTEN = "commits written"
ADD = 'query q($slug: String) { insert Person { slug: $slug, name: "N" } }'


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "g")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let four commits be keys at most: who comes after them makes rows of two."""
    monkeypatch.setattr(fresh, "MOST_FRESH", 4)
    return 4


def add(graph: Graph, *names: str) -> list[Commit]:
    return [write(graph, {PERSON: (Append(people({name: 1})),)}) for name in names]


def keys(graph: Graph) -> set[str]:
    return set(fresh_texts(graph.repository.manifest.newest()))


def logged(graph: Graph) -> list[str]:
    return [each.id for each in graph.log(limit=100)]


def test_a_commit_is_one_version_of_the_manifest_and_no_file_of_its_own(graph: Graph) -> None:
    add(graph, "ann")
    manifest, data = graph.repository.manifest, Path(graph.uri, layout.MANIFEST, "data")
    before, files = manifest.newest().version, set(data.iterdir())

    (commit,) = add(graph, "bob")

    assert manifest.newest().version == before + 1
    assert set(data.iterdir()) == files
    assert commit.id in keys(graph)


def test_a_reader_finds_the_newest_commit_without_reading_a_row(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    (commit,) = add(graph, "ann")
    for name in ("scan", "fragment"):
        monkeypatch.setattr(Table, name, lambda *_, **__: pytest.fail("it read rows"))
    assert open_graph(graph.uri).snapshot().commit == commit


def test_many_commits_become_rows_and_stay_what_they_were(graph: Graph) -> None:
    made = add(graph, *(f"p{number}" for number in range(70)))

    assert len(keys(graph)) <= 32
    for each in (graph, open_graph(graph.uri)):
        assert logged(each)[:70] == [commit.id for commit in reversed(made)]
        assert [each.repository.commit(commit.id) for commit in made] == made
        assert each.fsck().findings == ()
    rows = graph.repository.manifest.newest().scan(["object_id"])["object_id"].to_pylist()
    assert len(rows) == len(set(rows))


@pytest.mark.usefixtures("few")
def test_commits_of_keys_and_of_rows_are_found_in_every_way(graph: Graph) -> None:
    made = add(graph, *"abcdefg")
    assert {made[0].id, made[-1].id} - keys(graph) == {made[0].id}

    for each in (made[0], made[-1]):
        reader = open_graph(graph.uri)
        assert reader.snapshot(each.id).commit == each
        assert reader.snapshot(each.id[-8:]).commit == each
        reader.create_branch(f"at-{each.id[-4:].lower()}", each.id)
    assert len(ages(graph, made[0].id)) == 1
    graph.merge(f"at-{made[0].id[-4:].lower()}")
    graph.revert(made[-1].id)
    assert set(ages(graph)) == set("abcdef")


@pytest.mark.usefixtures("few")
def test_an_operation_is_found_by_its_id_before_and_after_it_is_spilled(graph: Graph) -> None:
    first = graph.branch(operation_id="once").mutate(ADD, slug="ann")
    for name in ("", *"bcdefg"):
        if name:
            add(graph, name)
        again = open_graph(graph.uri).branch(operation_id="once")
        assert again.mutate(ADD, slug="ann").commit == first.commit
        with pytest.raises(OperationReusedError):
            again.mutate(ADD, slug="other")
    assert first.commit is not None
    assert first.commit.id not in keys(graph)


@pytest.mark.usefixtures("few")
def test_a_crash_between_rows_and_keys_changes_nothing_that_is_read(graph: Graph) -> None:
    add(graph, *"abcd")
    with meanwhile(die, step=WRITTEN), pytest.raises(KeyboardInterrupt):
        add(graph, "lost")
    half = open_graph(graph.uri)
    assert (half.fsck().findings, set(ages(half))) == ((), set("abcd"))

    made = add(half, "f", "g")

    assert set(ages(half)) == set("abcdfg")
    assert logged(half)[:2] == [each.id for each in reversed(made)]
    assert len(logged(half)) == 7
    assert half.fsck().findings == ()


@pytest.mark.usefixtures("few")
def test_two_writers_that_spill_at_once_change_nothing_that_is_read(graph: Graph) -> None:
    other = open_graph(graph.uri, durable=False)
    other.create_branch("side")
    add(graph, *"abcd")

    with meanwhile(
        lambda: write(other, {PERSON: (Append(people({"s": 1})),)}, "side"), step=WRITTEN
    ):
        add(graph, "e")

    for each in (graph, open_graph(graph.uri)):
        assert set(ages(each)) == set("abcde")
        assert len(logged(each)) == 6
        assert each.fsck().findings == ()


@pytest.mark.usefixtures("few")
def test_who_spills_what_another_has_spilled_goes_on(graph: Graph) -> None:
    other = open_graph(graph.uri, durable=False)
    add(graph, *"abcde")
    with meanwhile(lambda: add(other, "x", "y", "z"), step=READY):
        graph.mutate(ADD, slug="f")
    assert set(ages(graph)) == {*"abcdef", *"xyz"}
    assert graph.fsck().findings == ()


def test_a_graph_of_many_types_does_not_carry_large_commits_along(tmp_path: Path) -> None:
    schema = "".join(f"node Type{number} {{ slug: String @key }}\n" for number in range(200))
    graph = og.init(tmp_path / "g", schema, durable=False)
    for number in range(12):
        graph.mutate(f'query q() {{ insert Type{number} {{ slug: "a" }} }}')
        texts = fresh_texts(graph.repository.manifest.newest()).values()
        assert sum(map(len, texts)) <= (64 << 10) + max(map(len, texts))
    assert len(logged(graph)) == 13
    assert graph.fsck().findings == ()


def test_an_older_release_is_told_by_the_first_commit_and_not_before(graph: Graph) -> None:
    manifest = graph.repository.manifest
    assert stamp_of(manifest.newest()) == layout.FORMAT
    graph.create_branch("side")
    assert stamp_of(manifest.newest()) == layout.FORMAT
    add(graph, "ann")
    assert stamp_of(manifest.newest()) == layout.FRESH


def test_a_key_that_cannot_be_read_is_told(graph: Graph) -> None:
    (commit,) = add(graph, "ann")
    repository = graph.repository
    repository.tables.set_keys(repository.manifest.newest(), {FRESH_KEY + commit.id: "[{}]"})

    kinds = {each.kind for each in fsck(store_at(graph.uri)).findings}

    assert Damage.COMMIT_UNREADABLE in kinds


def test_a_key_of_another_commit_is_told(graph: Graph) -> None:
    first, second = add(graph, "ann", "bob")
    repository = graph.repository
    at = repository.manifest.newest()
    texts = fresh_texts(at)
    repository.tables.set_keys(at, {FRESH_KEY + second.id: texts[first.id]})

    kinds = {each.kind for each in fsck(store_at(graph.uri)).findings}

    assert Damage.COMMIT_DISAGREES in kinds
