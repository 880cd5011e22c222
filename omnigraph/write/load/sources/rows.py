"""Rows: Python dicts, networkx graphs and plain JSON lines, as the records that a load reads."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from itertools import chain
from typing import Any
from uuid import UUID

import msgspec

from omnigraph.errors import InputError
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType, StoredType, find_type
from omnigraph.syntax.literal import datetime_text
from omnigraph.syntax.problems import shorten
from omnigraph.write.load.sources.fields import column_of
from omnigraph.write.load.sources.records import JSON_SPACE

Rows = Iterable[Mapping[str, Any]]
_URI = re.compile(r"(?:s3|gs|az|file)://\S+", re.IGNORECASE)
_ENDS = {"src": "from", "dst": "to"}
_HOW_TO_NAME = "set its attribute 'type', or name the node (type, id)"


def is_network(data: object) -> bool:
    """Whether something is a networkx graph."""
    return type(data).__module__.startswith("networkx.") and hasattr(data, "adj")


def rows_in(data: object) -> Rows | None:
    """Return the dicts of a list or an iterator of them; None for anything else."""
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        return None
    if hasattr(data, "read") or hasattr(data, "__arrow_c_stream__"):
        return None
    if isinstance(data, Sequence):
        return data if data and all(isinstance(each, Mapping) for each in data) else None
    if not isinstance(data, Iterator):
        return None
    first = next(data, None)
    if not isinstance(first, Mapping):
        raise InputError(f"a row is a {type(first).__name__}, not a dict")
    return chain([first], data)


def row_lines(rows: Rows, type_name: str | None, catalog: Callable[[], Catalog]) -> Iterator[bytes]:
    """Yield dicts as lines of JSON: rows of one type, or records that name theirs."""
    stored = None if type_name is None else find_type(type_name, catalog())
    for row in rows:
        if not isinstance(row, Mapping):
            raise InputError(f"a row is a {type(row).__name__}, not a dict")
        if stored is None and not ("type" in row or "edge" in row):
            hint = 'set type=, or write {"type": …, "data": {…}}'
            raise InputError("the rows do not name their type", hint=hint)
        yield _line(row if stored is None else record_of(stored, row))


def record_of(stored: StoredType, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a type as a record: the ends of an edge, by any of their names, apart."""
    if isinstance(stored, NodeType):
        return {"type": stored.name, "data": dict(row)}
    record: dict[str, Any] = {"edge": stored.name}
    data: dict[str, Any] = {}
    for name, value in row.items():
        column = column_of(stored, name)
        (record if column in _ENDS else data)[_ENDS.get(column, name)] = value
    return {**record, "data": data}


def network_lines(graph: Any, catalog: Catalog) -> Iterator[bytes]:  # noqa: ANN401 - networkx
    """Yield the nodes and edges of a networkx graph as lines of JSON.

    The type of a node or edge is that of its name, as `to_networkx` makes them, or its attribute
    `type`, or the only one that there is.
    """
    nodes = {node: _node(node, values, catalog) for node, values in graph.nodes(data=True)}
    for stored, row_id, row in nodes.values():
        yield _line(record_of(stored, row if row_id is None else {**row, "id": row_id}))
    keyed = graph.edges(keys=True, data=True) if graph.is_multigraph() else None
    edges = keyed or ((one, other, None, each) for one, other, each in graph.edges(data=True))
    for source, target, key, values in edges:
        ends = (nodes[source], nodes[target])
        edge = _edge_type(key, values, (ends[0][0].name, ends[1][0].name), catalog)
        given = {name: value for name, value in values.items() if name != "type" or _has(edge)}
        own = {"id": key[1]} if _is_named(key, edge) and not edge.key else {}
        row = {"from": _id_of(ends[0], source), "to": _id_of(ends[1], target), **own, **given}
        yield _line(record_of(edge, row))


def to_records(data: bytes, stored: StoredType) -> bytes:
    """Return plain JSON lines as records of a type, line by line.

    A line that is no object, and a record that names this type itself, stays as it is.
    """
    return b"\n".join(_to_record(line, stored) for line in data.split(b"\n"))


def _to_record(line: bytes, stored: StoredType) -> bytes:
    text = line.strip(JSON_SPACE)
    if not text or text.startswith(b"//"):
        return line
    try:
        found = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line
    word = "edge" if isinstance(stored, EdgeType) else "type"
    own = json.dumps(stored.name).encode()
    if bytes(found.get(word, b"")) == own and word not in stored.properties:
        return line
    head = b'{"' + word.encode() + b'":' + own
    if isinstance(stored, NodeType):
        return head + b',"data":' + text + b"}"
    ends = {_ENDS[column]: name for name in found if (column := column_of(stored, name)) in _ENDS}
    named = b"".join(b',"%s":%s' % (end.encode(), bytes(found[ends[end]])) for end in ends)
    rest = {name: value for name, value in found.items() if name not in ends.values()}
    return head + named + b',"data":' + msgspec.json.encode(rest) + b"}"


