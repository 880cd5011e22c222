"""Scan: finds the nodes that a pattern starts from."""

import math

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.numbering import Numbers
from omnigraph.query.expr import EntityKind, EntityType
from omnigraph.query.plan import NodeScan, PointRead
from omnigraph.read.execution import Execution
from omnigraph.read.operators.traverse import filter_rows
from omnigraph.read.pushdown import build_condition
from omnigraph.read.rows import Rows
from omnigraph.read.sparse import SparseReader, TooManyLookups
from omnigraph.schema.identity import key_id
from omnigraph.schema.values import Value


def find_nodes(run: Execution, scan: NodeScan) -> Numbers:
    """Give the codes of the nodes that a scan finds; its variable is bound from here on."""
    domain = run.bind(scan.variable, EntityType(EntityKind.NODE, scan.types))
    if scan.point is not None:
        codes = _find_point(run, scan, scan.point)
    elif isinstance(run.reader, SparseReader):
        codes = np.concatenate([_find_by_index(run, run.reader, scan, name) for name in scan.types])
    else:
        codes = domain.all()
    rows = Rows(len(codes), {scan.variable: codes})
    return filter_rows(run, rows, scan.filters).codes[scan.variable]


def cross_nodes(run: Execution, rows: Rows, scan: NodeScan) -> Rows:
    """Give every row with every node that a scan finds."""
    codes = find_nodes(run, scan)
    run.check(rows.count * len(codes), len(rows.codes) + 1)
    if rows.count == 1:
        return rows.take(np.zeros(len(codes), np.int64)).bind(scan.variable, codes)
    places = np.repeat(np.arange(rows.count), len(codes))
    return rows.take(places).bind(scan.variable, np.tile(codes, rows.count))


def _find_by_index(run: Execution, reader: SparseReader, scan: NodeScan, name: str) -> Numbers:
    """Give the nodes of a type that the index of a column leaves to be looked at."""
    where = build_condition(scan.filters, reader.stored(name), run.constant)
    if where is None:
        raise TooManyLookups
    return reader.numbering(name).find_where(where) + run.domains[scan.variable].offset(name)


def point_ids(run: Execution, scan: NodeScan, point: PointRead) -> dict[str, str]:
    """Give the id that the node has if it is of a type, by type; none when no node can have it."""
    given = [run.constant(value) for value in point.values]
    values = [value for value in given if value is not None]
    if len(values) < len(given) or any(_is_never_key(value) for value in values):
        return {}
    if not point.by_key:
        return dict.fromkeys(scan.types, str(values[0]))
    found = {}
    for name in scan.types:
        stored = run.reader.stored(name)
        kinds = [kind for column in stored.key if (kind := stored.column(column)) is not None]
        found[name] = key_id(values, kinds)
    return found


def _find_point(run: Execution, scan: NodeScan, point: PointRead) -> Numbers:
    """Give the node of an id, or of the values of a key, if there is one."""
    codes = [np.empty(0, np.int64)]
    for name, wanted in point_ids(run, scan, point).items():
        found = run.reader.numbering(name).find(pa.array([wanted], pa.utf8()))
        codes.append(found[found >= 0] + run.domains[scan.variable].offset(name))
    return np.concatenate(codes)


def _is_never_key(value: Value) -> bool:
    """Tell whether no key can hold a value: NaN and infinity."""
    return isinstance(value, float) and not math.isfinite(value)
