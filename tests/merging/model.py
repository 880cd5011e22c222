"""Model: branches of a graph made of plain dicts, and their merge as one would do it by hand."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from tests.ancestry import merge_bases

Row: TypeAlias = dict[str, object]
Key: TypeAlias = tuple[str, str]  # the type and the id of a row
State: TypeAlias = dict[Key, Row]
Clash: TypeAlias = tuple[str, str, str, str | None]  # kind, type, id and property

T = TypeVar("T")

PERSON, KNOWS = "Person", "Knows"
ENDS = (("from", "src"), ("to", "dst"))


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms two states are merged."""

    take: str | None = None
    strict: bool = False


@dataclass(slots=True)
class Merging:
    """Three states becoming one; `clashes` are what nobody settled."""

    base: State
    ours: State
    theirs: State
    terms: Terms
    merged: State = field(default_factory=dict)
    clashes: set[Clash] = field(default_factory=set)

    def run(self) -> State:
        """Merge every row by itself, and then look at the ends of the edges."""
        for key in {*self.base, *self.ours, *self.theirs}:
            row = self._row(key)
            if row is not None:
                self.merged[key] = row
        if self.terms.take is not None:
            self._settle(self.ours if self.terms.take == "ours" else self.theirs)
        self.clashes |= set(self._orphans())
        return self.merged

    def _settle(self, side: State) -> None:
        """Let edges without an end, and the nodes that they lack, be as a side has them."""
        settled: set[Key] = set()
        while due := {key for each in self._orphans() for key in self._due(each, side)} - settled:
            for key in due:
                if key in side:
                    self.merged[key] = side[key]
                else:
                    self.merged.pop(key, None)
            settled |= due

    def _due(self, orphan: Clash, side: State) -> Iterator[Key]:
        edge, column = (KNOWS, orphan[2]), dict(ENDS)[str(orphan[3])]
        node = self.merged[edge][column]
        if side.get(edge, {}).get(column) != node:
            yield edge
        yield PERSON, str(node)

    def _row(self, key: Key) -> Row | None:
        base, ours, theirs = (each.get(key) for each in (self.base, self.ours, self.theirs))
        if ours == theirs or theirs == base:
            return ours
        if ours == base:
            return theirs
        if ours is None or theirs is None:
            # As long as nobody chose, the row is gone.
            left = self._taken(("DeleteVsUpdate", *key, None), ours, theirs)
            return None if self.terms.take is None else left
        return self._cells(key, ours, theirs, base)

    def _cells(self, key: Key, ours: Row, theirs: Row, base: Row | None) -> Row:
        kind = "DivergentInsert" if base is None else "DivergentUpdate"
        found: Row = {}
        for name in ours:
            mine, yours = ours[name], theirs[name]
            was = None if base is None else base[name]
            one_sided = base is not None and not self.terms.strict and was in (mine, yours)
            if mine == yours:
                found[name] = mine
            elif one_sided:
                found[name] = yours if mine == was else mine
            else:
                found[name] = self._taken((kind, *key, name), mine, yours)
        return found

    def _taken(self, clash: Clash, ours: T, theirs: T) -> T:
        if self.terms.take is None:
            self.clashes.add(clash)
        return theirs if self.terms.take == "theirs" else ours

    def _orphans(self) -> Iterator[Clash]:
        for type_name, row_id in self.merged:
            for name, end in ENDS if type_name == KNOWS else ():
                if (PERSON, str(self.merged[KNOWS, row_id][end])) not in self.merged:
                    yield "OrphanEdge", KNOWS, row_id, name


class Ambiguous(Exception):
    """Two sides changed the same value of a row in different ways."""


def merged_row(base: Row | None, one: Row | None, other: Row | None) -> Row | None:
    """Return what two sides made of a row; raises Ambiguous where both changed the same."""
    if one == other or other == base:
        return one
    if one == base:
        return other
    if base is None or one is None or other is None:
        raise Ambiguous
    return {name: _merged_cell(base[name], one[name], other[name]) for name in one}


def _merged_cell(base: object, one: object, other: object) -> object:
    if one == other or other == base:
        return one
    if one == base:
        return other
    raise Ambiguous


def merged_across(root: State, mergings: list[Merging], bases: tuple[State, State]) -> State:
    """Return a merge of sides that merged each other before; raises Ambiguous if it conflicts.

    A row on which the merges from both bases do not agree is merged from what the bases merge to.
    """
    ours, theirs = mergings[0].ours, mergings[0].theirs
    one, other = bases
    clashing = {(clash[1], clash[2]) for each in mergings for clash in each.clashes}
    found: State = {}
    for key in {*root, *one, *other, *ours, *theirs}:
        rows = [each.merged.get(key) for each in mergings]
        row = rows[0]
        if key in clashing or any(each != row for each in rows):
            base = merged_row(root.get(key), one.get(key), other.get(key))
            row = merged_row(base, ours.get(key), theirs.get(key))
        if row is not None:
            found[key] = row
    return found


@dataclass(frozen=True, slots=True)
class Point:
    """One commit: where it came from and what it left behind."""

    id: str
    parents: tuple[str, ...]
    state: State


class Model:
    """All commits, and where each branch stands."""

    def __init__(self, first: str) -> None:
        self.points = {first: Point(first, (), {})}
        self.heads = {"main": first}

    def state(self, branch: str) -> State:
        """Return what a branch holds."""
        return self.points[self.heads[branch]].state

    def commit(self, branch: str, new: str, state: State, merged: str | None = None) -> None:
        """Move a branch on to a new commit."""
        parents = (self.heads[branch],) if merged is None else (self.heads[branch], merged)
        self.points[new] = Point(new, parents, state)
        self.heads[branch] = new

    def bases(self, one: str, other: str) -> set[str]:
        """Return where a merge of two commits starts from."""
        return merge_bases(self.points, one, other)


def changed(old: State, new: State) -> set[tuple[str, str, str]]:
    """Return what came, went and changed: the verb, the type and the id."""
    verbs = {
        key: "insert" if key not in old else "delete" if key not in new else "update"
        for key in {*old, *new}
        if old.get(key) != new.get(key)
    }
    return {(verb, *key) for key, verb in verbs.items()}
