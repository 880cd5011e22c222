"""Optimize leaves the same rows in few fragments, and is in nobody's way."""

import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import BranchNotFoundError, InputError, ReadOnlyError, TableNotFoundError
from omnigraph.maintain import optimize as optimizing
from omnigraph.maintain.optimize import CONCURRENCY
from omnigraph.merge.compare.row_change import Op
from omnigraph.storage import steps
from omnigraph.storage.staging import Piece
from omnigraph.storage.upkeep import compaction
from omnigraph.versioning.commit import CommitKind
from omnigraph.versioning.writes import Append, DeleteRows, Upsert
from tests.sample import COMPANY, KNOWS, PERSON, ages, edges, knows, new_graph, people, write


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


def _grown(graph: Graph, commits: int = 30) -> None:
    for number in range(commits):
        write(graph, {PERSON: (Append(people({f"p{number}": number})),)})
    write(graph, {KNOWS: (Append(knows([("p1", "p2"), ("p2", "p3")])),)})
    write(graph, {PERSON: (DeleteRows(pa.array(["p7"])), Upsert(people({"p8": 80})))})


def _fragments(graph: Graph, key: str = PERSON) -> int:
    return len(graph.snapshot().table(key).dataset.get_fragments())


def test_rows_stay_as_they_are_in_one_fragment_with_complete_indexes(graph: Graph) -> None:
    _grown(graph)
    rows, joined = ages(graph), edges(graph)
    assert _fragments(graph) > 1

    done = graph.optimize()

    assert (ages(graph), edges(graph)) == (rows, joined)
    assert _fragments(graph) == 1
    assert {each.pending for each in graph.coverage()} == {0}
    told = {each.table_key: each for each in done.tables}
    assert told[PERSON].fragments_removed > 1
    assert told[PERSON].fragments_added == 1
    assert [told[key].committed for key in (PERSON, COMPANY, KNOWS)] == [True, False, True]
    found = graph.snapshot().table(PERSON).scan(["id"], pc.field("age") == 80)
    assert found["id"].to_pylist() == ["p8"]
    assert graph.fsck().findings == ()


@pytest.mark.parametrize(
    "how", [{"types": ["Person"]}, {"exclude": ["Knows", "Company", "WorksAt"]}]
)
def test_only_the_types_that_are_named_are_optimized(
    graph: Graph, how: dict[str, list[str]]
) -> None:
    _grown(graph)
    for number in range(5):
        write(graph, {KNOWS: (Append(knows([(f"p{number + 8}", "p2")])),)})
    joined = _fragments(graph, KNOWS)
    assert joined > 1

    done = graph.optimize(types=how.get("types", ()), exclude=how.get("exclude", ()))

    assert [each.table_key for each in done.tables] == [PERSON]
    assert (_fragments(graph), _fragments(graph, KNOWS)) == (1, joined)
    with pytest.raises(TableNotFoundError, match="no type 'Persn'"):
        graph.optimize(exclude=["Persn"])


def test_it_is_one_physical_commit_that_diff_changes_and_blame_pass_by(graph: Graph) -> None:
    _grown(graph)
    before = graph.snapshot().commit
    fed = [each.commit.id for each in graph.changes()]
    blamed = [each.commit.id for each in graph.blame("Person", "p8")]

    commit = graph.optimize().commit

    assert commit is not None
    assert (commit.kind, commit.parents) == (CommitKind.PHYSICAL, (before.id,))
    assert commit == next(graph.log())
    assert [each.commit.id for each in graph.changes()] == fed
    assert list(graph.changes(since=before.id)) == []
    assert list(graph.diff(before.id, commit.id)) == []
    assert [each.commit.id for each in graph.blame("Person", "p8")] == blamed
    write(graph, {PERSON: (Append(people({"new": 1})),)})
    (late,) = graph.changes(since=commit.id)
    assert late.changes.stats == {"Person": {"insert": 1, "update": 0, "delete": 0}}


def test_an_optimized_graph_has_nothing_more_to_do(graph: Graph) -> None:
    _grown(graph)
    graph.optimize()
    head = graph.snapshot().commit

    again = graph.optimize()

    assert again.commit is None
    assert graph.snapshot().commit == head
    assert [each.committed for each in again.tables] == [False] * 4


def test_an_empty_graph_and_emptied_tables_can_be_optimized(graph: Graph) -> None:
    assert graph.optimize().commit is None
    write(graph, {PERSON: (Append(people({"a": 1, "b": 2})),)})
    write(graph, {PERSON: (Append(people({"c": 3})),)})
    write(graph, {PERSON: (DeleteRows(pa.array(["a", "b", "c"])),)})

    graph.optimize()

    assert ages(graph) == {}
    assert graph.snapshot().commit.tables[PERSON].row_count == 0
    write(graph, {PERSON: (Append(people({"d": 4})),)})
    assert ages(graph) == {"d": 4}


