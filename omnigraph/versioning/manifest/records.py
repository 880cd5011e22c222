"""Records: the rows of the manifest, and the commit that a row records."""

import json
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import FormatUnreadableError
from omnigraph.storage import layout
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import (
    Commit,
    CommitKind,
    Models,
    TableState,
    Touched,
    commit_row_id,
)
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.record_decoder import RecordDecoder

STAMP = "omnigraph:internal_schema_version"
FIRST_COMMIT = "omnigraph:first_commit"
PRIMARY_KEY = "lance-schema:unenforced-primary-key"
FORMAT = layout.FORMAT
COMMIT_ROW = "graph_commit"
_MOST_DIGITS = 9
_SHOWN = 40
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
# Versions that nobody sees are beyond the signed integers.
_Version = Annotated[int, msgspec.Meta(ge=0)]
# Until the end of the year 9999.
_Microseconds = Annotated[int, msgspec.Meta(ge=0, lt=253_402_300_800_000_000)]


def stamp_of(at: Table) -> int:
    """Return the format of a manifest; one without a stamp has the first.

    Raises FormatUnreadableError when the stamp is not the number of a format.
    """
    stored: bytes = (at.schema.metadata or {}).get(STAMP.encode(), b"1")
    if not stored.isdigit() or len(stored) > _MOST_DIGITS or not int(stored):
        shown = stored[:_SHOWN].decode(errors="replace")
        raise FormatUnreadableError(
            f"expected the number of the graph's format, found '{shown}'",
            hint="its manifest is damaged, or something else wrote it; restore a backup",
        )
    return int(stored)


def first_commit(at: Table) -> str:
    """Return the id of the commit with which a graph began."""
    stored: bytes = (at.schema.metadata or {}).get(FIRST_COMMIT.encode(), b"")
    return stored.decode()


def new_manifest(commit: Commit) -> pa.Table:
    """Return the first rows of a manifest; its schema holds the stamp and the first commit."""
    key = pa.field("object_id", pa.utf8(), nullable=False, metadata={PRIMARY_KEY: "true"})
    schema = pa.schema(
        [
            key,
            pa.field("object_type", pa.utf8(), nullable=False),
            pa.field("location", pa.utf8()),
            pa.field("metadata", pa.utf8()),
            pa.field("base_objects", pa.list_(pa.utf8())),
            pa.field("table_key", pa.utf8()),
            pa.field("table_version", pa.uint64()),
            pa.field("table_branch", pa.utf8()),
            pa.field("row_count", pa.uint64()),
        ],
        metadata={STAMP: str(FORMAT), FIRST_COMMIT: commit.id},
    )
    tables = [
        {
            "object_id": f"table:{key}",
            "object_type": "table",
            "location": state.path,
            "table_key": key,
        }
        for key, state in commit.tables.items()
    ]
    first = pa.Table.from_pylist(tables, schema=schema)
    return pa.concat_tables([first, commit_rows(commit, commit.tables, schema)])


def commit_rows(commit: Commit, changed: Iterable[str], schema: pa.Schema) -> pa.Table:
    """Return the rows of a commit, as a table."""
    return pa.Table.from_pylist(rows_of_commit(commit, changed), schema=schema)


