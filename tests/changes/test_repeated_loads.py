"""A load that is sent again with its operation id is done once, and never taken for another."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import BranchNotFoundError, InputError, OperationReusedError
from omnigraph.storage import steps
from omnigraph.storage.layout import ASIDE
from tests.changes.meanwhile import READY, STAGED, meanwhile
from tests.templates import fresh_graph

SCHEMA = """
node Person { slug: String @key  age: I32? }
node Note { text: String }
edge Knows: Person -> Person
"""
RENAMED = """
node Human @rename_from("Person") { slug: String @key  age: I32? }
node Note { text: String }
edge Knows: Human -> Human
"""
ANN = '{"type": "Person", "data": {"slug": "ann"}}\n'
BOB = '{"type": "Person", "data": {"slug": "bob"}}\n'
NOTE = '{"type": "Note", "data": {"text": "once"}}\n'


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fresh_graph(tmp_path / "graph", SCHEMA)


def slugs(graph: Graph, branch: str = "main") -> list[str]:
    rows = graph.at(branch).query("query q() { match { $p: Person } return { $p.slug } }")
    return sorted(str(row["p.slug"]) for row in rows)


def operations(graph: Graph) -> list[str]:
    return [commit.operation_id for name in graph.branches() for commit in graph.log(name)]


@contextmanager
def nothing_staged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no row of a table is written within the block."""
    seen: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(steps, "observer", seen.append)
        yield
    assert seen == []


def test_a_load_that_is_sent_again_gives_the_same_answer_and_reads_no_row(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, copy = tmp_path / "rows.jsonl", tmp_path / "other.jsonl"
    for each in (file, copy):
        each.write_text(ANN + NOTE + NOTE)
    first = graph.load(file, operation_id="op")
    assert first.nodes == {"Note": 2, "Person": 1}

    with nothing_staged(monkeypatch):
        for data in (file, copy, file.read_text(), BytesIO(file.read_bytes())):
            assert graph.load(data, operation_id="op") == first
        assert open_graph(graph.uri).load(file, operation_id="op") == first

    assert operations(graph).count("op") == 1
    assert not list(Path(graph.uri, ASIDE).rglob("*.*"))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda g: g.load(BOB, operation_id="op"), id="other rows"),
        pytest.param(lambda g: g.load(ANN + ANN, operation_id="op"), id="more rows"),
        pytest.param(lambda g: g.load(ANN, mode="merge", operation_id="op"), id="another mode"),
        pytest.param(lambda g: g.load(ANN, branch="draft", operation_id="op"), id="a branch"),
        pytest.param(lambda g: g.ingest(ANN, branch="main", operation_id="op"), id="an ingest"),
        pytest.param(
            lambda g: g.branch(operation_id="op").mutate('query q() { insert Note { text: "x" } }'),
            id="a mutation",
        ),
        pytest.param(lambda g: g.branch(operation_id="op").merge("draft"), id="a merge"),
        pytest.param(
            lambda g: g.branch(operation_id="op").apply_schema(SCHEMA + "node City { n: String }"),
            id="a schema",
        ),
    ],
)
def test_an_id_that_was_given_to_a_load_is_refused_for_anything_else_before_rows_are_written(
    other: Callable[[Graph], object], graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("draft")
    graph.load(ANN, operation_id="op")

    def observer(step: str) -> None:
        assert step not in ("fragments written", STAGED)

    monkeypatch.setattr(steps, "observer", observer)
    with pytest.raises(OperationReusedError, match="'op' was used for another change"):
        other(graph)

    assert (slugs(graph), slugs(graph, "draft")) == (["ann"], [])
    assert operations(graph).count("op") == 1


def test_an_id_that_was_given_to_a_mutation_is_refused_for_a_load(graph: Graph) -> None:
    graph.branch(operation_id="op").mutate('query q() { insert Note { text: "x" } }')

    with pytest.raises(OperationReusedError):
        graph.load(ANN, operation_id="op")

    assert slugs(graph) == []


def test_frames_are_told_apart_by_what_they_hold(graph: Graph) -> None:
    frame = pa.table({"slug": ["ann", "bob"], "age": pa.array([1, 2], pa.int32())})
    other = frame.set_column(1, "age", pa.array([1, 3], pa.int32()))
    first = graph.load(frame, type="Person", operation_id="op")

    assert graph.load({"Person": frame}, operation_id="op") == first
    with pytest.raises(OperationReusedError):
        graph.load(other, type="Person", operation_id="op")

    assert slugs(graph) == ["ann", "bob"]


def test_an_ingest_that_is_sent_again_says_again_that_it_made_its_branch(graph: Graph) -> None:
    graph.create_branch("side")
    first = graph.ingest(ANN, branch="fresh", operation_id="op")
    assert first.branch_created

    assert graph.ingest(ANN, branch="fresh", operation_id="op") == first
    with pytest.raises(OperationReusedError):
        graph.ingest(ANN, branch="fresh", base="side", operation_id="op")
    with pytest.raises(OperationReusedError):
        graph.ingest(BOB, branch="fresh", operation_id="op")

    assert slugs(graph, "fresh") == ["ann"]


def test_a_load_that_is_sent_again_after_its_type_was_renamed_answers_as_before(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"slug": "cy"}]
    given: list[Callable[[str], object]] = [
        lambda op: graph.load(ANN + NOTE, operation_id=op),
        lambda op: graph.load(iter(rows), type="Person", operation_id=op),
        lambda op: graph.load({"Person": pa.table({"slug": ["bob"]})}, operation_id=op),
        lambda op: graph.ingest('{"slug": "dan"}', branch="new", type="Person", operation_id=op),
    ]
    first = [load(f"op {at}") for at, load in enumerate(given)]
    for branch in ("main", "new"):
        graph.branch(branch).apply_schema(RENAMED)

    with nothing_staged(monkeypatch):
        assert [load(f"op {at}") for at, load in enumerate(given)] == first
    with pytest.raises(InputError, match="no type 'Person'"):
        graph.load(rows, type="Person", operation_id="another")
    with pytest.raises(InputError, match="no type 'Person'"):
        graph.load(rows, type="Person", operation_id="op 1", dry_run=True)


