"""Scan: finds the nodes that a pattern starts from."""

import math

import numpy as np
import pyarrow as pa

from omnigraph.engine.rows import Rows
from omnigraph.engine.run import Run
from omnigraph.engine.topology import Numbers
from omnigraph.engine.traverse import filtered
from omnigraph.query.expr import EntityKind, EntityType
from omnigraph.query.plan import NodeScan, PointRead
from omnigraph.schema.identity import key_id
from omnigraph.schema.values import Value


def scanned(run: Run, scan: NodeScan) -> Numbers:
    """Give the codes of the nodes that a scan finds; its variable is bound from here on."""
    domain = run.bind(scan.variable, EntityType(EntityKind.NODE, scan.types))
    codes = np.arange(len(domain)) if scan.point is None else _found(run, scan, scan.point)
    rows = Rows(len(codes), {scan.variable: codes})
    return filtered(run, rows, scan.filters).codes[scan.variable]


def crossed(run: Run, rows: Rows, scan: NodeScan) -> Rows:
    """Give every row with every node that a scan finds."""
    codes = scanned(run, scan)
    run.check(rows.count * len(codes), len(rows.codes) + 1)
    places = np.repeat(np.arange(rows.count), len(codes))
    return rows.take(places).bind(scan.variable, np.tile(codes, rows.count))


def _found(run: Run, scan: NodeScan, point: PointRead) -> Numbers:
    """Give the node of an id, or of the values of a key, if there is one."""
    given = [run.constant(value) for value in point.values]
    values = [value for value in given if value is not None]
    if len(values) < len(given) or any(_is_unlike_any(value) for value in values):
        return np.empty(0, np.int64)
    codes = []
    for name in scan.types:
        stored = run.reader.stored(name)
        kinds = [kind for column in stored.key if (kind := stored.column(column)) is not None]
        wanted = key_id(values, kinds) if point.by_key else str(values[0])
        found = run.reader.entities(name).find(pa.array([wanted]))
        codes.append(found[found >= 0] + run.domains[scan.variable].base(name))
    return np.concatenate(codes)


def _is_unlike_any(value: Value) -> bool:
    """Tell whether no key can hold a value: NaN and infinity."""
    return isinstance(value, float) and not math.isfinite(value)
