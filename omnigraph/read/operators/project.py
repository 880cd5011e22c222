"""Project: the columns of a result, whole nodes and edges as objects."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from omnigraph.data.derived.codes import combined, dense
from omnigraph.data.derived.numbering import Numbers
from omnigraph.data.values.comparison import IDENTITY, unsigned
from omnigraph.query.checked import Column
from omnigraph.query.expr import EntityKind, EntityType, Expr, VariableRef
from omnigraph.query.plan import ResultColumn
from omnigraph.read.execution import Run
from omnigraph.read.operators.evaluate import Evaluation
from omnigraph.read.reader import Domain
from omnigraph.read.rows import Rows
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.catalog import Catalog, Property
from omnigraph.schema.types import BLOB, DATETIME, STRING, ListType, ValueType, VectorType

_TIME = pa.timestamp("ms", "UTC")
_SLICE_ROWS = 65_536
_FEWEST_SLICES = 16
# Numbers of each row that finding equal rows and sorting takes, whatever the columns are.
_NUMBERS_BESIDE = 6


def projected(run: Run, rows: Rows, columns: Sequence[Column]) -> Rows:
    """Give rows of the named columns alone, each as often as it counts."""
    run.check(rows.total, len(columns))
    rows = rows.repeated()
    return Rows(
        rows.count, columns={each.name: column_of(run, rows, each.expr) for each in columns}
    )


def projected_whole(run: Run, rows: Rows, columns: Sequence[Column]) -> Rows:
    """Give all rows of the named columns at once, for an operator that goes on with them.

    What it makes of them, the columns once more and some numbers for each row, is counted too.
    """
    total = rows.total
    run.check(total, len(columns))
    size = total * 4 * (len(columns) + len(rows.codes) + _NUMBERS_BESIDE)
    step = slice_rows(total)
    if total <= step:
        return projected(run, rows, columns)
    made: dict[str, list[pa.Array]] = {each.name: [] for each in columns}
    for some in rows.slices(lambda: step):
        for name in (part := projected(run, some, columns)).columns:
            made[name].append(part.column(name))
            size += made[name][-1].nbytes
        run.check(0)
        run.check_bytes(size)
    return Rows(total, columns={name: pa.concat_arrays(made.pop(name)) for name in list(made)})


def slice_rows(total: int) -> int:
    """Give how many of some rows are made at a time: each slice may read whole columns."""
    return max(_SLICE_ROWS, total // _FEWEST_SLICES)


def column_of(run: Run, rows: Rows, expr: Expr) -> pa.Array:
    """Give the value of an expression for each row; a variable is an object."""
    if not isinstance(expr, VariableRef):
        return Evaluation(run, rows).column(expr)
    return _objects(run, run.domains[expr.variable], expr.type, rows.codes[expr.variable])


def distinct(rows: Rows) -> Rows:
    """Give each different row of computed columns once; of equal zeros, that without a sign."""
    columns = {name: unsigned(rows.column(name)) for name in rows.columns}
    first, _ = combined([dense(column) for column in columns.values()], rows.count)
    return replace(rows, columns=columns).take(np.sort(first))


def result_type(kind: ValueType | EntityType, catalog: Catalog) -> pa.DataType:
    """Give the Arrow type of a column of a result."""
    if not isinstance(kind, EntityType):
        return _shown_type(kind)
    fields = object_fields(kind, catalog).items()
    return pa.struct([(name, _shown_type(each)) for name, each in fields])


def result_schema(columns: Sequence[ResultColumn], catalog: Catalog) -> pa.Schema:
    """Give the names and types of the columns of a result."""
    return pa.schema([(each.name, result_type(each.type, catalog)) for each in columns])


def result_table(rows: Rows, columns: Sequence[ResultColumn], catalog: Catalog) -> pa.Table:
    """Give the columns of a result, typed also when there are no rows."""
    schema = result_schema(columns, catalog)
    arrays = [rows.column(each.name) for each in columns]
    cast = [
        each if each.type == kind else each.cast(kind)
        for each, kind in zip(arrays, schema.types, strict=True)
    ]
    return pa.table(cast, schema=schema)


def _shown_type(kind: ValueType) -> pa.DataType:
    """Give the type of values in a result: a time as one, because Arrow shows date64 as a day."""
    if kind == DATETIME:
        return _TIME
    return pa.list_(_TIME) if kind == ListType(DATETIME.scalar) else arrow_type(kind)


def _objects(run: Run, domain: Domain, kind: EntityType, codes: Numbers) -> pa.Array:
    fields = object_fields(kind, run.reader.snapshot.catalog)
    arrays = [
        domain.values(name, codes, each).cast(_shown_type(each)) for name, each in fields.items()
    ]
    arrays.append(pa.array(domain.identities(codes)))
    names = [*fields, IDENTITY]
    kinds = [pa.field(name, array.type) for name, array in zip(names, arrays, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=kinds, mask=pa.array(codes < 0))


def object_fields(kind: EntityType, catalog: Catalog) -> dict[str, ValueType]:
    """Give the fields of an object: of several types, the properties that all of them have."""
    ends = ("from", "to") if kind.kind is EntityKind.EDGE else ()
    fields: dict[str, ValueType] = dict.fromkeys(("id", *ends), STRING)
    stored = [catalog.stored(name) for name in kind.types]
    shared: list[Property] = []
    for item in stored[0].properties.values() if stored and stored[0] else ():
        others = [each.properties.get(item.name) for each in stored if each is not None]
        if all(other is not None and other.type == item.type for other in others):
            shared.append(item)
    for item in shared:
        if item.type != BLOB and not isinstance(item.type, VectorType):
            fields[item.name] = item.type
    return fields
