"""Checks: the rules between rows, checked on the whole image by one shuffle."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.comparison import drop_incomparable, to_comparable
from omnigraph.errors import MOST_VIOLATIONS
from omnigraph.spark.progress import Progress
from omnigraph.spark.runner import Parcel, Runner
from omnigraph.storage.staging import Share
from omnigraph.write.load import keys
from omnigraph.write.load.idle import IdleIds

_ROWS_PER_BUCKET = 500_000


@dataclass(frozen=True, slots=True)
class RuleReading:
    """Columns of a type that a rule reads; with `staged`, of new rows only."""

    type: str
    columns: tuple[str, ...]
    staged: bool = False

    @property
    def tag(self) -> str:
        return f"{self.type}({','.join(self.columns)}){'+' if self.staged else ''}"


@dataclass(frozen=True, slots=True)
class UniqueRule:
    """No two rows have the same values; rows with a null among them are exempt."""

    reading: RuleReading

    @property
    def readings(self) -> tuple[RuleReading, ...]:
        return (self.reading,)


@dataclass(frozen=True, slots=True)
class ExistsRule:
    """Every value of an edge's end is the id of a node."""

    end: RuleReading
    nodes: RuleReading

    @property
    def readings(self) -> tuple[RuleReading, ...]:
        return (self.end, self.nodes)


@dataclass(frozen=True, slots=True)
class CardinalityRule:
    """The number of edges of a type that leave each node is within bounds."""

    sources: RuleReading
    nodes: RuleReading
    minimum: int
    maximum: int | None

    @property
    def readings(self) -> tuple[RuleReading, ...]:
        return (self.sources, self.nodes) if self.minimum > 0 else (self.sources,)


LoadRule: TypeAlias = UniqueRule | ExistsRule | CardinalityRule
# The rows that a reading covers, in shares for tasks.
Shares: TypeAlias = Callable[[RuleReading], Sequence[Share | IdleIds]]


@dataclass(frozen=True, slots=True)
class BrokenValues:
    """Values that break a rule in one bucket, and the number of rows that hold each.

    Beyond the number of violations that are counted, values are left out.
    """

    rule: LoadRule
    values: pa.Table
    counts: pa.Array


def find_broken_values(
    runner: Runner,
    rules: Sequence[LoadRule],
    shares: Shares,
    rows: int,
    progress: Progress,
) -> list[BrokenValues]:
    """Return everything that breaks a rule; `shares` returns the rows that a reading covers."""
    items = _scans(rules, shares)
    buckets = max(1, -(-rows // _ROWS_PER_BUCKET))
    emit = partial(_emitted, buckets=buckets)
    found = runner.map_reduce(emit, items, partial(_reduced, tuple(rules)), progress)
    return [hit for bucket in found for hit in bucket]


@dataclass(frozen=True, slots=True)
class _Scan:
    """Some rows to read, and for which readings."""

    share: Share | IdleIds
    readings: tuple[RuleReading, ...]


def _scans(rules: Sequence[LoadRule], shares: Shares) -> list[_Scan]:
    """Return the scans of all readings; rows that several readings cover are read once."""
    found: dict[tuple[object, ...], _Scan] = {}
    for reading in dict.fromkeys(each for rule in rules for each in rule.readings):
        for share in shares(reading):
            is_whole = isinstance(share, IdleIds) or share.sought is None
            at = (*share.key, None if is_whole else reading)
            known = found.get(at, _Scan(share, ()))
            found[at] = _Scan(share, (*known.readings, reading))
    return list(found.values())


def _emitted(scan: _Scan, buckets: int) -> Iterator[Parcel]:
    columns = dict.fromkeys(name for reading in scan.readings for name in reading.columns)
    for batch in scan.share.batches(list(columns)):
        for reading in scan.readings:
            values = drop_incomparable(batch.select(list(reading.columns)))
            for bucket, part in keys.split_into_buckets(_comparable(values), buckets):
                yield Parcel(bucket, reading.tag, keys.pack(part))


def _comparable(rows: pa.RecordBatch) -> pa.RecordBatch:
    columns = [to_comparable(column) for column in rows.columns]
    return pa.record_batch(columns, names=rows.schema.names)


def _reduced(rules: tuple[LoadRule, ...], parcels: Sequence[Parcel]) -> list[BrokenValues]:
    tables: dict[str, list[pa.Table]] = {}
    for parcel in parcels:
        tables.setdefault(parcel.tag, []).append(keys.unpack(parcel.payload))
    values = {tag: pa.concat_tables(parts) for tag, parts in tables.items()}
    found = (_broken(rule, values) for rule in rules)
    return [hit for hit in found if hit is not None]


def _broken(rule: LoadRule, values: Mapping[str, pa.Table]) -> BrokenValues | None:
    match rule:
        case UniqueRule(reading):
            return _repeated(rule, values.get(reading.tag))
        case ExistsRule(end, nodes):
            return _missing(rule, values.get(end.tag), values.get(nodes.tag))
        case CardinalityRule(sources, nodes):
            return _uncounted(rule, values.get(sources.tag), values.get(nodes.tag))


def _repeated(rule: UniqueRule, rows: pa.Table | None) -> BrokenValues | None:
    if rows is None:
        return None
    names = rows.column_names
    if len(names) == 1 and pc.count_distinct(rows[names[0]]).as_py() == len(rows):
        return None
    counted = rows.group_by(names).aggregate([([], "count_all")])
    many = counted.filter(pc.greater(counted["count_all"], 1))
    return _hit(rule, many.select(names), many["count_all"])


def _missing(
    rule: ExistsRule, ends: pa.Table | None, nodes: pa.Table | None
) -> BrokenValues | None:
    if ends is None:
        return None
    values = ends[0]
    if nodes is not None:
        values = values.filter(pc.invert(pc.is_in(values, value_set=nodes[0])))
    counted = values.value_counts()
    return _hit(rule, _one_column(counted.field("values")), counted.field("counts"))


def _uncounted(
    rule: CardinalityRule, sources: pa.Table | None, nodes: pa.Table | None
) -> BrokenValues | None:
    empty = pa.chunked_array([], pa.utf8())
    counted = (empty if sources is None else sources[0]).value_counts()
    values, counts = counted.field("values"), counted.field("counts")
    wrong = pc.less(counts, rule.minimum)
    if rule.maximum is not None:
        wrong = pc.or_(wrong, pc.greater(counts, rule.maximum))
    values, counts = values.filter(wrong), counts.filter(wrong)
    if rule.minimum > 0 and nodes is not None:
        ids = nodes[0].combine_chunks()
        alone = ids.filter(pc.invert(pc.is_in(ids, value_set=counted.field("values"))))
        values = pa.concat_arrays([values, alone])
        counts = pa.concat_arrays([counts, pa.array([0] * len(alone), counts.type)])
    return _hit(rule, _one_column(values), counts)


def _one_column(values: pa.Array) -> pa.Table:
    return pa.table({"value": values})


def _hit(rule: LoadRule, values: pa.Table, counts: pa.Array) -> BrokenValues | None:
    if not len(values):
        return None
    most = MOST_VIOLATIONS + 1
    return BrokenValues(rule, values.slice(0, most), counts.slice(0, most))
