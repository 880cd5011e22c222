"""Writes: a change as data: the steps for each table, and staging them as unseen versions."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import TypeAlias

import pyarrow as pa

from omnigraph.frozen import dataclass
from omnigraph.storage.indexes import indexes_of
from omnigraph.storage.near.sending import at_once
from omnigraph.storage.table import Rows, Table
from omnigraph.versioning.commit import CommitKind, Models, TableState, Touched
from omnigraph.versioning.names import normalize_name
from omnigraph.versioning.notes import check_notes
from omnigraph.versioning.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Append:
    """New rows; the caller knows that their ids are new."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class Upsert:
    """Rows that replace those of the same id, or are new; each id once."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class DeleteRows:
    """Ids of rows to delete."""

    ids: pa.Array


@dataclass(frozen=True, slots=True)
class Overwrite:
    """All rows that the table shall have."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class StagedVersion:
    """A version that was written for this change, on top of the pinned one."""

    table: Table


@dataclass(frozen=True, slots=True)
class Adopt:
    """A version that exists already, of this branch or another."""

    state: TableState


TableWrite: TypeAlias = Append | Upsert | DeleteRows | Overwrite | StagedVersion | Adopt


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSet:
    """A change made on one snapshot: steps for each table, in order.

    `validated` names the tables that the change was checked against without touching them.
    With `creates_branch` the commit is the first of a new branch, which starts at the snapshot.
    An operation id that was used before leads to the commit of that time. With `expected_head` the
    branch must still stand at this commit, and so must other branches at those that `standing` has
    by name. `schema` is the digest of the branch's new schema, if it gets one, and `dropped` names
    the tables that the commit no longer has. `sources` are further commits whose tables the change
    takes over, as they are or as the base of new versions, and `restored` are single versions of
    which it does, by table key. `models` has the models of a table's vectors where they are other
    than before. `touched` has the rows of tables in which few were written.
    """

    base: Snapshot
    writes: Mapping[str, tuple[TableWrite, ...]]
    validated: frozenset[str] = frozenset()
    kind: CommitKind = CommitKind.WRITE
    merged_parent: str | None = None
    actor: str | None = None
    message: str | None = None
    creates_branch: bool = False
    operation_id: str | None = None
    expected_head: str | None = None
    standing: Mapping[str, str] = field(default_factory=dict)
    affected: tuple[int, int] | None = None
    request: str | None = None
    schema: str | None = None
    dropped: frozenset[str] = frozenset()
    sources: tuple[str, ...] = ()
    restored: frozenset[tuple[str, int]] = frozenset()
    models: Mapping[str, Models] = field(default_factory=dict)
    touched: Mapping[str, Touched] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_notes(actor=self.actor, message=self.message, operation=self.operation_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """A write set whose tables are written, as versions that nobody sees yet."""

    write_set: WriteSet
    tables: Mapping[str, TableState]
    files: frozenset[str] = field(repr=False, default=frozenset())


def stage(write_set: WriteSet, branch: str) -> Staged:
    """Write every table of a write set on top of its pinned version."""
    branch = normalize_name(branch)
    states: dict[str, TableState] = {}
    files: set[str] = set()
    for key, after in _written(write_set).items():
        if isinstance(after, TableState):
            states[key] = after
            continue
        files |= after.files() if write_set.base.tables.flushes else set()
        models = write_set.models.get(key, write_set.base.models(key))
        states[key] = TableState(after.path, after.version, after.count(), branch, models)
    return Staged(write_set=write_set, tables=states, files=frozenset(files))


def _written(write_set: WriteSet) -> dict[str, "Table | TableState"]:
    """Return each table of a write set as it leaves it; in a bucket all are written at once."""
    works = (partial(_after, write_set, *each) for each in write_set.writes.items())
    made = at_once(write_set.base.tables.store, works)
    return dict(zip(write_set.writes, made, strict=True))


def _after(write_set: WriteSet, key: str, writes: tuple[TableWrite, ...]) -> "Table | TableState":
    adopted = [each.state for each in writes if isinstance(each, Adopt)]
    if adopted:
        return adopted[-1]
    made = next((each.table for each in writes if isinstance(each, StagedVersion)), None)
    return made or apply_writes(write_set.base, key, writes)


def apply_writes(base: Snapshot, key: str, writes: Iterable[TableWrite]) -> Table:
    """Apply writes to a table of a snapshot and return it with the indexes of its type."""
    table, stored = base.table(key).begun(), base.catalog.by_identity.get(key)
    for write in writes:
        match write:
            case Append(rows):
                table = table.appended(rows)
            case Upsert(rows):
                table = table.upserted(rows)
            case DeleteRows(ids):
                table = table.deleted(ids)
            case Overwrite(rows):
                table = table.overwritten(rows)
            case StagedVersion() | Adopt():
                raise TypeError("an existing version cannot be combined with other writes")
    return table.settled(() if stored is None else indexes_of(stored))
