"""Merge: three-way merge of two branches, as one commit or not at all."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from hashlib import sha256
from typing import Protocol

import pyarrow as pa

from omnigraph.errors import (
    Code,
    EmbeddingModelError,
    InputError,
    MergeConflictsError,
    Violation,
)
from omnigraph.evolve.align import Sides
from omnigraph.frozen import dataclass
from omnigraph.merge.compare.diff import diff
from omnigraph.merge.compare.row_change import Op
from omnigraph.merge.conflict import Conflict, ConflictKind, Resolutions
from omnigraph.merge.lost import aligned
from omnigraph.merge.outcome import Merge, Outcome
from omnigraph.merge.patch import ConflictPatch
from omnigraph.merge.rowmerge import MergedType, TypeMerge, in_order, merge_rows
from omnigraph.merge.settle import Settling, stored_type
from omnigraph.merge.stored_change import Soundness, StoredChange
from omnigraph.merge.threeway import Terms
from omnigraph.schema.catalog import StoredType
from omnigraph.schema.migration import plan_schema_migration
from omnigraph.schema.steps import Drop, UnsupportedChange
from omnigraph.spark.deadline import Deadline
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit, CommitKind, Models
from omnigraph.versioning.history import history
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent, Proposal, transact
from omnigraph.versioning.writes import (
    Adopt,
    Append,
    DeleteRows,
    StagedVersion,
    TableWrite,
    Upsert,
    WriteSet,
    apply_writes,
)
from omnigraph.write.draft import Draft, TypeChange, incident
from omnigraph.write.filling import VectorFiller, join_models
from omnigraph.write.load.aside import Aside, new_aside
from omnigraph.write.reads import LookUp, have_moved
from omnigraph.write.resolve import Resolution, join_in

_KINDS = {
    Code.UNIQUE_VALUE: ConflictKind.UNIQUE,
    Code.MISSING_ENDPOINT: ConflictKind.ORPHAN_EDGE,
    Code.CARDINALITY: ConflictKind.CARDINALITY,
}


class BulkMerger(Protocol):
    """Merges tables in which more rows changed than are held in memory at once."""

    @property
    def deadline(self) -> Deadline:
        """Until when the merge may run."""

    def takes(self, type_merge: TypeMerge) -> bool:
        """Whether a type is merged this way."""

    def merged(self, type_merge: TypeMerge, terms: Terms, aside: Aside | None) -> MergedType:
        """Merge a type without writing it; finds only what rules between rows read.

        It is kept in files of `aside`; without that, this process holds it.
        """

    def soundness(
        self, ours: Snapshot, changes: Mapping[str, StoredChange], aside: Aside
    ) -> Soundness:
        """Return whether the rules between rows hold on what a merge would leave."""

    def written(
        self, type_merge: TypeMerge, terms: Terms, change: TypeChange, settled: pa.Array
    ) -> Table:
        """Write the result of `merged`; rows that were settled since are as `change` has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOptions:
    """Who merges, and whose version is taken where both sides changed the same.

    Without `bulk` every table is merged in this process' memory. An `operation_id` that was used
    before returns the result of that time. With `holds` the source is a branch that must not have
    moved when the merge is published. With `expect` the target has to stand at this commit.
    """

    actor: str | None = None
    message: str | None = None
    operation_id: str | None = None
    resolutions: Resolutions = field(default_factory=Resolutions)
    strict: bool = False
    bulk: BulkMerger | None = None
    holds: bool = False
    expect: str | None = None

    @property
    def deadline(self) -> Deadline:
        """Until when the merge may run."""
        return Deadline() if self.bulk is None else self.bulk.deadline

    def check(self) -> None:
        """Raise when the deadline has passed; not called once a merge begins to publish."""
        self.deadline.check()

    @property
    def terms(self) -> Terms:
        """The terms on which rows are merged."""
        return Terms(self.resolutions, self.strict)

    def intent(self, target: str, verb: str, source: str) -> Intent:
        """Return the intent of a merge; its request says what is merged, and on what terms."""
        values = dict(self.resolutions.values)
        asked = repr(((verb, source, target), self.resolutions, self.strict))
        asked += repr(sorted(values.items(), key=repr)) if values else ""
        joined = dict(self.resolutions.joined)
        asked += repr(("joined", sorted(joined.items()))) if joined else ""
        is_named = self.operation_id is not None
        return Intent(
            branch=target,
            actor=self.actor,
            message=self.message,
            expect=self.expect,
            operation_id=self.operation_id,
            request=sha256(asked.encode()).hexdigest() if is_named else None,
            check=self.check,
        )


