"""Shape: which types of a schema hold facts, entities and sources."""

from collections.abc import Iterator
from typing import Self

from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, NodeType, StoredType, embedded_in
from omnigraph.schema.types import DATE, STRING, ListType, Scalar, ValueType

FACT, ENTITY, SOURCE = "Fact", "Entity", "Source"
ABOUT, SAID_IN = "About", "SaidIn"
TYPES = (FACT, ENTITY, SOURCE, ABOUT, SAID_IN)
_TEXTS = ListType(Scalar.STRING)
# What each type has to have; what ends with `?` may be null, and only that.
_NODES: dict[str, dict[str, ValueType]] = {
    FACT: {"text": STRING, "valid_from": DATE, "valid_to?": DATE},
    ENTITY: {"name": STRING, "aliases?": _TEXTS},
    SOURCE: {"title": STRING},
}
_EDGES = {ABOUT: (FACT, ENTITY), SAID_IN: (FACT, SOURCE)}
_CLAIM = ("attribute", "value")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryShape:
    """How a graph holds a memory: the keys of its types, and what else its facts have.

    `vector` is the property that is made of the text of a fact. Facts with an `attribute` and a
    `value` can contradict.
    """

    fact_key: str
    entity_key: str
    source_key: str
    vector: str | None
    has_claims: bool

    @classmethod
    def of(cls, catalog: Catalog) -> Self | None:
        """Return how a schema holds a memory; None for one that lacks a part of it."""
        if any(lacking(catalog)):
            return None
        facts = catalog.nodes[FACT]
        made = (
            each.name for each in embedded_in(facts) if each.embed and each.embed.source == "text"
        )
        return cls(
            fact_key=facts.key[0],
            entity_key=catalog.nodes[ENTITY].key[0],
            source_key=catalog.nodes[SOURCE].key[0],
            vector=next(made, None),
            has_claims=_has_claims(facts),
        )


def lacking(catalog: Catalog) -> Iterator[str]:
    """Yield what a schema lacks to hold a memory."""
    for name, wanted in _NODES.items():
        node = catalog.nodes.get(name)
        yield from [f"node {name}"] if node is None else _missing(node, wanted)
    for name, ends in _EDGES.items():
        edge = catalog.edges.get(name)
        if edge is None or (edge.source, edge.target) != ends:
            yield f"edge {name}: {ends[0]} -> {ends[1]}"
        else:
            yield from _unknown(edge, set())


def _missing(node: NodeType, wanted: dict[str, ValueType]) -> Iterator[str]:
    """Yield what a type of nodes lacks, and what a row of it needs that nobody gives."""
    if len(node.key) != 1 or node.properties[node.key[0]].type != STRING:
        yield f"a String as the key of {node.name}"
    for name, kind in wanted.items():
        found = node.properties.get(name.removesuffix("?"))
        if found is None or found.type != kind or found.nullable != name.endswith("?"):
            optional = "?" if name.endswith("?") else ""
            yield f"{node.name}.{name.removesuffix('?')}: {kind}{optional}"
    yield from _unknown(node, {*node.key, *(each.removesuffix("?") for each in wanted)})


def _unknown(stored: StoredType, known: set[str]) -> Iterator[str]:
    for name, each in stored.properties.items():
        if name not in known and not each.nullable and each.default is None:
            yield f"{stored.name}.{name} that is nullable or has a default"


def _has_claims(facts: NodeType) -> bool:
    found = [facts.properties.get(name) for name in _CLAIM]
    return all(each is not None and each.type == STRING and each.nullable for each in found)
