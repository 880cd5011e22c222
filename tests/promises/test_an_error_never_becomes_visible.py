"""Promise: after an error nothing was done and nothing comes later; what landed is a success.

Calls into the substrate are broken one by one, before and after they do their work.
"""

import re
from collections.abc import Callable

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BranchNotFoundError,
    CommitNotFoundError,
    GraphNotFoundError,
    HeadMovedError,
    OmniGraphError,
    OutcomeUnknownError,
    StorageError,
)
from omnigraph.versioning.attempts import Patience
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.manifest import fresh
from omnigraph.versioning.writes import Append
from tests.promises.faults import (
    Call,
    Faults,
    Plan,
    When,
    at,
    flip,
    flip_and_all_later,
    once,
    outcome,
)
from tests.sample import KNOWS, PERSON, ages, edges, knows, new_graph, people, write
from tests.standin import Bucket
from tests.stores import Lane

CROWDED = "Too many concurrent writers. Attempted 7 times, but failed on retry_timeout"
SMALL_SCHEMA = "node Thing { name: String @key }"


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """Return the faults, which stand in front of every call and break none of them yet."""
    made = Faults()
    made.install(monkeypatch)
    return made


def test_whatever_fails_while_committing_the_answer_is_true(lane: Lane, faults: Faults) -> None:
    graph = new_graph(lane.root)
    with faults.broken(lambda _: None) as calls:
        _add(graph, "seed")
    lies, told = [], {"seed"}

    for plan, label in _single_faults(lane, calls):
        name = re.sub(r"\W+", "-", label)
        with faults.broken(plan):
            answer = outcome(lambda name=name: _add(graph, name))  # type: ignore[misc]
        visible = name in ages(open_graph(lane.root, read_only=True))
        if answer != ("done" if visible else "failed"):
            lies.append((label, answer, visible))
        told |= {name} if visible else set()

    _add(graph, "last")
    assert lies == []
    assert set(ages(open_graph(lane.root))) == told | {"last"}
    assert {src for src, _ in edges(graph)} == told | {"last"}
    assert len(list(graph.log())) == len(told) + 2


def test_when_flushing_fails_no_error_becomes_visible(lane: Lane, faults: Faults) -> None:
    if not lane.is_local:
        pytest.skip("an object store flushes by itself")
    graph = new_graph(lane.root, durable=True)
    with faults.broken(lambda _: None) as calls:
        _add(graph, "seed")
    lies = []

    for call in [each for each in calls if each.name == "os.fsync"]:
        name = f"p{call.number}"
        with faults.broken(at(call.number, "before")):
            answer = outcome(lambda name=name: _add(graph, name))  # type: ignore[misc]
        if answer == "failed" and name in ages(graph):
            lies.append(call)

    assert lies == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_when_the_flip_of_a_branch_fails_the_answer_is_true(
    when: When, lane: Lane, faults: Faults
) -> None:
    graph = new_graph(lane.root)
    for name in ("old", "odd"):
        graph.create_branch(name)
    changes: dict[str, Callable[[], object]] = {
        "create": lambda: graph.create_branch("new"),
        "rename": lambda: graph.rename_branch("old", "renamed"),
        "delete": lambda: graph.delete_branch("odd"),
    }

    lies = []
    for change, act in changes.items():
        before = set(open_graph(lane.root, read_only=True).branches())
        with faults.broken(flip(when)):
            answer = outcome(act)
        happened = set(open_graph(lane.root, read_only=True).branches()) != before
        if answer != ("done" if happened else "failed"):
            lies.append((change, answer, happened))

    assert lies == []


@pytest.mark.parametrize("durable", [False, True])
def test_whatever_fails_while_making_a_graph_the_answer_is_true(
    durable: bool, lane: Lane, faults: Faults
) -> None:
    if durable and not lane.is_local:
        pytest.skip("an object store flushes by itself")
    with faults.broken(lambda _: None) as calls:
        init(f"{lane.root}-seed", SMALL_SCHEMA, durable=durable)
    lies = []

    for plan, label in _single_faults(lane, calls):
        root = f"{lane.root}-{re.sub('[^a-zA-Z0-9]+', '-', label)}"
        with faults.broken(plan):
            answer = outcome(lambda root=root: init(root, SMALL_SCHEMA, durable=durable))  # type: ignore[misc]
        visible = _is_graph(root)
        if (answer == "done") != visible and answer != "unknown":
            lies.append((label, answer, visible))
        if not visible:
            init(root, SMALL_SCHEMA, durable=durable)

    assert lies == []


def test_a_lost_reply_of_a_flip_that_landed_is_a_success(lane: Lane, faults: Faults) -> None:
    graph = new_graph(lane.root)

    with faults.broken(flip("after")):
        commit = _add(graph, "ann")

    assert next(open_graph(lane.root).log()).id == commit.id
    assert ages(graph) == {"ann": 1}


