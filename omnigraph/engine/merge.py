"""Merge: what one branch did since two parted is done to the other as well, or nothing is."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.engine.bases import Agreement, told_once
from omnigraph.engine.dense import Dense
from omnigraph.engine.diff import Op, TableDiff, diff, table_diff
from omnigraph.engine.draft import Change
from omnigraph.engine.threeway import Conflict, ConflictKind, Resolutions, Side, Side3, Threeway
from omnigraph.engine.topology import Topology
from omnigraph.engine.validate import validate
from omnigraph.errors import (
    Code,
    ExpectedVersionMismatchError,
    HeadMovedError,
    InputError,
    Json,
    MergeConflictsError,
    Violation,
)
from omnigraph.result import json_value
from omnigraph.schema.catalog import StoredType
from omnigraph.versioning import history
from omnigraph.versioning.attempts import attempts
from omnigraph.versioning.commit import Commit, CommitKind
from omnigraph.versioning.publish import publish
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.writes import Adopt, TableWrite, Upsert, WriteSet, stage
from omnigraph.versioning.writes import Delete as DeleteRows

_KINDS = {
    Code.UNIQUE_VALUE: ConflictKind.UNIQUE,
    Code.MISSING_ENDPOINT: ConflictKind.ORPHAN_EDGE,
    Code.CARDINALITY: ConflictKind.CARDINALITY,
}
# Leaving rows out may leave others without what they need, so that these are left out as well.
_MOST_ROUNDS = 8


class Outcome(StrEnum):
    """What a merge came to."""

    ALREADY_UP_TO_DATE = "already_up_to_date"
    FAST_FORWARD = "fast_forward"
    MERGED = "merged"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeHow:
    """Who merges, and whose version is taken where both sides changed the same."""

    actor: str | None = None
    message: str | None = None
    resolutions: Resolutions = field(default_factory=Resolutions)
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """What a merge did or would do; `stats` counts rows by type and by what happens to them."""

    source: str
    target: str
    outcome: Outcome
    base: Commit
    ours: Commit
    theirs: Commit
    stats: Mapping[str, Mapping[Op, int]]
    conflicts: tuple[Conflict, ...] = ()
    commit: Commit | None = None

    def conflicts_json(self) -> list[dict[str, Json]]:
        """Give the conflicts as JSON, each with who is on its sides."""
        return [self._conflict(each) for each in self.conflicts]

    def to_json(self) -> dict[str, Json]:
        """Give the merge in the stable machine form."""
        stats: dict[str, Json] = {
            name: {str(op): count for op, count in each.items()}
            for name, each in self.stats.items()
        }
        return {
            "source": self.source,
            "target": self.target,
            "outcome": str(self.outcome),
            "actor_id": None if self.commit is None else self.commit.actor,
            "commit": None if self.commit is None else self.commit.id,
            "base_commit": self.base.id,
            "stats": stats,
            "merge_conflicts": list(self.conflicts_json()),
        }

    def _conflict(self, conflict: Conflict) -> dict[str, Json]:
        return {
            "kind": str(conflict.kind),
            "table_key": conflict.table_key,
            "type_name": conflict.type,
            "row_id": conflict.row_id,
            "property": conflict.property,
            "message": conflict.message,
            "base": json_value(conflict.base),
            "ours": json_value(conflict.ours),
            "theirs": json_value(conflict.theirs),
            "ours_commit": self.ours.id,
            "ours_actor": self.ours.actor,
            "theirs_commit": self.theirs.id,
            "theirs_actor": self.theirs.actor,
        }


def merge(
    repository: Repository, topology: Topology, source: str, target: str, how: MergeHow
) -> Merge:
    """Merge a branch or commit into a branch by one commit with two parents.

    Raises MergeConflictsError with every conflict that no resolution settles, and then nothing is
    changed. When the target moves meanwhile, the merge is made again on what it moved to.
    """
    repository.check_writable()
    for _ in attempts():
        planned = _planned(repository, source, target, how)
        found = planned.result(source, target)
        if found.outcome is Outcome.ALREADY_UP_TO_DATE:
            return found
        merged = planned.theirs.commit.id
        try:
            commit = planned.published(repository, target, found, how, merged=merged)
        except (ExpectedVersionMismatchError, HeadMovedError):
            continue
        Dense(repository.pinned(commit), topology).extend(planned.ours)
        return planned.result(source, target, commit)
    raise HeadMovedError(
        f"'{target}' moved again and again while merging into it", hint="merge again"
    )


def preview(repository: Repository, source: str, target: str, how: MergeHow) -> Merge:
    """Give what a merge would do, conflicts included; nothing is written."""
    return _planned(repository, source, target, how).result(source, target)


def revert(
    repository: Repository, topology: Topology, commit_id: str, target: str, how: MergeHow
) -> Merge:
    """Undo what a commit did by a new commit of a branch: merge what was before it, based on it."""
    repository.check_writable()
    undone = repository.commit(commit_id)
    if undone.parent is None:
        raise InputError(f"commit {commit_id} is the first; there is nothing before it")
    before = repository.pinned(repository.commit(undone.parent))
    for _ in attempts():
        planned = _Planned(repository.pinned(undone), repository.snapshot(target), before)
        planned.plan(how)
        found = planned.result(commit_id, target)
        try:
            commit = planned.published(repository, target, found, how, merged=None)
        except (ExpectedVersionMismatchError, HeadMovedError):
            continue
        Dense(repository.pinned(commit), topology).extend(planned.ours)
        return planned.result(commit_id, target, commit)
    raise HeadMovedError(f"'{target}' moved again and again meanwhile", hint="revert again")


def _planned(repository: Repository, source: str, target: str, how: MergeHow) -> "_Planned":
    ours, theirs = repository.snapshot(target), repository.snapshot_of(source)
    bases = history.merge_bases(repository, ours.commit.id, theirs.commit.id)
    planned, *others = (_Planned(repository.pinned(base), ours, theirs) for base in bases)
    if planned.outcome is Outcome.MERGED:
        planned.plan(how, others)
    return planned


@dataclass(slots=True)
class _Planned:
    """A merge that was thought through: what changes for us, and what clashes."""

    base: Snapshot
    ours: Snapshot
    theirs: Snapshot
    changes: dict[str, Change] = field(default_factory=dict)
    adopted: set[str] = field(default_factory=set)
    conflicts: list[Conflict] = field(default_factory=list)
    looked_at: frozenset[str] = frozenset()
    counts: dict[str, Mapping[Op, int]] = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome:
        if self.base.commit.id == self.theirs.commit.id:
            return Outcome.ALREADY_UP_TO_DATE
        if self.base.commit.id == self.ours.commit.id:
            return Outcome.FAST_FORWARD
        return Outcome.MERGED

    def plan(self, how: MergeHow, others: Sequence["_Planned"] = ()) -> None:
        """Find out what their changes mean for us; from other bases it has to be the same."""
        if self.ours.commit.schema != self.theirs.commit.schema:
            raise InputError(
                "the two sides have different schemas", hint="apply the schema to both first"
            )
        for each in (self, *others):
            for found in diff(each.base, each.theirs):
                each._merge_type(found, how)
        if others:
            self._agree(others, how.resolutions)
        self._validate(how.resolutions)

    def _agree(self, others: Sequence["_Planned"], resolutions: Resolutions) -> None:
        """Keep of each change what all bases lead to."""
        plans = (self, *others)
        self.conflicts = told_once([each for plan in plans for each in plan.conflicts])
        for name in dict.fromkeys(name for plan in plans for name in plan.changes):
            stored = self._stored(name)
            agreement = Agreement(stored, self.ours.table(stored.identity), resolutions)
            change = agreement.of([plan.changes.get(name) for plan in plans])
            self.changes.pop(name, None)
            self._put(change)
            if agreement.differs or not all(name in plan.adopted for plan in plans):
                self.adopted.discard(name)
            self.conflicts = told_once([*self.conflicts, *agreement.conflicts])

    def published(
        self,
        repository: Repository,
        target: str,
        found: Merge,
        how: MergeHow,
        *,
        merged: str | None,
    ) -> Commit:
        """Publish the merge; raises MergeConflictsError when there are conflicts."""
        if found.conflicts:
            raise MergeConflictsError(found.conflicts_json())
        writes = self._writes()
        # A fast forward is checked against nothing: it is right only where we still stand.
        is_unchecked = self.outcome is Outcome.FAST_FORWARD
        seen = frozenset(self.ours.commit.tables) if is_unchecked else self.looked_at
        write_set = WriteSet(
            base=self.ours,
            writes=writes,
            validated=seen - frozenset(writes),
            kind=CommitKind.WRITE if merged is None else CommitKind.MERGE,
            merged_parent=merged,
            actor=how.actor,
            message=how.message or _message(found, how, reverts=merged is None),
        )
        return publish(repository, target, stage(write_set, target))

    def result(self, source: str, target: str, commit: Commit | None = None) -> Merge:
        """Give what is known of the merge."""
        return Merge(
            source=source,
            target=target,
            outcome=self.outcome,
            base=self.base.commit,
            ours=self.ours.commit,
            theirs=self.theirs.commit,
            stats=self._stats(),
            conflicts=tuple(self.conflicts),
            commit=commit,
        )

    def _merge_type(self, theirs: TableDiff, how: MergeHow) -> None:
        stored = theirs.stored
        their_side = Side3.of(theirs)
        self.counts[stored.name] = their_side.counts
        ours = table_diff(self.base, self.ours, stored)
        if ours is None or not pc.any(pc.is_in(theirs.ids, value_set=ours.ids)).as_py():
            if ours is None or not len(ours):
                self.adopted.add(stored.name)
            self._put(Change(stored, *their_side.change))
            return
        threeway = Threeway(stored, how.resolutions, how.strict)
        self._put(threeway.merged(Side3.of(ours), their_side))
        self.conflicts += threeway.conflicts

    def _put(self, change: Change) -> None:
        if change.is_empty:
            self.adopted.discard(change.stored.name)
        else:
            self.changes[change.stored.name] = change

    def _validate(self, resolutions: Resolutions) -> None:
        """Check the graph that the merge would leave; rows for which ours is chosen stay out."""
        for _ in range(_MOST_ROUNDS):
            verdict = validate(self.ours, self.changes)
            self.looked_at = verdict.looked_at
            dropped = [each for each in verdict.violations if self._drops(each, resolutions)]
            if not dropped:
                self.conflicts += [self._violated(each) for each in self._new(verdict.violations)]
                return
            # A row may break several rules; it is left out once.
            for violation in {(each.type, each.id): each for each in dropped}.values():
                self._drop(violation)
        raise InputError("leaving rows out leads to ever more conflicts")

    def _new(self, violations: Iterable[Violation]) -> Iterator[Violation]:
        """Give the violations, but for edges without an end whose removal is undecided already."""
        undecided = {
            (each.type, each.row_id)
            for each in self.conflicts
            if each.kind is ConflictKind.DELETE_VS_UPDATE
        }
        for each in violations:
            is_orphan = each.code is Code.MISSING_ENDPOINT
            if not is_orphan or (each.type, each.id) not in undecided:
                yield each

    def _drops(self, violation: Violation, resolutions: Resolutions) -> bool:
        """Tell whether a row of theirs breaks a rule, and ours is chosen for it."""
        if violation.type not in self.changes or violation.id is None:
            return False
        change = self.changes[violation.type]
        is_theirs = pc.is_in(pa.scalar(violation.id), value_set=change.ids).as_py()
        return is_theirs and resolutions.of(violation.type, violation.id) is Side.OURS

    def _drop(self, violation: Violation) -> None:
        assert violation.type is not None
        change = self.changes.pop(violation.type)
        rows = change.rows.filter(pc.not_equal(change.rows["id"], violation.id))
        self.adopted.discard(violation.type)
        self._put(Change(change.stored, rows, change.gone))

    def _violated(self, violation: Violation) -> Conflict:
        stored = self._stored(violation.type or "")
        return Conflict(
            kind=_KINDS.get(violation.code, ConflictKind.VALUE),
            type=stored.name,
            table_key=stored.identity,
            row_id=violation.id,
            message=violation.render().partition(": ")[2],
            property=violation.field,
        )

    def _writes(self) -> dict[str, tuple[TableWrite, ...]]:
        if self.outcome is Outcome.FAST_FORWARD and not self.changes:
            ours, theirs = self.ours.commit.tables, self.theirs.commit.tables
            return {key: (Adopt(theirs[key]),) for key in theirs if theirs[key] != ours.get(key)}
        return {each.stored.identity: self._steps(each) for each in self.changes.values()}

    def _steps(self, change: Change) -> tuple[TableWrite, ...]:
        key = change.stored.identity
        if change.stored.name in self.adopted:
            return (Adopt(self.theirs.state(key)),)
        steps: list[TableWrite] = [DeleteRows(change.gone)] if len(change.gone) else []
        if change.rows.num_rows:
            steps.append(Upsert(change.rows.cast(self.ours.table(key).schema)))
        return tuple(steps)

    def _stats(self) -> Mapping[str, Mapping[Op, int]]:
        """Count what their side did since the base."""
        if not self.counts and self.outcome is Outcome.FAST_FORWARD:
            found = diff(self.base, self.theirs)
            self.counts.update((each.stored.name, each.counts()) for each in found)
        return {name: each for name, each in self.counts.items() if any(each.values())}

    def _stored(self, name: str) -> StoredType:
        found = self.ours.catalog.stored(name)
        assert found is not None
        return found


def _message(found: Merge, how: MergeHow, *, reverts: bool) -> str:
    """Give the message of a commit that has none of its own; it says what was chosen."""
    text = f"revert {found.source}" if reverts else f"merge '{found.source}' into '{found.target}'"
    chosen = how.resolutions
    parts = [f"all {chosen.default}"] if chosen.default is not None else []
    parts += [f"{name} {side}" for name, side in chosen.types.items()]
    parts += [f"{'.'.join(key)} {side}" for key, side in chosen.rows.items()]
    parts += [f"{'.'.join(key)} {side}" for key, side in chosen.properties.items()]
    return f"{text}; resolved: {', '.join(parts)}" if parts else text
