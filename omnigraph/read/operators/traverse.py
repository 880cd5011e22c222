"""Traverse: follows edges from the rows' nodes to others."""

from collections.abc import Iterable
from itertools import groupby

import numpy as np

from omnigraph.data.derived.adjacency import Adjacency, CheckCount
from omnigraph.data.derived.numbering import Numbers, row_range
from omnigraph.query.expr import Predicate, PropertyRef, parts
from omnigraph.query.plan import Expand
from omnigraph.read.execution import Execution
from omnigraph.read.matches import Matches
from omnigraph.read.operators.evaluate import Evaluation
from omnigraph.read.operators.walk import walk

_PLACE = "#place"


def follow_edges(execution: Execution, rows: Matches, expand: Expand) -> Matches:
    """Return a row for every target, or every named edge, that an expand reaches from each row."""
    rows = rows.where_bound(expand.source)
    if expand.closes:
        return _keep_joined(execution, rows, expand)
    execution.bind(expand.target, expand.types)
    codes = rows.codes[expand.source]
    if expand.edge_variable is not None:
        width = len(rows.codes) + 2
        owners, nodes, edges = follow_named(execution, codes, expand, width)
        execution.check(len(owners), width)
        found = rows.take(owners).bind(expand.target, nodes).bind(expand.edge_variable, edges)
        return filter_rows(execution, found, (*expand.filters, *expand.edge_filters))
    width = len(rows.codes) + 1
    owners, nodes = find_targets(execution, codes, expand, width)
    if expand.filters:
        execution.check(len(owners), width)
        kept = np.flatnonzero(_test_targets(execution, expand, nodes))
        owners, nodes = owners[kept], nodes[kept]
    return rows.take(owners).bind(expand.target, nodes)


def _test_targets(execution: Execution, expand: Expand, nodes: Numbers) -> "np.ndarray":
    """Return for each target whether it meets the conditions; many are tested once per node."""
    count = len(execution.domains[expand.target])
    if len(nodes) <= count or not execution.reader.is_whole:
        return test_predicates(execution, expand.target, nodes, expand.filters)
    every = row_range(count)
    found: np.ndarray = test_predicates(execution, expand.target, every, expand.filters)[nodes]
    return found


def filter_rows(execution: Execution, rows: Matches, filters: tuple[Predicate, ...]) -> Matches:
    """Return the rows for which all predicates are true."""
    for _, alike in groupby(filters, _fields):
        rows = rows.keep(are_true(execution, rows, alike))
    return rows


def are_true(execution: Execution, rows: Matches, filters: Iterable[Predicate]) -> "np.ndarray":
    """Return for each row whether all predicates are true."""
    evaluation = Evaluation(execution, rows)
    masks = [evaluation.holds(predicate) for predicate in filters]
    found: np.ndarray = masks[0] if len(masks) == 1 else np.logical_and.reduce(masks)
    return found


def _fields(predicate: Predicate) -> frozenset[PropertyRef]:
    """Return the properties that a predicate reads; predicates that read the same run together."""
    return frozenset(part for part in parts(predicate) if isinstance(part, PropertyRef))


def test_predicates(
    execution: Execution, variable: str, codes: Numbers, filters: tuple[Predicate, ...]
) -> "np.ndarray":
    """Return for some rows of a variable whether all predicates are true."""
    if not filters:
        return np.ones(len(codes), bool)
    if len(filters) == 1 or len(set(map(_fields, filters))) == 1:
        return are_true(execution, Matches(len(codes), {variable: codes}), filters)
    rows = Matches(len(codes), {variable: codes, _PLACE: np.arange(len(codes))})
    mask = np.zeros(len(codes), bool)
    mask[filter_rows(execution, rows, filters).codes[_PLACE]] = True
    return mask


def find_targets(
    execution: Execution, codes: Numbers, expand: Expand, width: int = 2
) -> tuple[Numbers, Numbers]:
    """Return every pair of a row and a target that it reaches, to make rows of `width` columns."""
    leg, room = execution.leg_of(expand), execution.room(width)
    if expand.hops.is_single:
        owners, nodes, _ = execution.reader.follow(leg, codes, check=room)
        return owners, nodes
    if len(codes) == 1:
        starts, ends = walk(execution, codes, expand.hops, leg)
        room(len(ends))
        return starts, ends
    distinct, inverse = np.unique(codes, return_inverse=True)
    starts, ends = walk(execution, distinct, expand.hops, leg)
    return _join_ends(inverse, starts, ends, len(distinct), room)


def _join_ends(
    inverse: Numbers, starts: Numbers, ends: Numbers, count: int, check: CheckCount
) -> tuple[Numbers, Numbers]:
    """Return for each row the ends of its start; starts must be sorted."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(starts, minlength=count))])
    owners, nodes, _ = Adjacency(offsets, ends).follow(inverse, check)
    return owners, nodes


def _keep_joined(execution: Execution, rows: Matches, expand: Expand) -> Matches:
    """Return the rows whose two bound ends are joined; with a named edge, one for each edge."""
    rows = rows.where_bound(expand.target)
    if expand.edge_variable is not None:
        return _join_named(execution, rows, expand, expand.edge_variable)
    starts, ends = rows.codes[expand.source], rows.codes[expand.target]
    leg = execution.leg_of(expand)
    if expand.hops.is_single:
        return rows.keep(execution.reader.are_joined(leg, starts, ends))
    width = max(len(leg.target), 1)
    distinct, inverse = np.unique(starts, return_inverse=True)
    places, nodes = walk(execution, distinct, expand.hops, leg)
    return rows.keep(_is_among(places * width + nodes, inverse * width + ends))


def _is_among(known: Numbers, wanted: Numbers) -> "np.ndarray":
    """Return which of the wanted numbers are among the known ones, which must be sorted."""
    if not len(known):
        return np.zeros(len(wanted), bool)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.asarray(known[at] == wanted)


def _join_named(execution: Execution, rows: Matches, expand: Expand, variable: str) -> Matches:
    width = len(rows.codes) + 1
    owners, nodes, edges = follow_named(execution, rows.codes[expand.source], expand, width)
    execution.check(len(owners), width)
    joined = nodes == rows.codes[expand.target][owners]
    found = rows.take(owners[joined]).bind(variable, edges[joined])
    return filter_rows(execution, found, expand.edge_filters)


def follow_named(
    execution: Execution, codes: Numbers, expand: Expand, width: int
) -> tuple[Numbers, Numbers, Numbers]:
    """Bind the variable of a named edge, and return every edge with its owner and its target.

    They are to make rows of `width` columns.
    """
    assert expand.edge_variable is not None
    types = tuple(dict.fromkeys(step.edge for step in expand.steps))
    domain = execution.bind(expand.edge_variable, types)
    owners, nodes, edges = execution.reader.follow(
        execution.leg_of(expand), codes, edges=domain, check=execution.room(width)
    )
    assert edges is not None
    return owners, nodes, edges
