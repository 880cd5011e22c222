"""Stored change: what a merge changes in one type, kept in files where tasks read it.

Only the columns are kept that rules between rows compare, a part for each bucket of ids.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field

import pyarrow as pa

from omnigraph.data.values.lookup import look_up_rows
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import StoredType
from omnigraph.spark.progress import NO_PROGRESS
from omnigraph.spark.runner import Parcel, Runner
from omnigraph.storage.reading import ADDRESS, Addresses
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.draft import TypeChange
from omnigraph.write.load.aside import Answer, Aside
from omnigraph.write.load.checks import KeyCheck, count_buckets, find_broken_values
from omnigraph.write.load.gathered import KeyGatherer
from omnigraph.write.load.lookups import plan_check
from omnigraph.write.load.replaced import ReplacedRows, keep_addresses, remove_replaced
from omnigraph.write.load.rules import (
    CardinalityRule,
    ExistsRule,
    LoadRule,
    RuleReading,
    UniqueRule,
    rule_columns,
)
from omnigraph.write.validate import compared_columns

# So many bytes of each kind travel with the answer of a bucket.
_HELD_BYTES = 1_000
# The edges of so few deleted nodes are looked up here; of more, tasks read all edges.
_FEW_GONE = 10_000
_NO_IDS = pa.array([], pa.utf8())


@dataclass(frozen=True, slots=True)
class StoredPart:
    """The rows of some ids that a merge writes and removes, and which rows of ours go for them."""

    rows: Answer[pa.Table]
    gone: Answer[pa.Array]
    replaced: ReplacedRows
    row_count: int
    gone_count: int

    @staticmethod
    def of(change: TypeChange, addresses: Addresses, aside: Aside) -> "StoredPart":
        """Keep a change; `addresses` are those of the rows that it replaces and removes."""
        rows = change.rows.select(compared_columns(change.stored))
        return StoredPart(
            aside.answer(rows, _HELD_BYTES),
            aside.answer(change.gone, _HELD_BYTES),
            keep_addresses(aside, addresses),
            rows.num_rows,
            len(change.gone),
        )


@dataclass(frozen=True, slots=True)
class StoredChange:
    """All that a merge changes in one type; its rows are with the parts."""

    stored: StoredType
    ours: Table
    parts: tuple[StoredPart, ...]

    @staticmethod
    def held(change: TypeChange, ours: Table, aside: Aside) -> "StoredChange":
        """Return a change that this process holds in the same form."""
        addresses = look_up_rows(ours, "id", change.hidden, [ADDRESS])[ADDRESS].to_numpy()
        return StoredChange(change.stored, ours, (StoredPart.of(change, addresses, aside),))

    @property
    def row_count(self) -> int:
        return sum(each.row_count for each in self.parts)

    @property
    def gone_count(self) -> int:
        return sum(each.gone_count for each in self.parts)

    @property
    def is_empty(self) -> bool:
        return not (self.row_count or self.gone_count)

    def gone(self) -> pa.Array:
        """Return the ids of all rows that are removed."""
        return pa.concat_arrays([_NO_IDS, *(each.gone.read() for each in self.parts)])

    def read(self) -> TypeChange:
        """Return the change with all of its rows, in the columns that rules compare."""
        names = compared_columns(self.stored)
        none = pa.schema([self.ours.schema.field(name) for name in names]).empty_table()
        rows = [each.rows.read().cast(none.schema) for each in self.parts]
        return TypeChange(self.stored, pa.concat_tables([none, *rows]), self.gone())

    def unread(self) -> TypeChange:
        """Return the change without its rows, for a writer that makes them again."""
        return TypeChange(self.stored, self.ours.schema.empty_table())


@dataclass(frozen=True, slots=True)
class _PartKeys:
    """The values of one part that rules compare, for the buckets they meet in."""

    stored: StoredType
    rows: Answer[pa.Table]
    buckets: int
    counts: Mapping[str, int]

    @staticmethod
    def of(stored: StoredType, part: StoredPart, buckets: int) -> "_PartKeys":
        tags = {each.tag: part.row_count for each in _readings(stored)}
        return _PartKeys(stored, part.rows, buckets, tags)

    def parcels(self, tags: Collection[str]) -> Iterator[Parcel]:
        """Yield the values of some readings, in any process."""
        gatherer = KeyGatherer(self.buckets)
        for batch in self.rows.read().to_batches():
            for reading in _readings(self.stored):
                if reading.tag in tags:
                    yield from gatherer.add(reading, batch)
        yield from gatherer.finish()


def _readings(stored: StoredType) -> Iterator[RuleReading]:
    for columns in (("id",), *rule_columns(stored)):
        yield RuleReading(stored.name, columns, staged=True)


@dataclass(slots=True)
class Soundness:
    """Whether rules between rows hold on the graph that a merge would leave, decided by tasks.

    A table without the rows that go is made only when a rule reads it.
    """

    snapshot: Snapshot
    changes: Mapping[str, StoredChange]
    runner: Runner
    aside: Aside
    _kept: dict[str, Table] = field(default_factory=dict)

    def holds(self) -> bool:
        """Whether no rule is broken; which rows break one is for others to say."""
        if self._loses_ends():
            return False
        rules = self.rules()
        if not rules:
            return True
        check = self._check(rules)
        return not find_broken_values(self.runner, check, NO_PROGRESS)

    @property
    def looked_at(self) -> frozenset[str]:
        """The tables that rules read."""
        names = {reading.type for rule in self.rules() for reading in rule.readings}
        names |= {edge for edge, _, _ in self._lost_ends()}
        stored = (self.snapshot.catalog.stored(name) for name in names)
        return frozenset(each.identity for each in stored if each is not None)

    def kept(self, type_name: str) -> Table:
        """Return the rows of a type that are ours and stay as they are."""
        found = self._kept.get(type_name)
        if found is None:
            change = self.changes.get(type_name)
            if change is None:
                stored = self.snapshot.catalog.stored(type_name)
                assert stored is not None
                found = self.snapshot.table(stored.identity)
            else:
                replaced = [each.replaced for each in change.parts]
                found = remove_replaced(self.runner, change.ours, replaced)
            self._kept[type_name] = found
        return found

    def rules(self) -> list[LoadRule]:
        """Return the rules between rows that the changes could break."""
        rules: list[LoadRule] = [
            UniqueRule(RuleReading(name, columns))
            for name, change in self.changes.items()
            if change.row_count
            for columns in change.stored.unique
        ]
        for edge in self.snapshot.catalog.edges.values():
            change, sources = self.changes.get(edge.name), self.changes.get(edge.source)
            for column, node in (("src", edge.source), ("dst", edge.target)):
                nodes = RuleReading(node, ("id",))
                if self._gone(node) > _FEW_GONE:
                    rules.append(ExistsRule(RuleReading(edge.name, (column,)), nodes))
                elif change is not None and change.row_count:
                    rules.append(ExistsRule(RuleReading(edge.name, (column,), staged=True), nodes))
            bounds = edge.cardinality
            is_bounded = bounds.minimum > 0 or bounds.maximum is not None
            if (is_bounded and change is not None) or (bounds.minimum > 0 and sources is not None):
                reading = RuleReading(edge.name, ("src",))
                nodes = RuleReading(edge.source, ("id",))
                rules.append(CardinalityRule(reading, nodes, bounds.minimum, bounds.maximum))
        return rules

    def _check(self, rules: list[LoadRule]) -> KeyCheck:
        new = sum(each.row_count for each in self.changes.values())
        old = sum(state.row_count for state in self.snapshot.commit.tables.values())
        buckets = count_buckets(new, old)
        keys = [
            _PartKeys.of(change.stored, part, buckets)
            for change in self.changes.values()
            for part in change.parts
            if part.row_count
        ]
        return plan_check(self, rules, keys, self.aside, buckets)

    def _gone(self, name: str) -> int:
        change = self.changes.get(name)
        return 0 if change is None else change.gone_count

    def _lost_ends(self) -> Iterator[tuple[str, str, str]]:
        """Yield the edge types and ends at which a few nodes go, and the type of these."""
        for edge in self.snapshot.catalog.edges.values():
            for column, node in (("src", edge.source), ("dst", edge.target)):
                if 0 < self._gone(node) <= _FEW_GONE:
                    yield edge.name, column, node

    def _loses_ends(self) -> bool:
        for edge, column, node in self._lost_ends():
            gone = self.changes[node].gone()
            if look_up_rows(self.kept(edge), column, gone, ["id"]).num_rows:
                return True
        return False
