"""Review page: what a branch would bring to another, counted by type and shown a page at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import CommitCleanedError, InputError, Json
from omnigraph.frozen import dataclass
from omnigraph.merge.compare.changes import entities_of
from omnigraph.merge.compare.diff import TableDiff, diff, table_diff
from omnigraph.merge.compare.row_change import Change, ChangeFilter, Op
from omnigraph.merge.conflict import ConflictKind
from omnigraph.merge.outcome import Merge
from omnigraph.merge.review.record import Review
from omnigraph.schema.catalog import NodeType, StoredType
from omnigraph.schema.labels import label_of
from omnigraph.schema.values import to_json_value
from omnigraph.spark.deadline import Deadline
from omnigraph.versioning.history import history
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.ulid import is_ulid

# Rules that both sides keep alone and break together.
_RULES = (
    ConflictKind.ORPHAN_EDGE,
    ConflictKind.UNIQUE,
    ConflictKind.CARDINALITY,
    ConflictKind.VALUE,
)
# Commits that are looked through for who changed a row.
_MOST_COMMITS = 200
_FIRST = "leave it out for the first page"


@dataclass(frozen=True, slots=True)
class ReviewPlace:
    """Where a page starts: the two commits that are compared, a type, and how far into its rows."""

    base: str
    head: str
    type: int = 0
    row: int = 0

    def __str__(self) -> str:
        return f"{self.base}.{self.head}.{self.type}.{self.row}"

    @classmethod
    def parse(cls, text: str) -> "ReviewPlace":
        """Return the place that a cursor names; raise InputError for another text."""
        parts = text.split(".")
        is_right = len(parts) == 4 and all(map(is_ulid, parts[:2]))
        if not is_right or not all(each.isascii() and each.isdigit() for each in parts[2:]):
            raise InputError("this is not the cursor of a review", hint=_FIRST)
        if any(len(each) > 12 for each in parts[2:]):
            raise InputError("this is not the cursor of a review", hint=_FIRST)
        return cls(parts[0], parts[1], int(parts[2]), int(parts[3]))


@dataclass(frozen=True, slots=True)
class TypeCount:
    """How many rows of a type a branch inserted, updated and deleted."""

    type: str
    inserted: int
    updated: int
    deleted: int

    def to_json(self) -> dict[str, Json]:
        """Return the counts as JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedChange:
    """A node or edge that a branch changed, with the commit that did so last, if it is known.

    Values are those of JSON. `fields` names the properties that differ; of a new or deleted one,
    those that have a value.
    """

    kind: str
    type: str
    id: str
    label: str
    op: str
    before: Mapping[str, Json] | None
    after: Mapping[str, Json] | None
    fields: tuple[str, ...]
    actor_id: str | None = None
    commit_id: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the change as JSON."""
        found = {name: getattr(self, name) for name in self.__slots__}
        return {**found, "fields": [*self.fields]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the change that `to_json` wrote."""
        return cls(**{**document, "fields": tuple(document["fields"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPage:
    """What a branch would bring to another: in all on the first page, and some of its changes.

    `conflicts` and `violations` count what stands in the way of the merge; a preview of it has
    them one by one. On later pages they, the outcome and the counts are not told again.
    """

    branch: str
    into: str
    base: str
    head: str
    into_head: str
    outcome: str | None = None
    counts: tuple[TypeCount, ...] = ()
    conflicts: int | None = None
    violations: int | None = None
    review: Review | None = None
    changes: tuple[ReviewedChange, ...] = ()
    cursor: str | None = None

    def __iter__(self) -> Iterator[ReviewedChange]:
        return iter(self.changes)

    def to_json(self) -> dict[str, Json]:
        """Return the page as JSON."""
        found = {name: getattr(self, name) for name in self.__slots__}
        return {
            **found,
            "counts": [each.to_json() for each in self.counts],
            "review": None if self.review is None else self.review.to_json(),
            "changes": [each.to_json() for each in self.changes],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the page that `to_json` wrote."""
        review = document["review"]
        return cls(
            **{
                **document,
                "counts": tuple(TypeCount(**each) for each in document["counts"]),
                "review": None if review is None else Review.from_json(review),
                "changes": tuple(map(ReviewedChange.from_json, document["changes"])),
            }
        )

    def with_merge(self, merge: Merge) -> Self:
        """Return the page with what a preview of the merge found."""
        broken = sum(each.kind in _RULES for each in merge.conflicts)
        return replace(
            self,
            outcome=str(merge.outcome),
            conflicts=len(merge.conflicts) - broken,
            violations=broken,
        )


def count_changes(base: Snapshot, head: Snapshot, deadline: Deadline) -> tuple[TypeCount, ...]:
    """Return how many rows of each type differ."""
    found = []
    for each in diff(base, head, deadline):
        counts = each.counts()
        if any(counts.values()):
            numbers = (counts.get(op, 0) for op in (Op.INSERT, Op.UPDATE, Op.DELETE))
            found.append(TypeCount(each.stored.name, *numbers))
    return tuple(found)


def page_changes(
    repository: Repository,
    ends: tuple[Snapshot, Snapshot],
    wanted: ChangeFilter,
    start: ReviewPlace,
    limit: int,
    deadline: Deadline,
) -> tuple[tuple[ReviewedChange, ...], str | None]:
    """Return some of the changes between two commits, and the cursor behind them.

    Only the rows of the page are read: of all others at most the ids.
    """
    base, head = ends
    tables = [each for each in diff(base, head, deadline) if wanted.admits(each.stored)]
    shown: list[tuple[StoredType, Change]] = []
    place = start
    while place.type < len(tables) and len(shown) < limit:
        deadline.check()
        table = tables[place.type]
        end = min(place.row + limit - len(shown), len(table))
        rows = list(_changes(table, place.row, end))
        shown += [(table.stored, each) for each in rows if wanted.admits_op(each.op)]
        is_last = end >= len(table)
        place = replace(
            place, type=place.type + 1 if is_last else place.type, row=0 if is_last else end
        )
    authors = _authors(repository, ends, shown, deadline)
    found = tuple(_reviewed(stored, each, authors) for stored, each in shown)
    return found, str(place) if place.type < len(tables) else None


def _changes(table: TableDiff, first: int, end: int) -> Iterator[Change]:
    """Yield the changes among some of the rows that may differ: deleted, updated, inserted."""
    deleted, both = len(table.deleted), len(table.on_both[0])

    def part(before: int, size: int) -> slice:
        return slice(min(max(first - before, 0), size), min(max(end - before, 0), size))

    some = replace(
        table,
        deleted=table.deleted[part(0, deleted)],
        on_both=(
            table.on_both[0][part(deleted, both)],
            table.on_both[1][part(deleted, both)],
        ),
        inserted=table.inserted[part(deleted + both, len(table.inserted))],
    )
    for rows in some.changes():
        yield from entities_of(rows)


def _reviewed(
    stored: StoredType, change: Change, authors: Mapping[tuple[str, str], tuple[str | None, str]]
) -> ReviewedChange:
    row = change.after or change.before or {}
    actor, commit = authors.get((stored.identity, change.id), (None, None))
    ends = change.endpoints
    label = label_of(stored, {**row, "id": change.id}) if isinstance(stored, NodeType) else ""
    valued = tuple(name for name, each in row.items() if each is not None and name != "id")
    return ReviewedChange(
        kind=str(change.kind),
        type=change.type_name,
        id=change.id,
        label=label if ends is None else f"{ends[0]} → {ends[1]}",
        op=str(change.op),
        before=_json(change.before),
        after=_json(change.after),
        fields=change.changed if change.op is Op.UPDATE else valued,
        actor_id=actor,
        commit_id=commit,
    )


def _json(row: Mapping[str, object] | None) -> dict[str, Json] | None:
    return None if row is None else {name: to_json_value(each) for name, each in row.items()}


def _authors(
    repository: Repository,
    ends: tuple[Snapshot, Snapshot],
    shown: Sequence[tuple[StoredType, Change]],
    deadline: Deadline,
) -> dict[tuple[str, str], tuple[str | None, str]]:
    """Return who changed each row last, and by which commit; rows that none tells of are left out.

    The commits of the branch are looked through from the newest, as far as it takes, and no
    further than a bound; what a cleanup removed is not known.
    """
    base, head = ends
    left: dict[str, set[str]] = {}
    types = {stored.identity: stored for stored, _ in shown}
    for stored, change in shown:
        left.setdefault(stored.identity, set()).add(change.id)
    found: dict[tuple[str, str], tuple[str | None, str]] = {}
    commit = head.commit
    for before in islice(history.commits_before(repository, commit), _MOST_COMMITS):
        if not left or commit.id == base.commit.id:
            break
        deadline.check()
        try:
            after, old = repository.pin(commit), repository.pin(before)
            for identity in [*left]:
                touched = table_diff(old, after, types[identity])
                for row_id in () if touched is None else _among(left[identity], touched):
                    found[identity, row_id] = commit.actor, commit.id
                    left[identity].discard(row_id)
                if not left[identity]:
                    del left[identity]
        except CommitCleanedError:
            break
        commit = before
    return found


def _among(wanted: set[str], touched: TableDiff) -> list[str]:
    ids = pa.array(sorted(wanted), pa.utf8())
    found: list[str] = ids.filter(pc.is_in(ids, value_set=touched.ids)).to_pylist()
    return found
