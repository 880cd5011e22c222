"""Steps: what commits did to one table, read from their records without the rest of them."""

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit, CommitKind, Touched, commit_row_id
from omnigraph.versioning.manifest.fresh import fresh_between, fresh_commits
from omnigraph.versioning.manifest.records import is_between
from omnigraph.versioning.record_decoder import RecordDecoder

_MOST_DECODERS = 64
_Place: TypeAlias = tuple[str, int]
_State: TypeAlias = tuple[str, int, int, str]
_TouchedRows: TypeAlias = tuple[tuple[str, ...], tuple[str, ...] | None]


# Not looked at by the collector, whose rounds take longer than the decoding: steps have no cycles.
class Step(msgspec.Struct, frozen=True, gc=False):
    """A commit as one table saw it: where the table stood, and what a small change wrote in it."""

    id: str
    parents: tuple[str, ...]
    version: int
    place: _Place | None
    is_physical: bool
    derives: bool
    touched: Touched | None


class _StepRecord(msgspec.Struct, gc=False):
    """What is read of a commit's record; `tables` and `touched` are of one table alone."""

    id: str
    parents: tuple[str, ...]
    version: int
    kind: CommitKind
    affected: tuple[int, int] | None


def step_of(commit: Commit, key: str) -> Step:
    """Return what a commit did to the table of a key."""
    state = commit.tables.get(key)
    return Step(
        commit.id,
        commit.parents,
        commit.version,
        None if state is None else state.place,
        commit.kind is CommitKind.PHYSICAL,
        _derives(commit.parents, commit.kind, commit.affected),
        commit.touched.get(key),
    )


def steps_between(
    at: Table, key: str, versions: tuple[int, int], most: int
) -> dict[str, Step] | None:
    """Return the steps of all commits from one version to another; None for more than `most`."""
    fresh = fresh_between(at, versions)
    rows = at.scan_few(["metadata"], is_between(versions), most - len(fresh))
    return None if rows is None else _steps(rows, key) | _steps_of(fresh.values(), key)


def steps_of(at: Table, key: str, ids: Collection[str]) -> dict[str, Step]:
    """Return the steps of those of some commits that the manifest holds."""
    fresh = fresh_commits(at)
    found = _steps_of((fresh[each].commit for each in ids if each in fresh), key)
    left = [commit_row_id(each) for each in ids if each not in fresh]
    if not left:
        return found
    where = pc.field("object_id").isin(pa.array(left, pa.utf8()))
    return found | _steps(at.scan(["metadata"], where), key)


def _steps_of(commits: Iterable[Commit], key: str) -> dict[str, Step]:
    return {each.id: step_of(each, key) for each in commits}


def _steps(rows: pa.Table, key: str) -> dict[str, Step]:
    decoder = _decoder(key)
    records = map(decoder.read, rows["metadata"].to_pylist())
    return {each.id: _step(each) for each in records}


def _step(record: Any) -> Step:  # noqa: ANN401 - a record with the fields of one table
    state, touched = record.tables.state, record.touched.rows
    return Step(
        record.id,
        record.parents,
        record.version,
        None if state is None else state[:2],
        record.kind is CommitKind.PHYSICAL,
        _derives(record.parents, record.kind, record.affected),
        None if touched is None else Touched(*touched),
    )


@lru_cache(_MOST_DECODERS)
def _decoder(key: str) -> RecordDecoder[Any]:
    """Return a reader of records that passes over all tables but one."""
    tables = _only(key, "state", _State)
    touched = _only(key, "rows", _TouchedRows)
    nothing = msgspec.field(default_factory=touched)
    fields: list[Any] = [("tables", tables), ("touched", touched, nothing)]
    record = msgspec.defstruct("StepRecord", fields, bases=(_StepRecord,), kw_only=True, gc=False)
    return RecordDecoder(record, "the record of a commit")


def _only(key: str, name: str, kind: Any) -> type[msgspec.Struct]:  # noqa: ANN401 - a type
    """Return a structure whose one field has the name of a table in texts."""
    return msgspec.defstruct("Only", [(name, kind | None, None)], rename={name: key}, gc=False)


def _derives(parents: tuple[str, ...], kind: CommitKind, affected: tuple[int, int] | None) -> bool:
    """Whether a commit certainly wrote its tables on top of those of its only parent."""
    is_mutation = kind is CommitKind.WRITE and affected is not None
    return len(parents) == 1 and (is_mutation or kind is CommitKind.PHYSICAL)
