"""Frames: the nodes and edges of a snapshot as frames of Spark."""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
from pyspark.sql import functions as fn
from pyspark.sql.types import StructField, StructType

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.recast import recast
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Step
from omnigraph.query.expr import EntityKind, EntityType
from omnigraph.read.reader import DirectedEdge, Leg, Reader, find_ways
from omnigraph.read.spark.copies import ENDS, Copied, Copies, MostEdges, count_pairs
from omnigraph.read.spark.matches import ColumnNames, EntityColumns, TypedProperty
from omnigraph.schema.catalog import EdgeType, column_name
from omnigraph.schema.types import INTEGERS, is_text
from omnigraph.spark.connector import to_arrow_schema, to_spark_schema, to_spark_type
from omnigraph.storage.reading import read_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

# Fewer rows are read faster here than by tasks, and Spark then knows that they are few.
FEW_ROWS = 20_000

# The settings of a store that have another name in the environment.
_VARIABLES = {"aws_endpoint": "AWS_ENDPOINT_URL", "allow_http": "AWS_ALLOW_HTTP"}


@dataclass(frozen=True, slots=True)
class EntityFrame:
    """A frame of all rows that a variable can stand for."""

    frame: "DataFrame"
    entity: EntityColumns


# Where steps begin: at some nodes, or at all of a kind.
Starts: TypeAlias = EntityFrame | EntityType


@dataclass(frozen=True, slots=True)
class LinkFrame:
    """A frame of pairs of nodes and, for named edges, of the edges between them.

    No start has more rows than `most` says, and no end; None is not known.
    """

    frame: "DataFrame"
    start: EntityColumns
    end: EntityColumns
    edge: EntityColumns | None = None
    most: MostEdges | None = None


@dataclass(frozen=True, slots=True)
class _TableFrame:
    """Some columns of a table under other names, and whether each different row is there once.

    With the ends of edges, no node has more than `most`; None is not known.
    """

    frame: "DataFrame"
    columns: "Sequence[Column]"
    is_once: bool
    most: MostEdges | None = None


