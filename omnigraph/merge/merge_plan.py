"""Merge plan: what the changes of one side mean for the other, before anything is written."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

import pyarrow as pa

from omnigraph.errors import (
    Code,
    CommitCleanedError,
    EmbeddingModelError,
    InputError,
    MergeConflictsError,
    Violation,
)
from omnigraph.evolve.align import Sides
from omnigraph.frozen import dataclass
from omnigraph.merge.compare.diff import diff
from omnigraph.merge.compare.row_change import Op
from omnigraph.merge.conflict import Conflict, ConflictKind, PropertyKey, Resolutions
from omnigraph.merge.lost import aligned
from omnigraph.merge.options import MergeOptions
from omnigraph.merge.outcome import Merge, Outcome
from omnigraph.merge.patch import ConflictPatch, refuse_each
from omnigraph.merge.rowmerge import MergedType, TypeMerge, in_order, merge_rows
from omnigraph.merge.settle import SettledRows, Settling, stored_type
from omnigraph.merge.stored_change import StoredChange
from omnigraph.schema.catalog import Property, StoredType
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit, CommitKind, Models
from omnigraph.versioning.history import history
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
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
from omnigraph.write.load.aside import Aside
from omnigraph.write.reads import LookUp, have_moved
from omnigraph.write.resolve import Resolution, join_in

_KINDS = {
    Code.UNIQUE_VALUE: ConflictKind.UNIQUE,
    Code.MISSING_ENDPOINT: ConflictKind.ORPHAN_EDGE,
    Code.CARDINALITY: ConflictKind.CARDINALITY,
}


@dataclass(slots=True)
class MergePlan:
    """A planned merge: what changes for us, and what conflicts.

    Of types that are `kept` in files of `aside`, `changes` has no rows. In those that are `added`
    to, all rows are new to us. Of the `unvectored`, a side lacks a property with vectors of texts;
    in the `revalued`, texts of rows that change get the vectors that they have not.
    """

    sides: Sides
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
    settled: dict[str, SettledRows] = field(default_factory=dict)
    revalued: frozenset[str] = frozenset()
    unvectored: frozenset[str] = frozenset()
    models: dict[str, Models] = field(default_factory=dict)

    @property
    def base(self) -> Snapshot:
        """The first of the bases, which is the only one unless both sides merged each other."""
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
        held, pointless = 0, set(options.resolutions.properties)
        for type_merge in self._type_merges():
            options.check()
            merged = self._merged(type_merge, options)
            held += merged.change.rows.nbytes + merged.change.gone.nbytes
            options.deadline.check_bytes(held)
            name = type_merge.stored.name
            self.counts[name] = merged.counts
            self.conflicts += merged.conflicts
            pointless -= merged.met
            if merged.kept is not None and not merged.kept.is_empty:
                self.kept[name] = merged.kept
            if name in self.kept or not merged.change.is_empty:
                self.changes[name] = in_order(merged.change)
                self.adopted |= {name} if merged.adopts else set()
                self.added |= {name} if merged.adds else set()
            if merged.lacks_vectors or name in self.unvectored:
                self.revalued |= {name}
                self.adopted -= {name}
            if merged.violations is not None:
                known[name] = merged.violations
        options.check()
        if self.kept and not any(known.values()) and self._is_sound(options):
            refuse_each(sorted(pointless))
            for change in self.changes.values():
                self._join_models(change.stored)
            return
        self._read_kept(options, held)
        refuse_each(sorted(pointless - self._settle_all(options, known)))

    def _is_sound(self, options: MergeOptions) -> bool:
        """Whether nothing is left to settle: both sides go together, and no rule is broken."""
        chosen, suspects = options.resolutions, self.sides.suspects
        if self.conflicts or chosen.values or chosen.joined:
            return False
        # Of their rules, tasks check those between edges and nodes of types with changes.
        if suspects.unfit or suspects.repeated or suspects.lacking.keys() - self.changes.keys():
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

    def _settle_all(
        self, options: MergeOptions, known: dict[str, tuple[Violation, ...]]
    ) -> set[PropertyKey]:
        """Make nodes one, set values and take sides as was chosen; what is left is a conflict.

        Returns the properties for which a chosen side decided something.
        """
        self._join_nodes(options.resolutions)
        patch = ConflictPatch(self.ours, dict(options.resolutions.values), self.changes)
        self.conflicts = patch.settle(self.conflicts)
        met: set[PropertyKey] = set()
        while True:
            found = self._settle(options.resolutions, known, met)
            left = patch.settle(found)
            if len(left) == len(found):
                break
        self.conflicts += left
        patch.refuse_rest()
        self._decide_rows(patch.touched)
        self.revalued |= patch.touched
        for change in self.changes.values():
            self._join_models(change.stored)
        chosen = options.resolutions.values or options.resolutions.joined
        if chosen or self.bulky or self.settled:
            self.reads = None  # more was read than is noted
        return met

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
        root = self.sides.root
        return None if root is None or key not in root.commit.tables else root.table(key)

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

    def rebased(self, repository: Repository, ours: Snapshot) -> "MergePlan | None":
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
        self,
        resolutions: Resolutions,
        known: dict[str, tuple[Violation, ...]],
        met: set[PropertyKey],
    ) -> list[Conflict]:
        """Check the graph that the merge would leave, and settle what a choice of sides decides.

        Returns what is left, and adds the choices that decided something to `met`.
        """
        suspects = self.sides.suspects
        settling = Settling(self.ours, self.theirs, resolutions, self.changes, known, suspects)
        verdict = settling.run()
        read = (stored_type(self.ours, each) for each in _joined_types(self.ours, resolutions))
        self.reads = (*verdict.reads, *self.compared)
        self.looked_at = verdict.looked_at | {each.identity for each in read}
        met |= settling.met
        self.revalued |= settling.revalued
        for name, rows in settling.settled.items():
            self.settled.setdefault(name, SettledRows()).add(rows)
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
            settled = self.settled.get(name, SettledRows())
            filler = self._filler(key) if name in self.revalued else None
            made, used = options.bulk.written(
                self.bulky[name], options.terms, change, settled, filler
            )
            self._note_models(key, used)
            return (StagedVersion(made),)
        steps: list[TableWrite] = [DeleteRows(change.gone)] if len(change.gone) else []
        if change.rows.num_rows:
            rows = self._filled(change) if name in self.revalued else change.rows
            rows = rows.cast(columns)
            steps.append(Append(rows) if name in self.added else Upsert(rows))
        return tuple(steps)

    def _filled(self, change: TypeChange) -> pa.Table:
        """Return the rows with vectors for the texts of which no side made one."""
        key = change.stored.identity
        rows, used = self._filler(key).filled_rows(change.stored, change.rows)
        self._note_models(key, used)
        return rows

    def _filler(self, key: str) -> VectorFiller:
        """Return how vectors of a type are made: by the models that both sides have."""
        known = self.models.get(key, self.ours.models(key))
        return replace(VectorFiller.on(self.ours), models={key: known})

    def _note_models(self, key: str, used: Models) -> None:
        if used:
            self.models[key] = join_models(self.models.get(key, self.ours.models(key)), used)

    def _stats(self) -> Mapping[str, Mapping[Op, int]]:
        """Count what their side did since the bases."""
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
    of_properties = {**chosen.properties, **chosen.rules}
    parts += [f"{'.'.join(key)} {side}" for key, side in of_properties.items()]
    parts += [f"{'.'.join(key)} to another value" for key in chosen.values]
    parts += [f"{'.'.join(key)} is {into}" for key, into in chosen.joined.items()]
    return f"{text}; resolved: {', '.join(parts)}" if parts else text


def plan_merge(
    repository: Repository,
    ours: Snapshot,
    theirs: Snapshot,
    options: MergeOptions,
    aside: Aside | None = None,
) -> MergePlan:
    """Plan the merge of one commit into another; writes nothing but what a bulk merge keeps."""
    bases = history.merge_bases(repository, ours.commit.id, theirs.commit.id)
    sides = Sides(tuple(repository.pin(base) for base in bases), ours, theirs, ours)
    planned = MergePlan(sides)
    if planned.outcome is Outcome.MERGED:
        sides = replace(sides, root=_root(repository, sides))
        planned = plan_aligned(repository, sides, options, aside)
        if planned.sides is not sides:
            planned.reads = None  # it depends on all rows that were brought to another schema
    elif planned.outcome is Outcome.FAST_FORWARD:
        _refuse_choices(options.resolutions)
    return planned


def plan_aligned(
    repository: Repository, sides: Sides, options: MergeOptions, aside: Aside | None
) -> MergePlan:
    """Plan what their changes mean for us, under a schema that has the changes of both sides."""
    alike = aligned(repository, sides, options.deadline)
    planned = MergePlan(alike, aside, unvectored=_unvectored(sides, alike))
    planned.plan(options)
    return planned


def _unvectored(sides: Sides, alike: Sides) -> frozenset[str]:
    """Return the types with vectors of texts for which a side has no property of its own."""
    own = [each.catalog.by_identity for each in (sides.ours, sides.theirs)]
    return frozenset(
        stored.name
        for key, stored in alike.theirs.catalog.by_identity.items()
        for item in stored.properties.values()
        if item.embed is not None and not all(_has_property(each.get(key), item) for each in own)
    )


def _has_property(stored: StoredType | None, item: Property) -> bool:
    """Whether a type, if there is one, has a property under some name."""
    if stored is None:
        return False
    return any(each.identity == item.identity for each in stored.properties.values())


def _refuse_choices(resolutions: Resolutions) -> None:
    """Raise InputError for choices that a merge without conflicts would drop."""
    if resolutions.joined:
        hint = "make the nodes one by `resolve` on the branch"
        raise InputError("nothing conflicts: the merge is a fast-forward", hint=hint)
    refuse_each((*resolutions.values, *resolutions.properties))


def _root(repository: Repository, sides: Sides) -> Snapshot | None:
    """Return where two bases parted, if that is one place that no cleanup removed."""
    if len(sides.bases) != 2:
        return None
    one, other = (each.commit.id for each in sides.bases)
    found = history.merge_bases(repository, one, other)
    if len(found) != 1:
        return None
    try:
        repository.refuse_cleaned(found[0].id)
    except CommitCleanedError:
        return None
    return repository.pin(found[0])
