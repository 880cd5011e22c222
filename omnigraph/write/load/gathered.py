"""Gathered: the values that rules compare, each once for many rows, in the buckets they meet in."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.comparison import drop_incomparable, to_comparable
from omnigraph.frozen import dataclass
from omnigraph.spark.runner import Parcel
from omnigraph.write.load import keys
from omnigraph.write.load.aside import Aside
from omnigraph.write.load.rules import RuleReading

# Values wait until there are so many bytes of them, so that buckets get few and full parcels.
_MOST_BYTES = 32 << 20
_BATCH_BYTES = 1 << 20
# How often a value came; a table without this column has every value once.
_COUNT = "#"
_PARCELS = pa.schema([("bucket", pa.int32()), ("tag", pa.string()), ("payload", pa.binary())])


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
        self._join()
        found = [parcel for tag in list(self._tables) for parcel in self._pack(tag)]
        self._size = 0
        return found

    def _relieve(self) -> list[Parcel]:
        """Drop repeated values, and return all if too many are left."""
        self._join()
        return self.finish() if self._size > _MOST_BYTES // 2 else []

    def _join(self) -> None:
        for tag, tables in self._tables.items():
            joined = join_counts(tables) if tag in self._repeating else pa.concat_tables(tables)
            self._tables[tag] = [joined]
        self._size = sum(each.nbytes for tables in self._tables.values() for each in tables)

    def _pack(self, tag: str) -> Iterator[Parcel]:
        (table,) = self._tables.pop(tag)
        self.counts[tag] += len(table)
        names = [name for name in table.column_names if name != _COUNT]
        (rows,) = table.combine_chunks().to_batches()
        for bucket, part in keys.split_into_buckets(rows, self._buckets, by=names):
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
            batches = map(_batch, _grouped(parcels))
            self._paths.append(self._aside.write_batches(_PARCELS, batches))


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


def _counted(table: pa.Table) -> pa.Table:
    if _COUNT in table.column_names:
        return table
    return table.append_column(_COUNT, pa.repeat(pa.scalar(1, pa.int64()), len(table)))


def _grouped(parcels: Iterable[Parcel]) -> Iterator[list[Parcel]]:
    """Yield parcels together, so many that a batch is neither tiny nor large."""
    held: list[Parcel] = []
    size = 0
    for parcel in parcels:
        held.append(parcel)
        size += len(parcel.payload)
        if size > _BATCH_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


def _batch(parcels: Sequence[Parcel]) -> pa.RecordBatch:
    columns = (
        [each.bucket for each in parcels],
        [each.tag for each in parcels],
        [each.payload for each in parcels],
    )
    arrays = [pa.array(*pair) for pair in zip(columns, _PARCELS.types, strict=True)]
    return pa.record_batch(arrays, schema=_PARCELS)


def _pack_parcels(parcels: Sequence[Parcel]) -> bytes:
    return keys.pack(_batch(parcels))
