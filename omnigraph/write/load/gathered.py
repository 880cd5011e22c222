"""Gathered: the values that rules compare, each once for many rows, in the buckets they meet in."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.comparison import drop_incomparable, to_comparable
from omnigraph.frozen import dataclass
from omnigraph.spark.runner import PARCELS, Parcel, group_parcels, parcel_batch
from omnigraph.write.load import keys
from omnigraph.write.load.aside import Aside
from omnigraph.write.load.rules import RuleReading

# Values wait until there are so many bytes of them, so that buckets get few and full parcels.
_MOST_BYTES = 32 << 20
# How often a value came; a table without this column has every value once.
_COUNT = "#"


@dataclass(frozen=True, slots=True)
class GatheredKeys:
    """The values of one split, here if they are few, or in files of the store.

    `counts` says how many values there are of each reading, by its tag.
    """

    counts: Mapping[str, int]
    held: bytes = b""
    aside: Aside | None = None
    paths: tuple[str, ...] = ()

    def parcels(self, tags: Collection[str]) -> Iterator[Parcel]:
        """Yield the values of some readings, in any process."""
        wanted = pa.array(sorted(tags), pa.string())
        for batch in self._batches():
            chosen = batch.filter(pc.is_in(batch["tag"], value_set=wanted))
            for row in zip(*(column.to_pylist() for column in chosen.columns), strict=True):
                yield Parcel(*row)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self.held:
            yield from pa.ipc.open_stream(pa.py_buffer(self.held))
        for path in self.paths:
            assert self.aside is not None
            yield from self.aside.read_batches(path)


class KeyGatherer:
    """Takes the values of rows, batch by batch, and packs them for their buckets."""

    def __init__(self, buckets: int) -> None:
        self.counts: Counter[str] = Counter()
        self._buckets = buckets
        self._tables: dict[str, list[pa.Table]] = {}
        self._repeating: set[str] = set()
        self._size = 0

    def add(
        self, reading: RuleReading, rows: pa.RecordBatch, *, repeats: bool = True
    ) -> list[Parcel]:
        """Take the columns of a reading; returns parcels whenever enough have been collected.

        Without `repeats`, no value comes twice.
        """
        columns = drop_incomparable(rows.select(list(reading.columns)))
        if not len(columns):
            return []
        values = [to_comparable(column) for column in columns.columns]
        table = pa.table(dict(zip(reading.columns, values, strict=True)))
        self._tables.setdefault(reading.tag, []).append(table)
        if repeats:
            self._repeating.add(reading.tag)
        self._size += table.nbytes
        return self._relieve() if self._size > _MOST_BYTES else []

    def finish(self) -> list[Parcel]:
        """Return the parcels of all values that were not returned yet."""
        found = [parcel for tag in list(self._tables) for parcel in self._pack(tag)]
        self._size = 0
        return found

    def _relieve(self) -> list[Parcel]:
        """Drop repeated values, and return all if too many are left."""
        for tag in self._tables:
            joined, _ = self._join(tag)
            self._tables[tag] = [pa.Table.from_batches([joined])]
        self._size = sum(each.nbytes for tables in self._tables.values() for each in tables)
        return self.finish() if self._size > _MOST_BYTES // 2 else []

    def _join(self, tag: str) -> tuple[pa.RecordBatch, keys.Hashes]:
        """Return the values of a reading, each once where many come often, and their hashes."""
        tables = self._tables[tag]
        are_counted = any(_COUNT in each.column_names for each in tables)
        rows = _as_batch(join_counts(tables) if are_counted else pa.concat_tables(tables))
        hashes = keys.hash_rows(_values(rows))
        if are_counted or tag not in self._repeating or not keys.are_worth_joining(hashes):
            return rows, hashes
        rows = _as_batch(join_counts([pa.Table.from_batches([rows])]))
        return rows, keys.hash_rows(_values(rows))

    def _pack(self, tag: str) -> Iterator[Parcel]:
        rows, hashes = self._join(tag)
        del self._tables[tag]
        self.counts[tag] += len(rows)
        for bucket, part in keys.split_by_hash(rows, hashes, self._buckets):
            yield Parcel(bucket, tag, keys.pack(part))


class KeyWriter:
    """Gathers the values of a split, and stores what the answer of a task should not carry."""

    def __init__(self, aside: Aside, buckets: int, most_held: int) -> None:
        self._aside = aside
        self._most_held = most_held
        self._gatherer = KeyGatherer(buckets)
        self._paths: list[str] = []

    def add(self, reading: RuleReading, rows: pa.RecordBatch) -> None:
        """Take the columns of a reading."""
        self._store(self._gatherer.add(reading, rows))

    def finish(self) -> GatheredKeys:
        """Return all values that were taken."""
        parcels = self._gatherer.finish()
        counts = dict(self._gatherer.counts)
        if not self._paths and sum(len(each.payload) for each in parcels) <= self._most_held:
            return GatheredKeys(counts, held=_pack_parcels(parcels) if parcels else b"")
        self._store(parcels)
        return GatheredKeys(counts, aside=self._aside, paths=tuple(self._paths))

    def _store(self, parcels: Sequence[Parcel]) -> None:
        if parcels:
            batches = map(parcel_batch, group_parcels(parcels))
            self._paths.append(self._aside.write_batches(PARCELS, batches))


def join_counts(tables: Sequence[pa.Table]) -> pa.Table:
    """Return each value of tables once, with how often it came unless that is once for all."""
    if any(_COUNT in each.column_names for each in tables):
        return _grouped_by_value(pa.concat_tables([_counted(each) for each in tables]))
    whole = pa.concat_tables(tables)
    if whole.num_columns > 1:
        counted = _grouped_by_value(_counted(whole))
        return whole if len(counted) == len(whole) else counted
    found = whole[0].value_counts()
    if len(found) == len(whole):
        return whole
    (name,) = whole.column_names
    return pa.table({name: found.field("values"), _COUNT: found.field("counts")})


def _grouped_by_value(counted: pa.Table) -> pa.Table:
    *values, count = (str(place) for place in range(counted.num_columns))
    groups = counted.rename_columns([*values, count]).group_by(values)
    summed = groups.aggregate([(count, "sum")]).select([*values, f"{count}_sum"])
    return summed.rename_columns(counted.column_names)


def counts_of(table: pa.Table) -> pa.ChunkedArray:
    """Return how often each value of a table came."""
    return _counted(table)[_COUNT]


def values_of(table: pa.Table) -> pa.Table:
    """Return the values of a table without their counts."""
    return table.drop_columns([_COUNT]) if _COUNT in table.column_names else table


def stack(tables: Sequence[pa.Table]) -> pa.Table:
    """Return all values of tables, with counts if some of them have counts."""
    if any(_COUNT in each.column_names for each in tables):
        tables = [_counted(each) for each in tables]
    return pa.concat_tables(tables)


def _values(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows.select([name for name in rows.schema.names if name != _COUNT])


def _as_batch(table: pa.Table) -> pa.RecordBatch:
    (rows,) = table.combine_chunks().to_batches()
    return rows


def _counted(table: pa.Table) -> pa.Table:
    if _COUNT in table.column_names:
        return table
    return table.append_column(_COUNT, pa.repeat(pa.scalar(1, pa.int64()), len(table)))


def _pack_parcels(parcels: Sequence[Parcel]) -> bytes:
    return keys.pack(parcel_batch(parcels))
