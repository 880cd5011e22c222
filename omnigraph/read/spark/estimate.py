"""Estimate: about how many rows a plan makes at most, to divide the work among tasks."""

from collections.abc import Sequence

from omnigraph.query.plan import Expand, NodeScan, Operator, Optional, Path, Union
from omnigraph.versioning.snapshot import Snapshot


def estimate_rows(operators: Sequence[Operator], snapshot: Snapshot) -> float:
    """Return how many rows operators make of one row, if no condition drops any."""
    rows = 1.0
    for operator in operators:
        match operator:
            case NodeScan(point=None, counted=False):
                rows *= max(1, _count_rows(snapshot, operator.types))
            case Expand(closes=False, counted=False):
                rows *= max(1.0, _estimate_targets(snapshot, operator))
            case Path(closes=False):
                rows *= max(1, _count_rows(snapshot, operator.types))
            case Union(reads):
                rows *= max(1.0, sum(estimate_rows(read.operators, snapshot) for read in reads))
            case Optional(inner=inner):
                rows *= max(1.0, estimate_rows(inner, snapshot))
            case _:
                pass
    return rows


def _estimate_targets(snapshot: Snapshot, expand: Expand) -> float:
    """Return how many nodes an expand leads to from one, on average; along many hops, all."""
    if expand.hops.minimum != 1 or expand.hops.maximum != 1:
        return _count_rows(snapshot, expand.types)
    edges = [snapshot.catalog.edges[step.edge] for step in expand.steps]
    ends = {name for edge in edges for name in (edge.source, edge.target)}
    fewest = min(_count_rows(snapshot, (name,)) for name in ends)
    return _count_rows(snapshot, [edge.name for edge in edges]) / max(1, fewest)


def _count_rows(snapshot: Snapshot, types: Sequence[str]) -> int:
    stored = map(snapshot.catalog.stored, types)
    return sum(snapshot.state(each.identity).row_count for each in stored if each is not None)
