"""Stretch: a part of a lineage, and the rows that its commits wrote, so that blame can skip it."""

from collections.abc import Iterable, Mapping, Set

from omnigraph.frozen import dataclass
from omnigraph.versioning.manifest.steps import Step

# Every so many versions another stretch begins. As they do not depend on where a walk began, all
# branches share those of what they have in common.
_VERSIONS = 128
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Link:
    """A commit that changed the table; `is_cut` when a cleanup removed what was before."""

    step: Step
    is_cut: bool

    def leaves(self, mark: str, columns: Set[str]) -> bool:
        """Whether the commit certainly left some columns of a row as they were."""
        touched = self.step.touched
        if touched is None:
            return self.step.is_physical
        return not touched.may_have(mark, columns)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Links that follow each other, newest first, and the step with which the next ones begin.

    `written` has the columns that small changes wrote, by the mark of the row; None is for all of
    them. Where `is_open`, some commit may have written any row, or a cleanup left a gap.
    """

    links: tuple[Link, ...]
    older: Step | None
    written: Mapping[str, frozenset[str] | None]
    is_open: bool

    def leaves(self, mark: str, columns: Set[str]) -> bool:
        """Whether all of its commits certainly left some columns of a row as they were."""
        if self.is_open:
            return False
        if mark not in self.written:
            return True
        written = self.written[mark]
        return written is not None and columns.isdisjoint(written)


def is_in_one(newer: Step, older: Step) -> bool:
    """Whether two steps belong to the same stretch."""
    return newer.version // _VERSIONS == older.version // _VERSIONS


def stretch_of(links: Iterable[Link], older: Step | None) -> Stretch:
    """Return the stretch of some links."""
    together = tuple(links)
    written: dict[str, frozenset[str] | None] = {}
    is_open = False
    for link in together:
        touched = link.step.touched
        is_open |= link.is_cut or (touched is None and not link.step.is_physical)
        if touched is not None:
            for mark in touched.rows:
                written[mark] = _together(written.get(mark, _NONE), touched.columns)
    return Stretch(together, older, written, is_open)


def _together(
    columns: frozenset[str] | None, more: tuple[str, ...] | None
) -> frozenset[str] | None:
    return None if columns is None or more is None else columns.union(more)
