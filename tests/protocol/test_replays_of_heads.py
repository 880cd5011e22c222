"""What goes wrong in the model without a rule of heads and runs is done to the product, too.

Each test is named after the rule of tests/protocol/rules.py whose counterexample it replays.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BranchExistsError,
    ConflictError,
    OmniGraphError,
    OperationReusedError,
    OutcomeUnknownError,
    StorageError,
)
from omnigraph.storage import forward, layout
from omnigraph.storage.failures import CommitContentionError, CommitRejectedError
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.manifest import freshness
from omnigraph.versioning.manifest.freshness import Moment
from omnigraph.versioning.manifest.manifest import Manifest
from omnigraph.versioning.writes import Append
from tests.maintenance.interrupting import before_flip, do_at
from tests.maintenance.tidying import grown, readable
from tests.policy.world import READ, made
from tests.promises.faults import Faults, flip, once
from tests.protocol import test_replays
from tests.protocol.rules import SWITCHES
from tests.sample import PERSON, ages, new_graph, people, write
from tests.standin import Bucket
from tests.stores import Lane

EVE = '{"type": "Person", "data": {"slug": "eve", "name": "Eve"}}'
BOB = '{"type": "Person", "data": {"slug": "bob", "name": "Bob"}}'


def test_every_rule_is_replayed() -> None:
    names = {*globals(), *vars(test_replays)}
    assert set(SWITCHES) <= {name.removeprefix("test_").partition("__")[0] for name in names}


@pytest.mark.parametrize(
    "act",
    [lambda g: g.create_branch("mine", "moving"), lambda g: g.merge("moving", "lab")],
    ids=["branch", "merge"],
)
def test_pin_once__a_tag_that_is_moved_after_the_policy_was_asked_opens_nothing(
    tmp_path: Path, act: Callable[[Graph], object]
) -> None:
    for moment in range(1, 12):
        folder = tmp_path / str(moment)
        folder.mkdir()
        world = made(folder)
        owner, guest = world.owner(), world.graph("una")
        owner.create_tag("moving", "open")
        move = partial(_move, owner, world.secret)
        with _before_read(guest, moment, move), suppress(OmniGraphError):
            act(guest)

        for branch in {"mine", "lab"} & set(owner.branches()):
            assert "secret" not in repr(list(owner.at(branch).query(READ)))


def _move(owner: Graph, commit: str) -> None:
    owner.delete_tag("moving")
    owner.create_tag("moving", commit)


@contextmanager
def _before_read(graph: Graph, moment: int, do: Callable[[], object]) -> Iterator[None]:
    """Do something right before the given read of the manifest."""
    manifest = graph.repository.manifest
    newest, reads = manifest.newest, [0]

    def read() -> Table:
        reads[0] += 1
        if reads[0] == moment:
            do()
        return newest()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "newest", read)
        yield


@pytest.mark.parametrize("step", ["version staged", "commit ready"])
def test_hold_run__a_run_that_was_given_up_is_not_published_by_a_slow_publisher(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    grown(graph, 1)
    run = graph.begin_run("main")
    write(graph, {PERSON: (Append(people({"of-run": 1})),)}, run.run_branch)
    write(graph, {PERSON: (Append(people({"other": 1})),)})

    def give_up() -> None:
        # Another publisher, whose claim this one goes on with, failed and took it back.
        Path(graph.uri, layout.RUNS, run.run_id, "claimed.json").unlink()
        rival.abort_run(run.run_id)

    do_at(monkeypatch, step, give_up)
    with pytest.raises(OmniGraphError):
        graph.publish_run(run.run_id)

    assert str(graph.run_record(run.run_id).status) == "aborted"
    assert set(ages(graph)) == {"main0", "other"}
    assert graph.fsck().findings == ()


def _lose_reply(
    monkeypatch: pytest.MonkeyPatch, faults: Faults, meanwhile: Callable[[], object]
) -> None:
    """Lose the reply of the next flip, and do something before anybody looks for it."""
    settled = Manifest.settled

    def late(self: Manifest, failed: StorageError | CommitContentionError) -> Table:
        monkeypatch.setattr(Manifest, "settled", settled)
        meanwhile()
        return settled(self, failed)

    monkeypatch.setattr(Manifest, "settled", late)
    faults.plan = once(flip("after"))


@pytest.mark.parametrize(
    ("act", "meanwhile"),
    [
        (lambda g: g.create_branch("n"), lambda g: g.delete_branch("n")),
        (lambda g: g.create_branch("n"), lambda g: g.rename_branch("n", "m")),
        (lambda g: g.create_tag("n"), lambda g: g.delete_tag("n")),
        (lambda g: g.rename_branch("d", "n"), lambda g: g.rename_branch("n", "d")),
        (lambda g: g.rename_branch("d", "n"), lambda g: _write_on(g, "n")),
        (lambda g: g.delete_branch("d"), lambda g: g.create_branch("d", "old")),
        (lambda g: g.delete_branch("d"), lambda g: g.create_branch("d", "g")),
    ],
    ids=[
        "make, delete",
        "make, rename",
        "tag, untag",
        "rename, rename back",
        "rename, write",
        "delete, make elsewhere",
        "delete, make again",
    ],
)
def test_unknown_when_moved__no_definite_error_is_told_of_what_was_done_and_changed_since(
    graph: Graph,
    rival: Graph,
    faults: Faults,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[Graph], object],
    meanwhile: Callable[[Graph], object],
) -> None:
    graph.create_tag("old")
    grown(graph, 2)
    graph.create_branch("d")
    graph.create_tag("g")
    _lose_reply(monkeypatch, faults, lambda: meanwhile(rival))

    with pytest.raises(OutcomeUnknownError):
        act(graph)

    assert graph.fsck().findings == ()


def _write_on(graph: Graph, branch: str) -> Commit:
    return write(graph, {PERSON: (Append(people({"new": 1})),)}, branch)


def test_unknown_when_moved__a_flip_that_was_not_made_is_a_definite_error(
    graph: Graph, rival: Graph, faults: Faults
) -> None:
    grown(graph, 2)
    faults.plan = once(flip("before"))

    with pytest.raises(StorageError):
        graph.create_branch("n")

    assert graph.branches() == ["main"]


def test_read_again__a_writer_that_slept_takes_no_commit_of_others_away(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = freshness.moment

    def late() -> Moment:
        steady, day = now()
        return steady + 7_200, day + 7_200

    def sleep() -> None:
        grown(rival, 2)
        rival.create_branch("elsewhere")
        repository = rival.repository
        repository.tables.forget_old(
            repository.manifest.newest(), repository.store.now() + 2_000_000
        )
        for module in (forward, freshness):
            monkeypatch.setattr(module, "moment", late)

    do_at(monkeypatch, "commit ready", sleep)
    with pytest.raises(ConflictError):
        _write_on(graph, "main")

    assert set(ages(open_graph(graph.uri))) == {"main0", "main1"}


@pytest.mark.parametrize("step", ["fragments written", "commit ready"])
def test_compare_request__one_id_is_not_answered_with_what_another_request_made(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    do_at(monkeypatch, step, lambda: rival.load(BOB, operation_id="k"))

    with pytest.raises(OperationReusedError):
        graph.load(EVE, operation_id="k")

    assert set(ages(graph)) == {"bob"}


@pytest.mark.parametrize("step", ["fragments written", "commit ready"])
def test_guard_operation__one_id_on_two_branches_at_once_makes_one_commit(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    graph.create_branch("b")
    do_at(monkeypatch, step, lambda: rival.load(EVE, branch="b", operation_id="k"))

    with pytest.raises(OperationReusedError):
        graph.load(EVE, operation_id="k")

    assert (ages(graph), set(ages(graph, "b"))) == ({}, {"eve"})


def test_guard_twin__a_commit_outlives_the_removal_of_its_last_two_names_at_once(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("d")
    last = _write_on(graph, "d")
    graph.create_tag("g", "d")
    before_flip(monkeypatch, lambda: rival.delete_tag("g"))

    graph.delete_branch("d")

    assert (graph.branches(), graph.tags()) == (["main"], {})
    assert graph.commit(last.id) == last
    assert readable(graph, last)
    assert graph.fsck().findings == ()


def test_fence__a_flip_that_comes_late_finds_its_place_taken(standin: Lane, bucket: Bucket) -> None:
    graph = new_graph(standin.root)
    _write_on(graph, "main")
    commits = [0]

    def is_flip(key: str) -> bool:
        """Tell whether this is a flip: there come a flip, a fence and a flip."""
        is_commit = layout.MANIFEST in key and key.endswith(".manifest")
        commits[0] += is_commit
        return is_commit and commits[0] in (1, 3)

    bucket.drops = is_flip
    with pytest.raises(StorageError):
        write(graph, {PERSON: (Append(people({"late": 1})),)})
    bucket.behave()

    assert len(bucket.late) == 2, "the flips never came to the server"
    assert not any(bucket.arrive())
    assert set(ages(open_graph(standin.root))) == {"new"}


def _spill(graph: Graph) -> None:
    graph.repository.manifest.spill(graph.repository.manifest.newest())


@pytest.mark.parametrize("act", ["write", "delete", "rename", "spill"])
def test_guard_spill__a_branch_that_moves_while_it_is_spilled_stays_where_it_went(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    graph.create_branch("draft")
    acts: dict[str, Callable[[], object]] = {
        "write": lambda: write(rival, {PERSON: (Append(people({"late": 1})),)}, "draft"),
        "delete": lambda: rival.delete_branch("draft"),
        "rename": lambda: rival.rename_branch("draft", "final"),
        "spill": lambda: _spill(rival),
    }

    do_at(monkeypatch, "heads written", acts[act])
    with pytest.raises(CommitRejectedError):
        _spill(graph)

    wanted = {"write": ["draft"], "delete": [], "rename": ["final"], "spill": ["draft"]}[act]
    for one in (graph, rival, open_graph(graph.uri)):
        assert one.branches() == ["main", *wanted]
        assert [each for each in wanted if "late" in ages(one, each)] == wanted[: act == "write"]
    assert graph.fsck().findings == ()


def test_mark_gone__a_spilled_branch_that_is_deleted_does_not_come_back(graph: Graph) -> None:
    graph.create_branch("draft")
    _spill(graph)

    graph.delete_branch("draft")
    graph.create_tag("draft")
    graph.delete_tag("draft")

    assert graph.branches() == open_graph(graph.uri).branches() == ["main"]


def test_spill_gone__a_deleted_branch_does_not_come_back_with_the_next_spills(
    graph: Graph,
) -> None:
    for number in range(8):
        graph.create_branch(f"draft{number}")
    _spill(graph)

    for number in range(6):
        graph.delete_branch(f"draft{number}")
        _spill(graph)
        left = [f"draft{each}" for each in range(number + 1, 8)]
        assert graph.branches() == open_graph(graph.uri).branches() == ["main", *left]
    assert graph.fsck().findings == ()


@pytest.mark.parametrize("step", ["version staged", "commit ready"])
def test_an_ingest_makes_no_branch_with_the_name_of_a_tag_that_came_first(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    do_at(monkeypatch, step, lambda: rival.create_tag("v1"))

    with pytest.raises(BranchExistsError, match="there is a tag 'v1' already"):
        graph.ingest(EVE, branch="v1")

    assert graph.branches() == ["main"]
    assert "eve" not in ages(graph, "v1")
