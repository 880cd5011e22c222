"""Project: the columns of a result, whole nodes and edges as objects."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.codes import encode, number_combinations
from omnigraph.data.derived.numbering import Numbers, to_numbers
from omnigraph.data.values.comparison import IDENTITY, unify_zeros
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Column
from omnigraph.query.expr import (
    CollectedType,
    ColumnRef,
    EntityKind,
    EntityType,
    Expr,
    ObjectType,
    PathPart,
    ResultType,
    VariableRef,
    path_column,
)
from omnigraph.query.plan import ResultColumn
from omnigraph.read.execution import Execution
from omnigraph.read.matches import Matches
from omnigraph.read.operators.evaluate import Evaluation
from omnigraph.read.reader import Domain
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.catalog import Catalog, Property
from omnigraph.schema.types import BLOB, DATETIME, STRING, ListType, ValueType, VectorType

_TIME = pa.timestamp("ms", "UTC")
_SLICE_ROWS = 65_536
_FEWEST_SLICES = 16
# Numbers of each row that finding equal rows and sorting takes, whatever the columns are.
_NUMBERS_BESIDE = 6


def project_rows(execution: Execution, rows: Matches, columns: Sequence[Column]) -> Matches:
    """Return rows of the named columns alone, each as often as its weight says."""
    execution.check(rows.total, len(columns))
    rows = rows.repeat()
    return Matches(
        rows.count,
        columns={each.name: compute_column(execution, rows, each.expr) for each in columns},
    )


def project_whole(execution: Execution, rows: Matches, columns: Sequence[Column]) -> Matches:
    """Return all rows of the named columns at once, for an operator that goes on with them.

    What it makes of them, the columns once more and some numbers for each row, counts as well.
    """
    total = rows.total
    execution.check(total, len(columns))
    size = total * 4 * (len(columns) + len(rows.codes) + _NUMBERS_BESIDE)
    step = rows_per_slice(total)
    if total <= step:
        return project_rows(execution, rows, columns)
    made: dict[str, list[pa.Array]] = {each.name: [] for each in columns}
    for some in rows.slices(lambda: step):
        for name in (part := project_rows(execution, some, columns)).columns:
            made[name].append(part.column(name))
            size += made[name][-1].nbytes
        execution.check(0)
        execution.check_bytes(size)
    return Matches(total, columns={name: pa.concat_arrays(made.pop(name)) for name in list(made)})


def rows_per_slice(total: int) -> int:
    """Return how many of `total` rows are made at a time: each slice may read whole columns."""
    return max(_SLICE_ROWS, total // _FEWEST_SLICES)


def compute_column(execution: Execution, rows: Matches, expr: Expr) -> pa.Array:
    """Return the value of an expression for each row; a variable becomes an object."""
    if isinstance(expr, ColumnRef):
        return rows.column(expr.column)
    if isinstance(expr, PathPart):
        return _build_lists(execution, rows, expr)
    if not isinstance(expr, VariableRef):
        return Evaluation(execution, rows).column(expr)
    return _build_objects(
        execution, execution.domains[expr.variable], expr.type, rows.codes[expr.variable]
    )


def drop_duplicates(rows: Matches) -> Matches:
    """Return each different row of computed columns once; 0.0 stands for both zeros."""
    columns = {name: unify_zeros(rows.column(name)) for name in rows.columns}
    first, _ = number_combinations([encode(column) for column in columns.values()], rows.count)
    return replace(rows, columns=columns).take(np.sort(first))


def join_columns(parts: Sequence[pa.Array]) -> pa.Array:
    """Return columns of the same values one after the other."""
    return pa.concat_arrays([each.cast(parts[0].type) for each in parts])


def result_type(kind: ResultType, catalog: Catalog) -> pa.DataType:
    """Return the Arrow type of a column of a result."""
    if isinstance(kind, CollectedType):
        return pa.list_(result_type(kind.item, catalog))
    if isinstance(kind, ObjectType):
        return pa.struct([(name, result_type(each, catalog)) for name, each in kind.fields])
    if not isinstance(kind, EntityType):
        return _shown_type(kind)
    fields = object_fields(kind, catalog).items()
    return pa.struct([(name, _shown_type(each)) for name, each in fields])


@dataclass(frozen=True, slots=True)
class ResultShape:
    """The schema of a result, and the name and type of each of its columns."""

    schema: pa.Schema
    columns: tuple[tuple[str, pa.DataType], ...]


def result_shape(columns: Sequence[ResultColumn], catalog: Catalog) -> ResultShape:
    """Return the names and types of the columns of a result."""
    named = tuple((each.name, result_type(each.type, catalog)) for each in columns)
    return ResultShape(pa.schema(named), named)


def build_batch(rows: Matches, shape: ResultShape) -> pa.RecordBatch:
    """Return the columns of a result in the types of its schema."""
    arrays = []
    for name, kind in shape.columns:
        found = rows.column(name)
        arrays.append(found if found.type == kind else found.cast(kind))
    return pa.record_batch(arrays, schema=shape.schema)


def _shown_type(kind: ValueType) -> pa.DataType:
    """Return the type of values in a result: a timestamp for date64, which Arrow shows as a day."""
    if kind == DATETIME:
        return _TIME
    return pa.list_(_TIME) if kind == ListType(DATETIME.scalar) else arrow_type(kind)


def _build_objects(
    execution: Execution, domain: Domain, kind: EntityType, codes: Numbers
) -> pa.Array:
    fields = object_fields(kind, execution.reader.snapshot.catalog)
    arrays = [
        domain.values(name, codes, each).cast(_shown_type(each)) for name, each in fields.items()
    ]
    arrays.append(pa.array(domain.identities(codes)))
    names = [*fields, IDENTITY]
    kinds = [pa.field(name, array.type) for name, array in zip(names, arrays, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=kinds, mask=pa.array(codes < 0))


def _build_lists(execution: Execution, rows: Matches, part: PathPart) -> pa.Array:
    """Return the nodes or edges of a path for each row, as a list of objects."""
    codes = rows.column(path_column(part.path, part.part))
    kind = part.type.item
    assert isinstance(kind, EntityType)
    objects = _build_objects(
        execution, execution.reader.domain(kind.types), kind, to_numbers(codes.flatten())
    )
    shown = result_type(kind, execution.reader.snapshot.catalog)
    fields = [objects.field(each.name) for each in shown]
    plain = pa.StructArray.from_arrays(fields, fields=list(shown))
    lengths = np.asarray(pc.list_value_length(codes), np.int64)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, plain)


def object_fields(kind: EntityType, catalog: Catalog) -> dict[str, ValueType]:
    """Return the fields of an object; of several types, the properties that all of them share."""
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
