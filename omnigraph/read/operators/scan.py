"""Scan: finds the nodes that a pattern starts from."""

import math

import numpy as np

from omnigraph.data.derived.numbering import Numbers
from omnigraph.query.plan import NodeScan, PointRead
from omnigraph.read.execution import Execution
from omnigraph.read.matches import ONE_ROW, Matches
from omnigraph.read.operators.traverse import filter_rows
from omnigraph.read.pushdown import build_condition
from omnigraph.read.sparse_reader import SparseReader, TooManyLookups
from omnigraph.schema.identity import key_id
from omnigraph.schema.values import Value


def find_nodes(execution: Execution, scan: NodeScan) -> Numbers:
    """Return the codes of the nodes that a scan finds, and bind its variable."""
    domain = execution.bind(scan.variable, scan.types)
    if scan.point is not None:
        codes = _find_point(execution, scan, scan.point)
    elif isinstance(execution.reader, SparseReader):
        codes = np.concatenate(
            [_find_by_index(execution, execution.reader, scan, name) for name in scan.types]
        )
    else:
        codes = domain.all()
    rows = Matches(len(codes), {scan.variable: codes})
    return filter_rows(execution, rows, scan.filters).codes[scan.variable]


def cross_nodes(execution: Execution, rows: Matches, scan: NodeScan) -> Matches:
    """Return every row with every node that a scan finds."""
    codes = find_nodes(execution, scan)
    if rows is ONE_ROW:
        return Matches(len(codes), {scan.variable: codes})
    execution.check(rows.count * len(codes), len(rows.codes) + 1)
    if rows.count == 1:
        return rows.take(np.zeros(len(codes), np.int64)).bind(scan.variable, codes)
    places = np.repeat(np.arange(rows.count), len(codes))
    return rows.take(places).bind(scan.variable, np.tile(codes, rows.count))


def _find_by_index(
    execution: Execution, reader: SparseReader, scan: NodeScan, name: str
) -> Numbers:
    """Return the nodes of a type that an index lets through; filters check them again."""
    where = build_condition(scan.filters, reader.stored(name), execution.constant)
    if where is None:
        raise TooManyLookups
    return reader.numbering(name).find_where(where) + execution.domains[scan.variable].offset(name)


def point_ids(execution: Execution, scan: NodeScan, point: PointRead) -> dict[str, str]:
    """Return by type the id that the wanted node must have; empty when no node can match."""
    values = []
    for each in point.values:
        value = execution.constant(each)
        if value is None or _is_never_key(value):
            return {}
        values.append(value)
    if not point.by_key:
        return dict.fromkeys(scan.types, str(values[0]))
    found = {}
    for name in scan.types:
        stored = execution.reader.stored(name)
        kinds = [kind for column in stored.key if (kind := stored.column(column)) is not None]
        found[name] = key_id(values, kinds)
    return found


def _find_point(execution: Execution, scan: NodeScan, point: PointRead) -> Numbers:
    """Return the node with an id, or with the values of a key, if there is one."""
    codes = []
    for name, wanted in point_ids(execution, scan, point).items():
        found = execution.reader.numbering(name).find_one(wanted)
        if found >= 0:
            codes.append(found + execution.domains[scan.variable].offset(name))
    return np.array(codes, np.int64)


def _is_never_key(value: Value) -> bool:
    """Return whether no key can hold a value: NaN and infinity."""
    return isinstance(value, float) and not math.isfinite(value)
