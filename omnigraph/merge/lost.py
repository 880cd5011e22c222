"""Lost: refuses a merge in which one side drops what the other side wrote."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.errors import SchemaConflictError
from omnigraph.evolve.align import Sides, align_sides, common_schema
from omnigraph.frozen import dataclass
from omnigraph.merge.compare.diff import RowChanges, table_diff
from omnigraph.merge.compare.row_change import Op
from omnigraph.schema.catalog import Catalog, StoredType
from omnigraph.spark.deadline import Deadline
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot

# The ids of rows that were written, by what was written in them.
_Written: TypeAlias = Mapping[str, pa.Array]

_NO_IDS = pa.array([], pa.utf8())


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
        *_lost(sides, sides.ours, catalog, ("their", "ours"), deadline),
        *_lost(sides, sides.theirs, catalog, ("our", "theirs"), deadline),
    ]
    if lost:
        raise SchemaConflictError(lost)
    return align_sides(repository, sides, catalog, deadline)


def _lost(
    sides: Sides, side: Snapshot, catalog: Catalog, names: tuple[str, str], deadline: Deadline
) -> Iterator[str]:
    """Yield what a side wrote to since the bases and the common schema has not."""
    dropping, writing = names
    for key, stored in side.catalog.by_identity.items():
        kept = catalog.by_identity.get(key)
        there = set() if kept is None else {each.identity for each in kept.properties.values()}
        gone = [each.name for each in stored.properties.values() if each.identity not in there]
        if kept is not None and not gone:
            continue
        reading = _Reading(stored, None if kept is None else gone, deadline)
        for name, count in reading.written(sides, side).items():
            if count:
                rows = f"{count:,} {'row' if count == 1 else 'rows'}"
                yield f"{name} was dropped on {dropping} side and written in {rows} on {writing}"


@dataclass(frozen=True, slots=True)
class _Reading:
    """Finds the rows of a type that were changed, or that got values of some of its properties."""

    stored: StoredType
    names: Sequence[str] | None
    deadline: Deadline

    def written(self, sides: Sides, side: Snapshot) -> Mapping[str, int]:
        """Count the rows in which a side wrote since the bases.

        Of several bases, one that alone changed a row is the one to compare it with. A row that
        both or neither changed has to differ from both.
        """
        bases = [each for each in sides.bases if self.stored.identity in each.commit.tables]
        if len(bases) < 2:  # nothing is held: there may be as many rows as were ever loaded
            counts = Counter[str]()
            for base in bases:
                for name, ids in self._parts(base, side):
                    counts[name] += len(ids)
            return counts
        found = [self._since(each, side) for each in bases]
        written = dict(found[0])
        for each in found[1:]:
            written = {name: _both(ids, each[name]) for name, ids in written.items()}
        if len(bases) == 2 and sides.root is not None:
            own = [self._since(sides.root, each) for each in bases]
            for name, ids in written.items():
                one, other = (_both(found[at][name], own[at][name]) for at in (0, 1))
                alone = _without(one, own[1][name]), _without(other, own[0][name])
                written[name] = pa.concat_arrays([ids, *alone]).unique()
        return {name: len(ids) for name, ids in written.items()}

    def _since(self, old: Snapshot, new: Snapshot) -> _Written:
        stored, size = self.stored, 0
        names = [stored.name] if self.names is None else [f"{stored.name}.{n}" for n in self.names]
        found = {name: [_NO_IDS] for name in names}
        for name, ids in self._parts(old, new):
            size += ids.nbytes
            self.deadline.check_bytes(size)
            found[name].append(ids)
        return {name: pa.concat_arrays(ids) for name, ids in found.items()}

    def _parts(self, old: Snapshot, new: Snapshot) -> Iterator[tuple[str, pa.Array]]:
        """Yield ids of rows that were written, with what was written in them."""
        diff = table_diff(old, new, self.stored, self.deadline)
        for each in () if diff is None else _in_time(diff.changes(), self.deadline):
            if self.names is None:
                yield self.stored.name, each.ids
            for name in self.names or ():
                if each.op is Op.INSERT:
                    is_meant = to_array(each.after[name]).is_valid()
                elif each.op is Op.UPDATE:
                    is_meant = pa.array(each.changed[name])
                else:
                    continue  # a row that was deleted got no value
                yield f"{self.stored.name}.{name}", each.ids.filter(is_meant)


def _both(some: pa.Array, others: pa.Array) -> pa.Array:
    return some.filter(pc.is_in(some, others))


def _without(some: pa.Array, others: pa.Array) -> pa.Array:
    return some.filter(pc.invert(pc.is_in(some, others)))


def _in_time(changes: Iterable[RowChanges], deadline: Deadline) -> Iterator[RowChanges]:
    for each in changes:
        deadline.check()
        yield each