def _node(
    node: object, values: Mapping[str, Any], catalog: Catalog
) -> tuple[NodeType, str | None, dict[str, Any]]:
    """Return the type of a node, the id that its name has, and its properties."""
    row = dict(values)
    if isinstance(node, tuple) and len(node) == 2 and node[0] in catalog.nodes:
        stored = catalog.nodes[node[0]]
        return stored, None if stored.key else str(node[1]), _with_key(stored, node[1], row)
    name = row.get("type")
    if name in catalog.nodes:
        stored = catalog.nodes[str(name)]
        if "type" not in stored.properties:
            del row["type"]
    elif len(catalog.nodes) == 1:
        (stored,) = catalog.nodes.values()
    else:
        raise InputError(f"the node {node!r} does not name its type", hint=_HOW_TO_NAME)
    return stored, None if stored.key else str(node), _with_key(stored, node, row)


def _with_key(stored: NodeType, name: object, row: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a node; its name is its key when that is one property."""
    if len(stored.key) == 1 and stored.key[0] not in row:
        return {stored.key[0]: name, **row}
    return row


def _id_of(node: tuple[NodeType, str | None, dict[str, Any]], name: object) -> Any:  # noqa: ANN401
    stored, row_id, row = node
    if row_id is not None:
        return row_id
    if isinstance(name, tuple) and len(name) == 2 and name[0] == stored.name:
        return name[1]
    return row[stored.key[0]] if len(stored.key) == 1 else name


def _edge_type(
    key: object, values: Mapping[str, Any], ends: tuple[str, str], catalog: Catalog
) -> EdgeType:
    named = key[0] if isinstance(key, tuple) and key else values.get("type", key)
    if isinstance(named, str) and named in catalog.edges:
        return catalog.edges[named]
    fitting = [e for e in catalog.edges.values() if (e.source, e.target) == ends]
    if len(fitting) == 1:
        return fitting[0]
    found = "several edge types join" if fitting else "no edge type joins"
    hint = "set its attribute 'type'"
    raise InputError(f"{found} {ends[0]} and {ends[1]}", hint=hint)


def _is_named(key: object, stored: EdgeType) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and key[0] == stored.name


def _has(stored: StoredType) -> bool:
    return "type" in stored.properties


def _line(record: Mapping[str, Any]) -> bytes:
    """Return a record as a line of JSON."""
    try:
        return json.dumps(_plain(record), default=_refuse).encode() + b"\n"
    except (TypeError, ValueError, OverflowError, RecursionError) as bad:
        raise InputError(f"a row cannot be written as JSON: {bad}") from None


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON out of whatever Python has
    """Return a value as JSON lines have it."""
    match value:
        case Mapping():
            return {str(name): _plain(each) for name, each in value.items()}
        case datetime() if value.tzinfo is not None:
            return datetime_text(value.astimezone(UTC))
        case date():
            return value.isoformat()
        case bytes():
            return f"base64:{base64.b64encode(value).decode()}"
        case Enum():
            return _plain(value.value)
        case UUID():
            return str(value)
        case Decimal():
            is_whole = value.is_finite() and value == value.to_integral_value()
            return int(value) if is_whole else float(value)
        case list() | tuple() | set() | frozenset():
            return [_plain(each) for each in value]
    to_list = getattr(value, "tolist", None)  # of numpy, scalars and arrays
    return value if to_list is None else _plain(to_list())


def _refuse(value: object) -> object:
    raise InputError(f"a row cannot hold a {type(value).__name__}", hint="write it as JSON has it")


def is_uri(text: str) -> bool:
    """Whether a text is a URI, and not data itself."""
    return _URI.fullmatch(text) is not None


def refuse_name(text: str) -> None:
    """Raise InputError for a text that is not a record and looks like a file name."""
    line = text.removeprefix("\ufeff").strip()
    if not line or "\n" in text or line.startswith(("{", "//")):
        return
    shown = shorten(line.encode(errors="backslashreplace").decode())
    raise InputError(
        f"a str has to hold JSON lines; found '{shown}'",
        hint=f"if it is the name of a file, pass Path('{shown}')",
    )
