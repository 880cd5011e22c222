"""Rows: Python dicts, networkx graphs and plain JSON lines, as the records that a load reads."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from itertools import chain, islice
from typing import Any, TypeGuard
from uuid import UUID

import msgspec

from omnigraph.errors import InputError
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType, StoredType, find_type
from omnigraph.syntax.literal import datetime_text
from omnigraph.syntax.problems import shorten, suggest
from omnigraph.write.load.sources.fields import column_of
from omnigraph.write.load.sources.records import JSON_SPACE, RecordObject, decode_line

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
        return data if all(isinstance(each, Mapping) for each in data) else None
    if not isinstance(data, Iterator):
        return None
    begin = list(islice(data, 1))
    for first in begin:
        if not isinstance(first, Mapping):
            raise InputError(f"a row is a {type(first).__name__}, not a dict")
    return chain(begin, data)


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
    """Return a row of a type as a record: the ends of an edge, by any of their names, apart.

    An end that is given again, under another name, is left among the properties, to be reported.
    """
    if isinstance(stored, NodeType):
        return {"type": stored.name, "data": dict(row)}
    record: dict[str, Any] = {"edge": stored.name}
    data: dict[str, Any] = {}
    for name, value in row.items():
        end = _ENDS.get(column_of(stored, name))
        if end is None or end in record:
            data[name] = value
        else:
            record[end] = value
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
        is_named = _is_pair(key) and key[0] == edge.name
        own = {"id": key[1]} if is_named and not edge.key else {}
        between = {"from": _id_of(ends[0], source), "to": _id_of(ends[1], target)}
        yield _line({"edge": edge.name, **between, "data": {**own, **given}})


def to_records(data: bytes, stored: StoredType) -> bytes:
    """Return plain JSON lines as records of a type, line by line.

    A line that is no object, and a record that names this type itself, stays as it is.
    """
    return b"\n".join(_to_record(line, stored) for line in data.split(b"\n"))


def _to_record(line: bytes, stored: StoredType) -> bytes:
    text = line.strip(JSON_SPACE)
    if not text or text.startswith(b"//"):
        return line
    found = _values(text)
    if found is None:
        return line
    word = "edge" if isinstance(stored, EdgeType) else "type"
    own = json.dumps(stored.name).encode()
    if found.get(word) == own and word not in stored.properties:
        return line
    head = b'{"%s":%s' % (word.encode(), own)
    if isinstance(stored, NodeType):
        return head + b',"data":' + text + b"}"
    ends, data = _parted(_fields(text, found), stored)
    return b'%s%s,"data":{%s}}' % (head, b"".join(b"," + each for each in ends), b",".join(data))


def _parted(
    fields: Iterable[tuple[str, bytes]], stored: EdgeType
) -> tuple[list[bytes], list[bytes]]:
    """Return the ends of an edge and its other fields; one that is given twice stays there twice.

    An end that is given again, under another name, is one of the others.
    """
    names: dict[str, str] = {}
    ends, data = [], []
    for name, value in fields:
        end = _ENDS.get(column_of(stored, name))
        if end is None or names.setdefault(end, name) != name:
            data.append(b"%s:%s" % (json.dumps(name).encode(), value))
        else:
            ends.append(b'"%s":%s' % (end.encode(), value))
    return ends, data


def _values(text: bytes) -> dict[str, bytes] | None:
    """Return the values of a JSON object by name, the last of each; None for anything else."""
    try:
        found = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # The other decoder accepts lone surrogates, which are then reported with their field.
        record = decode_line(text)
        if not isinstance(record, RecordObject):
            return None
        return {name: json.dumps(value).encode() for name, value in record.items()}
    return {name: bytes(value) for name, value in found.items()}


def _fields(text: bytes, found: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
    """Return the values of a JSON object with their names, twice if one is given twice."""
    # Each field has one colon, beside those in its value and, which no property has, in its name.
    if text.count(b":") == len(found) + b"".join(found.values()).count(b":"):
        return found.items()
    record = decode_line(text)
    repeated = record.repeated if isinstance(record, RecordObject) else ()
    return [(name, found[name]) for name in found for _ in range(1 + (name in repeated))]


def _node(
    node: object, values: Mapping[str, Any], catalog: Catalog
) -> tuple[NodeType, str | None, dict[str, Any]]:
    """Return the type of a node, the id that its name has, and its properties."""
    row = dict(values)
    stored = _node_type(node, row, catalog)
    name = node[1] if _is_pair(node) and node[0] == stored.name else node
    if row.get("type") == stored.name and not _has(stored):
        del row["type"]
    row_id = None if stored.key else str(name)
    if row_id is not None and str(row.get("id", row_id)) != row_id:
        hint = "the name of a node without a key is its id"
        raise InputError(f"the node {node!r} has the attribute 'id' {row['id']!r}", hint=hint)
    return stored, row_id, _with_key(stored, name, row)


def _node_type(node: object, row: Mapping[str, Any], catalog: Catalog) -> NodeType:
    """Return the type of a node: that of its name or its attribute, or the only one."""
    texts = _type_names(node, row)
    known = [catalog.nodes[each] for each in texts if each in catalog.nodes]
    only = list(catalog.nodes.values()) if len(catalog.nodes) == 1 else []
    if known:
        return known[0]
    if texts and (_is_pair(node) or not any(map(_has, only))):
        raise InputError(f"no type '{texts[0]}'", hint=suggest(texts[0], catalog.nodes))
    if only:
        return only[0]
    raise InputError(f"the node {node!r} does not name its type", hint=_HOW_TO_NAME)


def _type_names(name: object, row: Mapping[str, Any]) -> list[str]:
    """Return what the name of a node or edge, and its attribute, say of its type."""
    named = [*([name[0]] if _is_pair(name) else []), row.get("type")]
    return [each for each in named if isinstance(each, str)]


def _is_pair(name: object) -> TypeGuard[tuple[str, Any]]:
    """Whether the name of a node or edge is a type and an id."""
    return isinstance(name, tuple) and len(name) == 2 and isinstance(name[0], str)


def _with_key(stored: NodeType, name: object, row: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a node; its name is its key when that is one property."""
    if len(stored.key) == 1 and stored.key[0] not in row:
        return {stored.key[0]: name, **row}
    return row


