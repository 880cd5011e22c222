"""Rowmerge: merges one type row by row: what changes for us, and what conflicts."""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import Violation
from omnigraph.frozen import dataclass
from omnigraph.merge.bases import Agreement, drop_repeats
from omnigraph.merge.compare.diff import TableDiff, diff_of
from omnigraph.merge.compare.row_change import Op
from omnigraph.merge.conflict import Conflict, PropertyKey
from omnigraph.merge.stored_change import StoredChange
from omnigraph.merge.threeway import SideChanges, Terms, Threeway, ids_of
from omnigraph.merge.virtual_base import VirtualBase
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import StoredType
from omnigraph.storage.table import Table
from omnigraph.write.draft import TypeChange


@dataclass(frozen=True, slots=True)
class TypeMerge:
    """One type to merge: its table at every base, on our side and on theirs.

    `root` is the table where two bases parted, if there is one such place.
    """

    stored: StoredType
    bases: tuple[Table, ...]
    ours: Table
    theirs: Table
    root: Table | None = None

    def side_diffs(self) -> list["SideDiffs"]:
        """Return what both sides did since each base; of ours possibly only the ids are needed."""
        return [
            SideDiffs(
                diff_of(self.stored, base, self.ours, only_ids=True),
                diff_of(self.stored, base, self.theirs),
            )
            for base in self.bases
        ]


@dataclass(frozen=True, slots=True)
class SideDiffs:
    """The rows that each side may have changed since a base; None where its table is the same."""

    ours: TableDiff | None
    theirs: TableDiff | None


@dataclass(frozen=True, slots=True)
class MergedType:
    """The merge of one type: its change for us, what they did to it, and what is unresolved.

    With `adopts` our rows would become exactly theirs, and with `adds` all rows are new to us.
    `violations` are those of single rows, as far as they were checked already; then the rows hold
    only what the rules between rows read. If the change is `kept` in files, it has no rows here.
    With `lacks_vectors`, rows need a vector that no side made. The choices of `met` decided
    something.
    """

    change: TypeChange
    counts: Mapping[Op, int]
    adopts: bool
    conflicts: tuple[Conflict, ...] = ()
    violations: tuple[Violation, ...] | None = None
    kept: StoredChange | None = None
    adds: bool = False
    lacks_vectors: bool = False
    met: frozenset[PropertyKey] = frozenset()


def merge_rows(type_merge: TypeMerge, diffs: Sequence[SideDiffs], terms: Terms) -> MergedType:
    """Merge rows of a type; with several bases, all have to lead to the same result."""
    sides = [None if each.theirs is None else SideChanges.of(each.theirs) for each in diffs]
    every = [
        _merged(type_merge, each, theirs, terms) for each, theirs in zip(diffs, sides, strict=True)
    ]
    if len(every) == 1:
        return every[0]
    conflicts = [conflict for each in every for conflict in each.conflicts]
    disputed = {each.row_id for each in conflicts if each.row_id is not None}
    agreement = Agreement(
        type_merge.stored, type_merge.ours, terms.resolutions, _virtual_base(type_merge, terms)
    )
    change = agreement.of([each.change for each in every], disputed)
    left = [each for each in conflicts if each.row_id not in agreement.merged]
    adopts = not agreement.differs and all(each.adopts for each in every)
    distinct = drop_repeats([*left, *agreement.conflicts])
    lacks_vectors = agreement.lacks_vectors or any(each.lacks_vectors for each in every)
    return MergedType(
        change,
        _count_new(sides, change),
        adopts,
        tuple(distinct),
        lacks_vectors=lacks_vectors,
        met=frozenset(agreement.met).union(*(each.met for each in every)),
    )


def _virtual_base(type_merge: TypeMerge, terms: Terms) -> VirtualBase | None:
    """Return how the bases merge; a strict merge lets no row pass that both sides changed."""
    if terms.strict or type_merge.root is None or len(type_merge.bases) != 2:
        return None
    one, other = type_merge.bases
    return VirtualBase(
        type_merge.stored, type_merge.root, (one, other), type_merge.ours, type_merge.theirs
    )


def _count_new(sides: Sequence[SideChanges | None], change: TypeChange) -> dict[Op, int]:
    """Count what they did since the bases, without what one of these has and the merge leaves.

    That came from us, by the merge that made it a base.
    """
    counted = set.intersection(*_ids_of_each(sides, lambda each: each.ids))
    counted.update(change.hidden.to_pylist())
    deleted = set.union(*_ids_of_each(sides, lambda each: ids_of(each.deleted)))
    inserted = set.intersection(*_ids_of_each(sides, lambda each: ids_of(each.inserted)))
    return {
        Op.INSERT: len(counted & inserted),
        Op.UPDATE: len(counted - inserted - deleted),
        Op.DELETE: len(counted & deleted),
    }


def _ids_of_each(
    sides: Sequence[SideChanges | None], part: Callable[[SideChanges], pa.Array]
) -> list[set[str]]:
    return [set() if each is None else set(part(each).to_pylist()) for each in sides]


def _merged(
    type_merge: TypeMerge, diffs: SideDiffs, their_side: SideChanges | None, terms: Terms
) -> MergedType:
    stored, ours = type_merge.stored, diffs.ours
    if their_side is None:
        nothing = TypeChange(stored, arrow_schema(stored).empty_table())
        return MergedType(nothing, dict.fromkeys(Op, 0), adopts=False)
    if ours is None or not pc.any(pc.is_in(their_side.ids, value_set=ours.ids)).as_py():
        change, counts = TypeChange(stored, *their_side.change), their_side.counts
        alone = ours is None or not len(ours)
        return MergedType(change, counts, adopts=alone, adds=not counts[Op.UPDATE])
    threeway = Threeway(stored, terms)
    change = threeway.merged(SideChanges.of(ours), their_side)
    return MergedType(
        change,
        their_side.counts,
        adopts=False,
        conflicts=tuple(threeway.conflicts),
        lacks_vectors=threeway.lacks_vectors,
        met=frozenset(threeway.met),
    )


def in_order(change: TypeChange) -> TypeChange:
    """Return a change with its rows and ids sorted, so that it does not reveal who made it."""
    gone = change.gone.take(pc.sort_indices(change.gone))
    return TypeChange(change.stored, change.rows.sort_by("id"), gone)


def without(change: TypeChange, ids: pa.Array) -> TypeChange:
    """Return a change without some of its rows."""
    rows = change.rows.filter(pc.invert(pc.is_in(change.rows["id"], value_set=ids)))
    gone = change.gone.filter(pc.invert(pc.is_in(change.gone, value_set=ids)))
    return TypeChange(change.stored, rows, gone)


def loose(rows: pa.Table) -> pa.Table:
    """Return rows whose columns may hold null: a vector is made when the rows are written."""
    return rows.cast(pa.schema([each.with_nullable(nullable=True) for each in rows.schema]))
