"""Changes: the net changes between two snapshots, row by row, for people and programs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from omnigraph.data.values.columns import with_timestamps
from omnigraph.frozen import dataclass
from omnigraph.merge.compare.change_set import ChangeSet
from omnigraph.merge.compare.diff import RowChanges, TableDiff, diff
from omnigraph.merge.compare.row_change import Change, ChangeFilter, Op, kind_of
from omnigraph.schema.catalog import EdgeType, StoredType, field_name
from omnigraph.schema.labels import shown_columns
from omnigraph.schema.migration import plan_schema_migration
from omnigraph.schema.steps import MigrationStep
from omnigraph.spark.deadline import NO_DEADLINE, Deadline
from omnigraph.versioning.snapshot import Snapshot


@dataclass(frozen=True, repr=False)
class SnapshotChanges(ChangeSet):
    """The net changes from one snapshot to another; iterating reads them a few at a time.

    The time of the deadline begins when it is first looked for them, and again when they are
    counted; rows are read as fast as they are taken.
    """

    old: Snapshot = field(repr=False)
    new: Snapshot = field(repr=False)
    filter: ChangeFilter = field(default_factory=ChangeFilter)
    deadline: Deadline = field(default=NO_DEADLINE, repr=False)
    name: str | None = None

    @property
    def branch(self) -> str | None:
        return self.name

    @cached_property
    def schema_steps(self) -> tuple[MigrationStep, ...]:
        if self.old.commit.schema == self.new.commit.schema:
            return ()
        return plan_schema_migration(self.old.catalog, self.new.catalog).steps

    @property
    def from_version(self) -> int:
        return self.old.version

    @property
    def to_version(self) -> int:
        return self.new.version

    @property
    def old_commit(self) -> str:
        return self.old.commit.id

    @property
    def new_commit(self) -> str:
        return self.new.commit.id

    def __iter__(self) -> Iterator[Change]:
        for found in self._tables:
            for rows in found.changes():
                self.deadline.check_cancelled()
                if self.filter.admits_op(rows.op):
                    yield from entities_of(rows)

    @cached_property
    def stats(self) -> Mapping[str, Mapping[Op, int]]:
        deadline, counted = self.deadline.from_now(), {}
        for found in self._tables:
            deadline.check()
            counted[found.stored.name] = found.counts()
        wanted = {
            name: {op: count for op, count in counts.items() if self.filter.admits_op(op)}
            for name, counts in counted.items()
        }
        return {name: counts for name, counts in wanted.items() if any(counts.values())}

    @cached_property
    def _tables(self) -> Sequence[TableDiff]:
        found: list[TableDiff] = []
        held, deadline = 0, self.deadline.from_now()
        for each in diff(self.old, self.new, deadline):
            if self.filter.admits(each.stored):
                found.append(each)
                held += each.ids.nbytes + len(each) * 8
                deadline.check_bytes(held)
        return found


def entities_of(rows: RowChanges) -> Iterator[Change]:
    """Yield some changes one by one, each with its row before and after."""
    stored = rows.stored
    names = {column: field_name(stored, column) for column in change_columns(stored)}
    before, after = (
        with_timestamps(each.select(list(names))).to_pylist() or [None] * len(rows)
        for each in (rows.before, rows.after)
    )
    changed = rows.changed if rows.op is Op.UPDATE else {}
    for place, row_id in enumerate(rows.ids.to_pylist()):
        yield Change(
            table_key=stored.table_key,
            kind=kind_of(stored),
            type_name=stored.name,
            id=row_id,
            op=rows.op,
            before=_named(before[place], names),
            after=_named(after[place], names),
            changed=tuple(
                field_name(stored, name) for name, mask in changed.items() if mask[place]
            ),
        )


def change_columns(stored: StoredType) -> list[str]:
    """Return the columns that a change shows: blobs and vectors are only named."""
    ends = ["src", "dst"] if isinstance(stored, EdgeType) else []
    return ["id", *ends, *shown_columns(stored)]


def _named(
    row: Mapping[str, object] | None, names: Mapping[str, str]
) -> Mapping[str, object] | None:
    return None if row is None else {names[column]: value for column, value in row.items()}