def _id_of(node: tuple[NodeType, str | None, dict[str, Any]], name: object) -> Any:  # noqa: ANN401
    stored, row_id, row = node
    if row_id is not None:
        return row_id
    if _is_pair(name) and name[0] == stored.name:
        return name[1]
    return row[stored.key[0]] if len(stored.key) == 1 else name


def _edge_type(
    key: object, values: Mapping[str, Any], ends: tuple[str, str], catalog: Catalog
) -> EdgeType:
    """Return the type of an edge: that of its key or its attribute, or the only one that fits."""
    texts = _type_names(key, values)
    named = [*texts, key] if isinstance(key, str) else texts
    known = [catalog.edges[each] for each in named if each in catalog.edges]
    if known:
        return known[0]
    fitting = [e for e in catalog.edges.values() if (e.source, e.target) == ends]
    if texts and (_is_pair(key) or not any(map(_has, fitting))):
        raise InputError(f"no type '{texts[0]}'", hint=suggest(texts[0], catalog.edges))
    if len(fitting) == 1:
        return fitting[0]
    found = "several edge types join" if fitting else "no edge type joins"
    hint = "set its attribute 'type'"
    raise InputError(f"{found} {ends[0]} and {ends[1]}", hint=hint)


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
        case datetime() if value != value:  # NaT of pandas
            return None
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
    if type(value).__name__ == "NAType":  # of pandas
        return None
    return _from_numpy(value) if hasattr(value, "tolist") else value


def _from_numpy(value: Any) -> Any:  # noqa: ANN401 - a scalar or an array
    if getattr(getattr(value, "dtype", None), "kind", "") not in ("m", "M"):
        return _plain(value.tolist())
    if value.ndim:
        return [_plain(each) for each in value]
    if value != value:  # NaT
        return None
    found = value.tolist()
    # Python has no nanoseconds; numpy returns their number, which a load takes for milliseconds.
    return _refuse(value) if isinstance(found, int) else _plain(found)


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
