"""Printer: a catalog as canonical `.pg` text that compiles back to it."""

from collections.abc import Iterable

from omnigraph.schema.catalog import (
    Annotation,
    Cardinality,
    Catalog,
    EdgeType,
    Interface,
    NodeType,
    PatternCheck,
    Property,
    Range,
)
from omnigraph.schema.codec import value_json
from omnigraph.schema.steps import constraint_text
from omnigraph.syntax.literal import literal_text, quote


def print_schema(catalog: Catalog) -> str:
    """Return the schema as `.pg` text that compiles back to the same catalog."""
    return "\n".join(declarations(catalog).values())


def declarations(catalog: Catalog) -> dict[str, str]:
    """Return the text of each declaration, by name."""
    return {
        **{name: _interface(item) for name, item in catalog.interfaces.items()},
        **{name: _node(item) for name, item in catalog.nodes.items()},
        **{name: _edge(item) for name, item in catalog.edges.items()},
    }


def _interface(item: Interface) -> str:
    return _block(f"interface {item.name}", _flagged(item))


def _node(item: NodeType) -> str:
    head = [f"node {item.name}", *_metadata(item)]
    if item.implements:
        head.append(f"implements {', '.join(item.implements)}")
    rules: list[Range | PatternCheck] = [*item.ranges, *item.checks]
    return _block(" ".join(head), [*_plain(item), *map(constraint_text, rules)])


def _edge(item: EdgeType) -> str:
    head = [f"edge {item.name}: {item.source} -> {item.target}"]
    if item.cardinality != Cardinality():
        head.append(f"@card({item.cardinality.minimum}..{_bound(item.cardinality.maximum)})")
    body = _plain(item)
    text = " ".join([*head, *_metadata(item)])
    return _block(text, body) if body else f"{text}\n"


def _block(head: str, body: Iterable[str]) -> str:
    return "\n".join([f"{head} {{", *(f"  {line}" for line in body), "}"]) + "\n"


def _plain(item: NodeType | EdgeType) -> list[str]:
    """Return the lines of a body: the properties, then the constraints."""
    constraints = [f"@key({', '.join(item.key)})"] if item.key else []
    constraints += [f"@unique({', '.join(columns)})" for columns in item.unique]
    constraints += [f"@index({', '.join(columns)})" for columns in item.indexes]
    return [*map(_property, item.properties.values()), *constraints]


def _flagged(item: Interface) -> list[str]:
    """Return the properties with their flags; an interface has no constraints in its body."""
    lines = []
    for prop in item.properties.values():
        single = (prop.name,)
        flags = [" @key"] if item.key == single else []
        flags += [" @unique"] if single in item.unique else []
        flags += [" @index"] if single in item.indexes else []
        lines.append(_property(prop) + "".join(flags))
    return lines


def _property(item: Property) -> str:
    parts = [f"{item.name}: {item.type}{'?' if item.nullable else ''}"]
    if item.embed is not None:
        model = "" if item.embed.model is None else f", model={quote(item.embed.model)}"
        parts.append(f"@embed({quote(item.embed.source)}{model})")
    if item.default is not None:
        default = value_json(item.default)
        assert isinstance(default, str | int | float | bool)
        parts.append(f"@default({literal_text(default)})")
    if item.renamed_from is not None:
        parts.append(f"@rename_from({quote(item.renamed_from)})")
    if item.description is not None:
        parts.append(f"@description({quote(item.description)})")
    return " ".join([*parts, *map(_annotation, item.annotations)])


def _metadata(item: NodeType | EdgeType) -> list[str]:
    parts = []
    if item.renamed_from is not None:
        parts.append(f"@rename_from({quote(item.renamed_from)})")
    if item.description is not None:
        parts.append(f"@description({quote(item.description)})")
    if item.instruction is not None:
        parts.append(f"@instruction({quote(item.instruction)})")
    return [*parts, *map(_annotation, item.annotations)]


def _annotation(item: Annotation) -> str:
    if item.value is None:
        return f"@{item.name}"
    options = "".join(f", {name}={literal_text(value)}" for name, value in item.options)
    return f"@{item.name}({literal_text(item.value)}{options})"


def _bound(value: int | float | None) -> str:
    return "" if value is None else literal_text(value)
