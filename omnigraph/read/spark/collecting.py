"""Collecting: the lists of each group, made by a task from the rows of the group."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as fn
from pyspark.sql.types import BinaryType, StructField, StructType

from omnigraph.data.derived.codes import encode, number_combinations
from omnigraph.data.derived.numbering import Numbers
from omnigraph.data.values.columns import to_array
from omnigraph.frozen import dataclass
from omnigraph.query.comparing import type_of
from omnigraph.query.expr import Collect, EntityType, Expr, ObjectOf, SortKey
from omnigraph.read.operators.collect import collect_items
from omnigraph.read.operators.order import count_of, to_sort_key
from omnigraph.read.operators.project import result_type
from omnigraph.read.spark.expressions import FrameExpressions
from omnigraph.read.spark.matches import ColumnNames
from omnigraph.read.spark.packing import build_object
from omnigraph.spark.connector import to_arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class Collected:
    """A frame with the parts of each group's key, in their order, and its lists as bytes."""

    frame: "DataFrame"
    parts: list[str]
    lists: list[str]


def collect_lists(
    expressions: FrameExpressions,
    frame: "DataFrame",
    parts: Sequence[str],
    collects: Sequence[Collect],
    shown: "Mapping[Expr, Column]",
    names: ColumnNames,
) -> Collected:
    """Return the lists of groups; `shown` are the values of all that the lists are made of."""
    leaves = list(shown)
    columns = {leaf: names.new() for leaf in leaves}
    entities = {each.variable: names.new_list(2) for collect in collects for each in collect.ties}
    identities = [
        fn.col(column).alias(new)
        for name, pair in entities.items()
        for column, new in zip(expressions.matches.entities[name].identity, pair, strict=True)
    ]
    values = [shown[leaf].alias(columns[leaf]) for leaf in leaves]
    rows = frame.select(*parts, *identities, *values)
    catalog = expressions.execution.reader.snapshot.catalog
    kinds = {leaf: kind for leaf in leaves if (kind := type_of(leaf)) is not None}
    made = names.new_list(len(parts) + len(collects))
    keys, lists = made[: len(parts)], made[len(parts) :]
    typed = zip(keys, parts, strict=True)
    fields = [StructField(new, rows.schema[old].dataType) for new, old in typed]
    schema = StructType([*fields, *(StructField(new, BinaryType()) for new in lists)])
    task = _CollectTask(
        collects=tuple(collects),
        limits={each: count_of(expressions.execution, each.limit) for each in _all(collects)},
        columns=columns,
        kinds={leaf: result_type(kind, catalog) for leaf, kind in kinds.items()},
        objects=frozenset(leaf for leaf, kind in kinds.items() if isinstance(kind, EntityType)),
        entities={name: (pair[0], pair[1]) for name, pair in entities.items()},
        parts=tuple(parts),
        schema=to_arrow_schema(schema),
    )

    def collected(table: pa.Table) -> pa.Table:
        return task.run(table)

    return Collected(rows.groupBy(*parts).applyInArrow(collected, schema), keys, lists)


def leaves_of(collect: Collect) -> list[Expr]:
    """Return what the items of a list, its order and its inner lists are made of."""
    found = [key.expr for key in collect.order]
    fields = collect.item.fields if isinstance(collect.item, ObjectOf) else (("", collect.item),)
    for _, value in fields:
        found += leaves_of(value) if isinstance(value, Collect) else [value]
    return found


def _all(collects: Sequence[Collect]) -> list[Collect]:
    """Return lists and those inside them."""
    found = list(collects)
    for each in collects:
        fields = each.item.fields if isinstance(each.item, ObjectOf) else ()
        found += _all([value for _, value in fields if isinstance(value, Collect)])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _CollectTask:
    """Makes the lists of one group."""

    collects: tuple[Collect, ...]
    limits: Mapping[Collect, int | None]
    columns: Mapping[Expr, str]
    kinds: Mapping[Expr, pa.DataType]
    objects: frozenset[Expr]
    entities: Mapping[str, tuple[str, str]]
    parts: tuple[str, ...]
    schema: pa.Schema

    def run(self, table: pa.Table) -> pa.Table:
        """Return one row: the parts of the key, and each list as bytes."""
        rows = _FrameItems(self, table.combine_chunks())
        groups = np.zeros(table.num_rows, np.int64)
        lists = [collect_items(rows, groups, 1, each) for each in self.collects]
        keys = [table.column(name).slice(0, 1).combine_chunks() for name in self.parts]
        packed = [pa.array([pack_list(each)], pa.binary()) for each in lists]
        cast = zip((*keys, *packed), self.schema.types, strict=True)
        return pa.Table.from_arrays([each.cast(kind) for each, kind in cast], schema=self.schema)


@dataclass(frozen=True, slots=True)
class _FrameItems:
    """The rows of one group, as lists are made of them."""

    task: _CollectTask
    table: pa.Table

    @property
    def count(self) -> int:
        return int(self.table.num_rows)

    def values(self, expr: Expr, places: Numbers) -> pa.Array:
        column = self._column(self.task.columns[expr]).take(pa.array(places))
        kind = self.task.kinds[expr]
        return build_object(column, kind) if expr in self.task.objects else column.cast(kind)

    def identities(self, variable: str) -> Numbers:
        ids, types = (self._column(name) for name in self.task.entities[variable])
        _, same = number_combinations([encode(ids), encode(types)], self.count)
        return np.where(np.asarray(ids.is_null(), bool), -1, same)

    def sort_numbers(self, key: SortKey) -> "np.ndarray":
        column = self._column(self.task.columns[key.expr])
        if key.expr in self.task.objects:
            ranks = _rank_pairs(column.field(0), column.field(1))
            return ~ranks if key.descending else ranks
        return to_sort_key(column.cast(self.task.kinds[key.expr]), key.descending)

    def tie_numbers(self, variable: str) -> "np.ndarray":
        return _rank_pairs(*(self._column(name) for name in self.task.entities[variable]))

    def limit(self, collect: Collect) -> int | None:
        return self.task.limits[collect]

    def _column(self, name: str) -> pa.Array:
        return to_array(self.table.column(name))


def _rank_pairs(ids: pa.Array, types: pa.Array) -> Numbers:
    """Return ranks by id and then by type; what is not there comes first."""
    first, second = (to_sort_key(each, descending=False).astype(np.int64) for each in (ids, types))
    ranks: Numbers = first * (second.max(initial=0) + 1) + second
    return ranks


def pack_list(made: pa.Array) -> bytes:
    """Return a list as bytes."""
    return bytes(pa.record_batch([made], names=["list"]).serialize())
