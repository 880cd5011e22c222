"""An operation that is sent again is done once, whoever sends it and whatever happened to it."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BranchNotFoundError,
    HeadMovedError,
    InputError,
    OperationReusedError,
    OutcomeUnknownError,
    QueryError,
    ViolationsError,
)
from omnigraph.versioning.operations import find_repeated
from omnigraph.versioning.ulid import is_ulid
from tests.changes.meanwhile import READY, STAGED, meanwhile
from tests.changes.nursery import order
from tests.changes.statements import link, person
from tests.changes.town import SCHEMA, column, commits, content, counts, do, rows
from tests.crashes.nursery import Nursery
from tests.templates import fresh_graph

PROCESSES = 8
POLICY = """
version: 1
groups: { staff: [eve] }
rules:
  - id: all
    allow: { actors: { group: staff }, actions: [read, change], branch_scope: any }
"""
# Each of them would add a row if it were done twice.
ADD_NOTE = 'insert Note { text: "once" }'


def notes(graph: Graph) -> list[str]:
    return [row["text"] for row in rows(graph, "Note")]


def test_a_receipt_tells_what_was_done_and_by_whom(settled: Graph) -> None:
    writer = settled.branch(actor="eve", operation_id="op-1")
    receipt = do(writer, person("dan"), link("Knows", "dan", "ada"), link("Knows", "ada", "dan"))
    assert receipt.commit is not None
    assert receipt.to_json() == {
        "branch": "main",
        "query_name": "it",
        "affected_nodes": 1,
        "affected_edges": 2,
        "inserted": 3,
        "updated": 0,
        "unchanged": 0,
        "deleted": 0,
        "actor_id": "eve",
        "commit": settled.snapshot().commit.id,
        "operation_id": "op-1",
    }
    assert receipt.commit.operation_id == "op-1"


def test_an_operation_without_an_id_gets_one(graph: Graph) -> None:
    first, second = do(graph, ADD_NOTE), do(graph, ADD_NOTE)
    assert first.operation_id is not None
    assert is_ulid(first.operation_id)
    assert first.operation_id != second.operation_id


@pytest.mark.parametrize("operation_id", ["op-1", "ä/'\"\\ 漢 \n", "x" * 200, "history/0"])
def test_the_same_operation_again_gives_the_first_receipt(graph: Graph, operation_id: str) -> None:
    writer = graph.branch(operation_id=operation_id)
    first = do(writer, ADD_NOTE)
    do(graph, ADD_NOTE)

    again = [
        do(writer, ADD_NOTE),
        do(graph.branch(operation_id=operation_id), ADD_NOTE),
        do(open_graph(graph.uri, durable=False).branch(operation_id=operation_id), ADD_NOTE),
    ]

    assert again == [first] * 3
    assert commits(graph) == 2
    assert counts(first) == (1, 0)
    assert do(graph.branch(operation_id="op-2"), ADD_NOTE) != first


def test_an_operation_id_that_was_given_to_another_change_is_refused(graph: Graph) -> None:
    writer = graph.branch(operation_id="op")
    first = do(writer, "insert Note { text: $text }", text="one")
    for statement, text in (
        ("insert Note { text: $text }", "two"),
        ("insert Note { text: $text, stars: 1.0 }", "one"),
        ("insert City { slug: $text }", "one"),
    ):
        with pytest.raises(InputError, match="'op' was used for another change"):
            do(writer, statement, text=text)
    assert do(writer, "insert  Note\n{ text: $text }", text="one") == first
    assert commits(graph) == 1


def test_an_operation_is_found_again_after_many_others(graph: Graph) -> None:
    first = do(graph.branch(operation_id="first"), ADD_NOTE)
    for number in range(40):
        do(graph.branch(operation_id=f"op-{number}"), ADD_NOTE)
    fresh = open_graph(graph.uri, durable=False)
    assert do(fresh.branch(operation_id="first"), ADD_NOTE) == first
    assert do(fresh.branch(operation_id="op-20"), ADD_NOTE).commit in list(fresh.log())
    assert commits(graph) == 41


def test_an_operation_is_found_again_where_the_schema_lost_what_it_names(graph: Graph) -> None:
    writer = graph.branch(operation_id="op")
    first = do(writer, 'insert Note { text: "once", stars: 2.0 }')
    graph.apply_schema(SCHEMA.replace("stars: F64?", 'rank: F64? @rename_from("stars")'))

    assert do(writer, 'insert Note { text: "once", stars: 2.0 }') == first
    with pytest.raises(OperationReusedError):
        do(writer, 'insert Note { text: "twice", stars: 2.0 }')
    with pytest.raises(QueryError, match="no property 'stars'"):
        do(graph.branch(operation_id="new"), 'insert Note { text: "once", stars: 2.0 }')
    assert notes(graph) == ["once"]


def test_an_operation_is_found_again_where_one_more_type_has_the_interface_that_it_matches(
    tmp_path: Path,
) -> None:
    schema = "interface Named { slug: String }\nnode City implements Named { slug: String @key }\n"
    graph = fresh_graph(tmp_path / "named", schema + "node Note { text: String }")
    graph.load('{"type": "City", "data": {"slug": "oslo"}}')
    change = "query q($t: String) { match { $n: Named } insert Note { text: $t } }"
    writer = graph.branch(operation_id="op")
    first = writer.mutate(change, t="once")
    more = "node Town implements Named { slug: String @key }\nnode Note { text: String }"
    graph.apply_schema(schema + more)

    assert writer.mutate(change, t="once") == first
    with pytest.raises(OperationReusedError):
        writer.mutate(change, t="twice")
    assert notes(graph) == ["once"]


@pytest.mark.parametrize("policed", [False, True])
def test_an_operation_is_found_again_after_its_branch_was_deleted(
    graph: Graph, tmp_path: Path, policed: bool
) -> None:
    graph.create_branch("draft")
    (tmp_path / "policy.yaml").write_text(POLICY)
    policy = tmp_path / "policy.yaml" if policed else None
    user = open_graph(graph.uri, durable=False, actor="eve", policy=policy)
    writer = user.branch("draft", operation_id="op")
    first = do(writer, ADD_NOTE)
    loaded = writer.load('{"type": "Note", "data": {"text": "x"}}', operation_id="load")
    graph.delete_branch("draft")

    assert do(writer, ADD_NOTE) == first
    assert writer.load('{"type": "Note", "data": {"text": "x"}}', operation_id="load") == loaded
    with pytest.raises(OperationReusedError):
        do(writer, 'insert Note { text: "twice" }')
    with pytest.raises(BranchNotFoundError):
        do(user.branch("draft", operation_id="new"), ADD_NOTE)
    assert graph.branches() == ["main"]


def test_a_merge_and_a_revert_that_were_done_are_not_denied_after_a_cleanup(graph: Graph) -> None:
    writer = graph.branch(operation_id="op")
    undone = do(graph, ADD_NOTE).commit
    draft = graph.create_branch("draft")
    do(draft, 'insert City { slug: "rome" }')
    do(graph, 'insert City { slug: "oslo" }')
    assert undone is not None
    merged = writer.merge("draft").commit
    reverted = graph.branch(operation_id="undo").revert(undone.id).commit
    assert merged is not None
    assert reverted is not None
    graph.delete_branch("draft")
    do(graph, 'insert City { slug: "bern" }')
    graph.cleanup(keep=1, grace="0s", confirm=True)

    with pytest.raises(OutcomeUnknownError, match=f"done before by commit {merged.id}"):
        writer.merge("draft")
    with pytest.raises(OutcomeUnknownError, match=f"done before by commit {reverted.id}"):
        graph.branch(operation_id="undo").revert(undone.id)


def test_an_operation_that_was_refused_is_done_when_it_is_sent_again(settled: Graph) -> None:
    writer = settled.branch(operation_id="op")
    with pytest.raises(ViolationsError):
        do(writer, link("Knows", "ada", "dan"))
    do(settled, person("dan"))
    assert counts(do(writer, link("Knows", "ada", "dan"))) == (0, 1)


def test_an_operation_that_changed_nothing_is_tried_again(settled: Graph) -> None:
    writer = settled.branch(operation_id="op")
    assert do(writer, 'delete Person where slug = "dan"').commit is None
    do(settled, person("dan"))
    assert counts(do(writer, 'delete Person where slug = "dan"')) == (1, 0)


def test_an_operation_that_was_done_needs_no_head_where_it_was_expected(settled: Graph) -> None:
    writer = settled.branch(expect=settled.snapshot().commit.id, operation_id="op")
    first = do(writer, ADD_NOTE)
    assert do(writer, ADD_NOTE) == first
    do(settled, ADD_NOTE)
    assert do(writer, ADD_NOTE) == first


def test_an_attempt_that_was_lost_is_not_taken_for_a_result(settled: Graph) -> None:
    other = open_graph(settled.uri, durable=False)
    expected = settled.snapshot().commit.id
    with (
        meanwhile(partial(do, other, 'insert Note { text: "theirs" }'), step=READY),
        pytest.raises(HeadMovedError),
    ):
        do(settled.branch(expect=expected, operation_id="op"), ADD_NOTE)
    assert notes(settled) == ["theirs"]

    for graph in (settled, open_graph(settled.uri, durable=False)):
        manifest = graph.repository.manifest
        assert manifest.operation("op", None, manifest.newest()) is None
    receipt = do(settled.branch(operation_id="op"), ADD_NOTE)
    assert receipt.commit == settled.snapshot().commit
    assert sorted(notes(settled)) == ["once", "theirs"]


def test_an_attempt_that_was_lost_and_made_again_is_one_commit(settled: Graph) -> None:
    other = open_graph(settled.uri, durable=False)
    with meanwhile(partial(do, other, 'insert Note { text: "theirs" }'), step=READY):
        receipt = do(settled.branch(operation_id="op"), ADD_NOTE)
    assert receipt.commit == settled.snapshot().commit
    assert do(other.branch(operation_id="op"), ADD_NOTE) == receipt
    assert len(notes(settled)) == 2


@pytest.mark.parametrize("step", [STAGED, READY])
@pytest.mark.parametrize("expecting", [False, True])
def test_of_the_same_operation_sent_twice_at_once_one_is_done(
    settled: Graph, step: str, expecting: bool
) -> None:
    expect = settled.snapshot().commit.id if expecting else None
    other = open_graph(settled.uri, durable=False)
    twin = partial(do, other.branch(expect=expect, operation_id="op"), ADD_NOTE)
    version = commits(settled)
    with meanwhile(twin, step=step):
        receipt = do(settled.branch(expect=expect, operation_id="op"), ADD_NOTE)
    assert receipt == twin()
    assert commits(settled) == version + 1
    assert notes(settled) == ["once"]


@pytest.mark.parametrize("step", [STAGED, READY])
@pytest.mark.parametrize("branch", ["main", "draft"])
def test_of_two_requests_with_one_id_at_once_the_second_is_refused(
    settled: Graph, step: str, branch: str
) -> None:
    settled.create_branch("draft")
    other = open_graph(settled.uri, durable=False)
    text = "once" if branch == "draft" else "another"
    rival = partial(
        do, other.branch(branch, operation_id="op"), f'insert Note {{ text: "{text}" }}'
    )
    version = commits(settled)
    with meanwhile(rival, step=step), pytest.raises(OperationReusedError):
        do(settled.branch(operation_id="op"), ADD_NOTE)

    assert [row["text"] for row in rows(settled, "Note", branch)] == [text]
    assert "once" not in notes(settled)
    assert commits(settled) == version + (branch == "main")


def test_a_twin_that_comes_while_an_operation_is_looked_for_is_found(
    settled: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect = settled.snapshot().commit.id
    other = open_graph(settled.uri, durable=False)
    waiting = [partial(do, other.branch(expect=expect, operation_id="op"), person("dan"))]

    def found(*given: Any) -> Any:
        result = find_repeated(*given)
        if waiting:
            waiting.pop()()
        return result

    monkeypatch.setattr("omnigraph.versioning.transact.find_repeated", found)
    receipt = do(settled.branch(expect=expect, operation_id="op"), person("dan"))
    assert counts(receipt) == (1, 0)
    assert receipt.commit == settled.snapshot().commit


def test_threads_that_send_the_same_operation_get_the_same_receipt(graph: Graph) -> None:
    with ThreadPoolExecutor(4) as pool:
        receipts = list(
            pool.map(lambda _: do(graph.branch(operation_id="op"), ADD_NOTE, ADD_NOTE), range(8))
        )
    assert len({receipt.commit.id for receipt in receipts if receipt.commit}) == 1
    assert {counts(receipt) for receipt in receipts} == {(2, 0)}
    assert len(notes(graph)) == 2


def test_processes_that_send_the_same_operation_get_the_same_receipt(
    graph: Graph, nursery: Nursery, tmp_path: Path
) -> None:
    orders = [order(ADD_NOTE, operation_id="op")] * PROCESSES
    answers = nursery.answer("crowd", root=graph.uri, orders=orders, folder=str(tmp_path))
    assert {answer.get("commit") for answer in answers} == {graph.snapshot().commit.id}, answers
    assert {answer["affected_nodes"] for answer in answers} == {1}
    assert notes(graph) == ["once"]
    assert do(graph.branch(operation_id="op"), ADD_NOTE).to_json() == answers[0]


def test_processes_that_insert_the_same_key_leave_one_row_and_each_has_a_receipt(
    graph: Graph, nursery: Nursery, tmp_path: Path
) -> None:
    orders = [order(person("dan", age=str(number))) for number in range(PROCESSES)]
    answers = nursery.answer("crowd", root=graph.uri, orders=orders, folder=str(tmp_path))

    made = [answer.get("commit") for answer in answers]
    assert None not in made, answers
    assert len(set(made)) == commits(graph) == PROCESSES
    last = made.index(graph.snapshot().commit.id)
    assert column(graph, "Person", "age") == {"dan": last}


def test_processes_that_insert_the_same_row_make_one_commit(
    graph: Graph, nursery: Nursery, tmp_path: Path
) -> None:
    orders = [order(person("dan"))] * PROCESSES
    answers = nursery.answer("crowd", root=graph.uri, orders=orders, folder=str(tmp_path))
    assert not [answer for answer in answers if "error" in answer]
    assert sorted(answer["affected_nodes"] for answer in answers) == [0] * (PROCESSES - 1) + [1]
    assert commits(graph) == 1


def test_an_operation_is_done_once_whatever_step_its_first_process_died_at(
    settled: Graph, nursery: Nursery, place: Path
) -> None:
    wanted = order(person("dan"), link("Knows", "dan", "ada"), ADD_NOTE, operation_id="op")
    trace = _died(nursery, settled.uri, place / "whole", wanted, None)
    assert trace.count("head flipped") == 1
    flip = trace.index("head flipped") + 1

    for cut in range(1, len(trace) + 1):
        root = place / f"cut{cut}"
        _died(nursery, settled.uri, root, wanted, cut)
        seen = nursery.answer("look", root=str(root))
        assert ("op" in seen["log"]) == (cut >= flip), "it is there if, and only if, it was flipped"
        graph = open_graph(root, durable=False)
        before = graph.snapshot().commit
        receipt = do(graph.branch(operation_id="op"), *wanted["statements"])
        assert (counts(receipt), receipt.operation_id) == ((2, 1), "op")
        assert (receipt.commit == before) == (cut >= flip)
        assert [commit.operation_id for commit in graph.log()].count("op") == 1
        assert notes(graph) == ["once"]
        assert len(content(graph)["Person"]) == 4
        shutil.rmtree(root)


def _died(
    nursery: Nursery, template: str, root: Path, wanted: dict[str, Any], cut: int | None
) -> list[str]:
    """Let a process carry out an order on a copy of a graph, and die at a step if one is given."""
    shutil.copytree(template, root)
    acks = f"{root}.acks"
    ended = nursery.do("carry out", root=str(root), orders=[wanted], acks=acks, cut=cut)
    assert ended.was_killed == (cut is not None), ended
    return [] if cut is not None else list(ended.answer["value"])
