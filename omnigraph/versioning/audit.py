"""Audit: checks the rows of the manifest and the heads it holds."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from typing import Any

import pyarrow as pa

from omnigraph.errors import StorageError
from omnigraph.frozen import dataclass
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Commit, TableState, commit_row_id
from omnigraph.versioning.damage import Damage, Finding
from omnigraph.versioning.heads.head import Head, decode_head
from omnigraph.versioning.heads.layers import HEAD_ROW, hot_heads, layers_of, stored_heads
from omnigraph.versioning.manifest.fresh import decode_fresh, fresh_texts
from omnigraph.versioning.manifest.manifest import Manifest
from omnigraph.versioning.manifest.records import (
    COMMIT_ROW,
    decode_commit,
    first_commit,
    place_in_history,
)
from omnigraph.versioning.names import MAIN, fold

_UNREADABLE = "its record cannot be read"


@dataclass(slots=True)
class Audit:
    """The readable content of a manifest, and what is wrong with it.

    `published` are the commits at which a branch stands or stood, and `buried` the table versions
    that a cleanup removed, or was about to remove.
    """

    commits: dict[str, Commit] = field(default_factory=dict)
    heads: dict[str, Head] = field(default_factory=dict)
    published: set[str] = field(default_factory=set)
    buried: set[tuple[str, int]] = field(default_factory=set)
    rows: int = 0
    findings: list[Finding] = field(default_factory=list)

    def note(self, kind: Damage, where: str, message: str) -> None:
        self.findings.append(Finding(kind, where, message))


def audit(manifest: Manifest, at: Table) -> Audit:
    """Check every row of the manifest, every head and every parent; reads all rows."""
    rows: list[dict[str, Any]] = at.scan().to_pylist()
    found = Audit(rows=len(rows))
    rows += _fresh_rows(found, at, {row["object_id"]: row["metadata"] for row in rows})
    _check_rows(found, rows)
    _check_heads(found, at)
    _check_parents(found)
    found.buried = manifest.buried(at)
    found.published = {head.commit for head in found.heads.values()}
    found.published |= {parent for each in found.commits.values() for parent in each.parents}
    found.published |= {
        (row["table_key"] or "").removeprefix(commit_row_id(""))
        for row in rows
        if row["object_id"].startswith("retired:") or row["object_type"] == HEAD_ROW
    }
    found.published &= found.commits.keys()
    _check_version_rows(found, rows)
    _check_dangling(found, rows)
    return found


def _fresh_rows(
    found: Audit, at: Table, records: Mapping[str, str | None]
) -> Iterator[dict[str, Any]]:
    """Yield the rows that commits which are keys become, unless they are there already.

    `records` has what rows say of commits, which must be what the keys say.
    """
    for commit_id, text in fresh_texts(at).items():
        row_id = commit_row_id(commit_id)
        try:
            fresh = decode_fresh(text)
        except StorageError:
            found.note(Damage.COMMIT_UNREADABLE, row_id, _UNREADABLE)
            continue
        if row_id in records:
            _compare_record(found, row_id, fresh.commit, records[row_id])
            continue
        for row in pa.Table.from_pylist(fresh.rows(), at.schema).to_pylist():
            is_record = row["object_type"] == COMMIT_ROW
            yield row | {"object_id": row_id} if is_record else row


def _compare_record(found: Audit, row_id: str, commit: Commit, record: str | None) -> None:
    """Check that the row of a commit says what its key says."""
    with suppress(StorageError):  # it is noted with the rows
        if decode_commit(record) != commit:
            found.note(Damage.COMMIT_DISAGREES, row_id, "its key and its row disagree")


def _check_rows(found: Audit, rows: list[dict[str, Any]]) -> None:
    kinds = ("table", "table_version", "table_tombstone", "operation", COMMIT_ROW, HEAD_ROW)
    # Two writers that spill a commit at once, or a crash while it is spilled, leave the same twice.
    records = {(row["object_id"], repr(row)) for row in rows if row["object_type"] == COMMIT_ROW}
    once = Counter(row["object_id"] for row in rows if row["object_type"] == "table")
    once += Counter(object_id for object_id, _ in records)
    for object_id, count in once.items():
        if count > 1:
            found.note(Damage.ROW_TWICE, object_id, f"the manifest has {count} rows of this id")
    for row in rows:
        if row["object_type"] not in kinds:
            found.note(Damage.ROW_UNKNOWN, row["object_id"], f"unknown type {row['object_type']!r}")
        elif row["object_type"] == COMMIT_ROW:
            _check_commit(found, row)


def _check_commit(found: Audit, row: Mapping[str, Any]) -> None:
    try:
        commit = decode_commit(row["metadata"])
    except StorageError:
        found.note(Damage.COMMIT_UNREADABLE, row["object_id"], _UNREADABLE)
        return
    said = (row["object_id"], row["table_version"], row["location"], row["base_objects"])
    place, parents = place_in_history(commit.version), [*map(commit_row_id, commit.parents)]
    if said != (commit_row_id(commit.id), commit.version, place, parents):
        message = "its row and its record disagree on id, version or parents"
        found.note(Damage.COMMIT_DISAGREES, row["object_id"], message)
    found.commits[commit.id] = commit


def _check_heads(found: Audit, at: Table) -> None:
    for name, text in _texts_of_heads(found, at).items():
        try:
            head = decode_head(text)
        except StorageError:
            found.note(Damage.HEAD_UNREADABLE, name, "its head cannot be read")
            continue
        if head is None:
            continue
        found.heads[name] = head
        is_named = fold(head.name) == name
        commit = found.commits.get(head.commit)
        if commit is None:
            found.note(Damage.HEAD_MISSING, name, f"it stands at {head.commit}, which is missing")
        elif not is_named or head.version != commit.version:
            found.note(Damage.HEAD_DISAGREES, name, "it names another branch or version")
    first = first_commit(at)
    if first not in found.commits:
        message = f"the graph began with {first or 'no commit'}, which is missing"
        found.note(Damage.FIRST_COMMIT_MISSING, MAIN, message)
    else:
        found.heads.setdefault(MAIN, Head(MAIN, first, 0, 0))


def _texts_of_heads(found: Audit, at: Table) -> dict[str, str]:
    """Return what the manifest stores for each name that has a head, as far as it can be read."""
    texts: dict[str, str] = {}
    try:
        layers = layers_of(at)
    except StorageError:
        found.note(Damage.HEAD_UNREADABLE, "layers", "the list of layers of heads cannot be read")
        layers = ()
    for layer in reversed(layers):
        told = stored_heads(layer, at)
        texts |= told
        if len(told) != layer.rows:
            message = f"it has {len(told)} heads instead of {layer.rows}"
            found.note(Damage.HEAD_MISSING, f"layer {layer.id}", message)
    return texts | dict(hot_heads(at))


def _check_parents(found: Audit) -> None:
    for commit in found.commits.values():
        known = [found.commits[each] for each in commit.parents if each in found.commits]
        for parent in commit.parents:
            if parent not in found.commits:
                found.note(Damage.PARENT_MISSING, commit.id, f"its parent {parent} is missing")
        due = max((each.version + 1 for each in known), default=0)
        if len(known) == len(commit.parents) and commit.version != due:
            message = f"its version is {commit.version} and should be {due}"
            found.note(Damage.PARENT_ORDER, commit.id, message)


def _check_version_rows(found: Audit, rows: list[dict[str, Any]]) -> None:
    """Check that every table version that a commit added has a row that says the same about it."""
    said: dict[str, set[tuple[str, int]]] = {}
    for row in rows:
        if row["object_type"] == "table_version":
            said.setdefault(row["object_id"], set()).add((row["location"], row["row_count"]))
    for commit_id in sorted(found.published):
        for key, state in _added_tables(found, found.commits[commit_id]):
            row_id = f"version:{key}@{state.version}"
            if row_id not in said:
                found.note(Damage.VERSION_ROW_MISSING, row_id, f"commit {commit_id} added it")
            elif (state.path, state.row_count) not in said[row_id]:
                message = f"it disagrees with commit {commit_id}"
                found.note(Damage.VERSION_ROW_DISAGREES, row_id, message)


def _added_tables(found: Audit, commit: Commit) -> Iterator[tuple[str, TableState]]:
    """Yield the tables that a commit changed, as far as its parent is known."""
    parent = None if commit.parent is None else found.commits.get(commit.parent)
    if commit.parent is not None and parent is None:
        return
    before = {} if parent is None else parent.tables
    for key, state in commit.tables.items():
        if key not in before or before[key].version != state.version:
            yield key, state


def _check_dangling(found: Audit, rows: list[dict[str, Any]]) -> None:
    """Check that the rows of operations and deleted branches name commits that exist."""
    for row in rows:
        named = None
        if row["object_type"] == "operation":
            named = row["metadata"]
        elif row["object_id"].startswith("retired:"):
            named = (row["table_key"] or "").removeprefix(commit_row_id(""))
        if named is not None and named not in found.commits:
            found.note(
                Damage.ROW_DANGLING, row["object_id"], f"it names commit {named}, which is missing"
            )