def test_a_load_that_is_sent_again_is_of_the_kinds_that_its_types_had(graph: Graph) -> None:
    load = partial(graph.load, [{"slug": "ann"}], type="Person", operation_id="op")
    first = load()
    graph.apply_schema(RENAMED)
    later = RENAMED.replace('@rename_from("Person") ', "")
    graph.apply_schema(later + "edge Person: Human -> Human")

    assert load() == first


def test_a_load_that_is_sent_again_after_its_branch_was_deleted_answers_as_before(
    graph: Graph,
) -> None:
    graph.create_branch("draft")
    load = partial(graph.load, ANN, branch="draft", operation_id="op")
    first = load()
    ingest = partial(graph.ingest, ANN, branch="made", operation_id="made")
    made = ingest()
    for name in ("draft", "made"):
        graph.delete_branch(name)

    assert load() == first
    assert ingest() == made
    assert graph.branches() == ["main"]
    with pytest.raises(BranchNotFoundError):
        graph.load(ANN, branch="draft", operation_id="new")
    with pytest.raises(OperationReusedError):
        graph.load(BOB, branch="draft", operation_id="op")


@pytest.mark.parametrize("step", ["fragments written", READY])
def test_of_the_same_load_sent_twice_at_once_one_is_done(graph: Graph, step: str) -> None:
    twin = partial(open_graph(graph.uri, durable=False).load, NOTE, operation_id="op")
    with meanwhile(twin, step=step):
        loaded = graph.load(NOTE, operation_id="op")

    assert loaded == twin()
    assert operations(graph).count("op") == 1
    assert graph.snapshot().state("node:Note").row_count == 1


@pytest.mark.parametrize("step", ["fragments written", READY])
def test_of_the_same_ingest_sent_twice_at_once_one_is_done(graph: Graph, step: str) -> None:
    other = open_graph(graph.uri, durable=False)
    twin = partial(other.ingest, ANN, branch="fresh", operation_id="op")
    with meanwhile(twin, step=step):
        ingested = graph.ingest(ANN, branch="fresh", operation_id="op")

    assert ingested == twin()
    assert ingested.branch_created
    assert operations(graph).count("op") == 1


@pytest.mark.parametrize("step", ["fragments written", READY])
@pytest.mark.parametrize("branch", ["main", "draft"])
def test_of_two_loads_with_one_id_at_once_the_second_is_refused(
    graph: Graph, step: str, branch: str
) -> None:
    graph.create_branch("draft")
    other = open_graph(graph.uri, durable=False)
    rival = partial(other.load, BOB, branch=branch, operation_id="op")
    with meanwhile(rival, step=step), pytest.raises(OperationReusedError):
        graph.load(ANN, operation_id="op")

    assert slugs(graph, branch) == ["bob"]
    assert {*slugs(graph), *slugs(graph, "draft")} == {"bob"}
    assert operations(graph).count("op") == 1
