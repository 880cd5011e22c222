"""Worlds: small random graphs, as a schema, as plain values and as a graph on disk."""

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from random import Random

from omnigraph.api.graph import Graph, init
from omnigraph.schema import types
from omnigraph.schema.catalog import Catalog, EdgeType, Property, StoredType
from omnigraph.schema.compile import compile_schema
from omnigraph.schema.identity import key_id
from omnigraph.schema.values import round_to_f32
from omnigraph.syntax.literal import datetime_text
from tests.engine.oracle import Data, Edge

NODES = ("Ant", "Bee", "Cat", "Dog")
EDGES = ("Likes", "Owns", "Sees", "Contains", "NearTo")
IDS = ("a", "b", "c", "aa", "B", "é", "9", "10", "a b", "Z")

# Values that no sum of floats, no average and no sort has to round.
POOLS: dict[types.ValueType, tuple[object, ...]] = {
    types.STRING: ("", "a", "ab", "abc", "b", "B", "ba", "é", "z z", "10"),
    types.BOOL: (False, True),
    types.I32: (-2, -1, 0, 1, 2, 3, 7),
    types.I64: (-3, -1, 0, 1, 2, 3, 40),
    types.U32: (0, 1, 2, 3, 40),
    types.U64: (0, 1, 2, 3, 40),
    types.F32: (-1.5, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, round_to_f32(0.1)),
    types.F64: (-1.5, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 3.25),
    types.DATE: (date(1969, 12, 31), date(2020, 2, 29), date(2024, 1, 31)),
    types.DATETIME: (
        datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC),
        datetime(2024, 1, 31, 12, 0, 0, 0, UTC),
        datetime(2024, 1, 31, 12, 0, 0, 1_000, UTC),
        datetime(2424, 1, 31, 12, 0, 0, 0, UTC),
    ),
}
# Values at the edges of their types; `big` and `wide` hold them, and are never averaged.
EXTREMES: dict[types.ValueType, tuple[object, ...]] = {
    types.I32: (-(2**31), -1, 0, 2**31 - 1),
    types.I64: (-(2**63), -(2**53) - 1, -1, 0, 2**53, 2**53 + 1, 2**63 - 1),
    types.U32: (0, 1, 2**32 - 1),
    types.U64: (0, 1, 2**53, 2**53 + 1, 2**63, 2**64 - 1),
    types.F64: (-1e300, -(2.0**63), -0.0, 0.1, 2.0**53, 2.0**63, 2.0**64, 1e300),
}
EXTREME_NAMES = ("big", "wide")
# What paths are weighed by: each edge has some, and no sum has to be rounded.
WEIGHTS = (0, 1, 1, 2, 3)

_COLOURS = "enum(red, green, blue)"
_PROPERTIES = {
    "size": ("I32", "U32", "F64", "String"),
    "kind": (_COLOURS, "String"),
    "ok": ("Bool",),
    "ratio": ("F32",),
    "score": ("F64", "F32"),
    "big": ("I64", "U64", "U32", "I32"),
    "wide": ("F64",),
    "born": ("Date",),
    "seen": ("DateTime",),
    "tags": ("[String]",),
    "nums": ("[I64]", "[F64]", "[U32]"),
    "order": ("I32", "I64"),
    "weight": ("F64", "F32", "U32", "I32"),
}
_KEYS = ("slug: String", "code: I64", "code: I32", "day: Date", "part: F64")


@dataclass(frozen=True)
class World:
    """A schema and the values of a graph."""

    schema: str
    data: Data

    @cached_property
    def catalog(self) -> Catalog:
        return compile_schema(self.schema)

    def lines(self) -> str:
        """Return the values as JSON lines."""
        records: list[dict[str, object]] = []
        for name, nodes in self.data.nodes.items():
            keyed = bool(self.catalog.nodes[name].key)
            for each, values in nodes.items():
                given = {} if keyed else {"id": each}
                records.append({"type": name, "data": {**given, **values}})
        for name, edges in self.data.edges.items():
            for edge in edges:
                ends = {"edge": name, "from": edge.src, "to": edge.dst}
                records.append({**ends, "data": {"id": edge.id, **edge.values}})
        return "".join(json.dumps(record, default=_json) + "\n" for record in records)

    def thinned(self, random: Random) -> "World":
        """Return a world without some of the nodes and edges."""
        nodes = {
            name: {each: values for each, values in rows.items() if random.random() < 0.6}
            for name, rows in self.data.nodes.items()
        }
        edges = {
            kind.name: [
                edge
                for edge in self.data.edges[kind.name]
                if edge.src in nodes[kind.source] and edge.dst in nodes[kind.target]
                if random.random() < 0.7
            ]
            for kind in self.catalog.edges.values()
        }
        return World(self.schema, Data(nodes, edges))

    def graph(self, folder: Path) -> Graph:
        """Make the graph in a folder."""
        graph = init(folder, self.schema, durable=False)
        if lines := self.lines():
            graph.load(lines, engine="inline")
        return graph


