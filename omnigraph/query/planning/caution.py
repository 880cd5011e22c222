"""Caution: conditions that can fail, in an order that does not depend on how they are written."""

from collections.abc import Iterable

from omnigraph.query.expr import Call, Predicate, parts
from omnigraph.query.planning.explain import predicate_text

# What has no result for ordinary arguments, not only for very large ones.
_EASILY = ("/", "%", "substring")


def by_caution(predicates: Iterable[Predicate]) -> list[Predicate]:
    """Return conditions in the order in which they are asked: what can fail comes last.

    What guards a division tests its divisor, so it has a division less than what it guards.
    """
    return sorted(predicates, key=_caution)


def _caution(predicate: Predicate) -> tuple[int, int, str]:
    failing = [each for each in parts(predicate) if isinstance(each, Call) and each.can_fail]
    if not failing:
        return (0, 0, "")
    easily = sum(each.function in _EASILY for each in failing)
    return (easily, len(failing), predicate_text(predicate))
