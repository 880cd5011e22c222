"""Traverse: follows edges from the rows' nodes to others."""

import numpy as np

from omnigraph.engine.evaluate import Evaluation
from omnigraph.engine.reader import Domain
from omnigraph.engine.rows import Rows
from omnigraph.engine.run import Run
from omnigraph.engine.topology import Adjacency, Numbers
from omnigraph.query.expr import EntityKind, EntityType, Predicate
from omnigraph.query.plan import Expand


def expanded(run: Run, rows: Rows, expand: Expand) -> Rows:
    """Give a row for every target, or for every edge, that an expand reaches from each row."""
    source = run.domains[expand.source]
    rows = rows.keep(rows.codes[expand.source] >= 0)
    if expand.closes:
        return _closed(run, rows, expand, source, run.domains[expand.target])
    target = run.bind(expand.target, EntityType(EntityKind.NODE, expand.types))
    if expand.edge_variable is not None:
        return _by_edge(run, rows, expand, source, target)
    owners, nodes = reached(run, rows.codes[expand.source], expand, source, target)
    run.check(len(owners), len(rows.codes) + 1)
    found = rows.take(owners).bind(expand.target, nodes)
    return filtered(run, found, expand.filters)


def filtered(run: Run, rows: Rows, filters: tuple[Predicate, ...]) -> Rows:
    """Give the rows for which all predicates are true."""
    for predicate in filters:
        rows = rows.keep(Evaluation(run, rows).holds(predicate))
    return rows


def satisfying(run: Run, variable: str, filters: tuple[Predicate, ...]) -> "np.ndarray":
    """Tell for every row of a variable's domain whether all predicates are true."""
    codes = np.arange(len(run.domains[variable]))
    kept = filtered(run, Rows(len(codes), {variable: codes}), filters)
    mask = np.zeros(len(codes), bool)
    mask[kept.codes[variable]] = True
    return mask


def adjacency(run: Run, expand: Expand, source: Domain, target: Domain) -> Adjacency:
    """Give the pairs that one step of an expand leads along."""
    return run.reader.adjacency(expand.steps, source, target, edges=None)


def reached(
    run: Run, codes: Numbers, expand: Expand, source: Domain, target: Domain
) -> tuple[Numbers, Numbers]:
    """Give every pair of a row and a target that it reaches."""
    if expand.hops.minimum == 1 and expand.hops.maximum == 1:
        found = adjacency(run, expand, source, target)
        owners, places = found.entries(codes)
        return owners, found.targets[places]
    distinct, inverse = np.unique(codes, return_inverse=True)
    starts, ends = _walked(run, distinct, expand, source, target)
    return _joined(inverse, starts, ends, len(distinct))


def _joined(
    inverse: Numbers, starts: Numbers, ends: Numbers, count: int
) -> tuple[Numbers, Numbers]:
    """Give for each row the ends of the start it has; starts are in their order."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(starts, minlength=count))])
    owners, places = Adjacency(offsets, ends).entries(inverse)
    return owners, ends[places]


def _walked(
    run: Run, starts: Numbers, expand: Expand, source: Domain, target: Domain
) -> tuple[Numbers, Numbers]:
    """Give every start, by its place, with each node whose shortest distance is within the hops.

    A start itself is reached by no hops, or else by a self-loop only, at distance 1. A pair is one
    number, the place of the start times the width of the target's domain plus the code of the node.
    """
    width, hops = len(target), expand.hops
    if not width:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    level = _next(adjacency(run, expand, source, target), np.arange(len(starts)), starts, width)
    own = _own(starts, source, target)
    seen = np.union1d(level, own)
    found = [level] if hops.minimum == 1 else [seen] if hops.minimum == 0 else []
    frontier, distance = np.setdiff1d(level, own, assume_unique=True), 1
    further = adjacency(run, expand, target, target)
    while len(frontier) and (hops.maximum is None or distance < hops.maximum):
        distance += 1
        run.check(len(seen), 2)
        level = _next(further, *np.divmod(frontier, width), width)
        frontier = np.setdiff1d(level, seen, assume_unique=True)
        seen = np.union1d(seen, frontier)
        if distance >= hops.minimum:
            found.append(frontier)
    keys = np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)
    return np.divmod(keys, width)


def _next(step: Adjacency, starts: Numbers, nodes: Numbers, width: int) -> Numbers:
    """Give the pairs that one more step leads to."""
    owners, places = step.entries(nodes)
    return np.unique(starts[owners] * width + step.targets[places])


def _own(starts: Numbers, source: Domain, target: Domain) -> Numbers:
    """Give the pairs of each start with itself, as far as it is in the target's domain."""
    codes = target.codes_of(source, starts)
    places = np.flatnonzero(codes >= 0)
    return places * len(target) + codes[places]


def _closed(run: Run, rows: Rows, expand: Expand, source: Domain, target: Domain) -> Rows:
    """Give the rows whose two bound ends are joined; with a named edge, one for each edge."""
    rows = rows.keep(rows.codes[expand.target] >= 0)
    if expand.edge_variable is not None:
        return _closed_by_edge(run, rows, expand, source, target)
    starts, ends = rows.codes[expand.source], rows.codes[expand.target]
    width = max(len(target), 1)
    if expand.hops.minimum == 1 and expand.hops.maximum == 1:
        step = adjacency(run, expand, source, target)
        known, wanted = step.sources * width + step.targets, starts * width + ends
    else:
        distinct, inverse = np.unique(starts, return_inverse=True)
        places, nodes = _walked(run, distinct, expand, source, target)
        known, wanted = places * width + nodes, inverse * width + ends
    return rows.keep(_holds(known, wanted))


def _holds(known: Numbers, wanted: Numbers) -> "np.ndarray":
    """Tell which of the wanted numbers are among the known ones, which are in their order."""
    if not len(known):
        return np.zeros(len(wanted), bool)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.asarray(known[at] == wanted)


def _by_edge(run: Run, rows: Rows, expand: Expand, source: Domain, target: Domain) -> Rows:
    edges = edge_domain(run, expand)
    step = run.reader.adjacency(expand.steps, source, target, edges=edges)
    owners, places = step.entries(rows.codes[expand.source])
    run.check(len(owners), len(rows.codes) + 2)
    assert step.edges is not None
    assert expand.edge_variable is not None
    found = rows.take(owners).bind(expand.target, step.targets[places])
    found = found.bind(expand.edge_variable, step.edges[places])
    return filtered(run, found, (*expand.filters, *expand.edge_filters))


def _closed_by_edge(run: Run, rows: Rows, expand: Expand, source: Domain, target: Domain) -> Rows:
    edges = edge_domain(run, expand)
    step = run.reader.adjacency(expand.steps, source, target, edges=edges)
    owners, places = step.entries(rows.codes[expand.source])
    run.check(len(owners), len(rows.codes) + 1)
    joined = step.targets[places] == rows.codes[expand.target][owners]
    assert step.edges is not None
    assert expand.edge_variable is not None
    found = rows.take(owners[joined]).bind(expand.edge_variable, step.edges[places[joined]])
    return filtered(run, found, expand.edge_filters)


def edge_domain(run: Run, expand: Expand) -> Domain:
    """Give the domain of a named edge, which is bound from here on."""
    assert expand.edge_variable is not None
    types = tuple(dict.fromkeys(step.edge for step in expand.steps))
    return run.bind(expand.edge_variable, EntityType(EntityKind.EDGE, types))