def random_world(random: Random) -> World:
    """Make a schema of two to four node types, and a few rows of each type."""
    schema = random_schema(random)
    return World(schema, random_data(random, compile_schema(schema)))


def random_schema(random: Random) -> str:
    """Make node types, an interface that most of them implement, and edges between them."""
    nodes = NODES[: random.randint(2, 4)]
    lines = ["interface Named { name: String?  rank: I64? }"]
    for at, name in enumerate(nodes):
        implements = " implements Named" if at < 2 or random.random() < 0.5 else ""
        lines.append(f"node {name}{implements} {{ {_body(random)} }}")
    names = random.sample(EDGES, random.randint(2, 5))
    for at, name in enumerate(names):
        source = random.choice(nodes)
        target = source if at == 0 or random.random() < 0.4 else random.choice(nodes)
        lines.append(f"edge {name}: {source} -> {target}{_edge_body(random)}")
    return "\n".join(lines)


def _body(random: Random) -> str:
    key = [f"{random.choice(_KEYS)} @key"] if random.random() < 0.5 else []
    if random.random() < 0.1:
        key = ["slug: String  code: I64  @key(slug, code)"]
    names = random.sample(sorted(_PROPERTIES), random.randint(4, 8))
    return "  ".join([*key, *(_declared(random, name) for name in names)])


def _edge_body(random: Random) -> str:
    if random.random() < 0.3:
        return ""
    names = random.sample(["size", "born", "kind", "score", "tags"], random.randint(1, 3))
    declared = [_declared(random, name) for name in names]
    if random.random() < 0.6:
        declared.append(f"weight: {random.choice(_PROPERTIES['weight'])}")
    return f" {{ {'  '.join(declared)} }}"


def _declared(random: Random, name: str) -> str:
    kind = random.choice(_PROPERTIES[name])
    nullable = "?" if random.random() < 0.8 else ""
    index = " @index" if random.random() < 0.2 and not kind.startswith("[") else ""
    return f"{name}: {kind}{nullable}{index}"


def random_data(random: Random, catalog: Catalog) -> Data:
    """Make up to eight rows of each type; edges may be parallel, and lead to themselves."""
    nodes: dict[str, dict[str, dict[str, object]]] = {}
    for kind in catalog.nodes.values():
        nodes[kind.name] = {}
        ids = random.sample(IDS, random.choice((0, 1, 3, 4, 4, 5, 5, 6, 7, 8)))
        for each in ids:
            values = random_values(random, kind)
            key = [(values[name], kind.properties[name].type) for name in kind.key]
            own = key_id(*map(list, zip(*key, strict=True))) if key else each
            nodes[kind.name][own] = values
    edges = {kind.name: list(_edges(random, kind, nodes)) for kind in catalog.edges.values()}
    return Data(nodes, edges)


def _edges(
    random: Random, kind: EdgeType, nodes: dict[str, dict[str, dict[str, object]]]
) -> list[Edge]:
    sources, targets = list(nodes[kind.source]), list(nodes[kind.target])
    if not sources or not targets:
        return []
    edges: list[Edge] = []
    for each in random.sample(IDS, random.choice((0, 5, 8, 8, 10, 10))):
        src, dst = random.choice(sources), random.choice(targets)
        chance = random.random()
        if chance < 0.2 and edges:
            src, dst = edges[-1].src, edges[-1].dst
        elif chance < 0.35 and kind.chains:
            dst = src
        edges.append(Edge(each, src, dst, random_values(random, kind)))
    return edges


def random_values(random: Random, kind: StoredType) -> dict[str, object]:
    """Make the properties of one row."""
    return {name: _cell(random, item, kind) for name, item in kind.properties.items()}


def _cell(random: Random, item: Property, kind: StoredType) -> object:
    if item.nullable and random.random() < 0.3:
        return None
    if isinstance(item.type, types.ListType):
        pool = pool_of(types.ScalarType(item.type.item))
        return tuple(random.choice(pool) for _ in range(random.choice((0, 1, 1, 2, 3))))
    if item.name == "weight" and isinstance(kind, EdgeType):
        whole = random.choice(WEIGHTS)
        return whole / 2 if item.type in types.FLOATS else whole
    value = random.choice(pool_of(item.type, extreme=item.name in EXTREME_NAMES))
    return (value or 0.0) if item.name in kind.key and isinstance(value, float) else value


def pool_of(kind: types.ValueType, *, extreme: bool = False) -> tuple[object, ...]:
    """Return the values that cells and queries of a type are made of."""
    if isinstance(kind, types.EnumType):
        return kind.values
    return EXTREMES[kind] if extreme else POOLS[kind]


def _json(value: object) -> str:
    if isinstance(value, datetime):
        return datetime_text(value)
    assert isinstance(value, date)
    return value.isoformat()
