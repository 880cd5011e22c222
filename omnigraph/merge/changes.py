"""Changes: what is different between two snapshots, row by row, for people and for programs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from omnigraph.data.result import json_value
from omnigraph.data.values.columns import with_moments
from omnigraph.data.values.rules import shortened
from omnigraph.errors import Json, TableNotFoundError
from omnigraph.html import html_table
from omnigraph.merge.diff import Op, RowChanges, TableDiff, diff, stats_json
from omnigraph.query.expr import EntityKind
from omnigraph.schema.catalog import Catalog, EdgeType, StoredType, field_name
from omnigraph.schema.migration import plan_schema_migration
from omnigraph.schema.steps import MigrationStep, step_json
from omnigraph.schema.types import BLOB, VectorType
from omnigraph.syntax.problems import nearest_name
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.snapshot import Snapshot

_MARKS = {Op.INSERT: "+", Op.UPDATE: "~", Op.DELETE: "-"}
_LONGEST_SHOWN = 40
_SHOWN_CHANGES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One node or edge that came, went or changed: its properties before and after.

    `changed` names the properties of an updated one that have other values.
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
        """Give the change in the stable machine form."""
        found: dict[str, Json] = {
            "table_key": self.table_key,
            "kind": str(self.kind),
            "type_name": self.type_name,
            "id": self.id,
            "op": str(self.op),
        }
        for name, row in (("before", self.before), ("after", self.after)):
            found |= {} if row is None else {name: json_value(row)}
        if self.op is Op.UPDATE:
            found["changed"] = list(self.changed)
        if self.endpoints is not None:
            found["endpoints"] = {"src": self.endpoints[0], "dst": self.endpoints[1]}
        return found

    def __str__(self) -> str:
        ends = self.endpoints
        what = f"{self.type_name} {self.id}" if ends is None else ""
        if ends is not None:
            what = f"{ends[0]} -{self.type_name}-> {ends[1]}"
        details = [self.detail(name) for name in self.changed]
        return f"{_MARKS[self.op]} {what}{'  ' if details else ''}{', '.join(details)}"

    def detail(self, name: str) -> str:
        """Give what was done to a property, on one line; long values are cut."""
        if name not in (self.after or {}):
            return name
        before, after = ((row or {}).get(name) for row in (self.before, self.after))
        return f"{name} {_short(before)} → {_short(after)}"


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Which changes are of interest; nothing given means all."""

    kinds: frozenset[EntityKind] = frozenset()
    types: frozenset[str] = frozenset()
    ops: frozenset[Op] = frozenset()

    def check(self, *catalogs: Catalog) -> None:
        """Raise TableNotFoundError when none of the catalogs has a type that is asked for."""
        known = {name for each in catalogs for name in (*each.nodes, *each.edges)}
        for name in sorted(self.types - known):
            near = nearest_name(name, sorted(known))
            hint = None if near is None else f"did you mean '{near}'?"
            raise TableNotFoundError(f"no type '{name}'", hint=hint)

    def admits(self, stored: StoredType) -> bool:
        """Tell whether changes of a type are of interest."""
        is_kind = not self.kinds or _kind(stored) in self.kinds
        return is_kind and (not self.types or stored.name in self.types)

    def admits_op(self, op: Op) -> bool:
        """Tell whether changes of this sort are of interest."""
        return not self.ops or op in self.ops