def test_a_lost_reply_is_a_success_although_another_commit_came_on_top(
    lane: Lane, faults: Faults
) -> None:
    graph, rival = new_graph(lane.root), open_graph(lane.root, durable=False)
    rivals: list[Commit] = []

    def plan(call: Call) -> When | None:
        return "after" if call.flips and not rivals else None

    original = graph.repository.manifest.newest
    with faults.broken(plan), pytest.MonkeyPatch.context() as patch:

        def newest_after_a_rival() -> object:
            if any(call.flips for call in faults.seen) and not rivals:
                rivals.append(write(rival, {KNOWS: (Append(knows([("x", "y")])),)}))
            return original()

        patch.setattr(graph.repository.manifest, "newest", newest_after_a_rival)
        commit = write(graph, {PERSON: (Append(people({"ann": 1})),)})

    assert [each.parents for each in rivals] == [(commit.id,)]
    assert ages(graph) == {"ann": 1}


@pytest.mark.parametrize("change", ["create", "rename", "delete"])
def test_when_others_move_a_branch_whose_change_got_no_reply_the_outcome_is_unknown(
    change: str, lane: Lane, faults: Faults
) -> None:
    lane.skip_second_opinion()
    graph, rival = new_graph(lane.root), open_graph(lane.root, durable=False)
    graph.create_branch("old")
    acts: dict[str, Callable[[], object]] = {
        "create": lambda: graph.create_branch("new"),
        "rename": lambda: graph.rename_branch("old", "new"),
        "delete": lambda: graph.delete_branch("old"),
    }
    moves: dict[str, Callable[[], object]] = {
        "create": lambda: write(rival, {PERSON: (Append(people({"ann": 1})),)}, "new"),
        "rename": lambda: write(rival, {PERSON: (Append(people({"ann": 1})),)}, "new"),
        "delete": lambda: rival.create_branch("old", _add(rival, "ann").id),
    }
    moved: list[object] = []

    def move(call: Call) -> None:
        if call.flips and not moved:
            moved.append(call)
            moves[change]()

    faults.done = move
    with faults.broken(once(flip("after"))), pytest.raises(OutcomeUnknownError):
        acts[change]()

    assert ages(graph, "old" if change == "delete" else "new") == {"ann": 1}


def test_a_flip_that_did_not_land_is_an_error_and_stays_unseen(lane: Lane, faults: Faults) -> None:
    graph = new_graph(lane.root)

    with faults.broken(flip("before")), pytest.raises(StorageError):
        _add(graph, "ann")

    assert ages(graph) == {}
    _add(graph, "bob")
    assert ages(graph) == ages(open_graph(lane.root)) == {"bob": 1}
    assert len(list(graph.log())) == 2


