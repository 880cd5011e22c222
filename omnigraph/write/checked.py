"""Checked: a draft that breaks no rule, as the writes of one commit."""

from collections.abc import Iterable, Mapping

import pyarrow as pa

from omnigraph.errors import Code, Violation, ViolationsError
from omnigraph.schema.catalog import NodeType, embedded_in
from omnigraph.versioning.commit import Touched, row_mark
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.writes import Append, DeleteRows, TableWrite, Upsert, WriteSet
from omnigraph.write.counts import RowCounts
from omnigraph.write.draft import MOST_TOUCHED, Draft, TypeChange
from omnigraph.write.filling import VectorFiller, join_models
from omnigraph.write.validate import validate

_MOST_SHOWN = 100


def fill_vectors(draft: Draft, vectors: VectorFiller) -> None:
    """Make the vectors of all rows that have a text and no vector."""
    for name in draft.touched:
        change = draft.change(name)
        if embedded_in(change.stored):
            batches = change.rows.combine_chunks().to_batches()
            filled = [vectors.filled(change.stored, batch) for batch in batches]
            if filled:
                draft.put(name, pa.Table.from_batches([batch for batch, _ in filled]))
                draft.models[name] = join_models((), *(used for _, used in filled))


def check_draft(
    draft: Draft, read: frozenset[str] = frozenset()
) -> tuple[WriteSet | None, RowCounts]:
    """Return what a draft writes, None when it changes nothing, and how many rows it changes.

    `read` are further tables on which the draft depends. Raises ViolationsError with everything
    that is wrong.
    """
    snapshot, changes = draft.snapshot, draft.changes()
    verdict = validate(snapshot, changes)
    if found := _drop_repeats([*draft.unfit, *verdict.violations]):
        raise ViolationsError(found[:_MOST_SHOWN], total=len(found))
    counts = draft.count(changes)
    if not changes:
        return None, counts
    writes = {each.stored.identity: _writes(snapshot, each) for each in changes.values()}
    models = draft.models
    keys = {name: each.stored.identity for name, each in changes.items() if models.get(name)}
    # Also what stays as it is was compared with the rows that are there.
    compared = frozenset(draft.change(name).stored.identity for name in draft.touched)
    seen = verdict.looked_at | _cascades(snapshot, changes) | compared | read
    write_set = WriteSet(
        base=snapshot,
        writes=writes,
        validated=seen - frozenset(writes),
        affected=_affected(changes),
        touched=_touched(changes.values()),
        models={key: join_models(snapshot.models(key), models[name]) for name, key in keys.items()},
    )
    return write_set, counts


def _writes(snapshot: Snapshot, change: TypeChange) -> tuple[TableWrite, ...]:
    table = snapshot.table(change.stored.identity)
    writes: list[TableWrite] = [DeleteRows(change.gone)] if len(change.gone) else []
    if change.rows.num_rows:
        rows = change.rows.cast(table.schema)
        writes.append(Upsert(rows) if change.updated else Append(rows))
    return tuple(writes)


def _touched(changes: Iterable[TypeChange]) -> dict[str, Touched]:
    """Return the rows of each table in which few are written."""
    few = (each for each in changes if len(each.hidden) <= MOST_TOUCHED)
    return {
        each.stored.identity: Touched(tuple(map(row_mark, each.hidden.to_pylist())), each.columns)
        for each in few
    }


def _cascades(snapshot: Snapshot, changes: Mapping[str, TypeChange]) -> frozenset[str]:
    """Return the tables in which edges of deleted nodes were sought."""
    gone = {name for name, change in changes.items() if len(change.gone)}
    edges = snapshot.catalog.edges.values()
    return frozenset(e.identity for e in edges if {e.source, e.target} & gone)


def _drop_repeats(violations: Iterable[Violation]) -> list[Violation]:
    """Return the first violation of each value: one that does not fit is not missing as well."""
    found: dict[object, Violation] = {}
    for each in violations:
        is_value = each.code in (Code.VALUE_TYPE, Code.REQUIRED_VALUE) and each.id is not None
        found.setdefault((each.type, each.id, each.field) if is_value else len(found), each)
    return list(found.values())


def _affected(changes: Mapping[str, TypeChange]) -> tuple[int, int]:
    """Return how many nodes and edges change."""
    nodes = edges = 0
    for each in changes.values():
        count = each.rows.num_rows + len(each.gone)
        if isinstance(each.stored, NodeType):
            nodes += count
        else:
            edges += count
    return nodes, edges
