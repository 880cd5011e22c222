"""Queries: the rows of a query at one commit, from one task."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from omnigraph.connector.options import PLACES, SourceOptions
from omnigraph.data.derived.topology import Topology
from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.query.compile import compile_query
from omnigraph.query.params import bind_params
from omnigraph.query.plan import ReadPlan
from omnigraph.read.answer import answer
from omnigraph.read.execution import Budget, PlanRequest
from omnigraph.read.operators.project import result_shape
from omnigraph.versioning.snapshot import Snapshot

OPTIONS = ("path", "query", "name", "params", *PLACES)
_DERIVED_BYTES = 256 << 20
_SPARK_TYPES: dict[pa.DataType, pa.DataType] = {
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.timestamp("ms", "UTC"): pa.timestamp("us", "UTC"),
}


@dataclass(frozen=True)
class PinnedQuery:
    """A query with its parameters, at one commit; any process can run it."""

    options: SourceOptions
    text: str
    name: str | None
    params: dict[str, Any]

    @cached_property
    def _snapshot(self) -> Snapshot:
        return self.options.pin()

    @cached_property
    def _plan(self) -> ReadPlan:
        plan = compile_query(self.text, self._snapshot.catalog, self.name)
        if not isinstance(plan, ReadPlan):
            hint = "run it with Branch.mutate, or with omnigraph change"
            raise InputError(f"'{plan.name}' is a mutation", hint=hint)
        bind_params(plan, self.params)
        return plan

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The columns of the result in types that Spark has."""
        found = result_shape(self._plan.columns, self._snapshot.catalog).schema
        return pa.schema([(field.name, _spark_type(field.type)) for field in found])

    @property
    def schema(self) -> StructType:
        """The columns of the frame."""
        return from_arrow_schema(self.arrow_schema)

    def reader(self, schema: StructType) -> "QueryReader":
        """Return a reader of all rows; raises InputError for a schema of the user's."""
        if schema != self.schema:
            raise InputError("the columns of a query are in its text", hint="leave out schema(…)")
        return QueryReader(self)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Run the query and return its rows, in its order."""
        request = PlanRequest(
            params=bind_params(self._plan, self.params),
            now=datetime.now(UTC),
            budget=Budget(),
            environment=self.options.store.variables,
            streams=True,
        )
        found = answer(self._plan, self._snapshot, Topology(_DERIVED_BYTES), request)
        schema = self.arrow_schema
        for batch in found.rows:
            arrays = [
                column.cast(kind) for column, kind in zip(batch.columns, schema.types, strict=True)
            ]
            yield pa.record_batch(arrays, schema=schema)

    def __reduce__(self) -> tuple[Any, ...]:
        return PinnedQuery, (self.options, self.text, self.name, self.params)


class QueryReader(DataSourceReader):
    """Runs a query in one task."""

    def __init__(self, pinned: PinnedQuery) -> None:
        self._pinned = pinned

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        return self._pinned.batches()


def pin_query(options: SourceOptions) -> PinnedQuery:
    """Pin the commit that the options name, for a query with its parameters."""
    given = options.get("params") or "{}"
    try:
        params = json.loads(given)
    except (ValueError, RecursionError):
        params = None
    if not isinstance(params, dict):
        hint = """write it as {"age": 30}"""
        raise InputError("the option 'params' is not a JSON object", hint=hint)
    commit = options.pin().commit.id
    kept = {name: value for name, value in options.given.items() if name not in PLACES}
    pinned = replace(options, given={**kept, "snapshot": commit})
    return PinnedQuery(pinned, options.given["query"], options.get("name"), params)


def _spark_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that Spark has for the values of a result."""
    if pa.types.is_struct(kind):
        return pa.struct([(each.name, _spark_type(each.type)) for each in kind])
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_spark_type(kind.value_type))
    return _SPARK_TYPES.get(kind, kind)
