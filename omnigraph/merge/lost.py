"""Lost: refuses a merge in which one side drops what the other side wrote."""

from collections import Counter
from collections.abc import Iterable, Iterator

import pyarrow.compute as pc

from omnigraph.errors import SchemaConflictError
from omnigraph.evolve.align import Sides, align_sides, common_schema
from omnigraph.merge.compare.diff import RowChanges, table_diff
from omnigraph.merge.compare.row_change import Op
from omnigraph.schema.catalog import Catalog, StoredType
from omnigraph.spark.deadline import Deadline
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot


def aligned(repository: Repository, sides: Sides, deadline: Deadline) -> Sides:
    """Return the sides of a merge with one schema that has the changes of both.

    Raises SchemaConflictError when these exclude each other, or when one side dropped a type or a
    property of which the other changed rows or values; CancelledError or BudgetError when the
    deadline is over before that is known.
    """
    catalog = common_schema(sides)
    if catalog is None:
        return sides
    lost = [
        *_lost(sides.bases, sides.ours, catalog, ("their", "ours"), deadline),
        *_lost(sides.bases, sides.theirs, catalog, ("our", "theirs"), deadline),
    ]
    if lost:
        raise SchemaConflictError(lost)
    return align_sides(repository, sides, catalog, deadline)


def _lost(
    bases: tuple[Snapshot, ...],
    side: Snapshot,
    catalog: Catalog,
    names: tuple[str, str],
    deadline: Deadline,
) -> Iterator[str]:
    """Yield what a side wrote to since a base and the common schema has not."""
    dropping, writing = names
    for key, stored in side.catalog.by_identity.items():
        kept = catalog.by_identity.get(key)
        there = set() if kept is None else {each.identity for each in kept.properties.values()}
        gone = [each.name for each in stored.properties.values() if each.identity not in there]
        if kept is not None and not gone:
            continue
        for base in (each for each in bases if key in each.commit.tables):
            found = table_diff(base, side, stored, deadline)
            changes = () if found is None else _in_time(found.changes(), deadline)
            counts = _rows(stored, changes) if kept is None else _values(stored, gone, changes)
            yield from (
                f"{name} was dropped on {dropping} side and written in "
                f"{count:,} {'row' if count == 1 else 'rows'} on {writing}"
                for name, count in counts.items()
                if count
            )


def _in_time(changes: Iterable[RowChanges], deadline: Deadline) -> Iterator[RowChanges]:
    for each in changes:
        deadline.check()
        yield each


def _rows(stored: StoredType, changes: Iterable[RowChanges]) -> dict[str, int]:
    """Count the changed rows of a type."""
    return {stored.name: sum(map(len, changes))}


def _values(
    stored: StoredType, names: Iterable[str], changes: Iterable[RowChanges]
) -> Counter[str]:
    """Count the values that rows got of some properties; a row that was deleted got none."""
    counts = Counter[str]()
    for each in changes:
        for name in names:
            if each.op is Op.INSERT:
                counts[f"{stored.name}.{name}"] += pc.count(each.after[name]).as_py()
            elif each.op is Op.UPDATE:
                counts[f"{stored.name}.{name}"] += int(each.changed[name].sum())
    return counts
