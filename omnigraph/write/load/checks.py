"""Checks: the rules between rows, checked on the whole image by one shuffle of values."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.lookup import look_up_rows
from omnigraph.errors import MOST_VIOLATIONS
from omnigraph.frozen import dataclass
from omnigraph.spark.progress import Progress
from omnigraph.spark.runner import InlineRunner, Parcel, Runner
from omnigraph.storage.staging import Share, TablePlace
from omnigraph.write.load import keys
from omnigraph.write.load.aside import Answer, Aside
from omnigraph.write.load.gathered import (
    KeyGatherer,
    counts_of,
    join_counts,
    stack,
    values_of,
)
from omnigraph.write.load.rules import (
    CardinalityRule,
    ExistsRule,
    LoadRule,
    RuleReading,
    UniqueRule,
)

_ROWS_PER_BUCKET = 400_000
# More buckets would get parcels of a few values each; these still fit a task at 20 billion rows.
_MOST_BUCKETS = 4_096
# Rows that are there are read only where they are no more than so many times the new ones.
_MOST_READ = 40
# So few values are compared without a job of Spark, which takes longer to start.
_FEW_VALUES = 50_000
# So many bytes of broken values travel with the answer of a bucket.
_HELD_BYTES = 1_000
_ENDS = (("src",), ("dst",))

_Tables: TypeAlias = Mapping[str, Sequence[pa.Table]]


class NewKeys(Protocol):
    """Values of new rows that rules compare, to be read by one task."""

    @property
    def counts(self) -> Mapping[str, int]:
        """How many values there are of each reading, by its tag."""

    def parcels(self, tags: Collection[str]) -> Iterator[Parcel]:
        """Yield the values of some readings, in any process."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Rows that are there, found by the index of one column of a reading when a bucket needs them.

    What is sought are the values of the new rows that `origins` read.
    """

    reading: RuleReading
    place: TablePlace
    origins: tuple[RuleReading, ...]
    column: str


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """Rules, and where the values are that they compare: gathered, to be read, or looked up.

    `shares` has the rows that were there before the load and that a reading covers.
    """

    rules: tuple[LoadRule, ...]
    gathered: Sequence[NewKeys]
    shares: Mapping[RuleReading, Sequence[Share]]
    lookups: tuple[Lookup, ...]
    aside: Aside
    rows: int
    buckets: int


@dataclass(frozen=True, slots=True)
class BrokenValues:
    """Values that break a rule in one bucket, and the number of rows that hold each.

    Beyond the number of violations that are counted, values are left out.
    """

    rule: LoadRule
    values: pa.Table
    counts: pa.Array


def count_buckets(new: int, old: int) -> int:
    """Return how many buckets values meet in, of about so many new rows and rows that are there."""
    rows = new + min(old, _MOST_READ * new)
    return min(max(1, -(-rows // _ROWS_PER_BUCKET)), _MOST_BUCKETS)


def fits_one_bucket(values: int) -> bool:
    """Whether so many values can meet in one bucket."""
    return values <= _ROWS_PER_BUCKET // 4


def find_broken_values(runner: Runner, check: KeyCheck, progress: Progress) -> list[BrokenValues]:
    """Return what breaks rules; of each, no more values than violations are counted."""
    if check.rows <= _FEW_VALUES:
        runner = InlineRunner(runner.deadline)
    tags = frozenset(reading.new.tag for rule in check.rules for reading in rule.readings)
    items = [*check.gathered, *_scans(check.shares)]
    emit = partial(_emitted, tags=tags, buckets=check.buckets)
    reduce = partial(_reduced, check.rules, check.lookups, check.aside)
    answers = runner.map_reduce(emit, items, reduce, progress, buckets=check.buckets)
    known: Counter[LoadRule] = Counter()
    found: list[BrokenValues] = []
    for answer in answers:
        for hit in () if answer is None else answer.read():
            if known[hit.rule] <= MOST_VIOLATIONS:
                found.append(hit)
                known[hit.rule] += len(hit.values)
    return found


@dataclass(frozen=True, slots=True)
class _Scan:
    """Some rows to read, and for which readings."""

    share: Share
    readings: tuple[RuleReading, ...]


def _scans(shares: Mapping[RuleReading, Sequence[Share]]) -> list[_Scan]:
    """Return the scans of all readings; rows that several readings cover are read once."""
    found: dict[tuple[object, ...], _Scan] = {}
    for reading, covered in shares.items():
        for share in covered:
            known = found.get(share.key, _Scan(share, ()))
            found[share.key] = _Scan(share, (*known.readings, reading))
    return list(found.values())


def _emitted(item: NewKeys | _Scan, tags: frozenset[str], buckets: int) -> Iterator[Parcel]:
    if not isinstance(item, _Scan):
        for parcel in item.parcels(tags):
            yield parcel if buckets > 1 else Parcel(0, parcel.tag, parcel.payload)
        return
    columns = dict.fromkeys(name for reading in item.readings for name in reading.columns)
    gatherer = KeyGatherer(buckets)
    for batch in item.share.batches(list(columns)):
        for reading in item.readings:
            yield from gatherer.add(reading, batch, repeats=reading.columns in _ENDS)
    yield from gatherer.finish()


def _reduced(
    rules: tuple[LoadRule, ...],
    lookups: tuple[Lookup, ...],
    aside: Aside,
    parcels: Sequence[Parcel],
) -> Answer[list[BrokenValues]] | None:
    tables: dict[str, list[pa.Table]] = {}
    for parcel in parcels:
        tables.setdefault(parcel.tag, []).append(keys.unpack(parcel.payload))
    for lookup in lookups:
        rows = _looked_up(lookup, tables)
        if rows is not None and len(rows):
            tables.setdefault(lookup.reading.tag, []).append(rows)
    hits = (_broken(rule, tables) for rule in rules)
    found = [hit for hit in hits if hit is not None]
    return aside.answer(found, _HELD_BYTES) if found else None


def _looked_up(lookup: Lookup, tables: _Tables) -> pa.Table | None:
    """Return the rows that are there with one of the values that new rows of a bucket have."""
    new = [table for each in lookup.origins for table in tables.get(each.tag, ())]
    if not new:
        return None
    names = lookup.reading.columns
    at = names.index(lookup.column)
    sought = to_array(pa.chunked_array([chunk for each in new for chunk in each[at].chunks]))
    found = look_up_rows(lookup.place.open(), lookup.column, sought, names).drop_null()
    return pa.table(dict(zip(names, found.columns, strict=True)))


def _parts(reading: RuleReading, tables: _Tables) -> list[pa.Table]:
    """Return the values of a reading, which may come several times."""
    old = () if reading.staged else tables.get(reading.tag, ())
    return [*tables.get(reading.new.tag, ()), *old]


def _is_among(values: pa.Array | pa.ChunkedArray, parts: Sequence[pa.Table]) -> pa.Array:
    chunks = [chunk for each in parts for chunk in each[0].chunks]
    return pc.is_in(values, value_set=pa.chunked_array(chunks, values.type))


def _broken(rule: LoadRule, tables: _Tables) -> BrokenValues | None:
    match rule:
        case UniqueRule(reading):
            return _repeated(rule, _parts(reading, tables))
        case ExistsRule(end, nodes):
            return _missing(rule, _parts(end, tables), _parts(nodes, tables))
        case CardinalityRule(sources, nodes):
            return _uncounted(rule, _parts(sources, tables), _parts(nodes, tables))


def _repeated(rule: UniqueRule, parts: Sequence[pa.Table]) -> BrokenValues | None:
    if not parts:
        return None
    counted = join_counts(parts)
    many = pc.greater(counts_of(counted), 1)
    return _hit(rule, values_of(counted).filter(many), counts_of(counted).filter(many))


def _missing(
    rule: ExistsRule, ends: Sequence[pa.Table], nodes: Sequence[pa.Table]
) -> BrokenValues | None:
    if not ends:
        return None
    # Nearly always none is missing, and then nothing has to be counted.
    whole = stack(ends)
    missing = whole.filter(pc.invert(_is_among(whole[0], nodes)))
    if not len(missing):
        return None
    counted = join_counts([missing])
    return _hit(rule, values_of(counted), counts_of(counted))


def _uncounted(
    rule: CardinalityRule, sources: Sequence[pa.Table], nodes: Sequence[pa.Table]
) -> BrokenValues | None:
    counted = join_counts(sources or [pa.table({"src": pa.array([], pa.utf8())})])
    counts = counts_of(counted)
    wrong = pc.less(counts, rule.minimum)
    if rule.maximum is not None:
        wrong = pc.or_(wrong, pc.greater(counts, rule.maximum))
    values, counts = values_of(counted).filter(wrong), counts.filter(wrong)
    if rule.minimum > 0 and nodes:
        ids = join_counts(nodes)[0]
        alone = ids.filter(pc.invert(_is_among(ids, [counted])))
        values = pa.concat_tables([values, pa.table({values.column_names[0]: alone})])
        none = pa.repeat(pa.scalar(0, pa.int64()), len(alone))
        counts = pa.chunked_array([*counts.chunks, none])
    return _hit(rule, values, counts)


def _hit(rule: LoadRule, values: pa.Table, counts: pa.ChunkedArray) -> BrokenValues | None:
    if not len(values):
        return None
    most = MOST_VIOLATIONS + 1
    return BrokenValues(rule, values.slice(0, most), to_array(counts.slice(0, most)))
