"""Access: what all handles of one graph share: its repository, its topology, its policy."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Self

from omnigraph.data.derived.disk import DiskCache
from omnigraph.data.derived.topology import Topology
from omnigraph.errors import (
    BranchNotFoundError,
    DataLossError,
    DeniedError,
    HeadMovedError,
    InputError,
    MergeConflictsError,
    NotFoundError,
    OmniGraphError,
    RunNotFoundError,
    SchemaConflictError,
    SchemaError,
    TableNotFoundError,
    TagNotFoundError,
    UnsupportedMigrationError,
    ViolationsError,
)
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import Action, Decider, Request, denied
from omnigraph.query.stored import NO_QUERIES, StoredQueries
from omnigraph.storage import layout
from omnigraph.storage.table import Table
from omnigraph.versioning import branches, tags
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.heads.head import Head
from omnigraph.versioning.history import history
from omnigraph.versioning.history.short_ids import find_short, is_short
from omnigraph.versioning.names import TAG, is_system, no_commit, no_place, normalize_name
from omnigraph.versioning.notes import check_notes
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.ulid import is_ulid

if TYPE_CHECKING:
    from omnigraph.merge.run_record import RunRecord

_DERIVED_BYTES = 1 << 30
_LOG = logging.getLogger("omnigraph.policy")


@dataclass(frozen=True, slots=True)
class Access:
    """A repository, the topology that all handles on it read with, and a policy for an actor.

    Without a policy everything is allowed. With one, what the actor may not read cannot be told
    from what is not there: a name is denied for what the policy says of the name alone, and a
    commit, tag or run that no branch lets the actor see is reported as missing.
    """

    repository: Repository
    topology: Topology
    actor: str | None = None
    policy: Decider | None = None
    queries: StoredQueries = NO_QUERIES
    # The stored query that is to be invoked.
    query: str | None = None

    @classmethod
    def to(cls, repository: Repository, *, keeps: bool) -> Self:
        """Return access to a repository; with `keeps`, later processes find what was derived."""
        topology = Topology(_DERIVED_BYTES, _shelf(repository, keeps))

        def extend(before: Snapshot, after: Snapshot) -> None:
            from omnigraph.read.dense_reader import DenseReader

            DenseReader.of(after, topology).extend(before)

        repository.extend = extend
        return cls(repository, topology)

    def close(self) -> None:
        """Close the graph; later calls on its handles raise InputError."""
        self.repository.close()
        self.topology.cache.clear()

    def under(self, policy: Decider | None, actor: str | None) -> Self:
        """Return the same access for an actor who can do what a policy allows."""
        return replace(self, policy=policy, actor=actor)

    def acting_as(self, actor: str | None) -> Self:
        """Return the same access for another actor."""
        return replace(self, actor=actor)

    def with_queries(self, queries: StoredQueries) -> Self:
        """Return the same access to a graph with stored queries."""
        return replace(self, queries=queries)

    def invoking(self, query: str) -> Self:
        """Return the same access for `invoke_query`, which the policy decides by the query."""
        return replace(self, query=query)

    def has_role(self, roles: Collection[str]) -> bool:
        """Return whether the actor is in one of some groups; where there are none, everybody is."""
        if not roles or self.policy is None:
            return True
        return not set(roles).isdisjoint(self.policy.groups_of(self.actor))

    def author(self, given: str | None) -> str | None:
        """Return who is noted as the author of a change; an actor acts for nobody else."""
        if given is not None and self.actor is not None and given != self.actor:
            raise InputError(
                f"this handle acts as '{self.actor}', not as '{given}'",
                hint="Graph.acting_as gives one for another actor",
            )
        author = self.actor if given is None else given
        check_notes(actor=author)
        return author

    def allow(self, action: Action, branch: str | None = None) -> None:
        """Raise DeniedError unless the actor may do this to a branch, or to the whole graph."""
        if self.policy is None:
            return
        name = None if branch is None else self._judged(branch, action)
        request = self._request(action, name)
        decision = self.policy.decide(request)
        told = "allowed" if decision.allowed else "denied"
        asked = {"actor": self.actor, "action": str(action), "branch": name}
        _LOG.info(
            "%s %s: %s",
            told,
            asked,
            decision.reason,
            extra={**asked, "decision": told, "rule": decision.rule_id},
        )
        if not decision.allowed:
            raise denied(request, decision)

    def check(self, branch: str, action: Action) -> None:
        """Raise unless the actor may do this to a branch, and it is there."""
        if self.policy is not None:
            self.standing(branch, action)

    def standing(self, branch: str, action: Action) -> Snapshot:
        """Pin the newest commit of a branch that the actor may do this to."""
        self.allow(action, branch)
        try:
            return self.repository.snapshot(branch)
        except BranchNotFoundError as missing:
            raise self._not_found(missing) from None

    def _not_found(self, missing: BranchNotFoundError) -> BranchNotFoundError:
        """Return an error as the actor gets it: its hint would name another branch."""
        return missing if self.policy is None else BranchNotFoundError(missing.message)

    def check_place(self, place: str, action: Action = Action.READ) -> None:
        """Raise unless the actor may do this to a branch, a tag or a commit, and it is there."""
        if self.policy is not None:
            self.pin(place, action)

    def judged(self, place: str) -> Snapshot | None:
        """Pin a place that the actor may read; None without a policy, when nobody is asked.

        What was judged has to be what is used: by the name, another commit than that could be met,
        because others point tags and branches elsewhere meanwhile.
        """
        return None if self.policy is None else self.pin(place)

    def readable(self, place: str) -> str:
        """Return a place that the actor may read: under a policy the id of the judged commit."""
        judged = self.judged(place)
        return self._named(place) if judged is None else judged.commit.id

    def pin(self, place: str, action: Action = Action.READ) -> Snapshot:
        """Pin a branch, a tag or a commit that the actor may do this to."""
        place = self._named(place)
        if self.policy is None:
            return self.repository.snapshot_of(place)
        if is_ulid(place):
            return self.repository.pin(self.commit(place, action))
        tagged = self._tagged(normalize_name(place))
        if tagged is not None and self._container(tagged, action) is not None:
            return self.repository.pin(self.commit(tagged, action))
        try:
            return self.standing(place, action)
        except BranchNotFoundError:
            raise no_place(place) from None

    def pin_newest(self, action: Action) -> Snapshot | None:
        """Pin the newest commit of all branches to which the actor may do this, if there is one."""
        at = self.repository.manifest.newest()
        newest = max((head.commit for head in self._heads(action, at)), default=None)
        return None if newest is None else self.repository.pin(self.repository.commit(newest))

    def branch_name(self, place: str) -> str | None:
        """Return the name of the branch that a place is; None for a tag or a commit."""
        if is_ulid(place := self._named(place)):
            return None
        name = normalize_name(place)
        return None if self._tagged(name) is not None else name

    def commit(self, commit_id: str, action: Action = Action.READ) -> Commit:
        """Return a commit that is in a branch to which the actor may do this."""
        commit_id = self._full_id(commit_id) or commit_id
        if self.policy is None:
            return self.repository.commit(commit_id)
        branch = self._container(commit_id, action)
        if branch is None and action is not Action.READ:
            branch = self._container(commit_id, Action.READ)
        if branch is None:
            raise self._unseen(no_commit(commit_id))
        self.allow(action, branch)
        return self.repository.commit(commit_id)

    def _named(self, place: str) -> str:
        """Return a place by its name or its whole id; a name comes before a short id."""
        if not is_short(place):
            return place
        at = self.repository.manifest.newest()
        name = self.repository.head_name(place, at)
        if self.repository.manifest.twin(name, at) is not None:
            return place
        return self._full_id(place) or place

    def _full_id(self, text: str) -> str | None:
        """Return the id of the only commit that a short id means; None when it means none.

        Commits that the actor may not read count as not there.
        """
        if not is_short(text):
            return None
        found = find_short(self.repository, text)
        if self.policy is not None:
            found = [each for each in found if self._container(each, Action.READ) is not None]
        if len(found) > 1:
            hint = f"it may be {', '.join(found[:3])}"
            raise InputError(f"'{text}' is the short id of {len(found)} commits", hint=hint)
        return found[0] if found else None

    @contextmanager
    def merging(self, branch: str, action: Action) -> Iterator[None]:
        """Guard a merge into a branch to which the actor may do this.

        Conflicts hold rows of the branch, and are shown only to an actor who may read it.
        """
        self.check(branch, action)
        try:
            yield
        except (MergeConflictsError, SchemaConflictError):
            name = self._name_of(branch, action)
            if not self.may(Action.READ, name):
                raise DeniedError(self.actor, Action.READ, name) from None
            raise

    @contextmanager
    def expecting(self, branch: str, action: Action, expect: str | None) -> Iterator[None]:
        """Change a branch that the actor may do this to, where it stands at `expect`.

        Where it stands instead, which of its rows break a rule, and why a new schema does not fit
        the one that it has, is shown only to an actor who may read it.
        """
        self.allow(action, branch)
        try:
            yield
        except BranchNotFoundError as missing:
            raise self._not_found(missing) from None
        except HeadMovedError as moved:
            if expect is None or self.shows(branch, action):
                raise
            message = f"'{branch}' does not stand at {expect}"
            raise HeadMovedError(message, hint=moved.hint) from None
        except (ViolationsError, DataLossError, UnsupportedMigrationError, SchemaError) as broken:
            if self.shows(branch, action):
                raise
            if action is Action.SCHEMA_APPLY:
                raise self._misfit(broken, self._name_of(branch, action)) from None
            if isinstance(broken, ViolationsError):
                from omnigraph.write.unseen import unseen

                raise unseen(broken) from None
            raise

    def _misfit(self, broken: OmniGraphError, branch: str) -> OmniGraphError:
        """Return what is told of a schema that does not fit to who may not read the branch.

        What is wrong with its text alone tells nothing of the branch.
        """
        if isinstance(broken, SchemaError) and broken.source is not None:
            from omnigraph.schema.compile import compile_schema

            try:
                compile_schema(broken.source)
            except SchemaError as own:
                return own
        return DeniedError(self.actor, Action.READ, branch)

    @contextmanager
    def maintaining(self) -> Iterator[None]:
        """Guard care for the whole graph; a hint names nothing of it to who may not read all."""
        self.allow(Action.ADMIN)
        try:
            yield
        except (BranchNotFoundError, TableNotFoundError) as missing:
            if self.may(Action.READ, None):
                raise
            raise type(missing)(missing.message) from None

    def shows(self, branch: str, action: Action) -> bool:
        """Return whether the actor may read a branch that they may do this to."""
        return self.policy is None or self.may(Action.READ, self._name_of(branch, action))

    def _name_of(self, branch: str, action: Action) -> str:
        return branch if self.policy is None else self._judged(branch, action)

    def tag(self, name: str) -> str | None:
        """Return the commit of a tag that the actor can see; None where everybody sees all."""
        if self.policy is None:
            return None
        found = self.tags().get(normalize_name(name))
        if found is None:
            raise TagNotFoundError(f"no tag '{name}'")
        return found

    def ingesting(self, branch: str, base: str) -> tuple[Snapshot, bool]:
        """Pin a branch that the actor may change, or its start, and return whether it is new.

        Who makes the branch has to be allowed that, and to read what it starts at. What is pinned
        here is what the rows are published on: a branch that comes into being meanwhile, or goes,
        is a conflict.
        """
        try:
            return self.standing(branch, Action.CHANGE), False
        except BranchNotFoundError:
            self.allow(Action.BRANCH_CREATE, branch)
            return self.pin(base), True

    def run(self, run_id: str, action: Action = Action.READ) -> RunRecord:
        """Return a run to whose target the actor may do this."""
        from omnigraph.merge import runs

        if self.policy is None:
            return runs.get_run(self.repository, run_id)
        try:
            record = runs.get_run(self.repository, run_id)
        except RunNotFoundError as missing:
            raise self._unseen(missing) from None
        if not self._sees(record, action):
            raise self._unseen(RunNotFoundError(f"no run '{run_id}'"))
        self.allow(action, record.target_branch)
        return record

    def branches(self) -> list[str]:
        """Return the names of the branches that the actor may read, `main` first."""
        found = [
            each for each in branches.list_branches(self.repository) if self.may(Action.READ, each)
        ]
        if not found:
            raise DeniedError(self.actor, Action.READ)
        return found

    def tags(self) -> dict[str, str]:
        """Return the commit of every tag that is in a branch which the actor may read."""
        found = tags.list_tags(self.repository)
        if self.policy is None:
            return found
        self.branches()
        seen = self._containers(set(found.values()), Action.READ)
        return {name: commit for name, commit in found.items() if commit in seen}

    def runs(self, after: str | None = None) -> Iterator[RunRecord]:
        """Return the runs of the branches that the actor may read, newest first.

        They are read as they are used; `after` goes on behind one of them.
        """
        from omnigraph.merge import runs

        if self.policy is not None:
            self.branches()
        every = runs.runs_after(self.repository, after)
        return (each for each in every if self._sees(each, Action.READ))

    def may(self, action: Action, branch: str | None) -> bool:
        """Return whether the actor may do this to a branch of a user, or to the whole graph."""
        return self.policy is None or self.policy.decide(self._request(action, branch)).allowed

    def _sees(self, record: RunRecord, action: Action) -> bool:
        """Return whether the actor may know of a run: to read its target, or to do this to it."""
        return any(self.may(each, record.target_branch) for each in (Action.READ, action))

    def _request(self, action: Action, branch: str | None) -> Request:
        if action.takes_target:
            return Request(self.actor, action, target_branch=branch)
        query = self.query if action is Action.INVOKE_QUERY else None
        return Request(self.actor, action, branch=branch, query=query)

    def _judged(self, branch: str, action: Action) -> str:
        """Return the branch as which one is judged: that of a run as the target of the run."""
        name = normalize_name(branch)
        if not is_system(name):
            return name
        from omnigraph.merge import runs

        is_run = name.startswith(runs.PREFIX)
        record = runs.find_run(self.repository, name.removeprefix(runs.PREFIX)) if is_run else None
        if record is None or not self._sees(record, action):
            raise self._unseen(BranchNotFoundError(f"no branch '{name}'"))
        return record.target_branch

    def _tagged(self, name: str) -> str | None:
        """Return the commit of a tag, unless a branch has its name."""
        at = self.repository.manifest.newest()
        head_name = self.repository.head_name(name, at)
        if not head_name.startswith(TAG):
            return None
        head = self.repository.manifest.twin(head_name, at)
        return head.commit if head is not None and head.name == head_name else None

    def _container(self, commit_id: str, action: Action) -> str | None:
        """Return a branch that contains a commit and to which the actor may do this."""
        found = self._containers({commit_id}, action).get(commit_id)
        return None if found is None else found.name

    def _containers(self, commit_ids: Collection[str], action: Action) -> dict[str, Head]:
        at = self.repository.manifest.newest()
        heads = chain(self._heads(action, at), self._run_heads(action, at))
        return history.containing(self.repository, at, commit_ids, heads)

    def _heads(self, action: Action, at: Table) -> Iterator[Head]:
        """Yield where the branches stand to which the actor may do this."""
        for head in self.repository.manifest.heads(at).values():
            if not is_system(head.name) and self.may(action, head.name):
                yield head

    def _run_heads(self, action: Action, at: Table) -> Iterator[Head]:
        """Yield where the branches of runs stand, if the actor may do this to their targets."""
        from omnigraph.merge import runs

        for head in self.repository.manifest.heads(at).values():
            if head.name.startswith(runs.PREFIX):
                record = runs.find_run(self.repository, head.name.removeprefix(runs.PREFIX))
                if record is not None and self.may(action, record.target_branch):
                    yield head

    def _unseen(self, missing: NotFoundError) -> DeniedError | NotFoundError:
        """Return the error for what is not there or not to be seen, which look the same."""
        known = branches.list_branches(self.repository)
        if not any(self.may(Action.READ, each) for each in known):
            return DeniedError(self.actor, Action.READ)
        return type(missing)(missing.message)


def _shelf(repository: Repository, keeps: bool) -> DiskCache | None:
    """Return where derived state is kept for other processes: beside a graph on a local disk."""
    if not repository.store.is_local:
        return None
    return DiskCache(Path(repository.store.root, layout.TOPOLOGY), writable=keeps)
