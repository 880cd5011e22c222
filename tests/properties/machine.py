"""Machine: Hypothesis does things to a graph and to its model, and compares them each time."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BranchExistsError,
    BranchNotFoundError,
    CommitCleanedError,
    CommitNotFoundError,
    ExpectedVersionMismatchError,
    ReadOnlyError,
)
from omnigraph.storage import steps
from omnigraph.versioning.damage import Damage
from omnigraph.versioning.history import history
from omnigraph.versioning.publish import publish
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.writes import (
    Append,
    WriteSet,
    stage,
)
from tests.properties.changes import IDS, Writes, drawn_change, drawn_edges, drawn_persons
from tests.properties.model import Model, Point, State
from tests.properties.persons import WORDS, Person, check_content, check_reads, rows_of
from tests.sample import KNOWS, PERSON, edges, new_graph, write

NAMES = ["main", "draft", "review/one", "Übung", "next"]
MOST_STEPS = 8


class Crash(Exception):
    """The process ends here."""


class GraphMachine(RuleBasedStateMachine):
    """A real graph in a folder, beside its model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="omnigraph-model-"))
        self.graph = new_graph(self.folder / "g")
        self.model = Model(self.graph.snapshot().commit.id)
        self.checked: set[str] = set()
        self.turn = 0

    def teardown(self) -> None:
        steps.observer = None
        try:
            self.graph = open_graph(self.graph.uri, read_only=True)
            for point in self.model.readable():
                self.check_point(self.graph.snapshot(point.id), point)
        finally:
            shutil.rmtree(self.folder)

    # What is done.

    @rule(data=st.data())
    def write_one_or_two_tables(self, data: st.DataObject) -> None:
        branch = self.some_branch(data)
        writes, state = drawn_change(data, self.model.head(branch).state)

        commit = write(self.graph, writes, branch, message=branch)

        assert (commit.branch, commit.message) == (branch, branch)
        self.model.commit(branch, commit.id, state)

    @precondition(lambda self: len(self.model.heads) > 1)
    @rule(data=st.data())
    def merge_another_branch(self, data: st.DataObject) -> None:
        branch = self.some_branch(data)
        merged = data.draw(st.sampled_from(sorted(set(self.model.heads.values()))))
        if merged == self.model.heads[branch]:
            return
        writes, state = drawn_change(data, self.model.head(branch).state)

        commit = write(self.graph, writes, branch, merged_parent=merged)

        assert commit.merged_parent == merged
        self.model.commit(branch, commit.id, state, merged)

    @precondition(lambda self: len(self.model.heads) > 1)
    @rule(data=st.data())
    def merge_two_branches_into_each_other(self, data: st.DataObject) -> None:
        one, other = data.draw(st.permutations(sorted(self.model.heads)))[:2]
        heads = {one: self.model.heads[other], other: self.model.heads[one]}
        if heads[one] == heads[other]:
            return
        for branch, merged in heads.items():
            commit = write(self.graph, {}, branch, merged_parent=merged)
            self.model.commit(branch, commit.id, self.model.head(branch).state, merged)
        self.check_bases(*map(self.model.heads.__getitem__, heads))

    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def create_a_branch(self, data: st.DataObject, name: str) -> None:
        source = data.draw(st.sampled_from([*sorted(self.model.heads), *self.model.points]))
        if name in self.model.heads:
            with pytest.raises(BranchExistsError):
                self.graph.create_branch(name.upper(), source)
            return

        if self.model.heads.get(source, source) in self.model.cleaned:
            with pytest.raises(CommitCleanedError):
                self.graph.create_branch(name, source)
            return

        self.graph.create_branch(name, source)

        self.model.heads[name] = self.model.heads.get(source, source)

    @rule(name=st.sampled_from(NAMES[1:]))
    def delete_a_branch(self, name: str) -> None:
        if name not in self.model.heads:
            with pytest.raises(BranchNotFoundError):
                self.graph.delete_branch(name)
            return

        self.graph.delete_branch(name)

        del self.model.heads[name]

    @rule(name=st.sampled_from(NAMES[1:]), new_name=st.sampled_from(NAMES))
    def rename_a_branch(self, name: str, new_name: str) -> None:
        if name not in self.model.heads:
            return
        if new_name in self.model.heads and name != new_name:
            with pytest.raises(BranchExistsError):
                self.graph.rename_branch(name, new_name)
            return

        self.graph.rename_branch(name, new_name)

        self.model.heads[new_name] = self.model.heads.pop(name)

    @rule(data=st.data())
    def a_write_on_an_old_snapshot_is_refused_where_it_touches_what_changed(
        self, data: st.DataObject
    ) -> None:
        branch = self.some_branch(data)
        stale, old = self.graph.snapshot(branch), self.model.head(branch).state
        first, after = drawn_persons(data, old.persons)
        commit = write(self.graph, {PERSON: first}, branch)
        self.model.commit(branch, commit.id, State(after, old.edges))

        again, _ = drawn_persons(data, old.persons)
        with pytest.raises(ExpectedVersionMismatchError, match=PERSON):
            write(self.graph, {PERSON: again}, branch, base=stale)
        other, joined = drawn_edges(data, old.edges)
        with pytest.raises(ExpectedVersionMismatchError, match=PERSON):
            self.publish_validated(branch, stale, {KNOWS: other})
        commit = write(self.graph, {KNOWS: other}, branch, base=stale)

        self.model.commit(branch, commit.id, State(after, joined))

    @rule(data=st.data(), indexes_only=st.booleans())
    def optimize_a_branch(self, data: st.DataObject, indexes_only: bool) -> None:
        branch = self.some_branch(data)

        commit = self.graph.optimize(branch, indexes_only=indexes_only).commit

        if commit is not None:
            self.model.commit(branch, commit.id, self.model.head(branch).state)
        assert self.graph.optimize(branch, indexes_only=indexes_only).commit is None

    @rule(data=st.data(), last=st.integers(0, MOST_STEPS))
    def end_in_the_middle_of_an_optimize(self, data: st.DataObject, last: int) -> None:
        branch = self.some_branch(data)

        seen = self.until(last, lambda: self.graph.optimize(branch))

        self.reopen(durable=False)
        if "head flipped" in seen:
            commit = self.graph.snapshot(branch).commit
            self.model.commit(branch, commit.id, self.model.head(branch).state)

    @rule(keep=st.integers(1, 4), last=st.none() | st.integers(0, 4))
    def clean_up(self, keep: int, last: int | None) -> None:
        """Some commits can no longer be read, and none of these is needed for anything."""

        def act() -> object:
            return self.graph.cleanup(keep=keep, grace="0s", confirm=True)

        if last is None:
            act()
        else:
            self.until(last, act)
        self.reopen(durable=False)
        gone = {each for each in self.model.points if self.is_cleaned(each)}
        assert self.model.cleaned <= gone
        assert not gone & self.model.needed(keep)
        self.model.cleaned = gone
        # What is drawn is not checked, so edges may end nowhere.
        assert {each.kind for each in self.graph.fsck().findings} <= {Damage.END_MISSING}

    @rule(durable=st.sampled_from([False, False, False, True]))
    def reopen(self, durable: bool) -> None:
        self.graph = open_graph(self.graph.uri, durable=durable)
        self.checked.clear()

    @rule(data=st.data())
    def reopen_for_reading_only(self, data: st.DataObject) -> None:
        reader, branch = open_graph(self.graph.uri, read_only=True), self.some_branch(data)
        self.check_point(reader.snapshot(branch), self.model.head(branch))
        with pytest.raises(ReadOnlyError):
            write(reader, {PERSON: (Append(rows_of({"late": Person("alpha", 1)})),)}, branch)
        with pytest.raises(ReadOnlyError):
            reader.create_branch("late", branch)

    @rule(data=st.data())
    def end_between_staging_and_publishing(self, data: st.DataObject) -> None:
        branch = self.some_branch(data)
        writes, _ = drawn_change(data, self.model.head(branch).state)
        stage(WriteSet(base=self.graph.snapshot(branch), writes=writes), branch)

    @rule(data=st.data(), last=st.integers(0, MOST_STEPS))
    def end_in_the_middle_of_a_write(self, data: st.DataObject, last: int) -> None:
        branch = self.some_branch(data)
        writes, state = drawn_change(data, self.model.head(branch).state)

        seen = self.until(last, lambda: write(self.graph, writes, branch))

        self.reopen(durable=False)
        if "head flipped" in seen:
            commit = self.graph.snapshot(branch).commit
            assert commit.parents == (self.model.heads[branch],)
            self.model.commit(branch, commit.id, state)

    @rule(name=st.sampled_from(NAMES[1:]), last=st.integers(0, 1))
    def end_in_the_middle_of_a_branch(self, name: str, last: int) -> None:
        if name in self.model.heads:
            seen = self.until(last, lambda: self.graph.delete_branch(name))
            if "branch flipped" in seen:
                del self.model.heads[name]
        else:
            seen = self.until(last, lambda: self.graph.create_branch(name))
            if "branch flipped" in seen:
                self.model.heads[name] = self.model.heads["main"]
        self.reopen(durable=False)

    # What is asked.

    @rule(data=st.data())
    def travel_in_time(self, data: st.DataObject) -> None:
        branch = self.some_branch(data)
        past = {point.version: point for point in self.model.log(branch)}
        version = data.draw(st.integers(0, max(past) + 1))
        if version not in past:
            with pytest.raises(CommitNotFoundError):
                self.graph.snapshot_at_version(version, branch)
            return
        point = past[version]
        if point.id in self.model.cleaned:
            with pytest.raises(CommitCleanedError):
                self.graph.snapshot_at_version(version, branch)
            return
        self.check_point(self.graph.snapshot_at_version(version, branch), point)
        wanted = data.draw(st.sampled_from(IDS))
        found = self.graph.entity_at(PERSON, wanted, version, branch)
        assert found == entity(wanted, point.state.persons.get(wanted))

    @rule(data=st.data(), limit=st.none() | st.integers(0, 5))
    def read_the_log(self, data: st.DataObject, limit: int | None) -> None:
        branch = self.some_branch(data)
        expected = list(self.model.log(branch))
        found = list(self.graph.log(branch, limit=limit))
        assert [commit.id for commit in found] == [point.id for point in expected][:limit]
        assert [(c.version, c.parents) for c in found] == [
            (point.version, point.parents) for point in expected[:limit]
        ]
        after = data.draw(st.sampled_from(range(len(expected))))
        rest = self.graph.log(branch, after=expected[after].id)
        assert [commit.id for commit in rest] == [point.id for point in expected[after + 1 :]]

    @rule(data=st.data())
    def find_merge_bases(self, data: st.DataObject) -> None:
        commits = st.sampled_from(list(self.model.points))
        self.check_bases(data.draw(commits), data.draw(commits))

    # What is true after each of them.

    @invariant()
    def every_branch_equals_the_model(self) -> None:
        others = sorted(name for name in self.model.heads if name != "main")
        assert self.graph.branches() == ["main", *others]
        for branch in self.model.heads:
            snapshot, point = self.graph.snapshot(branch), self.model.head(branch)
            assert snapshot.commit.id == point.id
            if point.id not in self.checked:
                self.check_point(snapshot, point)
                self.checked.add(point.id)

    @invariant()
    def old_commits_stay_as_they_were(self) -> None:
        self.turn += 1
        readable = self.model.readable()
        point = readable[self.turn % len(readable)]
        snapshot = self.graph.snapshot(point.id)
        check_content(snapshot.table(PERSON), point.state.persons)
        assert edges(self.graph, point.id) == point.state.edges

    # How that is done.

    def some_branch(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.model.heads)))

    def publish_validated(self, branch: str, base: Snapshot, writes: Writes) -> None:
        checked = frozenset([PERSON])
        staged = stage(WriteSet(base=base, writes=writes, validated=checked), branch)
        publish(self.graph.repository, branch, staged)

    def until(self, last: int, act: Callable[[], object]) -> list[str]:
        """Act until so many steps were reached, and give those that were."""
        seen: list[str] = []

        def observer(step: str) -> None:
            seen.append(step)
            if len(seen) > last:
                raise Crash(step)

        steps.observer = observer
        try:
            act()
        except Crash:
            pass
        finally:
            steps.observer = None
        return seen

    def is_cleaned(self, commit_id: str) -> bool:
        try:
            self.graph.snapshot(commit_id)
        except CommitCleanedError:
            return True
        return False

    def check_bases(self, one: str, other: str) -> None:
        expected = self.model.merge_bases(one, other)
        found = history.merge_bases(self.graph.repository, one, other)
        assert {commit.id for commit in found} == expected
        newest = max(self.model.points[each].version for each in expected)
        assert self.graph.merge_base(one, other).version == newest

    def check_point(self, snapshot: Snapshot, point: Point) -> None:
        commit, state, table = snapshot.commit, point.state, snapshot.table(PERSON)
        assert (commit.id, commit.parents, commit.version) == (
            point.id,
            point.parents,
            point.version,
        )
        assert commit.tables[PERSON].row_count == len(state.persons)
        assert commit.tables[KNOWS].row_count == len(state.edges)
        assert edges(self.graph, point.id) == state.edges
        ids = [IDS[point.version % len(IDS)], *list(state.persons)[:1]]
        words = WORDS[point.version % 5], WORDS[point.version % 3]
        check_reads(table, state.persons, ids, point.version % 5, words)


def entity(wanted: str, person: Person | None) -> dict[str, object] | None:
    if person is None:
        return None
    return {"id": wanted, "slug": wanted, "name": person.name, "age": person.age}