def merge(
    repository: Repository,
    source: str,
    target: str,
    options: MergeOptions,
    *,
    pinned: Snapshot | None = None,
) -> Merge:
    """Merge a branch or commit into a branch by one commit with two parents.

    The head of the source is merged, or the commit that was pinned for it. Raises
    MergeConflictsError with every conflict that no resolution settles, and then nothing is changed.
    When the target moves meanwhile, the merge is repeated on its new head.
    """

    def their_head() -> Snapshot:
        return pinned or repository.snapshot_of(source)

    def proposal(planned: _MergePlan) -> Proposal[_MergePlan]:
        found = planned.result(source, target)
        if found.outcome is Outcome.ALREADY_UP_TO_DATE:
            return Proposal(None, planned)
        theirs = planned.theirs.commit.id

        def rebase(ours: Snapshot) -> Proposal[_MergePlan] | None:
            moved = theirs != their_head().commit.id
            again = None if moved else planned.rebased(repository, ours)
            return None if again is None else proposal(again)

        return Proposal(planned.write_set(found, options, theirs), planned, rebase)

    def propose(ours: Snapshot) -> Proposal[_MergePlan]:
        with _new_aside(repository, options) as aside:
            return proposal(_plan_merge(repository, ours, their_head(), options, aside))

    done = transact(repository, options.intent(target, "merge", source), propose)
    if done.finding is None:
        assert done.commit is not None
        ours, theirs = (repository.snapshot_of(each) for each in done.commit.parents)
        return _plan_merge(repository, ours, theirs, options).result(source, target, done.commit)
    return done.finding.result(source, target, done.commit)


def preview(
    repository: Repository,
    source: str,
    target: str,
    options: MergeOptions,
    *,
    pinned: tuple[Snapshot, Snapshot] | None = None,
) -> Merge:
    """Return what a merge would do, conflicts included; nothing is written.

    The heads of source and target are compared, or the commits that were pinned for them.
    """
    theirs, ours = pinned or (repository.snapshot_of(source), repository.snapshot(target))
    return _plan_merge(repository, ours, theirs, options).result(source, target)


def revert(repository: Repository, commit_id: str, target: str, options: MergeOptions) -> Merge:
    """Undo a commit by a new commit of a branch: merge its parent, with the commit as the base."""
    repository.check_writable()
    undone, before = _around(repository, commit_id)

    def planned_on(ours: Snapshot, aside: Aside | None = None) -> _MergePlan:
        return _plan_revert(repository, undone, before, ours, options, aside)

    def propose(ours: Snapshot) -> Proposal[_MergePlan]:
        with _new_aside(repository, options) as aside:
            planned = planned_on(ours, aside)
            found = planned.result(commit_id, target)
            if not (planned.changes or found.conflicts or planned.sides.schema is not None):
                return Proposal(None, planned)
            return Proposal(planned.write_set(found, options, None), planned)

    done = transact(repository, options.intent(target, "revert", commit_id), propose)
    if done.commit is None:
        assert done.finding is not None
        found = done.finding.result(commit_id, target)
        return replace(found, outcome=Outcome.ALREADY_UP_TO_DATE)
    planned = done.finding or planned_on(repository.snapshot_of(done.commit.parents[0]))
    return planned.result(commit_id, target, done.commit)


