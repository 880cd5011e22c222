"""Complete: what may be written at a position of a text, also of one that does not parse."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Self

from omnigraph.errors import Code, Json
from omnigraph.frozen import dataclass
from omnigraph.query.editor.context import Block, Position, read_position, type_named
from omnigraph.query.editor.words import FUNCTION_FORMS, KEYWORDS, TYPES
from omnigraph.query.functions import FUNCTIONS
from omnigraph.query.parsing.value_parser import AGGREGATES, COLLECT, RANKINGS, TEXT_FUNCTIONS
from omnigraph.schema.catalog import AnyType, Catalog, EdgeType
from omnigraph.schema.types import EnumType
from omnigraph.span import Source
from omnigraph.syntax.source import make_source, size_problem

MOST_ITEMS = 200
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "contains", "starts_with", "in", "+", "-", "*")
_LITERALS = ("true", "false")
_BODY = ("match", "return", "having", "order", "skip", "limit", "insert", "replace", "update")
_STATEMENTS = ("insert", "replace", "update", "delete")
_VALUES = ("now", "date", "datetime", *FUNCTIONS)


@dataclass(frozen=True, slots=True)
class Completion:
    """Something that may be written: how it is listed, what it is, and what is inserted."""

    label: str
    kind: str
    detail: str = ""
    insert: str = ""

    def to_json(self) -> dict[str, Json]:
        """Return the item as JSON."""
        return {
            "label": self.label,
            "kind": self.kind,
            "detail": self.detail,
            "insert": self.insert or self.label,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the item that `to_json` wrote."""
        return cls(**document)


