"""Lookups: finds by index the rows that new ones could clash with, where that costs less."""

from collections import Counter
from collections.abc import Iterator, Sequence

from omnigraph.storage.indexes import LOOKED_UP
from omnigraph.storage.staging import Share, place_of, shares
from omnigraph.storage.table import Table
from omnigraph.write.load.aside import Aside
from omnigraph.write.load.checks import KeyCheck, Lookup
from omnigraph.write.load.gathered import GatheredKeys
from omnigraph.write.load.image import Image
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
# The first of several columns may say little: so many of its values are looked up, and no more.
_MOST_SHARED = 5_000


def plan_check(
    image: Image,
    rules: Sequence[LoadRule],
    gathered: Sequence[GatheredKeys],
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
        if origins is not None and _is_looked_up(table, reading, sought):
            lookups.append(Lookup(reading, place_of(table), origins))
        else:
            read[reading] = shares(table, _ROWS_PER_SHARE)
            rows[reading.type] = table.count()
    total = new.total() + sum(rows.values())
    return KeyCheck(tuple(rules), gathered, read, tuple(lookups), aside, total, buckets)


def _is_looked_up(table: Table, reading: RuleReading, sought: int) -> bool:
    """Whether an index tells which rows have so many values, and sooner than reading all rows."""
    column, *others = reading.columns
    if not table.takes_conditions or table.schema.field(column).type not in LOOKED_UP:
        return False
    if others and sought > _MOST_SHARED:
        return False
    return is_quicker_looked_up(sought, table.count())


def is_quicker_looked_up(sought: int, rows: int) -> bool:
    """Whether an index gives the rows of values, spread over all its pages, before a scan does."""
    pages = min(sought, -(-rows // _PAGE_ROWS))
    return pages * _PAGE_SECONDS + sought * _VALUE_SECONDS < rows * _SCAN_SECONDS


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