def preview_revert(
    repository: Repository, commit_id: str, target: str, options: MergeOptions, ours: Snapshot
) -> Merge:
    """Return what a revert would do to a branch that stands there; nothing is written."""
    planned = _plan_revert(repository, *_around(repository, commit_id), ours, options)
    found = planned.result(commit_id, target)
    if planned.changes or found.conflicts or planned.sides.schema is not None:
        return found
    return replace(found, outcome=Outcome.ALREADY_UP_TO_DATE)


def _around(repository: Repository, commit_id: str) -> tuple[Snapshot, Snapshot]:
    """Return a commit that can be undone, and the one before it."""
    undone = repository.commit(commit_id)
    if undone.parent is None:
        raise InputError(f"commit {commit_id} is the first; there is nothing before it")
    before, after = repository.pin(repository.commit(undone.parent)), repository.pin(undone)
    _refuse_drops(after, before)
    return after, before


def _plan_revert(
    repository: Repository,
    undone: Snapshot,
    before: Snapshot,
    ours: Snapshot,
    options: MergeOptions,
    aside: Aside | None = None,
) -> "_MergePlan":
    sides = Sides((undone,), ours, before, ours)
    planned = _MergePlan(aligned(repository, sides, options.deadline), aside=aside)
    planned.plan(options)
    return planned


def _refuse_drops(undone: Snapshot, before: Snapshot) -> None:
    """Raise InputError for a commit that cannot be undone without dropping what it added."""
    steps = plan_schema_migration(undone.catalog, before.catalog).steps
    lossy = [str(each) for each in steps if isinstance(each, Drop | UnsupportedChange)]
    if lossy:
        raise InputError(
            f"commit {undone.commit.id} changed the schema, which cannot be undone: {lossy[0]}",
            hint="apply another schema instead",
        )


@contextmanager
def _new_aside(repository: Repository, options: MergeOptions) -> Iterator[Aside | None]:
    """Return a folder for what a bulk merge keeps until it is written."""
    aside = None if options.bulk is None else new_aside(repository.store)
    try:
        yield aside
    finally:
        if aside is not None:
            aside.discard()


def _plan_merge(
    repository: Repository,
    ours: Snapshot,
    theirs: Snapshot,
    options: MergeOptions,
    aside: Aside | None = None,
) -> "_MergePlan":
    bases = history.merge_bases(repository, ours.commit.id, theirs.commit.id)
    sides = Sides(tuple(repository.pin(base) for base in bases), ours, theirs, ours)
    planned = _MergePlan(sides)
    if planned.outcome is Outcome.MERGED:
        alike = aligned(repository, sides, options.deadline)
        planned = _MergePlan(alike, _root(repository, sides), aside)
        planned.plan(options)
        if alike is not sides:
            planned.reads = None  # it depends on all rows that were brought to another schema
    elif planned.outcome is Outcome.FAST_FORWARD and options.resolutions.joined:
        hint = "make the nodes one by `resolve` on the branch"
        raise InputError("nothing conflicts: the merge is a fast-forward", hint=hint)
    return planned


def _root(repository: Repository, sides: Sides) -> Snapshot | None:
    """Return where two bases parted, if that is one place and all have one schema."""
    if len(sides.bases) != 2:
        return None
    one, other = (each.commit.id for each in sides.bases)
    found = history.merge_bases(repository, one, other)
    schemas = {each.commit.schema for each in (*sides.bases, sides.ours, sides.theirs)}
    if len(found) != 1 or schemas != {found[0].schema}:
        return None
    return repository.pin(found[0])


