"""Row change: one node or edge that was inserted, deleted or updated, and filters for changes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, Self

from omnigraph.errors import Json, TableNotFoundError
from omnigraph.frozen import dataclass
from omnigraph.query.expr import EntityKind
from omnigraph.schema.catalog import Catalog, EdgeType, StoredType
from omnigraph.schema.json_rows import row_from_json
from omnigraph.schema.values import to_json_value
from omnigraph.syntax.problems import parse_choice, shorten, suggest


class Op(StrEnum):
    """What happened to a row."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


_MARKS = {Op.INSERT: "+", Op.UPDATE: "~", Op.DELETE: "-"}
_LONGEST_SHOWN = 40


def stats_json(stats: Mapping[str, Mapping[Op, int]]) -> Json:
    """Return the numbers of inserted, deleted and updated rows of each type as JSON."""
    return {
        name: {str(op): count for op, count in counts.items()} for name, counts in stats.items()
    }


def stats_from_json(document: Mapping[str, Mapping[str, int]]) -> dict[str, dict[Op, int]]:
    """Return the numbers that `stats_json` wrote."""
    return {
        name: {Op(op): count for op, count in counts.items()} for name, counts in document.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One node or edge that was inserted, deleted or updated: its properties before and after.

    `changed` names the properties of an updated one whose values differ.
    """

    table_key: str
    kind: EntityKind
    type_name: str
    id: str
    op: Op
    before: Mapping[str, object] | None
    after: Mapping[str, object] | None
    changed: tuple[str, ...] = ()

    @property
    def endpoints(self) -> tuple[str, str] | None:
        """The ids of the two nodes that an edge joins."""
        row = self.after or self.before or {}
        if self.kind is EntityKind.NODE:
            return None
        return str(row["from"]), str(row["to"])

    def to_json(self) -> dict[str, Json]:
        """Return the change as JSON."""
        found: dict[str, Json] = {
            "table_key": self.table_key,
            "kind": str(self.kind),
            "type_name": self.type_name,
            "id": self.id,
            "op": str(self.op),
        }
        for name, row in (("before", self.before), ("after", self.after)):
            found |= {} if row is None else {name: to_json_value(row)}
        if self.op is Op.UPDATE:
            found["changed"] = list(self.changed)
        if self.endpoints is not None:
            found["endpoints"] = {"src": self.endpoints[0], "dst": self.endpoints[1]}
        return found

    @classmethod
    def from_json(cls, document: Mapping[str, Any], catalogs: Sequence[Catalog]) -> Self:
        """Return the change that `to_json` wrote; one of the catalogs has its type."""
        known = (catalog.by_table_key.get(document["table_key"]) for catalog in catalogs)
        stored = next(each for each in known if each is not None)
        before, after = document.get("before"), document.get("after")
        return cls(
            table_key=document["table_key"],
            kind=EntityKind(document["kind"]),
            type_name=document["type_name"],
            id=document["id"],
            op=Op(document["op"]),
            before=None if before is None else row_from_json(before, stored),
            after=None if after is None else row_from_json(after, stored),
            changed=tuple(document.get("changed", ())),
        )

    def __str__(self) -> str:
        ends = self.endpoints
        what = f"{self.type_name} {self.id}" if ends is None else ""
        if ends is not None:
            what = f"{ends[0]} -{self.type_name}-> {ends[1]}"
        details = self.details()
        return f"{_MARKS[self.op]} {what}{'  ' if details else ''}{', '.join(details)}"

    def details(self) -> list[str]:
        """Return what an update changed, or the values of an insert, each on one line."""
        if self.op is not Op.INSERT:
            return [self.detail(name) for name in self.changed]
        told = {"id", "from", "to"} if self.endpoints is not None else {"id"}
        return [
            f"{name} {_short(value)}"
            for name, value in (self.after or {}).items()
            if name not in told and value is not None and str(value) != self.id
        ]

    def detail(self, name: str) -> str:
        """Return what was done to a property, on one line; long values are cut."""
        if name not in (self.after or {}):
            return name
        before, after = ((row or {}).get(name) for row in (self.before, self.after))
        return f"{name} {_short(before)} → {_short(after)}"


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Which changes are of interest; an empty part selects all.

    `identities` are those of the types, once `bound` has found them.
    """

    kinds: frozenset[EntityKind] = frozenset()
    types: frozenset[str] = frozenset()
    ops: frozenset[Op] = frozenset()
    identities: frozenset[str] = frozenset()

    @classmethod
    def parse(
        cls,
        kinds: Iterable[str] | None,
        types: Iterable[str] | None,
        ops: Iterable[str] | None,
    ) -> Self:
        """Return the filter that words name; raise InputError for an unknown kind or operation."""
        return cls(
            frozenset(parse_choice(EntityKind, each) for each in kinds or ()),
            frozenset(types or ()),
            frozenset(parse_choice(Op, each) for each in ops or ()),
        )

    def bound(self, *catalogs: Catalog) -> Self:
        """Return the filter with the types that its names mean in any of some catalogs.

        The old name of a renamed type means that type. Raises TableNotFoundError for a name that
        no catalog has.
        """
        types = [each for catalog in catalogs for each in catalog.by_identity.values()]
        names = [(name, each) for each in types for name in (each.name, each.renamed_from) if name]
        known = {name for name, _ in names}
        for name in sorted(self.types - known):
            raise TableNotFoundError(f"no type '{name}'", hint=suggest(name, sorted(known)))
        identities = frozenset(each.identity for name, each in names if name in self.types)
        return replace(self, identities=identities)

    def admits(self, stored: StoredType) -> bool:
        """Whether changes of a type are of interest."""
        is_kind = not self.kinds or kind_of(stored) in self.kinds
        return is_kind and (not self.types or stored.identity in self.identities)

    def admits_op(self, op: Op) -> bool:
        """Whether changes of this operation are of interest."""
        return not self.ops or op in self.ops


def kind_of(stored: StoredType) -> EntityKind:
    """Return whether a type is one of nodes or of edges."""
    return EntityKind.EDGE if isinstance(stored, EdgeType) else EntityKind.NODE


def _short(value: object) -> str:
    shown = f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)
    return shorten("null" if value is None else shown, _LONGEST_SHOWN)
