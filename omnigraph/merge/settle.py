"""Settle: where the sides break a rule together, takes the rows of the chosen side.

Only rows in which the merged graph differs from that side change: an edge or the node that it
lacks, the owners of one unique value, the edges of a node that has too few or too many.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import with_timestamps
from omnigraph.data.values.lookup import look_up_rows
from omnigraph.errors import Code, Violation
from omnigraph.frozen import dataclass
from omnigraph.merge.conflict import Resolutions, Side
from omnigraph.merge.rowmerge import in_order, without
from omnigraph.schema.catalog import EdgeType, StoredType, field_name
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.draft import TypeChange
from omnigraph.write.validate import Suspects, Verdict, broken_rows, compared_columns, validate

_RowValues: TypeAlias = Mapping[str, Any]


@dataclass(slots=True)
class Settling:
    """The changes of a merge to each type, while rows of them are settled.

    `known` has the violations of single rows for types whose rows lack columns. `suspects` are rows
    of ours that break a rule of their schema unless that changes.
    """

    ours: Snapshot
    theirs: Snapshot
    resolutions: Resolutions
    changes: dict[str, TypeChange]
    known: dict[str, tuple[Violation, ...]] = field(default_factory=dict)
    suspects: Suspects = field(default_factory=Suspects)
    settled: dict[str, set[str]] = field(default_factory=dict)

    def run(self) -> Verdict:
        """Settle what can be and return what is left; a settled row stays settled."""
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
            for (name, side), row_ids in due.items():
                self._take(name, row_ids, side)

    def _due(self, chosen: Sequence[tuple[Violation, Side]]) -> dict[tuple[str, Side], set[str]]:
        """Return the rows, by type, that have to become as a side has them."""
        found: dict[tuple[str, Side], set[str]] = {}
        image = _MergedGraph(self.ours, self.theirs, self.changes, [each for each, _ in chosen])
        for violation, side in chosen:
            for name, row_id in image.concerned(violation, side):
                if row_id not in self.settled.get(name, ()):
                    found.setdefault((name, side), set()).add(row_id)
        return found

    def _side(self, violation: Violation) -> Side | None:
        if violation.type is None or violation.id is None:
            return None
        return self.resolutions.of(violation.type, violation.id)

    def _take(self, name: str, row_ids: set[str], side: Side) -> None:
        """Change rows to what a side has."""
        stored = stored_type(self.ours, name)
        self.settled.setdefault(name, set()).update(row_ids)
        ids = pa.array(sorted(row_ids), pa.utf8())
        nothing = TypeChange(stored, self.ours.table(stored.identity).schema.empty_table())
        change = without(self.changes.get(name, nothing), ids)
        if side is Side.THEIRS:
            tables = [each.table(stored.identity) for each in (self.ours, self.theirs)]
            rows = look_up_rows(tables[1], "id", ids, change.rows.column_names)
            lost = ids.filter(pc.invert(pc.is_in(ids, value_set=rows["id"])))
            gone = look_up_rows(tables[0], "id", lost, ["id"])["id"].combine_chunks()
            joined = pa.concat_tables([change.rows, rows.cast(change.rows.schema)])
            change = in_order(TypeChange(stored, joined, pa.concat_arrays([change.gone, gone])))
        if name in self.known:
            left = [each for each in self.known[name] if each.id not in row_ids]
            taken = ids if side is Side.THEIRS else ids.slice(0, 0)
            self.known[name] = (*left, *self._broken(stored, taken))
        self.changes[name] = change
        if change.is_empty:
            del self.changes[name]

    def _broken(self, stored: StoredType, ids: pa.Array) -> Iterator[Violation]:
        """Yield those of some rows of theirs that break a rule by themselves."""
        table = self.theirs.table(stored.identity)
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

    def concerned(self, violation: Violation, side: Side) -> Iterator[tuple[str, str]]:
        """Yield the rows, by type and id, in which the merged graph differs from a side."""
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
            yield stored.name, violation.id

    def _of_edge(
        self, edge: EdgeType, violation: Violation, side: Side
    ) -> Iterator[tuple[str, str]]:
        column, node = ("src", edge.source) if violation.field == "from" else ("dst", edge.target)
        assert violation.id is not None
        assert violation.other is not None
        there = self._rows[side, edge.name].get(violation.id)
        if there is None or there[column] != violation.other:
            yield edge.name, violation.id
        yield node, violation.other

    def _of_value(
        self, stored: StoredType, violation: Violation, side: Side
    ) -> Iterator[tuple[str, str]]:
        (columns,) = (
            each
            for each in stored.unique
            if ",".join(field_name(stored, name) for name in each) == violation.field
        )
        for row_id in (violation.id, violation.other):
            assert row_id is not None
            here = self._left[stored.name].get(row_id)
            there = self._rows[side, stored.name].get(row_id)
            if here is None or there is None or any(here[name] != there[name] for name in columns):
                yield stored.name, row_id

    def _of_node(self, edge: EdgeType, node_id: str, side: Side) -> Iterator[tuple[str, str]]:
        here = self._leaving[edge.name].get(node_id, set())
        there = self._edges[side, edge.name].get(node_id, set())
        yield from ((edge.name, row_id) for row_id in sorted(here ^ there))
        if node_id not in self._rows[side, edge.source]:
            yield edge.source, node_id

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


def stored_type(snapshot: Snapshot, name: str) -> StoredType:
    """Return a type that must exist in the snapshot."""
    found = snapshot.catalog.stored(name)
    assert found is not None
    return found


def _by_id(rows: pa.Table) -> dict[str, _RowValues]:
    return {row["id"]: row for row in with_timestamps(rows).to_pylist()}