@pytest.mark.parametrize("when", ["before", "after"])
def test_when_the_store_stays_broken_the_outcome_is_called_unknown(
    when: When, lane: Lane, faults: Faults
) -> None:
    graph = new_graph(lane.root)

    with faults.broken(flip_and_all_later(when)), pytest.raises(OutcomeUnknownError) as told:
        _add(graph, "ann")

    named = re.findall(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", told.value.message)
    assert len(named) == 1
    reopened = open_graph(lane.root)
    if when == "after":
        assert reopened.commit(named[0]).id == next(reopened.log()).id
        assert ages(reopened) == {"ann": 1}
    else:
        assert ages(reopened) == {}
        with pytest.raises(CommitNotFoundError):
            reopened.commit(named[0])


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_flip_that_lance_gave_up_among_others_is_looked_up_and_tried_again(
    when: When, lane: Lane, faults: Faults
) -> None:
    graph = new_graph(lane.root)

    with faults.broken(once(flip(when)), CROWDED):
        made = _add(graph, "ann")
    with faults.broken(once(flip(when)), CROWDED):
        graph.create_branch("draft")

    seen = open_graph(lane.root)
    assert next(each.id for each in seen.log()) == made.id
    assert len(list(seen.log())) == 2
    assert ages(seen, "draft") == ages(seen) == {"ann": 1}


@pytest.mark.parametrize("when", ["before", "after"])
def test_commits_that_lance_gave_up_to_spill_are_spilled_later(
    when: When, lane: Lane, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh, "MOST_FRESH", 4)
    graph = new_graph(lane.root)
    for name in "abcd":
        _add(graph, name)
    broken: list[Call] = []

    def spill(call: Call) -> When | None:
        is_spill = not call.flips and any(key.startswith(fresh.FRESH_KEY) for key in call.keys)
        broken.extend([call] if is_spill else [])
        return when if is_spill else None

    with faults.broken(once(spill), CROWDED):
        _add(graph, "e")
    for name in "fg":
        _add(graph, name)

    assert broken
    assert set(ages(open_graph(lane.root))) == set("abcdefg")
    assert len(list(graph.log())) == 8
    assert graph.fsck().findings == ()


def test_a_writer_that_others_never_let_through_is_told_that_it_lost(
    lane: Lane, faults: Faults
) -> None:
    graph = new_graph(lane.root)
    graph.repository.patience = Patience(seconds=0.1)

    with faults.broken(flip("before"), CROWDED), pytest.raises(HeadMovedError):
        _add(graph, "ann")
    with faults.broken(flip("before"), CROWDED), pytest.raises(HeadMovedError):
        graph.create_branch("draft")

    assert ages(open_graph(lane.root)) == {}
    assert graph.branches() == ["main"]


def test_the_attempts_of_a_failed_write_are_no_commits(lane: Lane, faults: Faults) -> None:
    graph = new_graph(lane.root)
    before = graph.snapshot().commit.id
    with faults.broken(flip("before")), pytest.raises(StorageError):
        _add(graph, "ann")

    newest = open_graph(lane.root).repository.manifest.newest()
    names = newest.scan(["object_id"])["object_id"].to_pylist()
    written = {each.removeprefix("commit:") for each in names if each.startswith("commit:")}

    for unseen in written - {before}:
        with pytest.raises(CommitNotFoundError):
            open_graph(lane.root).snapshot(unseen)
        with pytest.raises((CommitNotFoundError, BranchNotFoundError)):
            graph.create_branch("revived", unseen)


@pytest.mark.parametrize("answers", [False, True], ids=["cut off", "internal error"])
def test_a_flip_that_landed_on_a_server_whose_reply_is_lost_is_a_success(
    answers: bool, standin: Lane, bucket: Bucket
) -> None:
    graph = new_graph(standin.root)
    _add(graph, "ann")
    bucket.answers, bucket.loses = answers, _nth_manifest(1)

    commit = _add(graph, "bob")

    bucket.behave()
    assert next(open_graph(standin.root).log()).id == commit.id
    assert ages(graph) == {"ann": 1, "bob": 1}


def test_a_graph_whose_making_got_no_reply_is_made(standin: Lane, bucket: Bucket) -> None:
    bucket.loses = _nth_manifest(1)

    graph = new_graph(standin.root)

    _add(graph, "ann")
    assert ages(open_graph(standin.root)) == {"ann": 1}


def test_a_branch_whose_making_got_no_reply_is_made(standin: Lane, bucket: Bucket) -> None:
    graph = new_graph(standin.root)
    bucket.loses = _nth_manifest(1)

    graph.create_branch("draft")

    assert open_graph(standin.root).branches() == ["main", "draft"]


def test_a_flip_that_comes_late_finds_its_place_taken(standin: Lane, bucket: Bucket) -> None:
    graph = new_graph(standin.root)
    _add(graph, "ann")
    bucket.drops = _nth_manifest(1, 3)

    with pytest.raises(StorageError):
        _add(graph, "bob")

    bucket.behave()
    assert len(bucket.late) == 2, "the flip and its second attempt never came to the server"
    assert not any(bucket.arrive())
    assert ages(open_graph(standin.root)) == {"ann": 1}


def test_a_flip_that_is_lost_once_is_tried_again(standin: Lane, bucket: Bucket) -> None:
    graph = new_graph(standin.root)
    _add(graph, "ann")
    bucket.drops = _nth_manifest(1)

    _add(graph, "bob")

    bucket.behave()
    assert len(bucket.late) == 1
    assert not any(bucket.arrive())
    assert ages(open_graph(standin.root)) == {"ann": 1, "bob": 1}
    assert len(list(graph.log())) == 3


def _add(graph: Graph, name: str) -> Commit:
    """Add a person and an edge, by one commit."""
    edge = knows([(name, name)])
    return write(graph, {PERSON: (Append(people({name: 1})),), KNOWS: (Append(edge),)})


def _single_faults(lane: Lane, calls: list[Call]) -> list[tuple[Plan, str]]:
    """Break each call before and after its work; on a server, only the last commits."""
    chosen = [each for each in calls if each.name != "os.fsync"]
    if not lane.is_local:
        makers = ("LanceDataset.commit", "lance.write_dataset")
        chosen = [each for each in chosen if each.name in makers][-2:]
    whens: tuple[When, When] = ("before", "after")
    return [
        (at(call.number, when), f"{call.number} {when} {call.name}")
        for call in chosen
        for when in whens
    ]


def _nth_manifest(*numbers: int) -> Callable[[str], bool]:
    """Pick some of the versions of `__manifest` that are written from now on, and nothing else."""
    seen: list[str] = []

    def picked(key: str) -> bool:
        if "/__manifest/_versions/" not in key or not key.endswith(".manifest"):
            return False
        seen.append(key)
        return len(seen) in numbers

    return picked


def _is_graph(root: str) -> bool:
    try:
        open_graph(root, read_only=True).snapshot()
    except GraphNotFoundError:
        return False
    except OmniGraphError as broken:
        raise AssertionError(f"half a graph at {root}") from broken
    return True
