"""Lost: refuses a merge in which one side drops what the other side wrote."""

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import SchemaConflictError
from omnigraph.evolve.align import Sides, align_sides, common_schema
from omnigraph.merge.diff import RowChanges, table_diff
from omnigraph.merge.row_change import Op
from omnigraph.schema.catalog import Catalog, StoredType
from omnigraph.spark.deadline import Deadline
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot


def aligned(repository: Repository, sides: Sides, deadline: Deadline) -> Sides:
    """Return the sides of a merge with one schema that has the changes of both.

    Raises SchemaConflictError when these exclude each other, or when one side dropped a type or a
    property of which the other changed rows or values.
    """
    catalog = common_schema(sides)
    if catalog is None:
        return sides
    lost = [
        *_lost(sides.bases, sides.ours, catalog, ("their", "ours")),
        *_lost(sides.bases, sides.theirs, catalog, ("our", "theirs")),
    ]
    if lost:
        raise SchemaConflictError(lost)
    return align_sides(repository, sides, catalog, deadline)


def _lost(
    bases: tuple[Snapshot, ...], side: Snapshot, catalog: Catalog, names: tuple[str, str]
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
            counts = _written(base, side, stored, gone, is_type=kept is None)
            yield from (
                f"{name} was dropped on {dropping} side and written in "
                f"{count:,} {'row' if count == 1 else 'rows'} on {writing}"
                for name, count in counts.items()
                if count
            )


def _written(
    base: Snapshot, side: Snapshot, stored: StoredType, gone: list[str], *, is_type: bool
) -> Counter[str]:
    """Count the changed rows of a type, or those with changed values of some properties."""
    found = table_diff(base, side, stored)
    counts = dict.fromkeys(
        [stored.name] if is_type else [f"{stored.name}.{each}" for each in gone], 0
    )
    for changes in () if found is None else found.changes():
        if is_type:
            counts[stored.name] += len(changes)
            continue
        for name in gone:
            counts[f"{stored.name}.{name}"] += _values(changes, name)
    return counts


def _values(changes: RowChanges, name: str) -> int:
    """Count the values of a property that rows got; a row that was deleted got none."""
    match changes.op:
        case Op.DELETE:
            return 0
        case Op.INSERT:
            return len(changes) - changes.after[name].null_count
        case Op.UPDATE:
            return int(pc.sum(pa.array(changes.changed[name])).as_py() or 0)
