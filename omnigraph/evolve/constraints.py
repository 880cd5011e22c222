"""Constraints: checks existing rows against rules that the schema did not have before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array, with_timestamps
from omnigraph.data.values.comparison import drop_incomparable, unify_zeros
from omnigraph.data.values.rules import Breach, check_patterns, check_ranges
from omnigraph.errors import Code, Violation
from omnigraph.evolve.lens import Lens
from omnigraph.schema.catalog import (
    EdgeType,
    NodeType,
    PatternCheck,
    Property,
    Range,
    StoredType,
    field_name,
)
from omnigraph.schema.steps import AnyConstraint, IndexConstraint, UniqueConstraint
from omnigraph.spark.deadline import Deadline
from omnigraph.syntax.problems import shorten

_ORDINAL = "ordinal"


def broken_rules(rows: Lens, constraint: AnyConstraint, deadline: Deadline) -> Iterator[Violation]:
    """Yield the rows that break a rule; an index is not one.

    Raises CancelledError or BudgetError when the deadline is over before the last row is read.
    """
    match constraint:
        case UniqueConstraint(properties=names):
            return _repeated(rows, names, deadline)
        case Range() | PatternCheck():
            return _unfit(rows, constraint, deadline)
        case IndexConstraint():
            return iter(())


def without_edges(
    rows: Lens, edge: EdgeType, deadline: Deadline, leaving: Mapping[str, int] | None = None
) -> Iterator[Violation]:
    """Yield the existing nodes that lack edges of a type that is new or comes back.

    `leaving` counts those that come back, by the id of their source.
    """
    least, name = edge.cardinality.minimum, rows.stored.name
    if least < 1:
        return
    for batch in _batches(rows, [], deadline):
        for row_id in batch["id"].to_pylist():
            count = 0 if leaving is None else leaving.get(row_id, 0)
            if count < least:
                reason = f"{count} {edge.name} leave the {name}; there must be at least {least}"
                yield Violation(code=Code.CARDINALITY, reason=reason, type=edge.name, id=row_id)


def without_values(rows: Lens, item: Property, deadline: Deadline) -> Iterator[Violation]:
    """Yield the rows without a value of a required property that is new or comes back.

    They came while it was not there, or their text is not the one that their vector was made from.
    """
    what = "the row was inserted" + ("" if item.embed is None else " or its text changed")
    for batch in _batches(rows, [item.name], deadline):
        lacking = batch.filter(batch[item.name].is_null())
        for row_id in lacking["id"].to_pylist():
            reason = f"is required, and {what} while the property was not there"
            yield _violation(rows.stored, Code.REQUIRED_VALUE, [item.name], reason, row_id)


def _unfit(rows: Lens, rule: Range | PatternCheck, deadline: Deadline) -> Iterator[Violation]:
    stored = rows.stored
    assert isinstance(stored, NodeType)
    alone = replace(
        stored,
        ranges=(rule,) if isinstance(rule, Range) else (),
        checks=(rule,) if isinstance(rule, PatternCheck) else (),
    )
    for batch in _batches(rows, [rule.property], deadline):
        found: list[Breach] = [*check_ranges(alone, batch), *check_patterns(alone, batch)]
        for breach in found:
            row_id = batch["id"][breach.row].as_py()
            yield _violation(stored, breach.code, [breach.field], breach.reason, row_id)


def sharing_rows(rows: Lens, names: Sequence[str], deadline: Deadline) -> pa.Array:
    """Return the ids of all rows whose values another row has; null and NaN equal nothing."""
    found, groups = _grouped(rows, names, deadline)
    first, last = (groups[f"{_ORDINAL}_{each}"] for each in ("min", "max"))
    alone = first.filter(pc.equal(first, last))
    return to_array(found["id"].filter(pc.invert(pc.is_in(found[_ORDINAL], value_set=alone))))


def _repeated(rows: Lens, names: Sequence[str], deadline: Deadline) -> Iterator[Violation]:
    """Yield every row whose values an earlier row has."""
    found, groups = _grouped(rows, names, deadline)
    held = groups[f"{_ORDINAL}_min"]
    again = found.filter(pc.invert(pc.is_in(found[_ORDINAL], value_set=held)))
    for row in with_timestamps(again).to_pylist():
        shown = ", ".join(shorten(str(row[name])) for name in names)
        reason = f"'{shown}' is that of another {rows.stored.name} already"
        yield _violation(rows.stored, Code.UNIQUE_VALUE, names, reason, row["id"])


def _grouped(rows: Lens, names: Sequence[str], deadline: Deadline) -> tuple[pa.Table, pa.Table]:
    """Return the rows that have comparable values, and of equal ones the first and the last."""
    schema = pa.schema([rows.schema.field(name) for name in ("id", *names)])
    batches = _batches(rows, names, deadline)
    read = drop_incomparable(pa.Table.from_batches(batches, schema=schema))
    found = pa.table([unify_zeros(column) for column in read.columns], schema=schema)
    found = found.append_column(_ORDINAL, pa.array(np.arange(found.num_rows)))
    groups = found.group_by(list(names), use_threads=False)
    return found, groups.aggregate([(_ORDINAL, "min"), (_ORDINAL, "max")])


def _batches(rows: Lens, names: Sequence[str], deadline: Deadline) -> Iterator[pa.RecordBatch]:
    for batch in rows.batches(names):
        deadline.check()
        yield batch


def _violation(
    stored: StoredType, code: Code, names: Sequence[str], reason: str, row_id: str
) -> Violation:
    fields = ",".join(field_name(stored, name) for name in names)
    return Violation(code=code, reason=reason, type=stored.name, field=fields, id=row_id)
