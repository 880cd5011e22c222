"""Design: node types, keys and edges, from the values that columns share."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.frozen import dataclass
from omnigraph.schema.types import STRING, is_integer
from omnigraph.syntax.problems import list_names
from omnigraph.write.infer.kinds import InferredColumn, infer_column, with_members
from omnigraph.write.infer.tables import GivenTable

_ENDS = (("from", "to"), ("source", "target"), ("src", "dst"))
_LIKELY_KEYS = ("key", "slug", "uuid", "code", "name", "title", "email")
_POINTERS = ("_id", "_key", "_slug", "_code", "_ref")
_WORD = re.compile(r"[A-Za-z0-9]+")
_NEVER = frozenset(("id", "from", "to", "src", "dst", "source", "target"))
_SINGULARS = {"people": "person", "children": "child"}


@dataclass(slots=True)
class NodeDesign:
    """A node type: its columns, and the id of each row if it has one."""

    name: str
    columns: dict[str, InferredColumn]
    key: str | None = None
    ids: pa.Array | None = None
    gives_ids: bool = False


@dataclass(slots=True)
class EdgeDesign:
    """An edge type: the types that it joins, the ids of its ends, and its columns."""

    name: str
    source: str
    target: str
    ends: tuple[pa.Array, pa.Array]
    columns: dict[str, InferredColumn]


@dataclass(slots=True)
class Design:
    """The types of some data; `notes` say what had to be assumed."""

    nodes: list[NodeDesign] = field(default_factory=list)
    edges: list[EdgeDesign] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def design(tables: Iterable[GivenTable]) -> Design:
    """Return types for tables: a table is a node type, unless its rows only join others."""
    made = Design()
    parts = []
    for table in tables:
        columns = {
            name: infer_column(table.rows[name], is_text=table.is_text)
            for name in table.rows.column_names
        }
        parts.append((table, columns))
    joins = [part for part in parts if _end_names(part[1]) is not None]
    known = [
        (table, _add_node(table.name, columns, made))
        for table, columns in parts
        if _end_names(columns) is None
    ]
    for table, columns in joins:
        _join(table, columns, known, made)
    for node in list(made.nodes):
        _point(node, made)
    _name_edges(made)
    types: list[NodeDesign | EdgeDesign] = [*made.nodes, *made.edges]
    for each in types:
        each.columns = _finished(each, made)
    return made


def _end_names(columns: Mapping[str, InferredColumn]) -> tuple[str, str] | None:
    lowered = {name.lower(): name for name in columns}
    for one, other in _ENDS:
        if one in lowered and other in lowered:
            return lowered[one], lowered[other]
    return None


def _add_node(name: str, columns: dict[str, InferredColumn], made: Design) -> NodeDesign:
    """Add a node type for a table, under a name that no other has, and return it."""
    wanted = _node_name(name)
    node = NodeDesign(_free(wanted, {_folded(each.name) for each in made.nodes}), dict(columns))
    made.nodes.append(node)
    own = next((each for each in columns if each.lower() == "id"), None)
    if own is not None and _is_key(columns[own]):
        node.ids, node.gives_ids = _texts(columns[own]), True
        del node.columns[own]
        return node
    likely = list(_candidates(wanted, columns))
    node.key = next((each for each in likely if _is_key(columns[each])), None)
    if node.key is None:
        made.notes.append(_no_key(node.name, [*([] if own is None else [own]), *likely]))
    else:
        node.ids = _texts(columns[node.key])
    return node


def _no_key(type_name: str, tried: Iterable[str]) -> str:
    """Return the note about a type without a key, with the columns that were tried for it."""
    names = list(dict.fromkeys(tried))
    if not names:
        return f"{type_name} has no key: no column is named like one, such as 'id'"
    listed = list_names([f"'{name}'" for name in names])
    return f"{type_name} has no key: tried {listed}; none has a different value in each row"


def _candidates(type_name: str, columns: Mapping[str, InferredColumn]) -> Iterator[str]:
    """Yield the columns that may be a key, the likeliest first."""
    by_name = {name.lower(): name for name in columns}
    stem = type_name.lower()
    for likely in (f"{stem}_id", f"{stem}id", *_LIKELY_KEYS):
        if likely in by_name:
            yield by_name[likely]
    first = next(iter(columns), None)
    if first is not None and columns[first].kind == STRING:
        yield first
    yield from (name for name in columns if name.lower().endswith(_POINTERS[:3]))


def _is_key(column: InferredColumn) -> bool:
    kind = column.kind
    fits = kind == STRING or is_integer(kind)
    count = len(column.values)
    return fits and count > 0 and not column.is_nullable and _distinct(column.values) == count


def _distinct(values: pa.Array) -> int:
    return int(pc.count_distinct(values).as_py())


def _texts(column: InferredColumn) -> pa.Array:
    return column.values.cast(pa.utf8())


def _join(
    table: GivenTable,
    columns: dict[str, InferredColumn],
    known: Iterable[tuple[GivenTable, NodeDesign]],
    made: Design,
) -> None:
    """Add an edge type for a table whose rows have two ends, or else a node type."""
    names = _end_names(columns)
    assert names is not None
    given = (None, None) if table.ends is None else table.ends
    expected = [next((node for each, node in known if each is end), None) for end in given]
    found = [
        _pointed(columns[name], made.nodes, node)
        for name, node in zip(names, expected, strict=True)
    ]
    rest = {name: each for name, each in columns.items() if name not in names}
    one, other = found
    if one is None or other is None:
        made.notes.append(f"the ends of '{table.name}' are not ids of one type; its rows are nodes")
        _add_node(table.name, columns, made)
        return
    ends = _texts(columns[names[0]]), _texts(columns[names[1]])
    made.edges.append(EdgeDesign(type_name(table.name), one.name, other.name, ends, rest))


def _pointed(
    column: InferredColumn, nodes: Iterable[NodeDesign], expected: NodeDesign | None
) -> NodeDesign | None:
    """Return the type whose ids all values of a column are: the expected one, or the only one."""
    if column.is_nullable:
        return None
    if expected is not None:
        return expected if _is_within(column, expected) else None
    found = [node for node in nodes if _is_within(column, node)]
    return found[0] if len(found) == 1 else None


def _is_within(column: InferredColumn, node: NodeDesign) -> bool:
    kind = column.kind
    fits = kind == STRING or is_integer(kind)
    if node.ids is None or not fits or column.values.null_count == len(column.values):
        return False
    texts = _texts(column).drop_null()
    return bool(pc.all(pc.is_in(texts, value_set=node.ids)).as_py())


def _point(node: NodeDesign, made: Design) -> None:
    """Turn columns that point at keys into edges."""
    if node.ids is None:
        return
    for name, column in list(node.columns.items()):
        target = None if name == node.key else _target(name, column, made.nodes)
        if target is None:
            continue
        there = column.values.is_valid()
        ends = node.ids.filter(there), _texts(column).filter(there)
        edge = f"{node.name}{type_name(_stem(name))}"
        made.edges.append(EdgeDesign(edge, node.name, target.name, ends, {}))
        made.notes.append(f"{node.name}.{name} points at {target.name}: it became the edge {edge}")
        del node.columns[name]


def _target(name: str, column: InferredColumn, nodes: Iterable[NodeDesign]) -> NodeDesign | None:
    """Return the type that a column points at, by its name and by all of its values."""
    within = [node for node in nodes if _is_within(column, node)]
    named = [
        n for n in within if _folded(n.name) == _folded(type_name(_stem(name), is_plural=True))
    ]
    if named:
        return named[0]
    return within[0] if len(within) == 1 and name.lower().endswith(_POINTERS) else None


def _stem(name: str) -> str:
    lowered = name.lower()
    ending = next((each for each in _POINTERS if lowered.endswith(each)), "")
    return name[: len(name) - len(ending)] if len(ending) < len(name) else name


def _finished(each: "NodeDesign | EdgeDesign", made: Design) -> dict[str, InferredColumn]:
    """Return columns under names that a schema can have, with enums where they are."""
    found: dict[str, InferredColumn] = {}
    key = each.key if isinstance(each, NodeDesign) else None
    for name, column in each.columns.items():
        own = property_name(name)
        while own in found:
            own = f"{own}_2"
        found[own] = column if name == key else with_members(column)
        if name == key and isinstance(each, NodeDesign):
            each.key = own
        if column.note is not None:
            made.notes.append(f"{each.name}.{own}: {column.note}")
    return found


def _name_edges(made: Design) -> None:
    taken = {_folded(node.name) for node in made.nodes}
    for edge in made.edges:
        edge.name = _free(edge.name, taken)


def _free(name: str, taken: set[str]) -> str:
    own, number = name, 2
    while _folded(own) in taken:
        own, number = f"{name}{number}", number + 1
    taken.add(_folded(own))
    return own


def _folded(name: str) -> str:
    return name.casefold()


def _node_name(text: str) -> str:
    """Return the name of a node type; one that begins as types do is one already."""
    return type_name(text, is_plural=text[:1].islower())


def type_name(text: str, *, is_plural: bool = False) -> str:
    """Return the name of a type for a file, a label or a column: `order_items` is `OrderItem`."""
    words = _WORD.findall(text)
    if words and is_plural:
        words[-1] = _singular(words[-1])
    name = "".join(word[:1].upper() + word[1:] for word in words)
    return name if name[:1].isalpha() and name.isascii() else f"T{name}"


def _singular(word: str) -> str:
    lowered = word.lower()
    if lowered in _SINGULARS:
        return _SINGULARS[lowered]
    if lowered.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    is_plural = len(word) > 1 and lowered.endswith("s") and not lowered.endswith("ss")
    return word[:-1] if is_plural else word


def property_name(text: str) -> str:
    """Return the name of a property for a column: `Full name` is `full_name`."""
    words = _WORD.findall(text)
    name = "_".join(words) if "_" in text or " " in text or "-" in text else "".join(words)
    name = name.lower() if name.isupper() else name[:1].lower() + name[1:]
    if not name or not name[0].isalpha() or not name.isascii() or name in _NEVER:
        name = f"p_{name}" if name else "p"
    return name
