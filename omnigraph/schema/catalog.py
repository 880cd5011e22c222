"""Catalog: the checked schema: every type with its properties, constraints and identity."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.schema.types import F32, STRING, ValueType
from omnigraph.schema.values import Value, match_f32
from omnigraph.syntax.problems import suggest

NODE_COLUMNS = ("id",)
EDGE_COLUMNS = ("id", "src", "dst")
EDGE_ENDS = MappingProxyType({"from": "src", "to": "dst"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """An annotation that OmniGraph keeps, unread, for the user's programs."""

    name: str
    value: str | int | float | bool | None = None
    options: tuple[tuple[str, str | int | float | bool], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Embed:
    """`@embed("text", model="…")`: the vector is made from this property's text."""

    source: str
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A named, typed column of a node or edge table."""

    name: str
    identity: str
    type: ValueType
    nullable: bool
    default: Value | None = None
    embed: Embed | None = None
    renamed_from: str | None = None
    description: str | None = None
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """`@range(age, 0..150)`: the least and greatest value a property may have."""

    property: str
    minimum: int | float | None
    maximum: int | float | None

    def ends(self, kind: ValueType) -> tuple[int | float | None, int | float | None]:
        """Return both ends as they are compared with values of a type."""
        if kind != F32:
            return self.minimum, self.maximum
        least = None if self.minimum is None else match_f32(self.minimum)
        return least, None if self.maximum is None else match_f32(self.maximum)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternCheck:
    """`@check(code, "^[A-Z]+$")`: an RE2 pattern that must be found in the value."""

    property: str
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cardinality:
    """`@card(0..1)`: how many edges of a type may leave one source."""

    minimum: int = 0
    maximum: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """A set of properties that several node types share, and by which they can be queried."""

    name: str
    identity: str
    properties: Mapping[str, Property]
    key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeType:
    """A type of nodes: one table, `id` and then the properties."""

    name: str
    identity: str
    properties: Mapping[str, Property]
    implements: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    ranges: tuple[Range, ...] = ()
    checks: tuple[PatternCheck, ...] = ()
    renamed_from: str | None = None
    description: str | None = None
    instruction: str | None = None
    annotations: tuple[Annotation, ...] = ()

    @property
    def table_key(self) -> str:
        """The key by which users know the table: the kind, and the name the type has here."""
        return f"node:{self.name}"

    def column(self, name: str) -> ValueType | None:
        """Return the type of a property or of `id`, or None."""
        return _column(self.properties, name, NODE_COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeType:
    """A type of edges: one table, `id`, `src`, `dst` and then the properties."""

    name: str
    identity: str
    source: str
    target: str
    properties: Mapping[str, Property]
    cardinality: Cardinality = Cardinality()
    key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    renamed_from: str | None = None
    description: str | None = None
    instruction: str | None = None
    annotations: tuple[Annotation, ...] = ()

    @property
    def table_key(self) -> str:
        """The key by which users know the table: the kind, and the name the type has here."""
        return f"edge:{self.name}"

    @property
    def chains(self) -> bool:
        """Whether the edge can be followed twice in a row."""
        return self.source == self.target

    def column(self, name: str) -> ValueType | None:
        """Return the type of a property, `id` or an end (also as `from` or `to`), or None."""
        return _column(self.properties, EDGE_ENDS.get(name, name), EDGE_COLUMNS)


StoredType: TypeAlias = NodeType | EdgeType
AnyType: TypeAlias = Interface | StoredType


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A type, or a property of one, that a schema no longer has; its rows are at a commit.

    `owner` is the identity of the type.
    """

    item: NodeType | EdgeType | Property
    owner: str
    commit: str

    @property
    def place(self) -> tuple[str, str | None]:
        """The identities of the type and of the property, if it is one."""
        return self.owner, self.item.identity if isinstance(self.item, Property) else None


@dataclass(frozen=True, repr=False)
class Catalog:
    """Every type of a schema by name, in declared order.

    `dropped` is what it had before, oldest first, with the commits that still have its rows.
    """

    interfaces: Mapping[str, Interface]
    nodes: Mapping[str, NodeType]
    edges: Mapping[str, EdgeType]
    dropped: tuple[Dropped, ...] = ()

    def __repr__(self) -> str:
        return f"Catalog(nodes: {_listed(self.nodes)}; edges: {_listed(self.edges)})"

    @cached_property
    def edges_by_traversal(self) -> Mapping[str, EdgeType]:
        """Edges by the case-folded name under which a traversal finds them."""
        return {name.casefold(): edge for name, edge in self.edges.items()}

    @cached_property
    def nodes_by_interface(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the node types that implement each interface."""
        return {
            interface: tuple(n.name for n in self.nodes.values() if interface in n.implements)
            for interface in self.interfaces
        }

    @cached_property
    def by_identity(self) -> Mapping[str, StoredType]:
        """Node and edge types, nodes first, by the identity that is the key of their table."""
        types: list[StoredType] = [*self.nodes.values(), *self.edges.values()]
        return {each.identity: each for each in types}

    @cached_property
    def by_table_key(self) -> Mapping[str, StoredType]:
        """Node and edge types by the key of their table, and by keys that they had before.

        A key such as `node:Person` belongs to the type of that name; while there is none, to the
        one that was accepted under it or that is renamed from it.
        """
        kinds: list[tuple[str, Iterable[StoredType]]] = [
            ("node", self.nodes.values()),
            ("edge", self.edges.values()),
        ]
        renamed = {
            f"{kind}:{each.renamed_from}": each
            for kind, types in kinds
            for each in types
            if each.renamed_from is not None
        }
        named = {each.table_key: each for each in self.by_identity.values()}
        return {**renamed, **self.by_identity, **named}

    @cached_property
    def dropped_types(self) -> Mapping[str, StoredType]:
        """The types that were dropped, by identity."""
        return {
            each.owner: each.item for each in self.dropped if not isinstance(each.item, Property)
        }

    def dropped_properties(self, owner: str) -> Mapping[str, Property]:
        """Return the properties that a type had before, by identity."""
        return {
            each.item.identity: each.item
            for each in self.dropped
            if each.owner == owner and isinstance(each.item, Property)
        }

    def stored(self, name: str) -> StoredType | None:
        """Return the node or edge type with this name, or None."""
        return self.nodes.get(name) or self.edges.get(name)

    def node_types(self, name: str) -> tuple[str, ...] | None:
        """Return the node types that a name stands for: itself, or those of an interface."""
        if name in self.nodes:
            return (name,)
        return self.nodes_by_interface.get(name)


def types_of(catalog: Catalog) -> Iterator[tuple[str, AnyType]]:
    """Yield all types of a schema with their kinds, in declared order."""
    yield from (("interface", item) for item in catalog.interfaces.values())
    yield from (("node", item) for item in catalog.nodes.values())
    yield from (("edge", item) for item in catalog.edges.values())


def _listed(names: Iterable[str], most: int = 12) -> str:
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return (", ".join(every[:most]) or "none") + more


def column_name(stored: StoredType, name: str) -> str:
    """Return the column of a field; for edges, users write `from` and `to` for the ends."""
    return EDGE_ENDS.get(name, name) if isinstance(stored, EdgeType) else name


def field_name(stored: StoredType, column: str) -> str:
    """Return the name by which users know a column."""
    ends = {end: name for name, end in EDGE_ENDS.items()} if isinstance(stored, EdgeType) else {}
    return ends.get(column, column)


def _column(
    properties: Mapping[str, Property], name: str, system: tuple[str, ...]
) -> ValueType | None:
    if name in system:
        return STRING
    found = properties.get(name)
    return None if found is None else found.type


def embedded_in(stored: StoredType) -> list[Property]:
    """Return the properties of a type whose vectors are made of texts."""
    return [each for each in stored.properties.values() if each.embed is not None]


def find_type(name: str, catalog: Catalog) -> StoredType:
    """Return the type with this name; raise InputError with the nearest known name."""
    if not isinstance(name, str):
        raise InputError(f"the name of a type is a str, not a {type(name).__name__}")
    found = catalog.stored(name)
    if found is None:
        hint = suggest(name, [*catalog.nodes, *catalog.edges])
        raise InputError(f"no type '{name}'", hint=hint)
    return found
