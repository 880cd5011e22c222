"""Computing: functions, operators and conditions over a frame, by the engine's own code in Python.

Spark leaves out what it finds that nobody needs, but an error of a row has to be found. So whatever
can fail is one function of Python, inside of which Spark sees nothing that it could leave out.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, cast

import pyarrow as pa
from pyspark.sql import functions as fn
from pyspark.sql.types import StructField, StructType

from omnigraph.data.values.comparison import broadcast
from omnigraph.data.values.recast import recast
from omnigraph.errors import Code, ExpressionError, Problem
from omnigraph.frozen import dataclass
from omnigraph.query.expr import Call, Predicate
from omnigraph.read.execution import Budget, Execution
from omnigraph.read.matches import Matches
from omnigraph.read.operators.evaluate import Evaluation
from omnigraph.read.reader import Reader
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.types import BOOL, DATETIME, ValueType
from omnigraph.schema.values import Value
from omnigraph.span import Source, Span
from omnigraph.spark.connector import to_arrow_schema, to_spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column

_MARK = "omnigraph uncomputable: "
_FOUND = re.compile(rf"{_MARK}(\{{.*\}})")


@dataclass(frozen=True, slots=True)
class Computation:
    """A function of columns, or a condition on them; both read nothing but columns and values.

    `kinds` are the types of the columns by their names, and `params` and `now` the values.
    """

    node: Call | Predicate
    kinds: Mapping[str, ValueType]
    params: Mapping[str, Value | None]
    now: datetime

    @property
    def type(self) -> ValueType:
        """The type of the result."""
        return self.node.type if isinstance(self.node, Call) else BOOL

    def compute(self, count: int, columns: Mapping[str, pa.Array]) -> pa.Array:
        """Return the result for each of `count` rows; raises ExpressionError."""
        execution = Execution(
            reader=cast("Reader", None),  # nothing is read
            params=self.params,
            now=self.now,
            budget=Budget(),
            environment={},
        )
        evaluation = Evaluation(execution, Matches(count, columns=columns))
        if isinstance(self.node, Call):
            return evaluation.column(self.node)
        return broadcast(evaluation.truth(self.node), count)


def compute_column(computation: Computation, columns: "Mapping[str, Column]") -> "Column":
    """Return what is computed from columns, which are given by their names."""
    shown = to_spark_type(computation.type)
    target = to_arrow_schema(StructType([StructField("value", shown)])).field(0).type
    kinds = [(name, computation.kinds[name]) for name in columns]

    def computed(every: pa.Array, *given: pa.Array) -> pa.Array:
        held = {
            name: _from_spark(each, kind) for (name, kind), each in zip(kinds, given, strict=True)
        }
        try:
            return recast(computation.compute(len(every), held), target)
        except ExpressionError as failed:
            raise RuntimeError(_describe(failed)) from None

    # Spark must not move what can fail ahead of a condition that spares it.
    function = fn.arrow_udf(computed, shown)  # type: ignore[attr-defined]
    # The first argument tells how many rows there are when nothing is read of them.
    return function.asNondeterministic()(fn.lit(1), *columns.values())  # type: ignore[no-any-return]


def ask_every_row(condition: "Column") -> "Column":
    """Return a condition of which Spark knows nothing, so that it makes all rows and asks each.

    It would ask it earlier otherwise, or make no row at all where it sees that none is kept.
    """
    return fn.when(fn.spark_partition_id() >= 0, condition)


def find_uncomputable(failed: Exception, source: Source | None) -> ExpressionError | None:
    """Return the error of a row that made a job fail, or None if something else did."""
    found = _FOUND.search(str(failed))
    if found is None:
        return None
    told = json.loads(found.group(1))
    problem = Problem(Code.UNCOMPUTABLE, told["message"], Span(*told["span"]))
    return ExpressionError([problem], source=source)


def _describe(failed: ExpressionError) -> str:
    problem = failed.problems[0]
    assert problem.span is not None
    span = (problem.span.start, problem.span.end)
    return _MARK + json.dumps({"message": problem.message, "span": span})


def _from_spark(column: pa.Array, kind: ValueType) -> pa.Array:
    """Return values of Spark as the engine holds them."""
    if kind == DATETIME:
        return column.cast(pa.timestamp("ms", "UTC"), safe=False).view(pa.date64())
    return column.cast(arrow_type(kind))
