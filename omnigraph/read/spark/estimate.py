"""Estimate: about how many rows a plan makes at most, to divide the work among tasks."""

from collections.abc import Sequence

from omnigraph.query.plan import Expand, NodeScan, Operator, Optional
from omnigraph.versioning.snapshot import Snapshot


def rows_made(operators: Sequence[Operator], snapshot: Snapshot) -> float:
    """Give how many rows operators make of one, if no condition drops any."""
    rows = 1.0
    for operator in operators:
        match operator:
            case NodeScan(point=None, counted=False):
                rows *= max(1, _count(snapshot, operator.types))
            case Expand(closes=False, counted=False):
                rows *= max(1.0, _reached(snapshot, operator))
            case Optional(inner=inner):
                rows *= max(1.0, rows_made(inner, snapshot))
            case _:
                pass
    return rows


def _reached(snapshot: Snapshot, expand: Expand) -> float:
    """Give how many nodes an expand leads to from one, on average; along many hops, all."""
    if expand.hops.minimum != 1 or expand.hops.maximum != 1:
        return _count(snapshot, expand.types)
    edges = [snapshot.catalog.edges[step.edge] for step in expand.steps]
    ends = {name for edge in edges for name in (edge.source, edge.target)}
    fewest = min(_count(snapshot, (name,)) for name in ends)
    return _count(snapshot, [edge.name for edge in edges]) / max(1, fewest)


def _count(snapshot: Snapshot, types: Sequence[str]) -> int:
    stored = map(snapshot.catalog.stored, types)
    return sum(snapshot.state(each.identity).row_count for each in stored if each is not None)
