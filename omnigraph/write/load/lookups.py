"""Lookups: finds by index the rows that new ones could clash with, where that costs less."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from omnigraph.storage.indexes import LOOKED_UP
from omnigraph.storage.reading import sample_rows
from omnigraph.storage.staging import Share, place_of, shares
from omnigraph.storage.table import Table
from omnigraph.write.load.aside import Aside
from omnigraph.write.load.checks import KeyCheck, Lookup, NewKeys, fits_one_bucket
from omnigraph.write.load.rules import (
    CardinalityRule,
    ExistsRule,
    LoadRule,
    RuleReading,
    UniqueRule,
)

_ROWS_PER_SHARE = 500_000
# Measured: reading, hashing and sending a row to its bucket; asking an index for a value, once the
# page of the index with its neighbours has been decoded.
_SCAN_SECONDS = 0.4e-6
_VALUE_SECONDS = 10e-6
_PAGE_SECONDS = 0.5e-3
_PAGE_ROWS = 4_096
# Of several columns each may say little: reading a row that shares only one of them.
_SHARED_SECONDS = 1e-6
_MOST_SAMPLED = 4_096


class KeptRows(Protocol):
    """A graph as a change would leave it, without the new rows."""

    def kept(self, type_name: str) -> Table | None:
        """Return the rows of a type that were there before and stay as they are."""


def plan_check(
    image: KeptRows,
    rules: Sequence[LoadRule],
    gathered: Sequence[NewKeys],
    aside: Aside,
    buckets: int,
) -> KeyCheck:
    """Return how rules are checked: which rows that are there are read, and which looked up."""
    new: Counter[str] = Counter()
    for each in gathered:
        new.update(each.counts)
    read: dict[RuleReading, Sequence[Share]] = {}
    rows: dict[str, int] = {}
    lookups: list[Lookup] = []
    for reading, origins in _origins_of_all(rules).items():
        table = image.kept(reading.type)
        sought = sum(new[each.tag] for each in origins or ())
        if table is None or not table.count() or (origins is not None and not sought):
            continue
        column = None if origins is None else _find_column(table, reading, sought)
        if origins is not None and column is not None:
            lookups.append(Lookup(reading, place_of(table), origins, column))
        else:
            read[reading] = shares(table, _ROWS_PER_SHARE)
            rows[reading.type] = table.count()
    total = new.total() + sum(rows.values())
    if not read and fits_one_bucket(total):
        buckets = 1  # the values of every bucket are all over an index
    return KeyCheck(tuple(rules), gathered, read, tuple(lookups), aside, total, buckets)


def _find_column(table: Table, reading: RuleReading, sought: int) -> str | None:
    """Return the column whose index tells first which rows have so many values.

    None where reading all rows takes less time.
    """
    types = {name: table.schema.field(name).type for name in reading.columns}
    usable = [name for name in reading.columns if types[name] in LOOKED_UP]
    if not table.takes_conditions or not usable or not is_quicker_looked_up(sought, table.count()):
        return None
    if len(reading.columns) == 1:
        return usable[0]
    sample = sample_rows(table, usable, _MOST_SAMPLED)
    share, column = min((share_of_value(sample[name]), name) for name in usable)
    return column if is_quicker_looked_up(sought, table.count(), share) else None


def share_of_value(sample: pa.ChunkedArray) -> float:
    """Estimate which part of a column has the value of one of its rows, rather too high.

    It is how often two rows of a sample have the same value; one pair more is counted, because a
    sample without any says little about a large table.
    """
    counts = sample.drop_null().value_counts().field("counts").to_numpy()
    rows = int(counts.sum())
    equal = int((counts * (counts - 1)).sum()) // 2
    return min(1.0, (equal + 1) / max(rows * (rows - 1) // 2, 1))


def is_quicker_looked_up(sought: int, rows: int, share: float = 0.0) -> bool:
    """Whether an index gives the rows of values, spread over all its pages, before a scan does.

    `share` is the part of all rows that comes with each value.
    """
    pages = min(sought, -(-rows // _PAGE_ROWS))
    found = sought * share * rows
    seconds = pages * _PAGE_SECONDS + sought * _VALUE_SECONDS + found * _SHARED_SECONDS
    return seconds < rows * _SCAN_SECONDS


def _origins_of_all(
    rules: Sequence[LoadRule],
) -> dict[RuleReading, tuple[RuleReading, ...] | None]:
    """Return each reading of rows that are there, and the new rows whose values it looks for.

    None where all rows matter.
    """
    found: dict[RuleReading, tuple[RuleReading, ...] | None] = {}
    for reading, origin in (pair for rule in rules for pair in _origins(rule)):
        known = found.get(reading, ())
        if origin is None or known is None:
            found[reading] = None
        else:
            found[reading] = tuple(dict.fromkeys([*known, origin]))
    return found


def _origins(rule: LoadRule) -> Iterator[tuple[RuleReading, RuleReading | None]]:
    """Yield each reading of a whole table with the new rows whose values it looks for."""
    match rule:
        case UniqueRule(reading):
            if not reading.staged:
                yield reading, reading.new
        case ExistsRule(end, nodes) if end.staged:
            yield nodes, end
        case CardinalityRule(sources, _, 0):
            yield sources, sources.new
        case _:
            yield from ((reading, None) for reading in rule.readings)