@dataclass(frozen=True, repr=False)
class ChangeSet:
    """The net changes from one snapshot to another; iterating reads them a few at a time."""

    old: Snapshot = field(repr=False)
    new: Snapshot = field(repr=False)
    filter: ChangeFilter = field(default_factory=ChangeFilter)

    def __repr__(self) -> str:
        return f"ChangeSet({self.from_version} → {self.to_version})"

    def _repr_html_(self) -> str:
        return changes_html(self, self.stats)

    @cached_property
    def schema_steps(self) -> tuple[MigrationStep, ...]:
        """What the schema of the new snapshot has that the old one had not, as steps."""
        if self.old.commit.schema == self.new.commit.schema:
            return ()
        return plan_schema_migration(self.old.catalog, self.new.catalog).steps

    @property
    def from_version(self) -> int:
        return self.old.version

    @property
    def to_version(self) -> int:
        return self.new.version

    def __iter__(self) -> Iterator[Change]:
        for found in self._tables:
            for rows in found.changes():
                if self.filter.admits_op(rows.op):
                    yield from _entities(rows)

    @cached_property
    def stats(self) -> Mapping[str, Mapping[Op, int]]:
        """How many rows of each type came, went and changed."""
        counted = {found.stored.name: found.counts() for found in self._tables}
        wanted = {
            name: {op: count for op, count in counts.items() if self.filter.admits_op(op)}
            for name, counts in counted.items()
        }
        return {name: counts for name, counts in wanted.items() if any(counts.values())}

    def to_json(self) -> dict[str, Json]:
        """Give all changes in the stable machine form."""
        return {
            "from_version": self.from_version,
            "to_version": self.to_version,
            "changes": [change.to_json() for change in self],
            "stats": stats_json(self.stats),
            "schema_steps": [step_json(step) for step in self.schema_steps],
        }

    @cached_property
    def _tables(self) -> Sequence[TableDiff]:
        return [each for each in diff(self.old, self.new) if self.filter.admits(each.stored)]


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """What one commit of a branch changed; its id is the cursor to go on from."""

    commit: Commit
    changes: ChangeSet

    @property
    def cursor(self) -> str:
        return self.commit.id


def changes_html(changes: Iterable[Change], stats: Mapping[str, Mapping[Op, int]]) -> str:
    """Give changes as a table for notebooks: the first ones, and how many there are."""
    rows = [
        (str(each.op), each.type_name, each.id, ", ".join(map(each.detail, each.changed)))
        for each in islice(changes, _SHOWN_CHANGES)
    ]
    more = sum(sum(counts.values()) for counts in stats.values()) - len(rows)
    foot = f"… and {more:,} more changes" if more > 0 else "" if rows else "no row differs"
    return html_table(("change", "type", "id", "properties"), rows, foot)


def _entities(rows: RowChanges) -> Iterator[Change]:
    stored = rows.stored
    names = {column: field_name(stored, column) for column in shown_columns(stored)}
    before, after = (
        with_moments(each.select(list(names))).to_pylist() or [None] * len(rows)
        for each in (rows.before, rows.after)
    )
    changed = rows.changed if rows.op is Op.UPDATE else {}
    for place, row_id in enumerate(rows.ids.to_pylist()):
        yield Change(
            table_key=stored.identity,
            kind=_kind(stored),
            type_name=stored.name,
            id=row_id,
            op=rows.op,
            before=_named(before[place], names),
            after=_named(after[place], names),
            changed=tuple(
                field_name(stored, name) for name, mask in changed.items() if mask[place]
            ),
        )


def shown_columns(stored: StoredType) -> list[str]:
    """Give the columns that a change shows: no blobs and no vectors, which are only named."""
    ends = ["src", "dst"] if isinstance(stored, EdgeType) else []
    large = (
        item.name
        for item in stored.properties.values()
        if item.type == BLOB or isinstance(item.type, VectorType)
    )
    hidden = set(large)
    return ["id", *ends, *(name for name in stored.properties if name not in hidden)]


def _named(
    row: Mapping[str, object] | None, names: Mapping[str, str]
) -> Mapping[str, object] | None:
    return None if row is None else {names[column]: value for column, value in row.items()}


def _kind(stored: StoredType) -> EntityKind:
    return EntityKind.EDGE if isinstance(stored, EdgeType) else EntityKind.NODE


def _short(value: object) -> str:
    shown = f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)
    return shortened("null" if value is None else shown, _LONGEST_SHOWN)
