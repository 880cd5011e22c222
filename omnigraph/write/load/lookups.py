"""Lookups: finds by index the committed rows that a small load could clash with."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.storage.staging import Share, place_of
from omnigraph.storage.table import takes_conditions
from omnigraph.write.load.checks import (
    CardinalityRule,
    ExistsRule,
    LoadRule,
    RuleReading,
    Shares,
    UniqueRule,
)
from omnigraph.write.load.idle import IdleIds
from omnigraph.write.load.image import Image
from omnigraph.write.load.loaded import LoadMode

MOST_SOUGHT = 5_000
_LEAST_ROWS = 50_000
_INDEXED = (pa.utf8(), pa.int32(), pa.int64())


def narrow_readings(image: Image, rules: Sequence[LoadRule]) -> Shares:
    """Return the rows that each reading needs: all of them, or a few found by index."""
    staged = sum(image.staged_rows(name) for name in image.touched)
    if image.mode is LoadMode.OVERWRITE or staged > MOST_SOUGHT:
        return image.shares
    sought = _sought(image, rules)

    def shares(reading: RuleReading) -> Sequence[Share | IdleIds]:
        values, table = sought.get(reading), image.table(reading.type)
        if values is None or table.count() < _LEAST_ROWS or not takes_conditions(table.schema):
            return image.shares(reading)
        return [Share(place_of(table), (), (reading.columns[0], values))]

    return shares


def _sought(image: Image, rules: Sequence[LoadRule]) -> Mapping[RuleReading, pa.Array | None]:
    """Return the values that each reading of a whole table looks for; None for all."""
    found: dict[RuleReading, pa.Array | None] = {}
    for reading, origin in (pair for rule in rules for pair in _origins(rule)):
        new = None if origin is None else _values(image, origin)
        known = found.get(reading, new)
        both = known is not None and new is not None
        found[reading] = pc.unique(pa.concat_arrays([known, new])) if both else None
    return found


def _origins(rule: LoadRule) -> Iterator[tuple[RuleReading, RuleReading | None]]:
    """Yield each reading of a whole table with the new rows whose values it looks for."""
    match rule:
        case UniqueRule(reading) if reading.staged:
            return
        case UniqueRule(reading):
            yield reading, RuleReading(reading.type, reading.columns[:1], staged=True)
        case ExistsRule(end, nodes) if end.staged:
            yield nodes, end
        case CardinalityRule(sources, _, 0):
            yield sources, RuleReading(sources.type, sources.columns, staged=True)
        case _:
            yield from ((reading, None) for reading in rule.readings)


def _values(image: Image, origin: RuleReading) -> pa.Array | None:
    column = origin.columns[0]
    parts = [batch[column] for share in image.shares(origin) for batch in share.batches([column])]
    if not parts or parts[0].type not in _INDEXED:
        return None
    return pc.unique(pa.concat_arrays(parts)).drop_null()
