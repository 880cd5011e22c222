"""What goes wrong in the model without a rule is done to the product, in the same order.

Each test is named after the rule of tests/protocol/rules.py whose counterexample it replays.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    CommitCleanedError,
    ConflictError,
    OmniGraphError,
    OperationReusedError,
    OutcomeUnknownError,
    StorageError,
)
from omnigraph.schema.compile import compile_schema
from omnigraph.storage import layout, steps
from omnigraph.storage.failures import Crowded
from omnigraph.storage.objects import Objects, Stored
from omnigraph.storage.table import Table
from omnigraph.versioning import freshness
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.freshness import Moment
from omnigraph.versioning.manifest import Head, Manifest
from omnigraph.versioning.writes import Append, Overwrite
from tests.maintenance.tidying import (
    at_step,
    before_flip,
    cleaned,
    days_later,
    die,
    grown,
    readable,
)
from tests.policy.world import READ, made
from tests.promises.faults import Faults, flip, once
from tests.protocol.rules import SWITCHES
from tests.sample import PERSON, SCHEMA, ages, new_graph, people, write
from tests.standin import Bucket
from tests.stores import Lane

EVE = '{"type": "Person", "data": {"slug": "eve", "name": "Eve"}}'
BOB = '{"type": "Person", "data": {"slug": "bob", "name": "Bob"}}'
WIDER = SCHEMA.replace("age: I32? @index", "age: I32? @index  city: String?")


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


@pytest.fixture
def rival(graph: Graph) -> Graph:
    """The same graph, opened by somebody else."""
    return open_graph(graph.uri, durable=False)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    found = Faults()
    found.install(monkeypatch)
    return found


def _sound(graph: Graph, *branches: str) -> None:
    """Every row of some branches can be read by another process, also after a cleanup."""
    again = open_graph(graph.uri, durable=False)
    for _ in range(2):
        for branch in branches:
            assert len(ages(again, branch)) == again.snapshot(branch).state(PERSON).row_count
        assert again.fsck().findings == ()
        cleaned(again, keep=1)


def _at(monkeypatch: pytest.MonkeyPatch, step: str, do: Callable[[], object]) -> None:
    monkeypatch.setattr(steps, "observer", at_step(step, do))


def test_every_rule_is_replayed() -> None:
    replayed = {name.removeprefix("test_").partition("__")[0] for name in globals()}
    assert set(SWITCHES) <= replayed


def test_look_at_mark__a_branch_made_after_the_plan_keeps_its_commit(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    _at(monkeypatch, "versions buried", lambda: graph.create_branch("late", commits[2].id))

    cleaned(graph, keep=1)

    assert len(ages(graph, "late")) == 3
    _sound(graph, "main", "late")


def test_follow_parents__a_commit_that_a_new_branch_left_keeps_its_grace_period(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    days_later(graph, 10)

    def make_and_go_on() -> None:
        graph.create_branch("late", commits[2].id)
        write(graph, {PERSON: (Overwrite(people({"new": 1})),)}, "late")

    _at(monkeypatch, "versions buried", make_and_go_on)
    graph.cleanup(keep=1, confirm=True)

    assert readable(graph, commits[2])
    assert not readable(graph, commits[1])
    _sound(graph, "main", "late")


def test_follow_files__a_revert_keeps_the_files_of_the_commit_it_goes_back_to(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, last = grown(graph, 2)
    graph.apply_schema(WIDER)
    _at(monkeypatch, "versions buried", lambda: graph.revert(last.id))

    cleaned(graph, keep=1)

    assert set(ages(graph)) == {"main0"}
    _sound(graph, "main")


def test_follow_retired__a_commit_whose_branch_came_and_went_keeps_its_grace_period(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    days_later(graph, 10)

    def come_and_go() -> None:
        graph.create_branch("late", commits[2].id)
        graph.delete_branch("late")

    _at(monkeypatch, "versions buried", come_and_go)
    graph.cleanup(keep=1, confirm=True)

    assert [readable(graph, each) for each in commits] == [False, False, True, False, False, True]
    assert graph.fsck().findings == ()


@pytest.mark.parametrize("step", ["fragments written", "version staged", "commit written"])
def test_ask_base__an_ingest_whose_base_is_cleaned_up_is_refused(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    commits = grown(graph, 6)
    _at(monkeypatch, step, lambda: cleaned(rival, keep=1))

    with pytest.raises(OmniGraphError):
        graph.ingest(EVE, branch="late", base=commits[2].id)

    assert graph.branches() == ["main"]
    _sound(graph, "main")


@pytest.mark.parametrize("make", [Graph.create_branch, Graph.create_tag])
def test_guard_new_names__no_name_is_left_at_a_commit_that_is_cleaned_up(
    graph: Graph,
    rival: Graph,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Graph, str, str], object],
) -> None:
    commits = grown(graph, 6)
    before_flip(monkeypatch, lambda: cleaned(rival, keep=1))
    _at(monkeypatch, "branch flipped", die)

    with pytest.raises(CommitCleanedError):
        make(graph, "late", commits[2].id)

    assert (graph.branches(), graph.tags()) == (["main"], {})
    _sound(graph, "main")


def test_revoke_untouched__a_cleanup_that_removed_something_stays_told(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    _at(monkeypatch, "manifests removed", die)
    with pytest.raises(KeyboardInterrupt):
        cleaned(graph, keep=1)
    manifest, old = graph.repository.manifest, commits[2]
    # Release 0.1 makes a branch like this, and looks afterwards, unless it is killed.
    manifest.flip(manifest.newest(), {"late": Head("late", old.id, old.version, 0)})

    with pytest.raises(StorageError):
        cleaned(graph, keep=1)

    assert not any(readable(graph, each) for each in commits[:5])
    graph.delete_branch("late")
    _sound(graph, "main")


def test_keep_schemas__a_schema_that_is_applied_after_the_listing_stays(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(graph, 2)
    graph.repository.accept_schema(compile_schema(WIDER), WIDER)  # and then it was killed
    days_later(graph, 2)
    listing = Objects.listing
    applied: list[bool] = []

    def listed(self: Objects, folder: str = "") -> list[Stored]:
        found = listing(self, folder)
        if not applied:
            applied.append(True)
            rival.apply_schema(WIDER)
        return found

    monkeypatch.setattr(Objects, "listing", listed)
    graph.cleanup(keep=10, confirm=True)

    _sound(graph, "main")
    assert Path(graph.uri, layout.schema_path(rival.snapshot().commit.schema)).exists()


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
    """Do something right before the given read of the ledger."""
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


@pytest.mark.parametrize("step", ["version staged", "commit written", "commit synced"])
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

    _at(monkeypatch, step, give_up)
    with pytest.raises(OmniGraphError):
        graph.publish_run(run.run_id)

    assert str(graph.run(run.run_id).status) == "aborted"
    assert set(ages(graph)) == {"main0", "other"}
    assert graph.fsck().findings == ()


def _lose_reply(
    monkeypatch: pytest.MonkeyPatch, faults: Faults, meanwhile: Callable[[], object]
) -> None:
    """Lose the reply of the next flip, and do something before anybody looks for it."""
    settled = Manifest.settled

    def late(self: Manifest, failed: StorageError | Crowded) -> Table:
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
        repository.tables.forget_old(repository.manifest.newest(), timedelta(0))
        monkeypatch.setattr(freshness, "moment", late)

    _at(monkeypatch, "commit written", sleep)
    with pytest.raises(ConflictError):
        _write_on(graph, "main")

    assert set(ages(open_graph(graph.uri))) == {"main0", "main1"}


def test_note_begin__what_a_cleanup_buried_that_was_never_marked_is_not_told_as_gone(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = grown(graph, 6)
    days_later(graph, 1)
    mark = Manifest.mark_cleaning

    def late(self: Manifest, at: Table, cleanup: str) -> Table:
        monkeypatch.setattr(Manifest, "mark_cleaning", mark)
        _at(monkeypatch, "versions buried", die)
        with pytest.raises(KeyboardInterrupt):
            cleaned(rival, keep=1)
        return mark(self, at, cleanup)

    monkeypatch.setattr(Manifest, "mark_cleaning", late)
    cleaned(graph, keep=3)

    assert [readable(graph, each) for each in commits] == [False] * 3 + [True] * 3
    assert graph.fsck().findings == ()


@pytest.mark.parametrize("step", ["fragments written", "commit written", "commit synced"])
def test_compare_request__one_id_is_not_answered_with_what_another_request_made(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    _at(monkeypatch, step, lambda: rival.load(BOB, operation_id="k"))

    with pytest.raises(OperationReusedError):
        graph.load(EVE, operation_id="k")

    assert set(ages(graph)) == {"bob"}


@pytest.mark.parametrize("step", ["fragments written", "commit written", "commit synced"])
def test_guard_operation__one_id_on_two_branches_at_once_makes_one_commit(
    graph: Graph, rival: Graph, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    graph.create_branch("b")
    _at(monkeypatch, step, lambda: rival.load(EVE, branch="b", operation_id="k"))

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
        """Tell whether this is the second commit to the ledger: the first adds the rows."""
        is_commit = layout.MANIFEST in key and key.endswith(".manifest")
        commits[0] += is_commit
        return is_commit and commits[0] == 2

    bucket.drops = is_flip
    with pytest.raises(StorageError):
        write(graph, {PERSON: (Append(people({"late": 1})),)})
    bucket.behave()

    assert bucket.late, "the flip never came to the server"
    assert not any(bucket.arrive())
    assert set(ages(open_graph(standin.root))) == {"new"}