@dataclass(frozen=True, slots=True)
class Completions:
    """What may be written instead of the text from `start` to the position."""

    start: int
    items: tuple[Completion, ...]

    def __iter__(self) -> Iterator[Completion]:
        return iter(self.items)

    def to_json(self) -> dict[str, Json]:
        """Return the items as JSON."""
        return {"start": self.start, "items": [each.to_json() for each in self.items]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the items that `to_json` wrote."""
        return cls(document["start"], tuple(map(Completion.from_json, document["items"])))


def complete(text: str | Source, position: int, catalog: Catalog) -> Completions:
    """Return what may be written at a position, as far as the text before it tells."""
    source = make_source(text, "<query>")
    is_large = size_problem(source, Code.QUERY_CAP) is not None
    found = None if is_large else read_position(source, position, catalog)
    if found is None:
        return Completions(position, ())
    word = found.word.casefold()
    fitting: dict[str, Completion] = {}
    for each in _items(found, catalog):
        if each.label.casefold().startswith(word):
            inserted = Completion(each.label, each.kind, each.detail, each.insert or each.label)
            fitting.setdefault(each.label, inserted)
    return Completions(found.start, tuple(fitting.values())[:MOST_ITEMS])


def _items(at: Position, catalog: Catalog) -> Iterator[Completion]:
    """Yield what fits, the most likely first."""
    if at.kind_at() == ".":
        yield from _properties_of_variable(at, catalog)
        return
    match at.block.kind:
        case Block.TEXT:
            yield from _keywords("query", *_BODY[:6])
        case Block.PARAMS:
            if at.kind_at() == ":" or at.kind_at() == "[":
                yield from _value_types()
        case Block.QUERY:
            yield from _in_query(at, catalog)
        case Block.PATTERN:
            yield from _in_pattern(at, catalog)
        case Block.VALUES:
            yield from _in_values(at, catalog)
        case Block.RETURN:
            yield from _in_return(at)
        case Block.HAVING | Block.ORDER:
            yield from _in_tail(at)
        case Block.CALL | Block.OTHER:
            yield from _values(at)
            yield from _functions(*AGGREGATES, COLLECT)
            yield from _keywords("distinct")


def _properties_of_variable(at: Position, catalog: Catalog) -> Iterator[Completion]:
    """Yield the properties of the variable before a dot; of all types when its own is unknown."""
    if at.kind_at(2) != "var":
        return
    name = at.scope.variables.get(at.text_at(2)[1:])
    known = None if name is None else type_named(catalog, name)
    types = [known] if known is not None else _all_types(catalog)
    yield from _properties(types)
    if at.block.kind is Block.RETURN:
        yield Completion("*", "keyword", "a column for each property")


def _in_query(at: Position, catalog: Catalog) -> Iterator[Completion]:
    """Yield what may stand in the body of a query, outside of its blocks."""
    last = at.text_at()
    if last in _STATEMENTS:
        yield from _types([*catalog.nodes.values(), *catalog.edges.values()])
        return
    if last == "set":
        yield from _variables(at)
        return
    changed = _changed_type(at)
    if changed is not None:
        stored = type_named(catalog, changed)
        yield from _properties([] if stored is None else [stored])
        yield from _values(at)
        yield from _keywords("and", "or", "not", "is null", "is not null")
        return
    if last in ("skip", "limit"):
        yield from _parameters(at)
        return
    before = {each.text for each in at.before[at.block.start :] if each.kind == "word"}
    if at.text_at(2) in ("update", "delete"):
        yield from _keywords("set" if at.text_at(2) == "update" else "where")
    if last == "}" and "update" in before:
        yield from _keywords("where")
    yield from _keywords(*_following(before))


def _following(before: set[str]) -> Iterable[str]:
    """Return the clauses that may follow those that a query has."""
    if "return" in before:
        order = ("having", "order", "skip", "limit")
        present = [place for place, name in enumerate(order) if name in before]
        return order[max(present, default=-1) + 1 :]
    if "match" in before:
        return ("return", "insert", "replace", "set")
    if before & {*_STATEMENTS}:
        return _STATEMENTS
    return ("match", *_STATEMENTS)


def _changed_type(at: Position) -> str | None:
    """Return the type of an `update` or `delete` in whose condition a position is."""
    own = at.before[at.block.start :]
    for place in range(len(own) - 1, -1, -1):
        if own[place].text == "where":
            for earlier in range(place - 1, -1, -1):
                if own[earlier].text in ("update", "delete"):
                    return own[earlier + 1].text
            return None
        if own[place].text in (*_STATEMENTS, "match", "return"):
            return None
    return None


def _in_pattern(at: Position, catalog: Catalog) -> Iterator[Completion]:
    """Yield what may stand in a pattern: bindings, edges, conditions."""
    last, kind = at.text_at(), at.kind_at()
    if kind == ":" and at.kind_at(2) == "var":
        if at.kind_at(3) == "var":
            yield from _edges(at.text_at(3), at, catalog)
        else:
            yield from _types([*catalog.nodes.values(), *catalog.interfaces.values()])
        return
    if kind == "|" or (kind == "<" and at.kind_at(2) in ("var", "|", ":")):
        yield from _edges(None, at, catalog)
        if kind == "<":
            yield from _values(at)
        return
    if kind == "var" and at.kind_at(2) not in ("=", "(", ",", *_COMPARISONS):
        yield from _edges(last, at, catalog)
        yield from _keywords("contains", "starts_with", "in", "is null", "is not null")
        return
    if last in _COMPARISONS or last == "[":
        yield from _values(at)
        return
    if _ends_in_edge(at, catalog):
        yield from _variables(at)
        return
    yield from _variables(at)
    yield from _keywords("not", "optional", "exists")
    yield from _functions(*TEXT_FUNCTIONS)
    if kind not in ("{", ""):
        yield from _keywords("and", "or", "contains", "starts_with", "in", "is null", "is not null")


def _ends_in_edge(at: Position, catalog: Catalog) -> bool:
    """Return whether the name of an edge stands before a position, or how often it is followed."""
    if at.kind_at() == "word":
        return at.text_at().casefold() in catalog.edges_by_traversal
    kinds = [each.kind for each in at.before[-5:]]
    return kinds[-3:] == ["{", "int", "}"] or kinds == ["{", "int", ",", "int", "}"]


def _in_values(at: Position, catalog: Catalog) -> Iterator[Completion]:
    """Yield the properties of a type, or what may be the value of one."""
    stored = None if at.block.name is None else type_named(catalog, at.block.name)
    if at.kind_at() == ":":
        item = None if stored is None else stored.properties.get(at.text_at(2))
        if item is not None and isinstance(item.type, EnumType):
            for value in item.type.values:
                yield Completion(f'"{value}"', "keyword", str(item.type))
        yield from _values(at)
        return
    if at.kind_at() in ("{", ",") or at.kind_at(2) == ":":
        written = {
            one.text for one, other in pairwise(at.before[at.block.start :]) if other.kind == ":"
        }
        for each in _properties([] if stored is None else [stored], colon=True):
            if each.label not in written:
                yield each
        is_edge = isinstance(stored, EdgeType)
        for end in ("from", "to") if is_edge and at.kind_at(3) != "var" else ():
            if end not in written:
                yield Completion(end, "property", "an end of the edge", f"{end}: ")
        return
    yield from _values(at)


def _in_return(at: Position) -> Iterator[Completion]:
    if at.text_at() == "as":
        return
    yield from _variables(at)
    yield from _functions(*AGGREGATES, COLLECT, *_VALUES)
    yield from _parameters(at)
    if at.kind_at() not in ("{", ","):
        yield from _keywords("as")


def _in_tail(at: Position) -> Iterator[Completion]:
    for name in at.scope.aliases:
        yield Completion(name, "variable", "a column")
    yield from _variables(at)
    yield from _parameters(at)
    ranks = (*AGGREGATES, *RANKINGS) if at.block.kind is Block.ORDER else AGGREGATES
    yield from _functions(*ranks, *_VALUES)
    if at.block.kind is Block.ORDER:
        yield from _keywords("asc", "desc")
    else:
        yield from _keywords("and", "or", "not", "is null", "is not null", "contains", "in")


def _values(at: Position) -> Iterator[Completion]:
    yield from _parameters(at)
    yield from _variables(at)
    yield from _functions(*_VALUES)
    yield from _keywords(*_LITERALS)


def _edges(variable: str | None, at: Position, catalog: Catalog) -> Iterator[Completion]:
    """Yield the edges that leave or reach the type of a variable; all when it is not known."""
    kind = None if variable is None else at.scope.variables.get(variable[1:])
    types = None if kind is None else catalog.node_types(kind)
    for edge in catalog.edges.values():
        if types is None or edge.source in types or edge.target in types:
            name = f"{edge.name[0].lower()}{edge.name[1:]}"
            yield Completion(name, "edge", f"{edge.source} -> {edge.target}")


def _types(types: Iterable[AnyType]) -> Iterator[Completion]:
    for each in types:
        if isinstance(each, EdgeType):
            yield Completion(each.name, "edge", f"{each.source} -> {each.target}")
        else:
            detail = ", ".join([*each.properties][:6])
            yield Completion(each.name, "type", detail)


def _value_types() -> Iterator[Completion]:
    for name, meaning in TYPES.items():
        yield Completion(name, "type", meaning, f"{name}(" if name in ("Vector", "enum") else "")


def _properties(types: Iterable[AnyType], *, colon: bool = False) -> Iterator[Completion]:
    for each in types:
        for item in each.properties.values():
            detail = f"{item.type}{'?' if item.nullable else ''}"
            yield Completion(item.name, "property", detail, f"{item.name}: " if colon else "")


def _variables(at: Position) -> Iterator[Completion]:
    for name, kind in at.scope.variables.items():
        yield Completion(f"${name}", "variable", kind or "")


def _parameters(at: Position) -> Iterator[Completion]:
    for name, kind in at.scope.params.items():
        yield Completion(f"${name}", "parameter", kind)


def _functions(*names: str) -> Iterator[Completion]:
    for name in names:
        form, summary = FUNCTION_FORMS[name]
        yield Completion(name, "function", f"{form}: {summary}", f"{name}(")


def _keywords(*names: str) -> Iterator[Completion]:
    for name in names:
        yield Completion(name, "keyword", KEYWORDS.get(name, ""))


def _all_types(catalog: Catalog) -> list[AnyType]:
    return [*catalog.nodes.values(), *catalog.edges.values()]
