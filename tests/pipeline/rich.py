"""Rich: a graph with every type of value, and with the values that are easy to get wrong."""

import json
from pathlib import Path

import pyarrow as pa

from omnigraph.api.graph import Graph
from tests.templates import fresh_graph

SCHEMA = """
node Thing {
  slug: String @key
  text: String?  blob: Blob?  flag: Bool?  i32: I32?  i64: I64?  u32: U32?  u64: U64?
  f32: F32?  f64: F64?  day: Date?  at: DateTime?  hue: enum(green, red)?  vector: Vector(3)?
  texts: [String]?  flags: [Bool]?  i32s: [I32]?  i64s: [I64]?  u32s: [U32]?  u64s: [U64]?
  f32s: [F32]?  f64s: [F64]?  days: [Date]?  ats: [DateTime]?
}
node Pair { a: String  b: DateTime  c: F32  @key(a, b, c) }
node Loose { name: String? }
node Nothing { slug: String @key }
edge Likes: Thing -> Loose { why: String? }
edge Next: Pair -> Pair { n: I64  weight: F64?  @key(src, dst, n) }
edge Bare: Loose -> Loose
"""

ODD = 'bell\x07 nul\x00 tab\t line\nreturn\r quote" back\\ slash/ esc\x1b del\x7f é \u2028 😀'
TWICE_ROUNDED = 7.038530691851209e-26
PAIR = '["x\\"y","2024-01-31T12:00:00.000Z",0.1]'

RECORDS: list[dict[str, object]] = [
    {
        "type": "Thing",
        "data": {
            "slug": ODD,
            "text": ODD,
            "blob": "base64:AAEC",
            "flag": True,
            "i32": -(2**31),
            "i64": -(2**63),
            "u32": 2**32 - 1,
            "u64": 2**64 - 1,
            "f32": 1.1,
            "f64": 5e-324,
            "day": "0001-01-01",
            "at": "0001-01-02T00:00:00.001Z",
            "hue": "red",
            "vector": [0.1, -0.0, 1e-45],
            "texts": ["", ODD, "x"],
            "flags": [True, False],
            "i32s": [1],
            "i64s": [2**63 - 1],
            "u32s": [0],
            "u64s": [2**64 - 1, 0],
            "f32s": [TWICE_ROUNDED, -0.0, 3.4028234663852886e38],
            "f64s": [-0.0, 1.7976931348623157e308, 0.1],
            "days": ["9999-12-31"],
            "ats": ["2024-01-31T12:00:00.123Z", "1969-12-31T23:59:59.999Z"],
        },
    },
    {
        "type": "Thing",
        "data": {
            "slug": "empty",
            "text": "",
            **{f"{name}s": [] for name in ("text", "flag", "i32", "i64", "u32", "u64", "f32")},
            **{f"{name}s": [] for name in ("f64", "day", "at")},
        },
    },
    {"type": "Thing", "data": {"slug": "", "at": "9999-12-30T23:59:59.999Z", "f64": 1e22}},
    {"type": "Thing", "data": {"slug": "😀", "f32": -TWICE_ROUNDED, "f64": -0.0}},
    {"type": "Thing", "data": {"slug": "\uffff", "blob": 'https://example.org/é"x\\'}},
    {"type": "Pair", "data": {"a": 'x"y', "b": "2024-01-31T12:00:00Z", "c": 0.1}},
    {"type": "Pair", "data": {"a": "x", "b": "2024-01-31T12:00:00.5Z", "c": -0.0}},
    {"type": "Loose", "data": {"id": "one\n", "name": "here"}},
    {"type": "Loose", "data": {"name": None}},
    {"edge": "Likes", "from": ODD, "to": "one\n", "data": {"why": ODD}},
    {"edge": "Likes", "from": "empty", "to": "one\n", "data": {"id": "mine"}},
    {"edge": "Bare", "from": "one\n", "to": "one\n"},
    {"edge": "Next", "from": PAIR, "to": PAIR, "data": {"n": 5}},
]


def empty_graph(place: Path) -> Graph:
    """Make a graph of the schema that holds nothing."""
    return fresh_graph(place, SCHEMA)


def rich_graph(place: Path) -> Graph:
    """Make a graph that holds the records."""
    return fresh_graph(place, SCHEMA, "\n".join(map(json.dumps, RECORDS)))


def content(graph: Graph, target: str = "main") -> dict[str, pa.Table]:
    """Return the rows of all tables at a branch or commit, by id."""
    snapshot = graph.snapshot(target)
    return {key: snapshot.table(key).scan().sort_by("id") for key in snapshot.commit.tables}


def lines_of(graph: Graph, target: str = "main") -> bytes:
    """Return all that an export gives."""
    return b"".join(graph.export(target))


def is_same(one: Graph, other: Graph) -> bool:
    """Tell whether two graphs hold the same; the lines also tell 0.0 from -0.0."""
    return content(one) == content(other) and lines_of(one) == lines_of(other)
