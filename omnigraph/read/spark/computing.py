"""Computing: functions and operators of values in a frame, by the engine's own code in Python."""

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as fn
from pyspark.sql.types import StructField, StructType

from omnigraph.data.values.computing import Uncomputable, compute, convert_exactly, spread
from omnigraph.data.values.recast import recast
from omnigraph.errors import Code, ExpressionError, Problem
from omnigraph.query.expr import Call
from omnigraph.read.operators.evaluate import uncomputable_error
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.types import DATETIME, ValueType
from omnigraph.span import Source, Span
from omnigraph.spark.connector import to_arrow_schema, to_spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column

_MARK = "omnigraph uncomputable: "
_FOUND = re.compile(rf"{_MARK}(\{{.*\}})")


def compute_column(
    call: Call, kinds: Sequence[ValueType], arguments: "Sequence[Column]", wanted: "Column"
) -> "Column":
    """Return a function of columns for the rows that are wanted, and null for the others."""
    shown = to_spark_type(call.type)
    target = to_arrow_schema(StructType([StructField("value", shown)])).field(0).type

    def computed(is_wanted: pa.Array, *columns: pa.Array) -> pa.Array:
        mask = np.asarray(is_wanted.fill_null(False), bool)  # noqa: FBT003 - a value
        places = np.flatnonzero(mask)
        some = [
            _from_spark(each.take(pa.array(places)), kind)
            for each, kind in zip(columns, kinds, strict=True)
        ]
        try:
            found = (
                convert_exactly(some[0], call.type)
                if call.function == "coalesce"
                else compute(call.function, some, call.type)
            )
        except Uncomputable as failed:
            raise RuntimeError(_describe(call, failed)) from None
        return recast(spread(found, mask), target)

    # Spark must not move what can fail ahead of a condition that spares it.
    function = fn.arrow_udf(computed, shown)  # type: ignore[attr-defined]
    return function.asNondeterministic()(wanted, *arguments)  # type: ignore[no-any-return]


def find_uncomputable(failed: Exception, source: Source | None) -> ExpressionError | None:
    """Return the error of a row that made a job fail, or None if something else did."""
    found = _FOUND.search(str(failed))
    if found is None:
        return None
    told = json.loads(found.group(1))
    problem = Problem(Code.UNCOMPUTABLE, told["message"], Span(*told["span"]))
    return ExpressionError([problem], source=source)


def _describe(call: Call, failed: Uncomputable) -> str:
    problem = uncomputable_error(call, failed, None).problems[0]
    span = (call.span.start, call.span.end)
    return _MARK + json.dumps({"message": problem.message, "span": span})


def _from_spark(column: pa.Array, kind: ValueType) -> pa.Array:
    """Return values of Spark as the engine holds them."""
    if kind == DATETIME:
        return column.cast(pa.timestamp("ms", "UTC"), safe=False).view(pa.date64())
    return column.cast(arrow_type(kind))