def rows_of_commit(commit: Commit, changed: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rows of a commit: the new table versions, and the record of the commit itself."""
    rows: list[dict[str, Any]] = [
        {
            "object_id": f"version:{key}@{state.version}",
            "object_type": "table_version",
            "location": state.path,
            "table_key": key,
            "table_version": state.version,
            "table_branch": None if state.branch == MAIN else state.branch,
            "row_count": state.row_count,
        }
        for key in changed
        if (state := commit.tables.get(key)) is not None
    ]
    record = {
        "object_id": commit_row_id(commit.id),
        "object_type": COMMIT_ROW,
        "location": place_in_history(commit.version),
        "metadata": encode_commit(commit),
        "table_key": None if commit.parent is None else commit_row_id(commit.parent),
        "base_objects": [commit_row_id(parent) for parent in commit.parents],
        "table_version": commit.version,
        "table_branch": commit.branch,
    }
    return [*rows, record]


def row_of_operation(commit: Commit) -> dict[str, Any]:
    """Return the row by which the commit of an operation is found."""
    return {
        "object_id": f"operation:{commit.id}",
        "object_type": "operation",
        "location": operation_place(commit.operation_id),
        "metadata": commit.id,
    }


def operation_place(operation_id: str) -> str:
    """Return the location of the row of an operation."""
    return f"operation/{operation_id}"


def place_in_history(version: int) -> str:
    """Return the location of a commit's record: its version as text that sorts like the number.

    Lance accepts no conditions on unsigned columns, so versions cannot be looked up as numbers.
    """
    return f"history/{version:020d}"


def is_between(versions: tuple[int, int]) -> pc.Expression:
    """Return the condition on the rows of commits from one version to another."""
    place, (first, last) = pc.field("location"), versions
    return (place >= place_in_history(max(first, 0))) & (place <= place_in_history(last))


def matching_commits(rows: pa.Table, ids: list[str]) -> dict[str, Commit]:
    """Return the commits with these ids among those that rows record."""
    wanted = {commit_row_id(each) for each in ids}
    names, records = rows["object_id"].to_pylist(), rows["metadata"].to_pylist()
    found = (
        decode_commit(text) for name, text in zip(names, records, strict=True) if name in wanted
    )
    return {commit.id: commit for commit in found}


class CommitRecord(msgspec.Struct, forbid_unknown_fields=True):
    """A commit as its record stores it."""

    id: str
    parents: tuple[str, ...]
    branch: str
    version: _Count
    kind: CommitKind
    created_at: _Microseconds
    operation_id: str
    schema: str
    tables: dict[str, tuple[str, _Version, _Count, str]]
    actor: str | None = None
    message: str | None = None
    affected: tuple[int, int] | None = None
    request: str | None = None
    models: dict[str, tuple[tuple[str, str], ...]] = {}
    touched: dict[str, tuple[tuple[str, ...], tuple[str, ...] | None]] = {}

    def commit(self) -> Commit:
        """Return the commit."""
        # The names are the same in all commits, and there are as many as commits and tables.
        models = {key: _models(pairs) for key, pairs in self.models.items()}
        return Commit(
            id=self.id,
            parents=self.parents,
            branch=self.branch,
            version=self.version,
            kind=self.kind,
            created_at=self.created_at,
            operation_id=self.operation_id,
            schema=self.schema,
            tables={
                sys.intern(key): TableState(
                    sys.intern(path), version, rows, sys.intern(branch), models.get(key, ())
                )
                for key, (path, version, rows, branch) in self.tables.items()
            },
            actor=self.actor,
            message=self.message,
            affected=self.affected,
            request=self.request,
            touched={key: _touched(*each) for key, each in self.touched.items()},
        )


_commit = RecordDecoder[CommitRecord](CommitRecord, "the record of a commit")


def decode_commit(text: str | None) -> Commit:
    """Return the commit that the text of a record holds; raise StorageError for another text."""
    return _commit.read(text).commit()


def encode_commit(commit: Commit) -> str:
    """Return the text of a commit's record."""
    models = {key: state.models for key, state in commit.tables.items() if state.models}
    touched = {key: [each.rows, each.columns] for key, each in commit.touched.items()}
    record = {
        "id": commit.id,
        "parents": commit.parents,
        "branch": commit.branch,
        "version": commit.version,
        "kind": commit.kind,
        "created_at": commit.created_at,
        "operation_id": commit.operation_id,
        "schema": commit.schema,
        "actor": commit.actor,
        "message": commit.message,
        "affected": commit.affected,
        "request": commit.request,
        "tables": {
            key: [state.path, state.version, state.row_count, state.branch]
            for key, state in commit.tables.items()
        },
        **({"models": models} if models else {}),
        **({"touched": touched} if touched else {}),
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _models(pairs: Iterable[tuple[str, str]]) -> Models:
    return tuple((sys.intern(identity), sys.intern(model)) for identity, model in pairs)


def _touched(rows: Iterable[str], columns: Iterable[str] | None) -> Touched:
    return Touched(tuple(rows), None if columns is None else tuple(map(sys.intern, columns)))
