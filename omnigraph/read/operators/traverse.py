"""Traverse: follows edges from the rows' nodes to others."""

from collections.abc import Iterable
from itertools import groupby

import numpy as np

from omnigraph.data.derived.adjacency import Adjacency
from omnigraph.data.derived.numbering import Numbers
from omnigraph.query.expr import EntityKind, EntityType, Predicate, PropertyRef, parts
from omnigraph.query.plan import Expand
from omnigraph.read.execution import Execution
from omnigraph.read.matches import Matches
from omnigraph.read.operators.evaluate import Evaluation
from omnigraph.read.operators.walk import walk
from omnigraph.read.reader import Domain

_PLACE = "#place"


def follow_edges(execution: Execution, rows: Matches, expand: Expand) -> Matches:
    """Return a row for every target, or every named edge, that an expand reaches from each row."""
    source = execution.domains[expand.source]
    rows = rows.keep(rows.codes[expand.source] >= 0)
    if expand.closes:
        return _keep_joined(execution, rows, expand, source, execution.domains[expand.target])
    target = execution.bind(expand.target, EntityType(EntityKind.NODE, expand.types))
    if expand.edge_variable is not None:
        return _follow_named(execution, rows, expand, source, target)
    owners, nodes = find_targets(execution, rows.codes[expand.source], expand, source, target)
    execution.check(len(owners), len(rows.codes) + 1)
    found = rows.take(owners).bind(expand.target, nodes)
    return filter_rows(execution, found, expand.filters)


def filter_rows(execution: Execution, rows: Matches, filters: tuple[Predicate, ...]) -> Matches:
    """Return the rows for which all predicates are true."""
    for _, alike in groupby(filters, _fields):
        rows = rows.keep(_are_true(execution, rows, alike))
    return rows


def _are_true(execution: Execution, rows: Matches, filters: Iterable[Predicate]) -> "np.ndarray":
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
    if len(filters) == 1:
        return _are_true(execution, Matches(len(codes), {variable: codes}), filters)
    rows = Matches(len(codes), {variable: codes, _PLACE: np.arange(len(codes))})
    mask = np.zeros(len(codes), bool)
    mask[filter_rows(execution, rows, filters).codes[_PLACE]] = True
    return mask


def find_targets(
    execution: Execution, codes: Numbers, expand: Expand, source: Domain, target: Domain
) -> tuple[Numbers, Numbers]:
    """Return every pair of a row and a target that it reaches."""
    if expand.hops.minimum == 1 and expand.hops.maximum == 1:
        owners, nodes, _ = execution.reader.follow(expand.steps, source, target, codes)
        return owners, nodes
    distinct, inverse = np.unique(codes, return_inverse=True)
    starts, ends = walk(execution, distinct, expand, source, target)
    return _join_ends(inverse, starts, ends, len(distinct))


def _join_ends(
    inverse: Numbers, starts: Numbers, ends: Numbers, count: int
) -> tuple[Numbers, Numbers]:
    """Return for each row the ends of its start; starts must be sorted."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(starts, minlength=count))])
    owners, nodes, _ = Adjacency(offsets, ends).follow(inverse)
    return owners, nodes


def _keep_joined(
    execution: Execution, rows: Matches, expand: Expand, source: Domain, target: Domain
) -> Matches:
    """Return the rows whose two bound ends are joined; with a named edge, one for each edge."""
    rows = rows.keep(rows.codes[expand.target] >= 0)
    if expand.edge_variable is not None:
        return _join_named(execution, rows, expand, source, target)
    starts, ends = rows.codes[expand.source], rows.codes[expand.target]
    width = max(len(target), 1)
    if expand.hops.minimum == 1 and expand.hops.maximum == 1:
        return rows.keep(execution.reader.are_joined(expand.steps, source, target, starts, ends))
    distinct, inverse = np.unique(starts, return_inverse=True)
    places, nodes = walk(execution, distinct, expand, source, target)
    return rows.keep(_is_among(places * width + nodes, inverse * width + ends))


def _is_among(known: Numbers, wanted: Numbers) -> "np.ndarray":
    """Return which of the wanted numbers are among the known ones, which must be sorted."""
    if not len(known):
        return np.zeros(len(wanted), bool)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.asarray(known[at] == wanted)


def _follow_named(
    execution: Execution, rows: Matches, expand: Expand, source: Domain, target: Domain
) -> Matches:
    edges = bind_edge(execution, expand)
    codes = rows.codes[expand.source]
    owners, nodes, own = execution.reader.follow(expand.steps, source, target, codes, edges=edges)
    execution.check(len(owners), len(rows.codes) + 2)
    assert own is not None
    assert expand.edge_variable is not None
    found = rows.take(owners).bind(expand.target, nodes).bind(expand.edge_variable, own)
    return filter_rows(execution, found, (*expand.filters, *expand.edge_filters))


def _join_named(
    execution: Execution, rows: Matches, expand: Expand, source: Domain, target: Domain
) -> Matches:
    edges = bind_edge(execution, expand)
    codes = rows.codes[expand.source]
    owners, nodes, own = execution.reader.follow(expand.steps, source, target, codes, edges=edges)
    execution.check(len(owners), len(rows.codes) + 1)
    joined = nodes == rows.codes[expand.target][owners]
    assert own is not None
    assert expand.edge_variable is not None
    found = rows.take(owners[joined]).bind(expand.edge_variable, own[joined])
    return filter_rows(execution, found, expand.edge_filters)


def bind_edge(execution: Execution, expand: Expand) -> Domain:
    """Bind the variable of a named edge, and return its domain."""
    assert expand.edge_variable is not None
    types = tuple(dict.fromkeys(step.edge for step in expand.steps))
    return execution.bind(expand.edge_variable, EntityType(EntityKind.EDGE, types))