@dataclass(slots=True)
class _MergePlan:
    """A planned merge: what changes for us, and what conflicts.

    Of types that are `kept` in files of `aside`, `changes` has no rows. In those that are `added`
    to, all rows are new to us.
    """

    sides: Sides
    root: Snapshot | None = None
    aside: Aside | None = None
    changes: dict[str, TypeChange] = field(default_factory=dict)
    adopted: set[str] = field(default_factory=set)
    added: set[str] = field(default_factory=set)
    conflicts: list[Conflict] = field(default_factory=list)
    looked_at: frozenset[str] = frozenset()
    reads: tuple[LookUp, ...] | None = None
    compared: list[LookUp] = field(default_factory=list)
    counts: dict[str, Mapping[Op, int]] = field(default_factory=dict)
    bulky: dict[str, TypeMerge] = field(default_factory=dict)
    kept: dict[str, StoredChange] = field(default_factory=dict)
    settled: Mapping[str, set[str]] = field(default_factory=dict)
    revalued: frozenset[str] = frozenset()
    models: dict[str, Models] = field(default_factory=dict)

    @property
    def base(self) -> Snapshot:
        """The first of the bases; what they did is counted from there."""
        return self.sides.bases[0]

    @property
    def ours(self) -> Snapshot:
        return self.sides.ours

    @property
    def theirs(self) -> Snapshot:
        return self.sides.theirs

    @property
    def outcome(self) -> Outcome:
        if self.base.commit.id == self.theirs.commit.id:
            return Outcome.ALREADY_UP_TO_DATE
        if self.base.commit.id == self.ours.commit.id:
            return Outcome.FAST_FORWARD
        return Outcome.MERGED

    def plan(self, options: MergeOptions) -> None:
        """Work out what their changes mean for us."""
        known: dict[str, tuple[Violation, ...]] = {}
        held = 0
        for type_merge in self._type_merges():
            options.check()
            merged = self._merged(type_merge, options)
            held += merged.change.rows.nbytes + merged.change.gone.nbytes
            options.deadline.check_bytes(held)
            name = type_merge.stored.name
            self.counts[name] = merged.counts
            self.conflicts += merged.conflicts
            if merged.kept is not None and not merged.kept.is_empty:
                self.kept[name] = merged.kept
            if name in self.kept or not merged.change.is_empty:
                self.changes[name] = in_order(merged.change)
                self.adopted |= {name} if merged.adopts else set()
                self.added |= {name} if merged.adds else set()
            if merged.violations is not None:
                known[name] = merged.violations
        options.check()
        if self.kept and not any(known.values()) and self._is_sound(options):
            for change in self.changes.values():
                self._join_models(change.stored)
            return
        self._read_kept(options, held)
        self._settle_all(options, known)

    def _is_sound(self, options: MergeOptions) -> bool:
        """Whether nothing is left to settle: both sides go together, and no rule is broken."""
        chosen = options.resolutions
        if self.conflicts or self.sides.violations or chosen.values or chosen.joined:
            return False
        assert options.bulk is not None
        assert self.aside is not None
        every = {
            name: self.kept.get(name) or self._as_kept(change, self.aside)
            for name, change in self.changes.items()
        }
        soundness = options.bulk.soundness(self.ours, every, self.aside)
        self.looked_at = soundness.looked_at
        return soundness.holds()

    def _as_kept(self, change: TypeChange, aside: Aside) -> StoredChange:
        return StoredChange.held(change, self.ours.table(change.stored.identity), aside)

    def _read_kept(self, options: MergeOptions, held: int) -> None:
        """Hold the rows that were kept in files, so that they can be settled."""
        for name, kept in self.kept.items():
            change = kept.read()
            held += change.rows.nbytes + change.gone.nbytes
            options.deadline.check_bytes(held)
            self.changes[name] = in_order(change)
        self.kept.clear()

    def _settle_all(self, options: MergeOptions, known: dict[str, tuple[Violation, ...]]) -> None:
        """Make nodes one, set values and take sides as was chosen; what is left is a conflict."""
        self._join_nodes(options.resolutions)
        patch = ConflictPatch(self.ours, dict(options.resolutions.values), self.changes)
        self.conflicts = patch.settle(self.conflicts)
        while True:
            found = self._settle(options.resolutions, known)
            left = patch.settle(found)
            if len(left) == len(found):
                break
        self.conflicts += left
        patch.refuse_rest()
        self._decide_rows(patch.touched)
        self.revalued = frozenset(patch.touched)
        for change in self.changes.values():
            self._join_models(change.stored)
        chosen = options.resolutions.values or options.resolutions.joined
        if chosen or self.bulky or self.settled:
            self.reads = None  # more was read than is noted

    def _decide_rows(self, names: set[str]) -> None:
        """Note that rows of some types are neither those of one side nor all new."""
        self.adopted -= names
        self.added -= names

    def _join_nodes(self, resolutions: Resolutions) -> None:
        """Make nodes one of which a choice says that they are."""
        if not resolutions.joined:
            return
        draft = Draft(self.ours)
        draft.begin(self.changes)
        for (name, row_id), into in resolutions.joined.items():
            join_in(draft, Resolution(type=name, into=into, duplicate=row_id))
        joined = _joined_types(self.ours, resolutions)
        real = draft.changes()
        for name in joined:
            self.changes.pop(name, None)
            if name in real:
                self.changes[name] = in_order(real[name])
        self._decide_rows(joined)

    def _join_models(self, stored: StoredType) -> None:
        """Note the models of a type's vectors; raises when each side has vectors of another."""
        key = stored.identity
        ours, theirs = self.ours.models(key), self.theirs.models(key)
        if stored.name not in self.adopted:
            names = {each.identity: each.name for each in stored.properties.values()}
            for identity, model in theirs:
                before = dict(ours).get(identity, model)
                if before != model:
                    raise EmbeddingModelError(
                        f"'{stored.name}.{names.get(identity, identity)}' has vectors of "
                        f"'{before}' on our side and of '{model}' on theirs",
                        hint="make those of one side anew with omnigraph embed --again, then merge",
                    )
        joined = theirs if stored.name in self.adopted else join_models(ours, theirs)
        if joined != ours:
            self.models[key] = joined

    def _type_merges(self) -> Iterator[TypeMerge]:
        """Yield the types whose tables on their side differ from a base."""
        snapshots = (*self.sides.bases, self.ours, self.theirs)
        for key, stored in self.theirs.catalog.by_identity.items():
            states = [each.commit.tables.get(key) for each in snapshots]
            # Only those that differ are opened: there may be hundreds of types.
            places = {None if each is None else each.place for each in (*states[:-2], states[-1])}
            if None not in states and len(places) > 1:
                *bases, ours, theirs = (each.table(key) for each in snapshots)
                yield TypeMerge(stored, tuple(bases), ours, theirs, self._root_table(key))

    def _root_table(self, key: str) -> Table | None:
        if self.root is None or key not in self.root.commit.tables:
            return None
        return self.root.table(key)

    def _merged(self, type_merge: TypeMerge, options: MergeOptions) -> MergedType:
        # What is chosen is set in rows that are held, and a bulk merge holds few columns of them.
        name = type_merge.stored.name
        is_patched = any(key[0] == name for key in options.resolutions.values)
        is_patched |= name in _joined_types(self.ours, options.resolutions)
        if options.bulk is not None and not is_patched and options.bulk.takes(type_merge):
            self.bulky[name] = type_merge
            return options.bulk.merged(type_merge, options.terms, self.aside)
        diffs = type_merge.side_diffs()
        key = type_merge.stored.identity
        changed = [each.theirs.ids for each in diffs if each.theirs is not None]
        self.compared += [LookUp(key, "id", ids) for ids in changed]
        return merge_rows(type_merge, diffs, options.terms)

    def rebased(self, repository: Repository, ours: Snapshot) -> "_MergePlan | None":
        """Return the same merge into a later commit of our branch; None if it has to be planned.

        They changed the same rows as long as the bases are the same. What that means for us depends
        on our rows of these ids, and on those that rules were checked against.
        """
        if self.reads is None or not self._has_bases(repository, ours):
            return None
        changed = {name: each.stored.identity for name, each in self.changes.items()}
        if any(self.ours.models(key) != ours.models(key) for key in changed.values()):
            return None
        if have_moved(self.reads, self.ours, ours):
            return None
        states = {name: (self.ours.state(key), ours.state(key)) for name, key in changed.items()}
        left = {name for name, (was, now) in states.items() if was.place == now.place}
        sides = replace(self.sides, ours=ours, standing=ours)
        found = replace(self, sides=sides, adopted=self.adopted & left, models={})
        for change in found.changes.values():
            found._join_models(change.stored)
        return found

    def _has_bases(self, repository: Repository, ours: Snapshot) -> bool:
        """Whether a later commit of our branch has the same schema and the same merge bases."""
        bases = {each.commit.id for each in self.sides.bases}
        found = history.merge_bases(repository, ours.commit.id, self.theirs.commit.id)
        is_alike = ours.commit.schema == self.ours.commit.schema
        return is_alike and {each.id for each in found} == bases

    def write_set(self, found: Merge, options: MergeOptions, merged: str | None) -> WriteSet:
        """Return what the merge writes; raises MergeConflictsError when there are conflicts."""
        if found.conflicts:
            raise MergeConflictsError(found.conflicts_json(), found.conflicts)
        writes = self._writes(options)
        # A fast-forward is checked against nothing, and a new schema against all rows: both are
        # valid only while our branch stands where it was read.
        is_unchecked = self.outcome is Outcome.FAST_FORWARD
        is_whole = is_unchecked or self.sides.schema is not None
        standing = self.sides.standing
        seen = frozenset(standing.commit.tables) if is_whole else self.looked_at
        there = self.theirs.catalog.by_identity.keys()
        dropped = frozenset(standing.commit.tables) - there if is_whole else frozenset()
        return WriteSet(
            base=standing,
            writes=writes,
            validated=seen - frozenset(writes),
            schema=self.theirs.commit.schema if is_unchecked else self.sides.schema,
            dropped=dropped,
            kind=CommitKind.WRITE if merged is None else CommitKind.MERGE,
            merged_parent=merged,
            sources=(self.theirs.commit.id,),
            standing={found.source: merged} if options.holds and merged is not None else {},
            message=_message(found, options, reverts=merged is None),
            models=self.models,
        )

    def result(self, source: str, target: str, commit: Commit | None = None) -> Merge:
        """Return the outcome of the merge, as far as it is known."""
        return Merge(
            source=source,
            target=target,
            outcome=Outcome.CONFLICTS if self.conflicts else self.outcome,
            base=self.base.commit,
            ours=self.ours.commit,
            theirs=self.theirs.commit,
            stats=self._stats(),
            conflicts=tuple(sorted(self.conflicts, key=_place)),
            commit=commit,
        )

    def _settle(
        self, resolutions: Resolutions, known: dict[str, tuple[Violation, ...]]
    ) -> list[Conflict]:
        """Check the graph that the merge would leave, and settle what a choice of sides decides.

        Returns what is left.
        """
        unfit = self.sides.violations
        settling = Settling(self.ours, self.theirs, resolutions, self.changes, known, unfit)
        verdict = settling.run()
        read = (stored_type(self.ours, each) for each in _joined_types(self.ours, resolutions))
        self.reads = (*verdict.reads, *self.compared)
        self.looked_at = verdict.looked_at | {each.identity for each in read}
        self.settled = settling.settled
        self._decide_rows({*settling.settled})
        return [self._violated(each) for each in self._new(verdict.violations)]

    def _new(self, violations: Iterable[Violation]) -> Iterator[Violation]:
        """Yield the violations, except those that depend on a conflict that is open already."""
        undecided = {(each.type, each.row_id, each.property) for each in self.conflicts}
        for each in violations:
            names = (None, *(each.field or "").split(","))
            rows = {(each.type, row_id, name) for row_id in (each.id, each.other) for name in names}
            if not rows & undecided:
                yield each

    def _violated(self, violation: Violation) -> Conflict:
        stored = stored_type(self.ours, violation.type or "")
        return Conflict(
            kind=_KINDS.get(violation.code, ConflictKind.VALUE),
            type=stored.name,
            table_key=stored.table_key,
            row_id=violation.id,
            message=violation.render().partition(": ")[2],
            property=violation.field,
        )

    def _writes(self, options: MergeOptions) -> dict[str, tuple[TableWrite, ...]]:
        if self.outcome is Outcome.FAST_FORWARD and not self.changes:
            ours, theirs = self.sides.standing.commit.tables, self.theirs.commit.tables
            return {key: (Adopt(theirs[key]),) for key in theirs if theirs[key] != ours.get(key)}
        # The schema may rewrite our tables, also those in which no row changes.
        evolved = self.sides.tables
        writes: dict[str, tuple[TableWrite, ...]] = {
            key: (Adopt(state),) for key, state in evolved.items()
        }
        for change in self.changes.values():
            key, steps = change.stored.identity, self._steps(change, options)
            is_row_wise = key in evolved and not isinstance(steps[0], Adopt | StagedVersion)
            writes[key] = (
                (StagedVersion(apply_writes(self.ours, key, steps)),) if is_row_wise else steps
            )
        return writes

    def _steps(self, change: TypeChange, options: MergeOptions) -> tuple[TableWrite, ...]:
        key, name = change.stored.identity, change.stored.name
        columns = self.ours.table(key).schema
        if name in self.adopted and self.theirs.table(key).schema.equals(columns):
            return (Adopt(self.theirs.state(key)),)
        if name in self.bulky:
            assert options.bulk is not None
            settled = pa.array(sorted(self.settled.get(name, ())), pa.utf8())
            return (
                StagedVersion(
                    options.bulk.written(self.bulky[name], options.terms, change, settled)
                ),
            )
        steps: list[TableWrite] = [DeleteRows(change.gone)] if len(change.gone) else []
        if change.rows.num_rows:
            rows = self._filled(change) if name in self.revalued else change.rows
            rows = rows.cast(columns)
            steps.append(Append(rows) if name in self.added else Upsert(rows))
        return tuple(steps)

    def _filled(self, change: TypeChange) -> pa.Table:
        """Return the rows with vectors for the texts that were set to a value of neither side."""
        vectors = VectorFiller.on(self.ours)
        batches = change.rows.combine_chunks().to_batches()
        filled = [vectors.filled(change.stored, each) for each in batches]
        key = change.stored.identity
        before = self.models.get(key, self.ours.models(key))
        self.models[key] = join_models(before, *(used for _, used in filled))
        return pa.Table.from_batches([each for each, _ in filled])

    def _stats(self) -> Mapping[str, Mapping[Op, int]]:
        """Count what their side did since the base."""
        if not self.counts and self.outcome is Outcome.FAST_FORWARD:
            found = diff(self.base, self.theirs)
            self.counts.update((each.stored.name, each.counts()) for each in found)
        return {name: each for name, each in self.counts.items() if any(each.values())}


