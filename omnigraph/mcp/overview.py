"""Overview: the schema of a graph in few tokens: more or less of it, as much as fits."""

from collections.abc import Callable, Iterable, Mapping

from omnigraph.mcp.wording import to_line, tokens_of
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType, Property, StoredType
from omnigraph.schema.types import EnumType

TOKENS = 1_200
_KEY, _SEARCHED = "*", "~"
_LEGEND = f"{_KEY} key, ? may be null, {_SEARCHED} indexed; details of a type: schema(type)"


def describe(catalog: Catalog, counts: Mapping[str, int]) -> str:
    """Return all types with their keys, edges, enums and numbers of rows within `TOKENS`.

    The properties have their types where there is room, else their names, else only keys and
    enums are told; past that the types alone.
    """
    text = ""
    for tell in (_typed, _named, _essential, _nothing):
        text = _listed(catalog, counts, tell)
        if tokens_of(text) <= TOKENS:
            break
    return text


def _listed(
    catalog: Catalog, counts: Mapping[str, int], tell: Callable[[StoredType], Iterable[str]]
) -> str:
    lines = [_LEGEND]
    if catalog.interfaces:
        sets = (f"{name} = {'|'.join(of)}" for name, of in catalog.nodes_by_interface.items())
        lines.append(f"interfaces: {'; '.join(sets)}")
    lines.append("nodes (rows): properties")
    lines += [_line(each, each.name, counts, tell) for each in catalog.nodes.values()]
    if catalog.edges:
        lines.append("edges (rows): properties")
    for each in catalog.edges.values():
        lines.append(_line(each, f"{each.name} {each.source}->{each.target}", counts, tell))
    return "\n".join(lines)


def _line(
    stored: StoredType,
    head: str,
    counts: Mapping[str, int],
    tell: Callable[[StoredType], Iterable[str]],
) -> str:
    found = ", ".join(tell(stored))
    return f"{head} ({counts.get(stored.identity, 0):,}){': ' if found else ''}{found}"


def _typed(stored: StoredType) -> Iterable[str]:
    for item in stored.properties.values():
        yield f"{_name(stored, item)} {_kind(item)}{'?' if item.nullable else ''}"


def _named(stored: StoredType) -> Iterable[str]:
    for item in stored.properties.values():
        yield f"{_name(stored, item)}{_enum(item)}{'?' if item.nullable else ''}"


def _essential(stored: StoredType) -> Iterable[str]:
    for item in stored.properties.values():
        if item.name in stored.key or isinstance(item.type, EnumType):
            yield f"{_name(stored, item)}{_enum(item)}"


def _nothing(stored: NodeType | EdgeType) -> Iterable[str]:
    del stored
    return ()


def _name(stored: StoredType, item: Property) -> str:
    key = _KEY if item.name in stored.key else ""
    is_indexed = any(item.name in each for each in stored.indexes)
    return f"{item.name}{key}{_SEARCHED if is_indexed and not key else ''}"


def _kind(item: Property) -> str:
    if isinstance(item.type, EnumType):
        return _enum(item).strip()
    made = "" if item.embed is None else f" of {item.embed.source}"
    return f"{item.type}{made}"


def _enum(item: Property) -> str:
    if not isinstance(item.type, EnumType):
        return ""
    return f" {'|'.join(to_line(each) for each in item.type.values)}"
