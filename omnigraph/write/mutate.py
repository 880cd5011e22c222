"""Mutate: runs the statements of a mutation, each on what the earlier ones left."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.numbering import Numbers, take_or_null
from omnigraph.data.values.columns import (
    Conversion,
    convert,
    convert_each,
    default_of,
    to_array,
    with_defaults,
)
from omnigraph.data.values.equality import Mask
from omnigraph.data.values.ids import assign_ids
from omnigraph.data.values.lookup import look_up_rows
from omnigraph.data.values.rules import Breach, check_keys
from omnigraph.errors import Code, Violation
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Assigned, Delete, Insert, Replace, SetRows, Update
from omnigraph.query.expr import (
    Call,
    ColumnRef,
    EntityKind,
    Expr,
    Predicate,
    PropertyRef,
    conjuncts,
    map_leaves,
    map_operands,
    parts,
)
from omnigraph.query.plan import ROW_ID, FromMatch, MutationPlan, PlannedStatement, ReadPlan
from omnigraph.read.execution import Execution
from omnigraph.read.matches import ONE_ROW, Matches
from omnigraph.read.operators.evaluate import Evaluation
from omnigraph.read.pushdown import build_condition
from omnigraph.read.reader import Domain
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.catalog import StoredType, field_name
from omnigraph.schema.types import EnumType, ValueType
from omnigraph.storage.reading import batches_where
from omnigraph.write.checked import fill_vectors
from omnigraph.write.draft import Draft, incident
from omnigraph.write.filling import VectorFiller
from omnigraph.write.upsert import forget_stale, keep_unnamed, with_column
from omnigraph.write.validate import unique_values

_ROW = "#row"


def run_mutation(
    run: Execution, plan: MutationPlan, vectors: VectorFiller, read: Callable[[ReadPlan], pa.Table]
) -> Draft:
    """Run the statements of a plan, each seeing the earlier ones, and return the changes.

    `read` returns what a statement matches: each different row once, where rows can be compared.
    """
    mutation = _StatementRunner(run, Draft(run.reader.snapshot), read)
    for statement in plan.statements:
        run.check(0)
        mutation.do(statement)
    fill_vectors(mutation.draft, vectors)
    return mutation.draft


@dataclass(frozen=True)
class _HeldRows(Domain):
    """Rows in memory; the code of each is its position."""

    rows: pa.RecordBatch | pa.Table

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def is_stored(self) -> bool:
        return False

    def values(self, name: str, codes: Numbers, kind: ValueType) -> pa.Array:  # noqa: ARG002
        """Return a column of the rows."""
        found = self.rows[name]
        whole = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
        return take_or_null(whole, codes)


@dataclass(frozen=True, slots=True)
class _StatementRunner:
    run: Execution
    draft: Draft
    read: Callable[[ReadPlan], pa.Table]

    def do(self, statement: PlannedStatement) -> None:
        """Run one statement."""
        match statement:
            case Insert(_, name, values):
                self._insert(self._stored(name), values, is_whole=False)
            case Replace(_, name, values):
                self._insert(self._stored(name), values, is_whole=True)
            case Update(_, name, values, where):
                self._update(self._stored(name), values, self._rows(self._stored(name), where))
            case FromMatch(rows, change):
                self._change_matched(change, drop_repeats(self.read(rows)))
            case Delete(kind, name, where):
                self._delete(self._stored(name), self._ids(self._stored(name), where), kind)
            case _:
                assert_never(statement)

    def _change_matched(self, change: Insert | Replace | SetRows, matched: pa.Table) -> None:
        """Insert or set a row for each of those that were matched."""
        stored = self._stored(change.type)
        if isinstance(change, SetRows):
            matched = matched.filter(matched[ROW_ID].is_valid())
            matched = matched.filter(self._is_once(stored, to_array(matched[ROW_ID])))
            rows = self._known(stored, to_array(matched[ROW_ID]))
            places = pc.index_in(rows["id"], value_set=to_array(matched[ROW_ID]))
            self._update(stored, change.values, rows, matched.take(places))
        elif matched.num_rows:
            is_whole = isinstance(change, Replace)
            self._insert(stored, change.values, is_whole=is_whole, matched=matched)

    def _insert(
        self,
        stored: StoredType,
        values: tuple[tuple[str, Assigned], ...],
        *,
        is_whole: bool,
        matched: pa.Table | None = None,
    ) -> None:
        """Store a row, or one for each that was matched.

        One of the same id keeps what is not set, unless the row is whole.
        """
        schema = self.draft.change(stored.name).rows.schema
        count = 1 if matched is None else matched.num_rows
        given = dict(values)
        found = {n: self._column(stored, n, value, matched=matched) for n, value in given.items()}
        columns = [
            found[name].values if name in found else _unset(stored, name, kind, count)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ]
        batch = pa.record_batch(columns, schema=schema)
        keyless = list(check_keys(stored, batch))
        self._tell(stored, None, keyless)
        if keyless:
            return
        ids = assign_ids(stored, batch)
        if not stored.key:
            self.draft.note_made(stored.name, ids.filter(batch["id"].is_null()))
        batch = batch.set_column(schema.get_field_index("id"), "id", ids)
        self._tell(stored, batch["id"], _unfit(found))
        batch = _chosen(batch, self._is_once(stored, batch["id"]))
        before = pa.Table.from_batches([batch.slice(0, 0)])
        if not is_whole:
            before = self._known(stored, batch["id"], unique_values(stored, batch))
        known = pc.is_in(batch["id"], value_set=before["id"].combine_chunks())
        new = _chosen(batch, pc.invert(known))
        if new.num_rows:
            self.draft.put(stored.name, pa.Table.from_batches([with_defaults(stored, new)]))
        if before.num_rows:
            rows = pa.Table.from_batches([_chosen(batch, known)])
            rows = keep_unnamed(stored, rows, before, _unnamed(rows, given))
            self.draft.put(stored.name, rows)

    def _is_once(self, stored: StoredType, ids: pa.Array) -> pa.Array:
        """Return a mask of the rows for which matches agree; note the others."""
        if len(ids) <= 1:
            return pa.array([True] * len(ids), pa.bool_())
        counts = ids.value_counts()
        repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
        reason = "two matches have different values for this row"
        self.draft.unfit += [
            Violation(code=Code.REPEATED_KEY, reason=reason, type=stored.name, field=None, id=each)
            for each in repeated.to_pylist()
        ]
        return pc.invert(pc.is_in(ids, value_set=repeated))

    def _update(
        self,
        stored: StoredType,
        values: tuple[tuple[str, Assigned], ...],
        before: pa.Table,
        matched: pa.Table | None = None,
    ) -> None:
        rows = before
        given = dict(values)
        for name, value in given.items():
            found = self._column(stored, name, value, rows=before, matched=matched)
            self._tell(stored, before["id"], _unfit({name: found}))
            rows = with_column(rows, name, found.values)
        if rows.num_rows:
            rows = forget_stale(stored, rows, before, _unnamed(rows, given))
            self.draft.put(stored.name, rows)

    def _delete(self, stored: StoredType, ids: pa.Array, kind: EntityKind) -> None:
        if not len(ids):
            return
        self.draft.remove(stored.name, ids, found=True)
        if kind is EntityKind.EDGE:
            return
        for edge, column in incident(self.draft.snapshot, stored.name):
            lost = look_up_rows(self.draft.table(edge), column, ids, ["id"])["id"]
            self.draft.remove(edge.name, lost.combine_chunks(), found=True)

    def _ids(self, stored: StoredType, where: Predicate) -> pa.Array:
        """Return the ids of the rows that meet a condition, as the draft leaves them."""
        change = self.draft.change(stored.name)
        own = change.rows.filter(self._holds(stored, change.rows, where))["id"].combine_chunks()
        found, hidden = [own], change.hidden
        for batch in self._candidates(stored, where):
            # A condition may have no value for what an earlier statement replaced.
            gone = pc.is_in(batch["id"], value_set=hidden)
            left = batch.filter(pc.invert(gone)) if gone.true_count else batch
            found.append(left["id"].filter(self._holds(stored, left, where)))
        return pa.concat_arrays(found)

    def _rows(self, stored: StoredType, where: Predicate) -> pa.Table:
        """Return the whole rows that meet a condition, as the draft leaves them."""
        return self._known(stored, self._ids(stored, where))

    def _known(
        self,
        stored: StoredType,
        ids: pa.Array,
        beside: Mapping[str, pa.Array] = MappingProxyType({}),
    ) -> pa.Table:
        """Return the whole rows of some ids, as the draft leaves them.

        `beside` are values of other columns that are looked up next.
        """
        change = self.draft.change(stored.name)
        own = change.rows.filter(pc.is_in(change.rows["id"], value_set=ids))
        return pa.concat_tables([own, self.draft.committed(stored.name, ids, beside)])

    def _candidates(self, stored: StoredType, where: Predicate) -> Iterator[pa.RecordBatch]:
        """Yield the columns that a condition reads, of the rows that an index cannot rule out."""
        table = self.draft.table(stored)
        names = [part.property for part in parts(where) if isinstance(part, PropertyRef)]
        narrowed = None
        if table.takes_conditions:
            narrowed = build_condition(tuple(conjuncts(where)), stored, self.run.constant)
        for batch in batches_where(table, list(dict.fromkeys(["id", *names])), narrowed):
            self.run.check(0)
            yield batch

    def _holds(
        self, stored: StoredType, rows: pa.RecordBatch | pa.Table, where: Predicate
    ) -> pa.Array:
        """Return a mask of the rows that meet a condition."""
        evaluation = self._evaluation(stored, rows)
        return pa.array(evaluation.holds(map_operands(where, _of_row)))

    def _evaluation(self, stored: StoredType, rows: pa.RecordBatch | pa.Table) -> Evaluation:
        """Return expressions over rows, whose properties need no variable."""
        self.run.domains[_ROW] = _HeldRows(self.run.reader, (stored.name,), rows)
        codes = np.arange(rows.num_rows)
        return Evaluation(self.run, Matches(rows.num_rows, {_ROW: codes}))

    def _column(
        self,
        stored: StoredType,
        name: str,
        value: Assigned,
        *,
        rows: pa.Table | None = None,
        matched: pa.Table | None = None,
    ) -> Conversion:
        """Return what a column is set to: a value for each row, or for the one that is new."""
        kind = stored.column(name)
        assert kind is not None
        of = rows if matched is None else matched
        count = 1 if of is None else of.num_rows
        if isinstance(value, PropertyRef | Call | ColumnRef):
            computed = self._computed(stored, value, rows, matched)
            is_plain = computed.type == arrow_type(kind) and not isinstance(kind, EnumType)
            return Conversion(computed) if is_plain else convert(computed, kind)
        found = convert_each([self.run.constant(value)], kind)
        column = found.values.cast(arrow_type(kind))
        if count != 1:  # one value is not copied; it may be a blob
            column = column.take(pa.array(np.zeros(count, np.int64)))
        reasons = {row: why for row in range(count) for why in found.reasons.values()}
        return Conversion(column, reasons)

    def _computed(
        self,
        stored: StoredType,
        value: PropertyRef | Call | ColumnRef,
        rows: pa.Table | None,
        matched: pa.Table | None,
    ) -> pa.Array:
        if isinstance(value, ColumnRef):
            assert matched is not None
            return to_array(matched[value.column])
        evaluation = (
            Evaluation(self.run, ONE_ROW) if rows is None else self._evaluation(stored, rows)
        )
        return evaluation.column(_of_row(value))

    def _tell(
        self, stored: StoredType, ids: pa.Array | pa.ChunkedArray | None, broken: Iterable[Breach]
    ) -> None:
        """Note values that no row can hold, with the ids of the rows if they have any."""
        self.draft.unfit += [
            Violation(
                code=breach.code,
                reason=breach.reason,
                type=stored.name,
                field=field_name(stored, breach.field),
                id=None if ids is None else ids[breach.row].as_py(),
            )
            for breach in broken
        ]

    def _stored(self, name: str) -> StoredType:
        return self.run.reader.stored(name)


def _of_row(expr: Expr) -> Expr:
    """Return an expression whose properties without a variable are those of the row."""
    return map_leaves(expr, _as_row)


def _as_row(leaf: Expr) -> Expr:
    if isinstance(leaf, PropertyRef) and leaf.variable is None:
        return replace(leaf, variable=_ROW)
    return leaf


def _unfit(found: Mapping[str, Conversion]) -> Iterator[Breach]:
    """Yield the values that do not fit their columns."""
    for name, column in found.items():
        for row, reason in column.reasons.items():
            yield Breach(row, Code.VALUE_TYPE, name, reason)


def _unnamed(rows: pa.Table, given: Mapping[str, Assigned]) -> dict[str, Mask]:
    """Return the columns that a statement does not set; the id is that of the row."""
    names = (name for name in rows.column_names if name != "id" and name not in given)
    return {name: np.zeros(rows.num_rows, bool) for name in names}


def _unset(stored: StoredType, name: str, kind: pa.DataType, count: int) -> pa.Array:
    """Return what an insert stores for a property that it does not set."""
    item = stored.properties.get(name)
    if item is None:
        return pa.nulls(count, kind)
    return default_of(item).take(pa.array(np.zeros(count, np.int64)))


def _chosen(batch: pa.RecordBatch, mask: pa.BooleanArray) -> pa.RecordBatch:
    """Return some rows; when they are all, nothing is copied, because a row may hold a blob."""
    return batch if mask.true_count == len(mask) else batch.filter(mask)


def drop_repeats(rows: pa.Table) -> pa.Table:
    """Return each different row once, the first of them."""
    types = rows.schema.types
    if not any(pa.types.is_nested(each) or pa.types.is_large_binary(each) for each in types):
        return rows  # what can be compared was made distinct by the read
    seen: dict[str, int] = {}
    for at, row in enumerate(rows.to_pylist()):
        seen.setdefault(repr(row), at)
    return rows.take(pa.array(seen.values(), pa.int64()))
