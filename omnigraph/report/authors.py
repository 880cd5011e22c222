"""Authors: who made the changes between two commits, property by property."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from omnigraph.errors import NotFoundError
from omnigraph.frozen import dataclass
from omnigraph.merge.blamed import Blamed
from omnigraph.merge.compare.row_change import Change, Op
from omnigraph.versioning.commit import Commit

# Commits that are looked through for who deleted a row.
_MOST_COMMITS = 100

_Row = tuple[str, str]


class BlamedGraph(Protocol):
    """A graph that can tell which commit set a property, and what a commit deleted."""

    def blame(self, type_name: str, row_id: str, target: str) -> list[Blamed]: ...
    def commit(self, commit_id: str) -> Commit: ...
    def diff(
        self, old: str, new: str, *, types: Sequence[str], ops: Sequence[str]
    ) -> Iterable[Change]: ...


@dataclass(frozen=True, slots=True)
class Authors:
    """The commits that made some changes; what is not known is left out.

    `setters` has those that set properties of inserted and updated rows, `deleters` those that
    deleted rows.
    """

    setters: Mapping[tuple[str, str], Mapping[str, Commit]] = field(default_factory=dict)
    deleters: Mapping[tuple[str, str], Commit] = field(default_factory=dict)

    def of(self, change: Change, name: str) -> Commit | None:
        """Return the commit that gave a property of a change its value, or deleted the row."""
        key = change.type_name, change.id
        if change.op is Op.DELETE:
            return self.deleters.get(key)
        return self.setters.get(key, {}).get(name)


def find_authors(graph: BlamedGraph, ends: tuple[str, str], changes: Sequence[Change]) -> Authors:
    """Return who made the changes from one commit to another.

    What a cleanup removed, or what the reader may not see, is not known.
    """
    setters = {
        (change.type_name, change.id): _setters(graph, ends[1], change)
        for change in changes
        if change.op is not Op.DELETE
    }
    gone = [change for change in changes if change.op is Op.DELETE]
    return Authors(setters, _deleters(graph, ends, gone) if gone else {})


def _setters(graph: BlamedGraph, place: str, change: Change) -> dict[str, Commit]:
    try:
        found = graph.blame(change.type_name, change.id, place)
    except NotFoundError:
        return {}
    return {each.property: each.commit for each in found if not each.or_earlier}


def _deleters(
    graph: BlamedGraph, ends: tuple[str, str], gone: Sequence[Change]
) -> dict[_Row, Commit]:
    try:
        oldest, newest = graph.commit(ends[0]), graph.commit(ends[1])
        return _walk(graph, newest, oldest.version, {(each.type_name, each.id) for each in gone})
    except NotFoundError:
        return {}


def _walk(graph: BlamedGraph, commit: Commit, oldest: int, gone: set[_Row]) -> dict[_Row, Commit]:
    """Return which commits deleted rows, from one down to a version.

    A merge passes the question on to the side that it merged.
    """
    found: dict[_Row, Commit] = {}
    for _ in range(_MOST_COMMITS):
        left = gone - found.keys()
        if not left or commit.parent is None or commit.version <= oldest:
            break
        types = sorted({name for name, _ in left})
        changes = graph.diff(commit.parent, commit.id, types=types, ops=["delete"])
        here = left & {(each.type_name, each.id) for each in changes}
        found |= dict.fromkeys(here, commit)
        if here and commit.merged_parent is not None:
            found |= _walk(graph, graph.commit(commit.merged_parent), oldest, here)
        commit = graph.commit(commit.parent)
    return found
