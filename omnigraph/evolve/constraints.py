"""Constraints: whether the rows that are there pass rules that a schema did not have before."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.comparison import unsigned, without_exempt
from omnigraph.data.values.rules import Breach, checks, ranges, shortened
from omnigraph.errors import Code, Violation
from omnigraph.evolve.lens import Lens
from omnigraph.schema.catalog import NodeType, PatternCheck, Range, StoredType, field_name
from omnigraph.schema.steps import AnyConstraint, IndexConstraint, UniqueConstraint

_ORDINAL = "ordinal"


def broken_rules(rows: Lens, constraint: AnyConstraint) -> Iterator[Violation]:
    """Give the rows that break a rule; an index is none."""
    match constraint:
        case UniqueConstraint(properties=names):
            return _repeated(rows, names)
        case Range() | PatternCheck():
            return _unfit(rows, constraint)
        case IndexConstraint():
            return iter(())


def _unfit(rows: Lens, rule: Range | PatternCheck) -> Iterator[Violation]:
    stored = rows.stored
    assert isinstance(stored, NodeType)
    alone = replace(
        stored,
        ranges=(rule,) if isinstance(rule, Range) else (),
        checks=(rule,) if isinstance(rule, PatternCheck) else (),
    )
    for batch in rows.batches([rule.property]):
        found: list[Breach] = [*ranges(alone, batch), *checks(alone, batch)]
        for breach in found:
            row_id = batch["id"][breach.row].as_py()
            yield _violation(stored, breach.code, [breach.field], breach.reason, row_id)


def _repeated(rows: Lens, names: Sequence[str]) -> Iterator[Violation]:
    """Give every row whose values another row before it has; null and NaN are like no other."""
    schema = pa.schema([rows.schema.field(name) for name in ("id", *names)])
    read = without_exempt(pa.Table.from_batches(rows.batches(names), schema=schema))
    found = pa.table([unsigned(column) for column in read.columns], schema=schema)
    found = found.append_column(_ORDINAL, pa.array(np.arange(found.num_rows)))
    firsts = found.group_by(list(names), use_threads=False).aggregate([(_ORDINAL, "min")])
    held = firsts[f"{_ORDINAL}_min"]
    again = found.filter(pc.invert(pc.is_in(found[_ORDINAL], value_set=held)))
    for row in again.to_pylist():
        shown = ", ".join(shortened(str(row[name])) for name in names)
        reason = f"'{shown}' is that of another {rows.stored.name} already"
        yield _violation(rows.stored, Code.UNIQUE_VALUE, names, reason, row["id"])


def _violation(
    stored: StoredType, code: Code, names: Sequence[str], reason: str, row_id: str
) -> Violation:
    fields = ",".join(field_name(stored, name) for name in names)
    return Violation(code=code, reason=reason, type=stored.name, field=fields, id=row_id)