@dataclass(frozen=True)
class SnapshotFrames:
    """The tables of one snapshot, all read at the same commit."""

    spark: "SparkSession"
    reader: Reader
    names: ColumnNames = field(default_factory=ColumnNames)
    copies: Copies | None = None

    def scan(self, kind: EntityType, fields: Iterable[TypedProperty]) -> EntityFrame:
        """Return all rows of some types with these properties; null where a type lacks one."""
        asked = [item for item in dict.fromkeys(fields) if item[0] != "id"]
        # What is compared with a number is read, so that Spark can leave out parts of a file.
        ids = [item for item in asked if is_text(item[1]) and self.is_told(kind, item)]
        wanted = [item for item in asked if item not in ids]
        names = self.names.new_list(2 + len(wanted))
        parts = [self._read_type(name, wanted, names) for name in kind.types]
        frame = self._union(parts, wanted, names)
        own = dict(zip(wanted, names[2:], strict=True)) | dict.fromkeys(ids, names[0])
        return EntityFrame(frame, EntityColumns(kind, names[0], names[1], own))

    def is_told(self, kind: EntityType, item: TypedProperty) -> bool:
        """Return whether the ids of nodes tell a property: the id, or a key of text or integer."""
        name, own = item
        if name == "id":
            return True
        if kind.kind is not EntityKind.NODE or not (is_text(own) or own in INTEGERS):
            return False
        return all(
            stored.key == (name,) and stored.column(name) == own
            for stored in map(self.reader.stored, kind.types)
        )

    def is_sent(self, name: str) -> bool:
        """Return whether the table of a type is so small that it travels with the query."""
        return self.reader.count(name) < FEW_ROWS

    def tell(
        self, frame: "DataFrame", entity: EntityColumns, items: Sequence[TypedProperty]
    ) -> EntityFrame:
        """Return a frame with the properties of a variable that its ids tell."""
        numbers = [item for item in items if not is_text(item[1])]
        names = self.names.new_list(len(numbers))
        own = dict(entity.properties) | dict.fromkeys(items, entity.id)
        own |= dict(zip(numbers, names, strict=True))
        values = [fn.col(entity.id).cast(to_spark_type(kind)) for _, kind in numbers]
        rows = frame.select("*", *_named(values, names)) if values else frame
        return EntityFrame(rows, replace(entity, properties=own))

    def pairs(
        self,
        steps: tuple[Step, ...],
        source: EntityType,
        target: EntityType,
        *,
        repeated: bool = False,
    ) -> LinkFrame:
        """Return every pair of nodes that steps join, once; with `repeated` perhaps more often."""
        ways, names = self.ways(steps, source, target), self.names.new_list(4)
        found = [self._table(way.edge.name, self._ends(way), once=True) for way in ways]
        parts = [
            each.frame.select(
                each.columns[0].alias(names[0]),
                self._number(way.start).alias(names[1]),
                each.columns[1].alias(names[2]),
                self._number(way.end).alias(names[3]),
            )
            for each, way in zip(found, ways, strict=True)
        ]
        frame = self._union(parts, [], names)
        are_apart = len({(way.start, way.end) for way in ways}) == len(ways)
        is_once = are_apart and all(each.is_once for each in found)
        frame = frame if repeated or is_once else frame.distinct()
        return LinkFrame(
            frame,
            EntityColumns(source, names[0], names[1]),
            EntityColumns(target, names[2], names[3]),
            most=_add_up(ways, [each.most for each in found]),
        )

    def edges(
        self,
        steps: tuple[Step, ...],
        source: EntityType,
        target: EntityType,
        fields: Iterable[TypedProperty],
    ) -> LinkFrame:
        """Return every edge that steps lead along, with the nodes at its ends."""
        kind = EntityType(EntityKind.EDGE, tuple(dict.fromkeys(step.edge for step in steps)))
        wanted = [item for item in dict.fromkeys(fields) if item[0] != "id"]
        names = self.names.new_list(6 + len(wanted))
        ways = self.ways(steps, source, target)
        tables = [self._read_edges(way, wanted, names) for way in ways]
        frame = self._union([each.frame for each in tables], wanted, names)
        own = dict(zip(wanted, names[6:], strict=True))
        # An edge from a node to itself leads the same way in both directions.
        is_once = len({(way.start, way.end, way.edge.name) for way in ways}) == len(ways)
        return LinkFrame(
            frame if is_once else frame.dropDuplicates(names[:6]),
            EntityColumns(source, names[0], names[1]),
            EntityColumns(target, names[2], names[3]),
            EntityColumns(kind, names[4], names[5], own),
            _add_up(ways, [each.most for each in tables]),
        )

    def _read_edges(
        self, way: DirectedEdge, wanted: Sequence[TypedProperty], names: Sequence[str]
    ) -> _TableFrame:
        """Return the edges of one type in one direction."""
        start, end = self._ends(way)
        known = self._find_columns(way.edge.name, wanted)
        columns = list(dict.fromkeys([start, end, "id", *known.values()]))
        table = self._table(way.edge.name, columns)
        at = dict(zip(columns, table.columns, strict=True))
        found = (
            at[start],
            self._number(way.start),
            at[end],
            self._number(way.end),
            at["id"],
            self._number(way.edge.name),
            *(self._value(item, at.get(known.get(item, ""))) for item in wanted),
        )
        return replace(table, frame=table.frame.select(*_named(found, names)))

    def _read_type(
        self, name: str, wanted: Sequence[TypedProperty], names: Sequence[str]
    ) -> "DataFrame":
        known = self._find_columns(name, wanted)
        columns = list(dict.fromkeys(["id", *known.values()]))
        table = self._table(name, columns)
        at = dict(zip(columns, table.columns, strict=True))
        values = (self._value(item, at.get(known.get(item, ""))) for item in wanted)
        return table.frame.select(*_named((at["id"], self._number(name), *values), names))

    def _find_columns(self, name: str, wanted: Sequence[TypedProperty]) -> dict[TypedProperty, str]:
        """Return the columns of the properties that a type has with these types."""
        stored = self.reader.stored(name)
        return {
            (item, kind): column_name(stored, item)
            for item, kind in wanted
            if stored.column(item) == kind
        }

    def _value(self, item: TypedProperty, column: "Column | None") -> "Column":
        return fn.lit(None).cast(to_spark_type(item[1])) if column is None else column

    def _number(self, name: str) -> "Column":
        return fn.lit(self.reader.number(name))

    def _ends(self, way: DirectedEdge) -> tuple[str, str]:
        return (ENDS[1], ENDS[0]) if way.backwards else ENDS

    def ways(
        self, steps: tuple[Step, ...], source: EntityType, target: EntityType
    ) -> list[DirectedEdge]:
        """Return the edge types, with their directions, that steps lead along."""
        leg = Leg(steps, self.reader.domain(source.types), self.reader.domain(target.types))
        return find_ways(self.reader, leg)

    def _union(
        self,
        parts: "Sequence[DataFrame]",
        wanted: Sequence[TypedProperty],
        names: Sequence[str],
    ) -> "DataFrame":
        """Return the rows of all parts: ids with their types, and properties."""
        if parts:
            return reduce(lambda one, other: one.unionAll(other), parts)
        kinds: list[DataType | str] = ["string", "int"] * ((len(names) - len(wanted)) // 2)
        kinds += [to_spark_type(kind) for _, kind in wanted]
        nothing = [fn.lit(None).cast(kind) for kind in kinds]
        return self.spark.range(0).select(*_named(nothing, names))

    def _table(self, name: str, columns: Sequence[str], *, once: bool = False) -> "_TableFrame":
        """Return some columns of a type; a small table travels with the query.

        With `once` each different row is wanted once, and the frame says whether it is so.
        """
        keyed = once and _joins_once(self.reader.edge(name))
        if self.is_sent(name):
            return self._send_table(name, columns, once=once, keyed=keyed)
        if (copy := self._copied(name, columns, once=once, keyed=keyed)) is not None:
            return copy
        # A name of a column may be any text, and others may differ from it in case only.
        places = self.names.new_list(len(columns))
        frame = self._scanned(name, columns).toDF(*places)
        return _TableFrame(frame, [fn.col(each) for each in places], keyed)

    def _scanned(self, name: str, columns: Sequence[str]) -> "DataFrame":
        read = self.spark.read.format("omnigraph").options(**self._options)
        return read.options(type=name, columns=",".join(columns)).load()

    def _copied(
        self, name: str, columns: Sequence[str], *, once: bool, keyed: bool
    ) -> "_TableFrame | None":
        """Return some columns from a copy of the table, or None if there is none."""
        ordered, stored = tuple(sorted(columns)), self.reader.stored(name)
        what = Copied(stored, self.reader.table(name), ordered, once and not keyed)
        if self.copies is None or not what.is_worth_it:
            return None
        rows, scan = self.reader.count(name), lambda: self._scanned(name, ordered)
        found = self.copies.frame(self.spark, what, rows, scan)
        if found is None:
            return None
        own = [fn.col(f"v{ordered.index(each)}") for each in columns]
        return _TableFrame(found.frame, own, once, found.most)

    def _send_table(
        self, name: str, columns: Sequence[str], *, once: bool, keyed: bool
    ) -> _TableFrame:
        stored, rows = self.reader.stored(name), read_columns(self.reader.table(name), columns)
        most = None
        if isinstance(stored, EdgeType) and set(ENDS) <= set(columns):
            rows, most = count_pairs(rows, once=once and not keyed)
        fields = to_spark_schema(stored, columns).fields
        schema = StructType(
            [StructField(f"v{at}", each.dataType) for at, each in enumerate(fields)]
        )
        kinds = to_arrow_schema(schema)
        pairs = zip(rows.columns, kinds.types, strict=True)
        arrays = [recast(to_array(column), kind) for column, kind in pairs]
        frame = self.spark.createDataFrame(pa.table(arrays, schema=kinds), schema)
        return _TableFrame(frame, [fn.col(each) for each in schema.names], once, most)

    @cached_property
    def _options(self) -> dict[str, str]:
        snapshot = self.reader.snapshot
        store = snapshot.tables.store
        given = {_VARIABLES.get(name, name): value for name, value in store.options.items()}
        known = {name: value for name, value in given.items() if name.lower().startswith("aws_")}
        return {"path": store.root, "snapshot": snapshot.commit.id, **known}


def _named(columns: "Iterable[Column]", names: Sequence[str]) -> "list[Column]":
    return [column.alias(name) for column, name in zip(columns, names, strict=True)]


def _add_up(ways: Sequence[DirectedEdge], most: Sequence[MostEdges | None]) -> MostEdges | None:
    """Return the most edges that lead from one start, and to one end, by all ways together."""
    starts = ends = 0
    for way, each in zip(ways, most, strict=True):
        if each is None:
            return None
        starts += each[1] if way.backwards else each[0]
        ends += each[0] if way.backwards else each[1]
    return starts, ends


def _joins_once(edge: EdgeType) -> bool:
    """Return whether no two edges of a type can join the same nodes."""
    return any(set(names) <= set(ENDS) for names in (edge.key, *edge.unique) if names)
