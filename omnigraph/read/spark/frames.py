"""Frames: the nodes and edges of a snapshot as frames of Spark."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
from pyspark.sql import functions as fn
from pyspark.sql.types import LongType

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.recast import recast
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Step
from omnigraph.query.expr import EntityKind, EntityType
from omnigraph.read.reader import DirectedEdge, Leg, Reader, find_ways
from omnigraph.read.spark.copies import (
    ENDS,
    Copied,
    Copies,
    MostEdges,
    count_pairs,
    numbered_schema,
)
from omnigraph.read.spark.matches import (
    ColumnNames,
    EntityColumns,
    TypedProperty,
    add_ids,
    identities,
    to_text,
)
from omnigraph.schema.catalog import EdgeType, NodeType, column_name
from omnigraph.schema.types import INTEGERS, U64, is_text
from omnigraph.spark.connector import to_arrow_schema, to_spark_type
from omnigraph.storage.reading import read_columns
from omnigraph.storage.store import CLOUDS, Store

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Fewer rows are read faster here than by tasks, and Spark then knows that they are few.
FEW_ROWS = 20_000

# Integers that Spark has a type for; texts stand for the others.
_HELD = INTEGERS - {U64}

# The settings of a store that have another name in the environment.
_VARIABLES = {"aws_endpoint": "AWS_ENDPOINT_URL_S3", "allow_http": "AWS_ALLOW_HTTP"}
# The one whose variable says the opposite.
_IN_HOST, _IN_PATH = "aws_virtual_hosted_style_request", "AWS_S3_FORCE_PATH_STYLE"


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
    """Some columns of a table, by their names in SQL, and whether each different row is there once.

    Ids of nodes are integers if their keys are. With the ends of edges, no node has more than
    `most`; None is not known.
    """

    frame: "DataFrame"
    columns: Mapping[str, str]
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
        entity = self._name_entity(kind, *self.names.new_list(2))
        told = {item: column for item in asked if (column := self._tell(entity, item)) is not None}
        wanted = [item for item in asked if item not in told]
        own = dict(zip(wanted, self.names.new_list(len(wanted)), strict=True))
        parts = [self._read_type(name, entity, own) for name in kind.types]
        frame = add_ids(self._union(parts, [entity], own), entity)
        return EntityFrame(frame, replace(entity, properties={**own, **told}))

    def _tell(self, entity: EntityColumns, item: TypedProperty) -> str | None:
        """Return the column of a variable that has a property as it is, if one has.

        An integer that is not the number of its node is read: Spark can then leave out parts of a
        file that have none that is asked for.
        """
        if not self.is_told(entity.kind, item):
            return None
        if is_text(item[1]):
            return entity.id
        return entity.number if isinstance(to_spark_type(item[1]), LongType) else None

    def is_numbered(self, kind: EntityType) -> bool:
        """Return whether each node of a kind has an integer as its key."""
        return kind.kind is EntityKind.NODE and all(map(self._has_number, kind.types))

    def _has_number(self, name: str) -> bool:
        stored = self.reader.stored(name)
        if not isinstance(stored, NodeType) or len(stored.key) != 1:
            return False
        return stored.column(stored.key[0]) in _HELD

    def _name_entity(self, kind: EntityType, key: str, number: str) -> EntityColumns:
        """Return a variable that one column tells from others of its type: a number or the id."""
        if self.is_numbered(kind):
            return EntityColumns(kind, self.names.new(), number, number=key)
        return EntityColumns(kind, key, number)

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
        own = {item: column for item in items if (column := self._tell(entity, item)) is not None}
        rest = [item for item in items if item not in own]
        names = self.names.new_list(len(rest))
        own |= dict(zip(rest, names, strict=True))
        values = [fn.col(entity.key).cast(to_spark_type(kind)) for _, kind in rest]
        rows = frame.select("*", *_named(values, names)) if values else frame
        return EntityFrame(rows, replace(entity, properties={**entity.properties, **own}))

    def pairs(
        self,
        steps: tuple[Step, ...],
        source: EntityType,
        target: EntityType,
        *,
        repeated: bool = False,
    ) -> LinkFrame:
        """Return every pair of nodes that steps join, once; with `repeated` perhaps more often."""
        ways = self.ways(steps, source, target)
        start, end = self._name_ends(source, target)
        found = [self._table(way.edge.name, self._ends(way), once=True) for way in ways]
        parts = [
            each.frame.selectExpr(*self._end_values(way, each, start, end))
            for each, way in zip(found, ways, strict=True)
        ]
        frame = self._union(parts, [start, end])
        are_apart = len({(way.start, way.end) for way in ways}) == len(ways)
        is_once = are_apart and all(each.is_once for each in found)
        frame = frame if repeated or is_once else frame.distinct()
        most = _add_up(ways, [each.most for each in found])
        return LinkFrame(add_ids(frame, start, end), start, end, most=most)

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
        start, end = self._name_ends(source, target)
        names = self.names.new_list(2 + len(wanted))
        edge = EntityColumns(kind, names[0], names[1], dict(zip(wanted, names[2:], strict=True)))
        ways = self.ways(steps, source, target)
        tables = [self._read_edges(way, start, end, edge) for way in ways]
        ends = [start, end, edge]
        frame = self._union([each.frame for each in tables], ends, edge.properties)
        # An edge from a node to itself leads the same way in both directions.
        is_once = len({(way.start, way.end, way.edge.name) for way in ways}) == len(ways)
        frame = frame if is_once else frame.dropDuplicates(identities(ends))
        most = _add_up(ways, [each.most for each in tables])
        return LinkFrame(add_ids(frame, start, end), start, end, edge, most)

    def _name_ends(
        self, source: EntityType, target: EntityType
    ) -> tuple[EntityColumns, EntityColumns]:
        names = self.names.new_list(4)
        return self._name_entity(source, *names[:2]), self._name_entity(target, *names[2:])

    def _end_values(
        self, way: DirectedEdge, table: _TableFrame, start: EntityColumns, end: EntityColumns
    ) -> list[str]:
        """Return the two ends of edges as columns in SQL."""
        own, other = self._ends(way)
        return [
            *self._key_values(way.start, table.columns[own], start),
            *self._key_values(way.end, table.columns[other], end),
        ]

    def _key_values(self, name: str, value: str, entity: EntityColumns) -> list[str]:
        """Return what tells nodes of a type from others, for a variable that can be one of them."""
        if entity.number is None and self._has_number(name):
            value = to_text(value)
        return [f"{value} as {entity.key}", f"{self.reader.number(name)} as {entity.type}"]

    def _read_edges(
        self, way: DirectedEdge, start: EntityColumns, end: EntityColumns, edge: EntityColumns
    ) -> _TableFrame:
        """Return the edges of one type in one direction."""
        wanted, name = list(edge.properties), way.edge.name
        known = self._find_columns(name, wanted)
        table = self._table(name, list(dict.fromkeys([*ENDS, "id", *known.values()])))
        keys = self._end_values(way, table, start, end)
        keys += self._key_values(name, table.columns["id"], edge)
        values = self._property_values(name, table, edge.properties)
        return replace(table, frame=_select(table.frame, [*keys, *values]))

    def _read_type(
        self, name: str, entity: EntityColumns, properties: Mapping[TypedProperty, str]
    ) -> "DataFrame":
        known = self._find_columns(name, properties)
        table = self._table(name, list(dict.fromkeys(["id", *known.values()])))
        keys = self._key_values(name, table.columns["id"], entity)
        return _select(table.frame, [*keys, *self._property_values(name, table, properties)])

    def _property_values(
        self, name: str, table: _TableFrame, properties: Mapping[TypedProperty, str]
    ) -> "Iterator[str | Column]":
        """Yield properties of a type under other names; null if it has none of that type."""
        known, numbers = self._find_columns(name, properties), self._find_numbers(name)
        for item, own in properties.items():
            if item not in known:
                yield fn.lit(None).cast(to_spark_type(item[1])).alias(own)
                continue
            value = table.columns[known[item]]
            yield f"{to_text(value) if known[item] in numbers else value} as {own}"

    def _find_columns(self, name: str, wanted: Iterable[TypedProperty]) -> dict[TypedProperty, str]:
        """Return the columns of the properties that a type has with these types."""
        stored = self.reader.stored(name)
        return {
            (item, kind): column_name(stored, item)
            for item, kind in wanted
            if stored.column(item) == kind
        }

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
        entities: Sequence[EntityColumns],
        properties: Mapping[TypedProperty, str] | None = None,
    ) -> "DataFrame":
        """Return the rows of all parts: what tells variables apart, and properties."""
        if parts:
            return reduce(lambda one, other: one.unionAll(other), parts)
        nothing: list[str | Column] = []
        for each in entities:
            nothing.append(f"cast(null as {'bigint' if each.number else 'string'}) as {each.key}")
            nothing.append(f"cast(null as int) as {each.type}")
        for (_, kind), own in (properties or {}).items():
            nothing.append(fn.lit(None).cast(to_spark_type(kind)).alias(own))
        return _select(self.spark.range(0), nothing)

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
        places, numbers = self.names.new_list(len(columns)), self._find_numbers(name)
        frame = self._scanned(name, columns).toDF(*places)
        own = {
            each: f"cast({at} as bigint)" if each in numbers else at
            for each, at in zip(columns, places, strict=True)
        }
        return _TableFrame(frame, own, keyed)

    def _find_numbers(self, name: str) -> frozenset[str]:
        """Return the columns of a type that have the ids of nodes whose keys are integers."""
        stored = self.reader.stored(name)
        ends = (stored.source, stored.target) if isinstance(stored, EdgeType) else ()
        nodes = dict(zip(ENDS, ends, strict=True)) if ends else {"id": name}
        return frozenset(each for each, node in nodes.items() if self._has_number(node))

    def _scanned(self, name: str, columns: Sequence[str]) -> "DataFrame":
        read = self.spark.read.format("omnigraph").options(**self._options)
        return read.options(type=name, columns=",".join(columns)).load()

    def _copied(
        self, name: str, columns: Sequence[str], *, once: bool, keyed: bool
    ) -> "_TableFrame | None":
        """Return some columns from a copy of the table, or None if there is none."""
        ordered, stored = tuple(sorted(columns)), self.reader.stored(name)
        numbers = self._find_numbers(name) & set(ordered)
        what = Copied(stored, self.reader.table(name), ordered, once and not keyed, numbers)
        if self.copies is None or not what.is_worth_it:
            return None
        rows, scan = self.reader.count(name), lambda: self._scanned(name, ordered)
        found = self.copies.frame(self.spark, what, rows, scan)
        if found is None:
            return None
        own = {each: f"v{ordered.index(each)}" for each in columns}
        return _TableFrame(found.frame, own, once, found.most)

    def _send_table(
        self, name: str, columns: Sequence[str], *, once: bool, keyed: bool
    ) -> _TableFrame:
        stored, rows = self.reader.stored(name), read_columns(self.reader.table(name), columns)
        most = None
        if isinstance(stored, EdgeType) and set(ENDS) <= set(columns):
            rows, most = count_pairs(rows, once=once and not keyed)
        schema = numbered_schema(stored, columns, self._find_numbers(name))
        kinds = to_arrow_schema(schema)
        pairs = zip(rows.columns, kinds.types, strict=True)
        arrays = [recast(to_array(column), kind) for column, kind in pairs]
        frame = self.spark.createDataFrame(pa.table(arrays, schema=kinds), schema)
        return _TableFrame(frame, dict(zip(columns, schema.names, strict=True)), once, most)

    @cached_property
    def _options(self) -> dict[str, str]:
        snapshot = self.reader.snapshot
        store = snapshot.tables.store
        return {"path": store.root, "snapshot": snapshot.commit.id, **name_variables(store)}


def name_variables(store: Store) -> dict[str, str]:
    """Return the variables that reach a store, with which tasks read it through the data source."""
    given = {_VARIABLES.get(name, name): value for name, value in store.options.items()}
    if (in_host := given.pop(_IN_HOST, None)) is not None:
        given[_IN_PATH] = "false" if in_host == "true" else "true"
    return {name: value for name, value in given.items() if name.upper().startswith(CLOUDS)}


def _select(frame: "DataFrame", values: "Sequence[str | Column]") -> "DataFrame":
    """Return columns of a frame; those in SQL take a fraction of the calls of Spark."""
    texts = [each for each in values if isinstance(each, str)]
    if len(texts) == len(values):
        return frame.selectExpr(*texts)
    return frame.select(*(fn.expr(each) if isinstance(each, str) else each for each in values))


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