def _joined_types(snapshot: Snapshot, resolutions: Resolutions) -> set[str]:
    """Return the types whose rows change when nodes become one: theirs, and those of their edges.

    A type that is not there is said by whoever looks for it.
    """
    names = {name for name, _ in resolutions.joined}
    return names | {edge.name for each in names for edge, _ in incident(snapshot, each)}


def _place(conflict: Conflict) -> tuple[str, ...]:
    """Return the sort key of a conflict."""
    row = conflict.type, conflict.row_id or "", conflict.property or ""
    return (*row, conflict.kind, conflict.message)


def _message(found: Merge, options: MergeOptions, *, reverts: bool) -> str:
    """Return the default message of a merge, which says what was chosen."""
    text = f"revert {found.source}" if reverts else f"merge '{found.source}' into '{found.target}'"
    chosen = options.resolutions
    parts = [f"all {chosen.default}"] if chosen.default is not None else []
    parts += [f"{name} {side}" for name, side in chosen.types.items()]
    parts += [f"{'.'.join(key)} {side}" for key, side in chosen.rows.items()]
    parts += [f"{'.'.join(key)} {side}" for key, side in chosen.properties.items()]
    parts += [f"{'.'.join(key)} to another value" for key in chosen.values]
    parts += [f"{'.'.join(key)} is {into}" for key, into in chosen.joined.items()]
    return f"{text}; resolved: {', '.join(parts)}" if parts else text
