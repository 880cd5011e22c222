"""Support: what a plan asks that does not run on Spark."""

from omnigraph.query.plan import Distinct, Path, ReadPlan, Union, reads_of


def find_unsupported(plan: ReadPlan) -> str | None:
    """Return what of a plan does not run on Spark, as the language writes it; None if all does."""
    if any(isinstance(each, Path) for read in reads_of(plan) for each in read.operators):
        return "a path"
    match plan.operators:
        case (Union(), Distinct(), *_):
            return None
        case (Union(), *_):
            # The rows of a read have no number there by which they could stay in its order.
            return "union all"
        case _:
            return None
