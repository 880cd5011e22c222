"""Rowmerge: merges one type row by row: what changes for us, and what conflicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import Violation
from omnigraph.merge.bases import Agreement, told_once
from omnigraph.merge.conflict import Conflict
from omnigraph.merge.diff import TableDiff, diff_of
from omnigraph.merge.row_change import Op
from omnigraph.merge.threeway import Side3, Terms, Threeway
from omnigraph.merge.virtual_base import VirtualBase
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import StoredType
from omnigraph.storage.table import Table
from omnigraph.write.draft import Change


@dataclass(frozen=True, slots=True)
class Contest:
    """One type to merge: its table at every base, on our side and on theirs.

    `root` is the table where two bases parted, if there is one such place.
    """

    stored: StoredType
    bases: tuple[Table, ...]
    ours: Table
    theirs: Table
    root: Table | None = None

    def parted(self) -> list["Parted"]:
        """Return what both sides did since each base; of ours possibly only the ids are needed."""
        return [
            Parted(
                diff_of(self.stored, base, self.ours, only_ids=True),
                diff_of(self.stored, base, self.theirs),
            )
            for base in self.bases
        ]


@dataclass(frozen=True, slots=True)
class Parted:
    """The rows that each side may have changed since a base; None where its table is the same."""

    ours: TableDiff | None
    theirs: TableDiff | None


@dataclass(frozen=True, slots=True)
class Merged:
    """The merge of one type: its change for us, what they did to it, and what is unresolved.

    With `adopts` our rows would become exactly theirs. `violations` are those of single rows, as
    far as they were checked already; then the rows hold only what the rules between rows read.
    """

    change: Change
    counts: Mapping[Op, int]
    adopts: bool
    conflicts: tuple[Conflict, ...] = ()
    violations: tuple[Violation, ...] | None = None


def merged_rows(contest: Contest, parted: Sequence[Parted], terms: Terms) -> Merged:
    """Merge rows of a type; with several bases, all have to lead to the same result."""
    first, *others = (_merged(contest, each, terms) for each in parted)
    if not others:
        return first
    every = [first, *others]
    conflicts = [conflict for each in every for conflict in each.conflicts]
    disputed = {each.row_id for each in conflicts if each.row_id is not None}
    agreement = Agreement(
        contest.stored, contest.ours, terms.resolutions, _virtual_base(contest, terms)
    )
    change = agreement.of([each.change for each in every], disputed)
    left = [each for each in conflicts if each.row_id not in agreement.merged]
    adopts = not agreement.differs and all(each.adopts for each in every)
    told = told_once([*left, *agreement.conflicts])
    return Merged(change, first.counts, adopts, tuple(told))


def _virtual_base(contest: Contest, terms: Terms) -> VirtualBase | None:
    """Return how the bases merge; a strict merge lets no row pass that both sides changed."""
    if terms.strict or contest.root is None or len(contest.bases) != 2:
        return None
    one, other = contest.bases
    return VirtualBase(contest.stored, contest.root, (one, other), contest.ours, contest.theirs)


def _merged(contest: Contest, parted: Parted, terms: Terms) -> Merged:
    stored, ours, theirs = contest.stored, parted.ours, parted.theirs
    if theirs is None:
        nothing = Change(stored, arrow_schema(stored).empty_table())
        return Merged(nothing, dict.fromkeys(Op, 0), adopts=False)
    their_side = Side3.of(theirs)
    if ours is None or not pc.any(pc.is_in(theirs.ids, value_set=ours.ids)).as_py():
        alone = ours is None or not len(ours)
        return Merged(Change(stored, *their_side.change), their_side.counts, adopts=alone)
    threeway = Threeway(stored, terms)
    change = threeway.merged(Side3.of(ours), their_side)
    return Merged(change, their_side.counts, adopts=False, conflicts=tuple(threeway.conflicts))


def in_order(change: Change) -> Change:
    """Return a change with its rows and ids sorted, so that it does not reveal who made it."""
    gone = change.gone.take(pc.sort_indices(change.gone))
    return Change(change.stored, change.rows.sort_by("id"), gone)


def without(change: Change, ids: pa.Array) -> Change:
    """Return a change without some of its rows."""
    rows = change.rows.filter(pc.invert(pc.is_in(change.rows["id"], value_set=ids)))
    gone = change.gone.filter(pc.invert(pc.is_in(change.gone, value_set=ids)))
    return Change(change.stored, rows, gone)
