"""Settle: where the sides break a rule together, takes what breaks it from the chosen side.

Only rows in which the merged graph differs from that side change: an edge or the node that it
lacks, the owners of one unique value, the edges of a node that has too few or too many. Of a row
that both have, only the columns that the rule reads are taken.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import with_timestamps
from omnigraph.data.values.equality import equal_rows
from omnigraph.data.values.lookup import look_up_rows
from omnigraph.errors import Code, Violation
from omnigraph.frozen import dataclass
from omnigraph.merge.conflict import PropertyKey, Resolutions, Side
from omnigraph.merge.rowmerge import in_order, loose, without
from omnigraph.merge.threeway import align_rows
from omnigraph.merge.vectors import join_vectors
from omnigraph.schema.catalog import EdgeType, StoredType, column_name, field_name
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.draft import TypeChange
from omnigraph.write.upsert import with_column
from omnigraph.write.validate import Suspects, Verdict, broken_rows, compared_columns, validate

_RowValues: TypeAlias = Mapping[str, Any]
# A row by type and id, and the columns of it that a rule reads; without any, all of it.
_Concerned: TypeAlias = tuple[str, str, tuple[str, ...]]


@dataclass(slots=True)
class SettledRows:
    """The rows of one type that are as a side has them: some as a whole, some in some columns."""

    whole: set[str] = field(default_factory=set)
    parts: dict[tuple[str, tuple[str, ...]], Side] = field(default_factory=dict)

    @property
    def ids(self) -> pa.Array:
        """The ids of all of them."""
        return pa.array(sorted(self.whole.union(row_id for row_id, _ in self.parts)), pa.utf8())

    def has(self, row_id: str, columns: tuple[str, ...]) -> bool:
        """Whether columns of a row, or without any the row, were settled before."""
        return row_id in self.whole or (row_id, columns) in self.parts

    def add(self, other: "SettledRows") -> None:
        """Note what was settled later."""
        self.whole |= other.whole
        self.parts |= other.parts


@dataclass(slots=True)
class Settling:
    """The changes of a merge to each type, while rows of them are settled.

    `known` has the violations of single rows for types whose rows lack columns. `suspects` are rows
    of ours that break a rule of their schema unless that changes. The choices of `met` decided
    something. In the types of `revalued`, rows have a text and no vector of it.
    """

    ours: Snapshot
    theirs: Snapshot
    resolutions: Resolutions
    changes: dict[str, TypeChange]
    known: dict[str, tuple[Violation, ...]] = field(default_factory=dict)
    suspects: Suspects = field(default_factory=Suspects)
    settled: dict[str, SettledRows] = field(default_factory=dict)
    met: set[PropertyKey] = field(default_factory=set)
    revalued: set[str] = field(default_factory=set)

    def run(self) -> Verdict:
        """Settle what can be and return what is left; what is settled stays settled."""
        while True:
            verdict = validate(self.ours, self.changes, self.known, self.suspects)
            chosen = [
                (each, side)
                for each in verdict.violations
                if (side := self._side(each)) is not None
            ]
            due = self._due(chosen)
            if not due:
                return verdict
            for (name, side, columns), row_ids in due.items():
                self._take(name, row_ids, side, columns)

    def _due(
        self, chosen: Sequence[tuple[Violation, Side]]
    ) -> dict[tuple[str, Side, tuple[str, ...]], set[str]]:
        """Return the rows, by type and columns, that have to become as a side has them."""
        found: dict[tuple[str, Side, tuple[str, ...]], set[str]] = {}
        image = _MergedGraph(self.ours, self.theirs, self.changes, [each for each, _ in chosen])
        for violation, side in chosen:
            for name, row_id, columns in image.concerned(violation, side):
                settled = self.settled.get(name)
                is_settled = settled is not None and settled.has(row_id, columns)
                if not is_settled and not self._is_excluded(name, row_id, columns, side):
                    found.setdefault((name, side, columns), set()).add(row_id)
        return found

    def _is_excluded(self, name: str, row_id: str, columns: tuple[str, ...], side: Side) -> bool:
        """Whether something else was chosen for one of the columns of a row itself."""
        stored = stored_type(self.ours, name)
        fields = [field_name(stored, each) for each in columns]
        every = {*fields, ",".join(fields)} if fields else set()
        return any(self.resolutions.excludes((name, row_id, each), side) for each in every)

    def _side(self, violation: Violation) -> Side | None:
        if violation.type is None or violation.id is None:
            return None
        if violation.field is not None:
            key = (violation.type, violation.id, violation.field)
            self.met |= {key} & self.resolutions.properties.keys()
        return self.resolutions.of(violation.type, violation.id, violation.field)

    def _take(self, name: str, row_ids: set[str], side: Side, columns: tuple[str, ...]) -> None:
        """Change rows to what a side has, only in some columns where there are any."""
        ids = pa.array(sorted(row_ids), pa.utf8())
        if columns:
            both = self._take_columns(name, ids, side, columns)
            ids = ids.filter(pc.invert(pc.is_in(ids, value_set=both)))
        if len(ids):
            self._take_rows(name, ids, side)

    def _take_columns(
        self, name: str, ids: pa.Array, side: Side, columns: tuple[str, ...]
    ) -> pa.Array:
        """Take columns of the rows that the merge leaves and the side has; return their ids."""
        stored, change = stored_type(self.ours, name), self._change(name)
        here = rows_left(self.ours, change, ids)
        table = self._snapshot(side).table(stored.identity)
        here, rows, due = with_columns_of(stored, here, table, columns)
        self.revalued |= {name} if due else set()
        rows = rows.filter(pa.array(~equal_rows(rows, here.cast(rows.schema))))
        both = here["id"].combine_chunks()
        settled = self.settled.setdefault(name, SettledRows())
        settled.parts |= {(row_id, columns): side for row_id in both.to_pylist()}
        left = without(change, rows["id"].combine_chunks())
        joined = pa.concat_tables([left.rows.cast(rows.schema), rows])
        self._put(name, in_order(TypeChange(stored, joined, change.gone)))
        self._judge(name, both, side, {field_name(stored, each) for each in columns})
        return both

    def _take_rows(self, name: str, ids: pa.Array, side: Side) -> None:
        """Change whole rows to what a side has, which may be none."""
        stored = stored_type(self.ours, name)
        self.settled.setdefault(name, SettledRows()).whole.update(ids.to_pylist())
        change = without(self._change(name), ids)
        if side is Side.THEIRS:
            tables = [each.table(stored.identity) for each in (self.ours, self.theirs)]
            rows = look_up_rows(tables[1], "id", ids, change.rows.column_names)
            lost = ids.filter(pc.invert(pc.is_in(ids, value_set=rows["id"])))
            gone = look_up_rows(tables[0], "id", lost, ["id"])["id"].combine_chunks()
            joined = pa.concat_tables([change.rows, rows.cast(change.rows.schema)])
            change = in_order(TypeChange(stored, joined, pa.concat_arrays([change.gone, gone])))
        self._put(name, change)
        self._judge(name, ids, side, None)

    def _judge(self, name: str, ids: pa.Array, side: Side, fields: set[str] | None) -> None:
        """Check settled rows of a type whose violations are known, in some fields or in all."""
        if name not in self.known:
            return
        row_ids = set(ids.to_pylist())

        def is_meant(violation: Violation) -> bool:
            return fields is None or violation.field in fields

        left = [each for each in self.known[name] if each.id not in row_ids or not is_meant(each)]
        found = self._broken(stored_type(self.ours, name), ids, self._snapshot(side))
        self.known[name] = (*left, *(each for each in found if is_meant(each)))

    def _change(self, name: str) -> TypeChange:
        return change_of(self.ours, self.changes, stored_type(self.ours, name))

    def _put(self, name: str, change: TypeChange) -> None:
        self.changes[name] = change
        if change.is_empty:
            del self.changes[name]

    def _snapshot(self, side: Side) -> Snapshot:
        return self.ours if side is Side.OURS else self.theirs

    def _broken(self, stored: StoredType, ids: pa.Array, snapshot: Snapshot) -> Iterator[Violation]:
        """Yield those of some rows of a side that break a rule by themselves."""
        table = snapshot.table(stored.identity)
        return broken_rows(TypeChange(stored, look_up_rows(table, "id", ids, table.schema.names)))


class _MergedGraph:
    """The rows that some violations are about: as the merge would leave them, and on each side."""

    def __init__(
        self,
        ours: Snapshot,
        theirs: Snapshot,
        changes: Mapping[str, TypeChange],
        violations: Sequence[Violation],
    ) -> None:
        self._ours = ours
        self._sides = {Side.OURS: ours, Side.THEIRS: theirs}
        self._changes = changes
        rows, nodes = self._sought(violations)
        self._rows = {
            (side, name): self._read(side, name, ids)
            for side in self._sides
            for name, ids in rows.items()
        }
        self._edges = {
            (side, name): self._read_edges(side, name, ids)
            for side in self._sides
            for name, ids in nodes.items()
        }
        self._left = {name: self._merged(name, ids) for name, ids in rows.items()}
        self._leaving = {name: self._merged_edges(name, ids) for name, ids in nodes.items()}

    def concerned(self, violation: Violation, side: Side) -> Iterator[_Concerned]:
        """Yield the rows, and what of them, in which the merged graph differs from a side."""
        assert violation.type is not None
        assert violation.id is not None
        stored = stored_type(self._ours, violation.type)
        if violation.code is Code.MISSING_ENDPOINT and isinstance(stored, EdgeType):
            yield from self._of_edge(stored, violation, side)
        elif violation.code is Code.UNIQUE_VALUE:
            yield from self._of_value(stored, violation, side)
        elif violation.code is Code.CARDINALITY and isinstance(stored, EdgeType):
            yield from self._of_node(stored, violation.id, side)
        else:
            yield stored.name, violation.id, columns_of(stored, violation.field)

    def _of_edge(self, edge: EdgeType, violation: Violation, side: Side) -> Iterator[_Concerned]:
        column, node = ("src", edge.source) if violation.field == "from" else ("dst", edge.target)
        assert violation.id is not None
        assert violation.other is not None
        there = self._rows[side, edge.name].get(violation.id)
        if there is None or there[column] != violation.other:
            yield edge.name, violation.id, (column,)
        yield node, violation.other, ()

    def _of_value(
        self, stored: StoredType, violation: Violation, side: Side
    ) -> Iterator[_Concerned]:
        columns = columns_of(stored, violation.field)
        for row_id in (violation.id, violation.other):
            assert row_id is not None
            here = self._left[stored.name].get(row_id)
            there = self._rows[side, stored.name].get(row_id)
            if here is None or there is None or any(here[name] != there[name] for name in columns):
                yield stored.name, row_id, columns

    def _of_node(self, edge: EdgeType, node_id: str, side: Side) -> Iterator[_Concerned]:
        here = self._leaving[edge.name].get(node_id, set())
        there = self._edges[side, edge.name].get(node_id, set())
        yield from ((edge.name, row_id, ("src",)) for row_id in sorted(here ^ there))
        if node_id not in self._rows[side, edge.source]:
            yield edge.source, node_id, ()

    def _sought(
        self, violations: Sequence[Violation]
    ) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
        """Return the ids of rows to look at, and of nodes whose edges to look at, by type."""
        rows: dict[str, set[str]] = {}
        nodes: dict[str, set[str]] = {}
        for each in violations:
            name, ids = each.type or "", {each.id or ""}
            if each.code is Code.CARDINALITY:
                nodes.setdefault(name, set()).update(ids)
                name = self._ours.catalog.edges[name].source
            elif each.code is Code.UNIQUE_VALUE:
                ids.add(each.other or "")
            rows.setdefault(name, set()).update(ids)
        return rows, nodes

    def _read(self, side: Side, name: str, ids: set[str]) -> dict[str, _RowValues]:
        stored = stored_type(self._ours, name)
        table = self._sides[side].table(stored.identity)
        sought = pa.array(sorted(ids), pa.utf8())
        return _by_id(look_up_rows(table, "id", sought, compared_columns(stored)))

    def _read_edges(self, side: Side, name: str, nodes: set[str]) -> dict[str, set[str]]:
        table = self._sides[side].table(stored_type(self._ours, name).identity)
        sought = pa.array(sorted(nodes), pa.utf8())
        return _by_source(look_up_rows(table, "src", sought, ["id", "src"]))

    def _merged(self, name: str, ids: set[str]) -> dict[str, _RowValues]:
        """Return those of some rows that the merge would leave."""
        found = dict(self._rows[Side.OURS, name])
        change = self._changes.get(name)
        if change is None:
            return found
        for row_id in change.gone.to_pylist():
            found.pop(row_id, None)
        sought = pc.is_in(change.rows["id"], value_set=pa.array(sorted(ids), pa.utf8()))
        columns = compared_columns(change.stored)
        return found | _by_id(change.rows.filter(sought).select(columns))

    def _merged_edges(self, name: str, nodes: set[str]) -> dict[str, set[str]]:
        """Return the edges that would leave each of some nodes."""
        found = self._edges[Side.OURS, name]
        change = self._changes.get(name)
        if change is None:
            return found
        hidden = set(change.hidden.to_pylist())
        sought = pc.is_in(change.rows["src"], value_set=pa.array(sorted(nodes), pa.utf8()))
        added = _by_source(change.rows.filter(sought))
        return {node: (found.get(node, set()) - hidden) | added.get(node, set()) for node in nodes}


def _by_source(edges: pa.Table) -> dict[str, set[str]]:
    """Return the ids of the edges that leave each node."""
    found: dict[str, set[str]] = {}
    for row in edges.select(["id", "src"]).to_pylist():
        found.setdefault(row["src"], set()).add(row["id"])
    return found


def columns_of(stored: StoredType, fields: str | None) -> tuple[str, ...]:
    """Return the columns that a violation names; none for one of a whole row."""
    return () if fields is None else tuple(column_name(stored, each) for each in fields.split(","))


def change_of(ours: Snapshot, changes: Mapping[str, TypeChange], stored: StoredType) -> TypeChange:
    """Return what a merge does to a type, which may be nothing."""
    nothing = TypeChange(stored, ours.table(stored.identity).schema.empty_table())
    return changes.get(stored.name, nothing)


def rows_left(ours: Snapshot, change: TypeChange, ids: pa.Array) -> pa.Table:
    """Return those of some rows that a merge would leave, as it would leave them."""
    changed = change.rows.filter(pc.is_in(change.rows["id"], value_set=ids))
    others = ids.filter(pc.invert(pc.is_in(ids, value_set=change.hidden)))
    table = ours.table(change.stored.identity)
    rows = look_up_rows(table, "id", others, change.rows.column_names)
    return pa.concat_tables([changed, rows.cast(change.rows.schema)])


def with_columns_of(
    stored: StoredType, rows: pa.Table, side: Table, columns: Sequence[str]
) -> tuple[pa.Table, pa.Table, bool]:
    """Return those of some rows that a side has, before and after they get its columns.

    A vector goes with its text; also returns whether a row needs one that no side made. Columns
    that the rows lack are left out.
    """
    there = look_up_rows(side, "id", rows["id"].combine_chunks(), rows.column_names)
    here, there = align_rows(rows, there.cast(rows.schema))
    taken = loose(here)
    for name in columns:
        if name in here.column_names:
            taken = with_column(taken, name, there[name].combine_chunks())
    if any(each.name not in here.column_names for each in stored.properties.values()):
        return here, taken, False
    taken, due = join_vectors(stored, taken, (here, there))
    return here, taken, bool(due.any())


def stored_type(snapshot: Snapshot, name: str) -> StoredType:
    """Return a type that must exist in the snapshot."""
    found = snapshot.catalog.stored(name)
    assert found is not None
    return found


def _by_id(rows: pa.Table) -> dict[str, _RowValues]:
    return {row["id"]: row for row in with_timestamps(rows).to_pylist()}