def test_only_the_branch_is_optimized_and_merges_find_what_really_changed(graph: Graph) -> None:
    _grown(graph)
    graph.create_branch("draft")
    write(graph, {PERSON: (Upsert(people({"p1": 111})),)}, "draft")
    main = graph.snapshot().commit

    graph.optimize("draft")

    assert graph.snapshot().commit == main
    graph.optimize()
    merged = graph.merge("draft", "main")
    assert merged.stats["Person"][Op.UPDATE] == 1
    assert ages(graph)["p1"] == 111
    assert len(ages(graph)) == 29


def test_a_writer_that_began_before_an_optimize_is_not_refused(graph: Graph) -> None:
    _grown(graph)
    stale = graph.snapshot()
    graph.optimize()
    graph.optimize(indexes_only=True)

    write(graph, {PERSON: (Append(people({"late": 5})),)}, base=stale)

    assert ages(graph) == {**ages(graph, stale.commit.id), "late": 5}
    assert edges(graph) == edges(graph, stale.commit.id)
    assert graph.fsck().findings == ()


def test_a_writer_that_comes_first_makes_it_try_again(graph: Graph) -> None:
    _grown(graph)
    came: list[str] = []

    def rival(step: str) -> None:
        if step == "segments built" and len(came) < 2:
            came.append(step)
            write(graph, {PERSON: (Append(people({f"rival{len(came)}": 1})),)})

    with _observing(rival):
        done = graph.optimize()

    assert done.commit is not None
    assert ages(graph).keys() >= {"rival1", "rival2"}
    assert len(ages(graph)) == 31
    assert not any(each.yielded for each in done.tables)


def test_a_table_that_others_write_again_and_again_is_left_to_them(graph: Graph) -> None:
    _grown(graph)
    came: list[str] = []

    def rival(step: str) -> None:
        if step == "segments built":
            came.append(step)
            write(graph, {PERSON: (Append(people({f"rival{len(came)}": 1})),)})

    with _observing(rival):
        done = graph.optimize()

    told = {each.table_key: each for each in done.tables}
    assert told[PERSON].yielded
    assert not told[PERSON].committed
    assert told[KNOWS].committed
    assert len(ages(graph)) == 29 + len(came)


def test_pieces_that_were_written_are_used_again(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    _grown(graph)
    written: list[int] = []
    rewrite = compaction.rewrite_group

    def counted(group: compaction.Group) -> list[Piece]:
        written.append(len(group.fragments))
        return rewrite(group)

    monkeypatch.setattr(optimizing, "rewrite_group", counted)
    monkeypatch.setattr(compaction, "FRAGMENT_ROWS", 12)  # so that there are several groups
    came: list[str] = []

    def rival(step: str) -> None:
        if step == "segments built" and not came:
            came.append(step)
            write(graph, {PERSON: (Upsert(people({"p29": 1})),)})

    with _observing(rival):
        graph.optimize()

    assert ages(graph)["p29"] == 1
    assert len(ages(graph)) == 29
    assert len(written) <= 4


@pytest.mark.long
def test_writers_and_readers_go_on_meanwhile(graph: Graph) -> None:
    _grown(graph, 40)
    stop = threading.Event()
    failures: list[BaseException] = []

    def writing() -> None:
        for number in range(40):
            try:
                mine = f'query add() {{ insert Person {{ slug: "w{number}", name: "W" }} }}'
                graph.mutate(mine)
            except BaseException as failed:
                failures.append(failed)
        stop.set()

    def reading() -> None:
        while not stop.is_set():
            try:
                assert len(ages(graph)) >= 39
            except BaseException as failed:
                failures.append(failed)

    threads = [threading.Thread(target=each) for each in (writing, reading)]
    for each in threads:
        each.start()
    while not stop.is_set():
        graph.optimize()
    for each in threads:
        each.join()

    assert failures == []
    assert len(ages(graph)) == 79
    assert graph.fsck().findings == ()


def test_what_cannot_be_optimized_is_refused(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ReadOnlyError):
        open_graph(graph.uri, read_only=True).optimize()
    with pytest.raises(BranchNotFoundError):
        graph.optimize("nowhere")
    with pytest.raises(InputError, match="engine"):
        graph.optimize(engine="steam")
    monkeypatch.setenv(CONCURRENCY, "none")
    with pytest.raises(InputError, match=CONCURRENCY):
        graph.optimize()


@pytest.mark.parametrize("concurrency", ["1", "3"])
def test_tables_are_worked_on_side_by_side(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, concurrency: str
) -> None:
    monkeypatch.setenv(CONCURRENCY, concurrency)
    _grown(graph)
    write(graph, {KNOWS: (Append(knows([("p3", "p4")])),)})

    graph.optimize()

    assert [_fragments(graph, key) for key in (PERSON, KNOWS)] == [1, 1]


class _observing:  # noqa: N801 - read as a verb
    """Lets something see every durable step within a block."""

    def __init__(self, see: Callable[[str], None]) -> None:
        self._see = see

    def __enter__(self) -> None:
        steps.observer = self._see

    def __exit__(self, *_: object) -> None:
        steps.observer = None
