"""Unseen: what broke a rule, as it is told to those who may change a branch and not read it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from omnigraph.errors import Code, Violation, ViolationsError

_REASON = "rows break a rule; which ones is told only to those who may read the branch"
# These rules are also about rows that were there before the record that was sent.
_SHARED = (Code.UNIQUE_VALUE, Code.CARDINALITY)


def without_rows(found: Iterable[Violation]) -> Iterator[Violation]:
    """Yield violations without what they tell of the rows of a branch, each of them once.

    What is wrong with a record that was sent, at its line, is told as it is.
    """
    told = set()
    for each in found:
        is_own = each.line is not None and each.code not in _SHARED
        shown = each if is_own else replace(each, reason=_REASON, id=None, other=None)
        if shown not in told:
            told.add(shown)
            yield shown


def unseen(error: ViolationsError) -> ViolationsError:
    """Return the error without rows, and without how many there are."""
    shown = tuple(without_rows(error.violations))
    return ViolationsError(shown, total=len(shown))
