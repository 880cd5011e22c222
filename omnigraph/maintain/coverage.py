"""Coverage: how many rows each index covers, and why not all."""

from collections.abc import Iterator

from omnigraph.maintain.reports import Coverage
from omnigraph.schema.catalog import StoredType, field_name
from omnigraph.storage import indexes
from omnigraph.storage.finding.nearest import vector_index
from omnigraph.storage.indexes import IndexKind, IndexSpec, indexes_of, vector_indexes_of
from omnigraph.storage.staging import count_rows, covered_by
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot

_WORDS = {IndexKind.BTREE: "btree", IndexKind.TEXT: "text", IndexKind.VECTOR: "vector"}


def coverage(snapshot: Snapshot) -> list[Coverage]:
    """Return the coverage of every index that the schema asks for."""
    return [
        each
        for key, stored in snapshot.catalog.by_identity.items()
        for each in table_coverage(snapshot.table(key), stored)
    ]


def table_coverage(
    table: Table, stored: StoredType, *, measures: bool = False
) -> Iterator[Coverage]:
    """Yield the coverage of the indexes of one table; with `measures`, the recall as well."""
    rows = table.count()
    for spec in (*indexes_of(stored), *vector_indexes_of(stored)):
        covered = covered_by(table, spec)
        indexed = 0 if covered is None else count_rows(table, covered)
        yield Coverage(
            table_key=stored.table_key,
            column=field_name(stored, spec.column),
            kind=_WORDS[spec.kind],
            indexed=indexed,
            pending=rows - indexed,
            reason=_reason(spec, rows, indexed),
            recall=_recall(table, spec) if measures else None,
        )


def _reason(spec: IndexSpec, rows: int, indexed: int) -> str | None:
    """Return why an index misses rows; every search finds them all the same."""
    if rows == indexed:
        return None
    if spec.kind is IndexKind.VECTOR:
        few = rows < indexes.LEAST_VECTORS
        if few or not indexed:
            least = f"{indexes.LEAST_VECTORS:,}"
            return f"fewer than {least} vectors: all are compared" if few else "not optimized yet"
        return "written since the last optimize: all of these are compared"
    if spec.kind is IndexKind.BTREE and rows - indexed < indexes.MOST_UNCOVERED_ROWS:
        return "scanning so few rows is faster"
    return "not optimized yet"


def _recall(table: Table, spec: IndexSpec) -> float | None:
    if spec.kind is not IndexKind.VECTOR:
        return None
    index = vector_index(table, spec.column)
    return None if index is None else index.recall()
