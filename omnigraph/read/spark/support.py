"""Support: what a plan asks that does not run on Spark."""

from omnigraph.query.plan import Distinct, ReadPlan, Union


def find_unsupported(plan: ReadPlan) -> str | None:
    """Return what of a plan does not run on Spark, as the language writes it; None if all does."""
    match plan.operators:
        case (Union(), Distinct(), *_):
            return None
        case (Union(), *_):
            # The rows of a read have no number there by which they could stay in its order.
            return "union all"
        case _:
            return None
