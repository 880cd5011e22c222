"""Validate: checks a changed graph against its schema, at a cost that grows with the change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import chain
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.comparison import drop_incomparable, to_comparable
from omnigraph.data.values.rules import find_breaches
from omnigraph.errors import Code, Violation
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import EdgeType, StoredType, field_name
from omnigraph.storage.near.sending import at_once
from omnigraph.syntax.problems import shorten
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.draft import TypeChange
from omnigraph.write.reads import LookUp, Reads
from omnigraph.write.upsert import find_unchanged


@dataclass(frozen=True, slots=True)
class Verdict:
    """Everything that is wrong with a change, and the rows that it was checked against."""

    violations: tuple[Violation, ...]
    reads: tuple[LookUp, ...]

    @property
    def looked_at(self) -> frozenset[str]:
        """The tables that the change was checked against."""
        return frozenset(each.key for each in self.reads)


@dataclass(frozen=True, slots=True)
class Suspects:
    """Committed rows that break a rule which the snapshot did not have when they were written.

    They break it after a change too, unless that mends it. The `unfit` break it by themselves.
    `repeated` has the ids of all rows that share a unique value, by type and columns, and `lacking`
    those of nodes with too few edges, by the type of these.
    """

    unfit: tuple[Violation, ...] = ()
    repeated: Mapping[tuple[str, tuple[str, ...]], pa.Array] = field(default_factory=dict)
    lacking: Mapping[str, pa.Array] = field(default_factory=dict)

    def left(self, changes: Mapping[str, TypeChange]) -> Iterator[Violation]:
        """Yield the unfit rows that stay as they are."""
        names = {each.type or "" for each in self.unfit} & changes.keys()
        hidden = {name: set(changes[name].hidden.to_pylist()) for name in names}
        yield from (each for each in self.unfit if each.id not in hidden.get(each.type or "", ()))


_NO_SUSPECTS = Suspects()


def validate(
    snapshot: Snapshot,
    changes: Mapping[str, TypeChange],
    known: Mapping[str, Sequence[Violation]] = MappingProxyType({}),
    suspects: Suspects = _NO_SUSPECTS,
) -> Verdict:
    """Check the rows of a change by themselves, and the graph that they would leave.

    For types in `known` the violations of single rows are given; their rows need only the columns
    that rules between rows read. `suspects` are checked as well.
    """
    check = _RuleCheck(snapshot, changes, Reads(snapshot), suspects)
    rules: list[Iterable[Violation]] = []
    for name, change in changes.items():
        if name in known:
            ids = set(change.ids.to_pylist()) if known[name] else set()
            rules.append([each for each in known[name] if each.id in ids])
        else:
            rules.append(broken_rows(change))
        rules.append(check.unique(change))
    unchanged = sorted({name for name, _ in suspects.repeated} - changes.keys())
    rules += [check.unique(_no_change(snapshot, name)) for name in unchanged]
    for edge in snapshot.catalog.edges.values():
        rules += check.ends(edge)
        rules.append(check.cardinality(edge))
    rules.append(suspects.left(changes))
    found: list[list[Violation]] = at_once(
        snapshot.tables.store, (partial(list, rule) for rule in rules)
    )
    return Verdict(tuple(chain.from_iterable(found)), tuple(check.reads.look_ups))


def broken_rows(change: TypeChange) -> Iterator[Violation]:
    """Yield the rows that break a rule of their type by themselves."""
    for batch in change.rows.combine_chunks().to_batches():
        ids = batch["id"]
        for breach in find_breaches(change.stored, batch):
            yield Violation(
                code=breach.code,
                reason=breach.reason,
                type=change.stored.name,
                field=field_name(change.stored, breach.field),
                id=ids[breach.row].as_py(),
            )


def compared_columns(stored: StoredType) -> list[str]:
    """Return the columns that the rules between rows read."""
    ends = ("src", "dst") if isinstance(stored, EdgeType) else ()
    return list(dict.fromkeys(["id", *ends, *(name for each in stored.unique for name in each)]))


def unique_values(stored: StoredType, rows: pa.RecordBatch) -> dict[str, pa.Array]:
    """Return the values of rows that are looked up because they must be unique, by column."""
    return {columns[0]: rows[columns[0]].drop_null() for columns in stored.unique}


@dataclass(slots=True)
class _RuleCheck:
    snapshot: Snapshot
    changes: Mapping[str, TypeChange]
    reads: Reads
    suspects: Suspects

    def unique(self, change: TypeChange) -> Iterator[Violation]:
        """Check that no two rows share values that must be unique."""
        for columns in change.stored.unique:
            yield from self._unique(change, columns)

    def _unique(self, change: TypeChange, columns: tuple[str, ...]) -> Iterator[Violation]:
        stored = change.stored
        names = ["id", *columns]
        own = drop_incomparable(self._unproven(change, columns))
        if not own.num_rows:
            return
        fresh = self._fresh(change, columns)
        held = self._committed(stored, columns[0], fresh, columns)
        taken = drop_incomparable(held.select(names))
        fields = ",".join(field_name(stored, column) for column in columns)
        seen = dict(_pairs(taken))
        for key, row_id in _pairs(own):
            holder = seen.setdefault(key, row_id)
            if holder != row_id:
                shown = ", ".join(shorten(str(value)) for value in key)
                reason = f"'{shown}' is that of '{shorten(holder)}' already"
                yield Violation(
                    code=Code.UNIQUE_VALUE,
                    reason=reason,
                    type=stored.name,
                    field=fields,
                    id=row_id,
                    other=holder,
                )

    def _unproven(self, change: TypeChange, columns: tuple[str, ...]) -> pa.Table:
        """Return the values of the rows that may share them with others."""
        rows = change.rows.select(["id", *columns])
        ids = self.suspects.repeated.get((change.stored.name, columns))
        if ids is None:
            return rows
        left = self._committed(change.stored, "id", ids, columns)
        return pa.concat_tables([rows, left.cast(rows.schema)]).sort_by("id")

    def _fresh(self, change: TypeChange, columns: tuple[str, ...]) -> pa.Array:
        """Return the values of the first column, for rows that do not have them already."""
        rows = change.rows.select(["id", *columns])
        if change.columns is not None and not set(columns) & set(change.columns):
            self.reads.note(change.stored.identity, "id", change.ids)
            return rows[columns[0]].slice(0, 0).combine_chunks()
        before = self._look_up(change.stored, "id", change.ids, rows.column_names)
        known = find_unchanged(rows, before.cast(rows.schema))
        return rows[columns[0]].filter(pc.invert(known)).combine_chunks()

    def ends(self, edge: EdgeType) -> list[Iterator[Violation]]:
        """Check that both ends of new edges exist, and that no edge loses one."""
        return [
            ends(edge, column, node)
            for column, node in (("src", edge.source), ("dst", edge.target))
            for ends in (self._new_ends, self._lost_ends)
        ]

    def _new_ends(self, edge: EdgeType, column: str, node: str) -> Iterator[Violation]:
        change = self.changes.get(edge.name)
        if change is None or not change.rows.num_rows:
            return
        wanted = change.rows[column].combine_chunks()
        present = self._present(node, _ends_to_ask(edge, change, wanted))
        missing = np.asarray(pc.invert(pc.is_in(wanted, value_set=present)), bool)
        missing &= np.asarray(wanted.is_valid(), bool)
        for place in np.flatnonzero(missing):
            end = wanted[place].as_py()
            reason = f"there is no {node} '{shorten(end)}'"
            yield _missing_end(edge, column, reason, (change.rows["id"][place].as_py(), end))

    def _lost_ends(self, edge: EdgeType, column: str, node: str) -> Iterator[Violation]:
        nodes = self.changes.get(node)
        if nodes is None or not len(nodes.gone):
            return
        left = self._committed(edge, column, nodes.gone, ("id", column))
        for row in left.to_pylist():
            reason = f"there is no {node} '{shorten(row[column])}' any more"
            yield _missing_end(edge, column, reason, (row["id"], row[column]))

    def cardinality(self, edge: EdgeType) -> Iterator[Violation]:
        """Check how many edges leave each node that is new or whose edges changed."""
        bounds = edge.cardinality
        if not bounds.minimum and bounds.maximum is None:
            return
        touched = self._touched_sources(edge)
        if not len(touched):
            return
        edges = [self._committed(edge, "src", touched, ("src",))["src"]]
        if edge.name in self.changes:
            edges.append(self.changes[edge.name].rows["src"])
        every = pa.concat_arrays([chunk for each in edges for chunk in each.chunks] or [_NONE])
        counted = every.filter(pc.is_in(every, value_set=touched)).value_counts()
        counts = dict(
            zip(
                counted.field("values").to_pylist(),
                counted.field("counts").to_pylist(),
                strict=True,
            )
        )
        most = bounds.maximum
        for row_id in touched.to_pylist():
            count = counts.get(row_id, 0)
            if count < bounds.minimum or (most is not None and count > most):
                few = count < bounds.minimum
                bound = f"at least {bounds.minimum}" if few else f"at most {most}"
                reason = f"{count} {edge.name} leave the {edge.source}; there must be {bound}"
                yield Violation(code=Code.CARDINALITY, reason=reason, type=edge.name, id=row_id)

    def _touched_sources(self, edge: EdgeType) -> pa.Array:
        """Return the nodes that exist after the change and may have too few or too many edges."""
        parts = [_NONE]
        change = self.changes.get(edge.name)
        if change is not None:
            parts += change.rows["src"].chunks
            hidden = self._look_up(edge, "id", change.hidden, ["src"])
            parts += hidden["src"].chunks
        parts += [self.suspects.lacking[edge.name]] if edge.name in self.suspects.lacking else []
        nodes = self.changes.get(edge.source)
        if nodes is not None and edge.cardinality.minimum:
            parts.append(nodes.ids)
        every = pc.unique(pa.concat_arrays(parts)).drop_null()
        return every.filter(pc.is_in(every, value_set=self._present(edge.source, every)))

    def _present(self, node: str, ids: pa.Array) -> pa.Array:
        """Return those of some ids that are nodes after the change."""
        stored, change = self.snapshot.catalog.nodes[node], self.changes.get(node)
        own, hidden = (_NONE, _NONE) if change is None else (change.ids, change.hidden)
        sought = ids.drop_null()
        if len(hidden):
            sought = sought.filter(pc.invert(pc.is_in(sought, value_set=hidden)))
        return pa.concat_arrays([self.reads.present(stored.identity, sought), own])

    def _committed(
        self, stored: StoredType, column: str, values: pa.Array, columns: tuple[str, ...]
    ) -> pa.Table:
        """Return the unchanged committed rows with certain values in a column, with their ids."""
        names = list(dict.fromkeys(["id", *columns]))
        found = self._look_up(stored, column, values.drop_null(), names)
        change = self.changes.get(stored.name)
        if change is None or not found.num_rows:
            return found
        return found.filter(pc.invert(pc.is_in(found["id"], value_set=change.hidden)))

    def _look_up(
        self, stored: StoredType, column: str, values: pa.Array, columns: list[str]
    ) -> pa.Table:
        return self.reads.look_up(stored.identity, column, values, columns)


def _no_change(snapshot: Snapshot, name: str) -> TypeChange:
    stored = snapshot.catalog.stored(name)
    assert stored is not None
    return TypeChange(stored, snapshot.table(stored.identity).schema.empty_table())


_NONE = pa.array([], pa.utf8())
_FEW_EDGES = 8


def _ends_to_ask(edge: EdgeType, change: TypeChange, wanted: pa.Array) -> pa.Array:
    """Return the ends to look for: of few edges between nodes of one type, both at once."""
    if edge.source != edge.target or change.rows.num_rows > _FEW_EDGES:
        return wanted
    return pc.unique(pa.concat_arrays([*change.rows["src"].chunks, *change.rows["dst"].chunks]))


def _missing_end(edge: EdgeType, column: str, reason: str, ids: tuple[str, str]) -> Violation:
    """Return the violation of an edge that lacks an end, by the ids of both."""
    return Violation(
        code=Code.MISSING_ENDPOINT,
        reason=reason,
        type=edge.name,
        field=field_name(edge, column),
        id=ids[0],
        other=ids[1],
    )


def _pairs(rows: pa.Table) -> Iterator[tuple[tuple[object, ...], str]]:
    """Yield the values of each row as exact Python values, and its id."""
    columns = [to_comparable(each.combine_chunks()).to_pylist() for each in rows.columns[1:]]
    return zip(zip(*columns, strict=True), rows["id"].to_pylist(), strict=True)
