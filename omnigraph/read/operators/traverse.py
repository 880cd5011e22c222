"""Traverse: follows edges from the rows' nodes to others."""

from collections.abc import Iterable
from itertools import groupby

import numpy as np

from omnigraph.data.derived.adjacency import Adjacency, Check
from omnigraph.data.derived.numbering import Numbers
from omnigraph.query.expr import EntityKind, EntityType, Predicate, PropertyRef, parts
from omnigraph.query.plan import Expand
from omnigraph.read.execution import Run
from omnigraph.read.operators.evaluate import Evaluation
from omnigraph.read.operators.walk import walked
from omnigraph.read.reader import Domain
from omnigraph.read.rows import Rows

_PLACE = "#place"


def expanded(run: Run, rows: Rows, expand: Expand) -> Rows:
    """Give a row for every target, or for every edge, that an expand reaches from each row."""
    source = run.domains[expand.source]
    rows = rows.keep(rows.codes[expand.source] >= 0)
    if expand.closes:
        return _closed(run, rows, expand, source, run.domains[expand.target])
    target = run.bind(expand.target, EntityType(EntityKind.NODE, expand.types))
    if expand.edge_variable is not None:
        return _by_edge(run, rows, expand, source, target)
    width = len(rows.codes) + 1
    owners, nodes = reached(run, rows.codes[expand.source], expand, source, target, width)
    run.check(len(owners), width)
    found = rows.take(owners).bind(expand.target, nodes)
    return filtered(run, found, expand.filters)


def filtered(run: Run, rows: Rows, filters: tuple[Predicate, ...]) -> Rows:
    """Give the rows for which all predicates are true."""
    for _, alike in groupby(filters, _fields):
        rows = rows.keep(_true_for(run, rows, alike))
    return rows


def _true_for(run: Run, rows: Rows, filters: Iterable[Predicate]) -> "np.ndarray":
    """Tell for which rows all predicates are true."""
    evaluation = Evaluation(run, rows)
    masks = [evaluation.holds(predicate) for predicate in filters]
    found: np.ndarray = masks[0] if len(masks) == 1 else np.logical_and.reduce(masks)
    return found


def _fields(predicate: Predicate) -> frozenset[PropertyRef]:
    """Give the properties that a predicate reads; of the same rows they are read only once."""
    return frozenset(part for part in parts(predicate) if isinstance(part, PropertyRef))


def satisfying(
    run: Run, variable: str, codes: Numbers, filters: tuple[Predicate, ...]
) -> "np.ndarray":
    """Tell for some rows of a variable whether all predicates are true."""
    if not filters:
        return np.ones(len(codes), bool)
    if len(filters) == 1:
        return _true_for(run, Rows(len(codes), {variable: codes}), filters)
    rows = Rows(len(codes), {variable: codes, _PLACE: np.arange(len(codes))})
    mask = np.zeros(len(codes), bool)
    mask[filtered(run, rows, filters).codes[_PLACE]] = True
    return mask


def reached(
    run: Run, codes: Numbers, expand: Expand, source: Domain, target: Domain, width: int = 2
) -> tuple[Numbers, Numbers]:
    """Give every pair of a row and a target that it reaches, to make rows of so many columns."""
    if expand.hops.minimum == 1 and expand.hops.maximum == 1:
        room = run.room(width)
        owners, nodes, _ = run.reader.follow(expand.steps, source, target, codes, check=room)
        return owners, nodes
    distinct, inverse = np.unique(codes, return_inverse=True)
    starts, ends = walked(run, distinct, expand, source, target)
    return _joined(inverse, starts, ends, len(distinct), run.room(width))


def _joined(
    inverse: Numbers, starts: Numbers, ends: Numbers, count: int, check: Check
) -> tuple[Numbers, Numbers]:
    """Give for each row the ends of the start it has; starts are in their order."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(starts, minlength=count))])
    owners, nodes, _ = Adjacency(offsets, ends).follow(inverse, check)
    return owners, nodes


def _closed(run: Run, rows: Rows, expand: Expand, source: Domain, target: Domain) -> Rows:
    """Give the rows whose two bound ends are joined; with a named edge, one for each edge."""
    rows = rows.keep(rows.codes[expand.target] >= 0)
    if expand.edge_variable is not None:
        return _closed_by_edge(run, rows, expand, source, target)
    starts, ends = rows.codes[expand.source], rows.codes[expand.target]
    width = max(len(target), 1)
    if expand.hops.minimum == 1 and expand.hops.maximum == 1:
        return rows.keep(run.reader.joins(expand.steps, source, target, starts, ends))
    distinct, inverse = np.unique(starts, return_inverse=True)
    places, nodes = walked(run, distinct, expand, source, target)
    return rows.keep(_holds(places * width + nodes, inverse * width + ends))


def _holds(known: Numbers, wanted: Numbers) -> "np.ndarray":
    """Tell which of the wanted numbers are among the known ones, which are in their order."""
    if not len(known):
        return np.zeros(len(wanted), bool)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.asarray(known[at] == wanted)


def _by_edge(run: Run, rows: Rows, expand: Expand, source: Domain, target: Domain) -> Rows:
    edges = edge_domain(run, expand)
    codes = rows.codes[expand.source]
    room = run.room(len(rows.codes) + 2)
    owners, nodes, own = run.reader.follow(
        expand.steps, source, target, codes, edges=edges, check=room
    )
    run.check(len(owners), len(rows.codes) + 2)
    assert own is not None
    assert expand.edge_variable is not None
    found = rows.take(owners).bind(expand.target, nodes).bind(expand.edge_variable, own)
    return filtered(run, found, (*expand.filters, *expand.edge_filters))


def _closed_by_edge(run: Run, rows: Rows, expand: Expand, source: Domain, target: Domain) -> Rows:
    edges = edge_domain(run, expand)
    codes = rows.codes[expand.source]
    room = run.room(len(rows.codes) + 1)
    owners, nodes, own = run.reader.follow(
        expand.steps, source, target, codes, edges=edges, check=room
    )
    run.check(len(owners), len(rows.codes) + 1)
    joined = nodes == rows.codes[expand.target][owners]
    assert own is not None
    assert expand.edge_variable is not None
    found = rows.take(owners[joined]).bind(expand.edge_variable, own[joined])
    return filtered(run, found, expand.edge_filters)


def edge_domain(run: Run, expand: Expand) -> Domain:
    """Give the domain of a named edge, which is bound from here on."""
    assert expand.edge_variable is not None
    types = tuple(dict.fromkeys(step.edge for step in expand.steps))
    return run.bind(expand.edge_variable, EntityType(EntityKind.EDGE, types))
