"""Outlook: the rows of a snapshot as another schema would have them, with what comes back."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import Violation
from omnigraph.evolve.constraints import without_values
from omnigraph.evolve.lens import Lens, lens
from omnigraph.evolve.past import Past
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, EdgeType, Property, StoredType
from omnigraph.schema.migration import plan_schema_migration
from omnigraph.schema.steps import MigrationStep
from omnigraph.spark.deadline import Deadline
from omnigraph.versioning.snapshot import Snapshot


@dataclass(frozen=True)
class Outlook:
    """A snapshot, the schema that it shall get, and what its own schema dropped before.

    Reading raises CancelledError or BudgetError when the deadline is over.
    """

    snapshot: Snapshot
    catalog: Catalog
    past: Past
    deadline: Deadline

    @cached_property
    def steps(self) -> tuple[MigrationStep, ...]:
        """The steps from the schema of the snapshot to the other one."""
        return plan_schema_migration(self.snapshot.catalog, self.catalog).steps

    def incomplete(self) -> Iterator[Violation]:
        """Yield the rows without a value of a required property that the type gets."""
        for stored, item in self.demanding():
            yield from without_values(self.rows(stored), item, self.deadline)

    def demanding(self) -> Iterator[tuple[StoredType, Property]]:
        """Yield the required properties that a type gets without a default, each with its type.

        They come back, or other commits had them before and the rows of this one never did.
        """
        before = {**self.snapshot.catalog.dropped_types, **self.snapshot.catalog.by_identity}
        for stored in self.catalog.by_identity.values():
            old = before.get(stored.identity, stored)
            known = {each.identity for each in old.properties.values()}
            for item in stored.properties.values():
                if item.identity not in known and not item.nullable and item.default is None:
                    yield stored, item

    def rows(self, stored: StoredType) -> Lens:
        """Return the rows of a type; if it comes back, without edges that lead nowhere now."""
        found, gone = lens(self.snapshot, stored, self.past), self.dangling(stored)
        return replace(found, hidden=gone) if len(gone) else found

    def batches(self, stored: StoredType, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield some columns of the rows of a type, with their ids, batch by batch."""
        yield from self._batches(self.rows(stored), names)

    def _batches(self, rows: Lens, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in rows.batches(names):
            self.deadline.check()
            yield batch

    def count(self, stored: StoredType) -> int:
        """Return how many rows a type has; one that is new has none."""
        known = self.snapshot.commit.tables.get(stored.identity)
        if known is not None:
            return known.row_count
        found = self.past.table(stored.identity)
        return 0 if found is None else found.state.row_count - len(self.dangling(stored))

    def dangling(self, stored: StoredType) -> pa.Array:
        """Return the ids of edges that come back although a node at an end was deleted since."""
        found = [pa.array([], pa.utf8())]
        edge = self.catalog.by_identity.get(stored.identity)
        if isinstance(edge, EdgeType):
            found += [batch["id"].filter(gone) for batch, gone in self._returning(edge)]
        return pa.concat_arrays(found)

    def leaving(self, edge: EdgeType) -> Counter[str]:
        """Count, by the id of its source, the edges of a type that come back."""
        counts = Counter[str]()
        for batch, gone in self._returning(edge):
            counts.update(batch["src"].filter(pc.invert(gone)).to_pylist())
        return counts

    def _returning(self, edge: EdgeType) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
        """Yield the edges that come back, and for each whether one of its nodes is gone."""
        if edge.identity in self.snapshot.commit.tables or not self.past.table(edge.identity):
            return
        sources, targets = (self._ids(each) for each in (edge.source, edge.target))
        for batch in self._batches(lens(self.snapshot, edge, self.past), ["src", "dst"]):
            starts = pc.is_in(batch["src"], value_set=sources)
            yield batch, pc.invert(pc.and_(starts, pc.is_in(batch["dst"], value_set=targets)))

    def _ids(self, node: str) -> pa.Array:
        batches = self.batches(self.catalog.nodes[node], [])
        return pa.concat_arrays([pa.array([], pa.utf8()), *(each["id"] for each in batches)])
