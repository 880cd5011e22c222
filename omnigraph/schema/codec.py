"""Codec: the catalog as JSON and back, and the hash of its content."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from omnigraph.errors import Code, Json, SchemaIrError
from omnigraph.schema.catalog import (
    Annotation,
    AnyType,
    Cardinality,
    Catalog,
    Dropped,
    EdgeType,
    Embed,
    Interface,
    NodeType,
    PatternCheck,
    Property,
    Range,
)
from omnigraph.schema.parsing.type_parser import parse_type
from omnigraph.schema.types import ValueType
from omnigraph.schema.values import BadValue, Value, coerce
from omnigraph.span import Source
from omnigraph.syntax.cursor import Cursor, Unparsable
from omnigraph.syntax.literal import datetime_text
from omnigraph.syntax.problems import Problems

IR_VERSION = 1

_IDENTITIES = ("stable_type_id", "stable_property_id")


def encode_catalog(catalog: Catalog) -> str:
    """Return the catalog as indented JSON text with a fixed order of keys."""
    return json.dumps(catalog_json(catalog), indent=2, ensure_ascii=False) + "\n"


def decode_catalog(text: str) -> Catalog:
    """Return the catalog that `encode_catalog` wrote; raise SchemaIrError."""
    try:
        stored = json.loads(text)
        version = stored["ir_version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise SchemaIrError("the stored schema is not a schema document") from None
    if version != IR_VERSION:
        message = f"the stored schema has IR version {version}; this release reads {IR_VERSION}"
        raise SchemaIrError(message, hint="upgrade omnigraph first")
    try:
        return _catalog(stored)
    except (BadValue, ValueError, TypeError, KeyError, AttributeError) as broken:
        raise SchemaIrError(f"the stored schema is damaged: {broken!r}") from None


def content_hash(catalog: Catalog) -> str:
    """Return the SHA-256 of a schema's content.

    Comments, white space, identities, the order of properties and what was dropped do not count.
    """
    stored = _content(catalog_json(replace(catalog, dropped=())))
    text = json.dumps(stored, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def catalog_json(catalog: Catalog) -> dict[str, Json]:
    """Return the catalog as a JSON object."""
    found: dict[str, Json] = {
        "ir_version": IR_VERSION,
        "interfaces": [_interface_json(item) for item in catalog.interfaces.values()],
        "nodes": [_node_json(item) for item in catalog.nodes.values()],
        "edges": [_edge_json(item) for item in catalog.edges.values()],
    }
    # Left out when there is none, as in the schemas of graphs that never dropped anything.
    if catalog.dropped:
        found["dropped"] = [_dropped_json(each) for each in catalog.dropped]
    return found


def _dropped_json(each: Dropped) -> Json:
    about: dict[str, Json] = {"stable_type_id": each.owner, "commit": each.commit}
    match each.item:
        case NodeType():
            return {**about, "node": _node_json(each.item)}
        case EdgeType():
            return {**about, "edge": _edge_json(each.item)}
        case Property():
            return {**about, "property": _property_json(each.item)}


def _interface_json(item: Interface) -> Json:
    return {
        "name": item.name,
        "stable_type_id": item.identity,
        "properties": _properties_json(item.properties),
        **_constraints_json(item),
    }


def _node_json(item: NodeType) -> Json:
    return {
        "name": item.name,
        "stable_type_id": item.identity,
        "implements": list(item.implements),
        "properties": _properties_json(item.properties),
        **_constraints_json(item),
        "ranges": [
            {"property": r.property, "minimum": r.minimum, "maximum": r.maximum}
            for r in item.ranges
        ],
        "checks": [{"property": c.property, "pattern": c.pattern} for c in item.checks],
        **_metadata_json(item),
    }


def _edge_json(item: EdgeType) -> Json:
    return {
        "name": item.name,
        "stable_type_id": item.identity,
        "source": item.source,
        "target": item.target,
        "cardinality": {
            "minimum": item.cardinality.minimum,
            "maximum": item.cardinality.maximum,
        },
        "properties": _properties_json(item.properties),
        **_constraints_json(item),
        **_metadata_json(item),
    }


def _constraints_json(item: AnyType) -> dict[str, Json]:
    return {
        "key": list(item.key),
        "unique": [list(columns) for columns in item.unique],
        "indexes": [list(columns) for columns in item.indexes],
    }


def _metadata_json(item: NodeType | EdgeType) -> dict[str, Json]:
    return {
        "renamed_from": item.renamed_from,
        "description": item.description,
        "instruction": item.instruction,
        "annotations": [_annotation_json(each) for each in item.annotations],
    }


def _properties_json(properties: Mapping[str, Property]) -> list[Json]:
    return [_property_json(item) for item in properties.values()]


def _property_json(item: Property) -> Json:
    return {
        "name": item.name,
        "stable_property_id": item.identity,
        "type": str(item.type),
        "nullable": item.nullable,
        "default": value_json(item.default),
        "embed": _embed_json(item.embed),
        "renamed_from": item.renamed_from,
        "description": item.description,
        "annotations": [_annotation_json(each) for each in item.annotations],
    }


def _embed_json(item: Embed | None) -> Json:
    return None if item is None else {"source": item.source, "model": item.model}


def _annotation_json(item: Annotation) -> Json:
    return {"name": item.name, "value": item.value, "options": [list(o) for o in item.options]}


def value_json(value: Value | None) -> Json:
    """Return a single value as JSON, dates and times as text."""
    match value:
        case datetime():
            return datetime_text(value)
        case date():
            return value.isoformat()
        case tuple() | bytes():
            raise TypeError("a default is a single value")
        case _:
            return value


def _content(value: Json) -> Json:
    match value:
        case dict():
            content = {key: _content(each) for key, each in value.items() if key not in _IDENTITIES}
            if isinstance(properties := content.get("properties"), list):
                content["properties"] = sorted(properties, key=json.dumps)
            return content
        case list():
            return [_content(each) for each in value]
        case _:
            return value


def _catalog(stored: dict[str, Any]) -> Catalog:
    return Catalog(
        {item["name"]: _interface(item) for item in stored["interfaces"]},
        {item["name"]: _node(item) for item in stored["nodes"]},
        {item["name"]: _edge(item) for item in stored["edges"]},
        tuple(_dropped(each) for each in stored.get("dropped", ())),
    )


def _dropped(each: dict[str, Any]) -> Dropped:
    item: NodeType | EdgeType | Property
    if "node" in each:
        item = _node(each["node"])
    elif "edge" in each:
        item = _edge(each["edge"])
    else:
        item = _property(each["property"])
    return Dropped(item=item, owner=each["stable_type_id"], commit=each["commit"])


def _interface(item: dict[str, Any]) -> Interface:
    return Interface(
        name=item["name"],
        identity=item["stable_type_id"],
        properties=_properties(item["properties"]),
        **_constraints(item),
    )


def _node(item: dict[str, Any]) -> NodeType:
    return NodeType(
        name=item["name"],
        identity=item["stable_type_id"],
        implements=tuple(item["implements"]),
        properties=_properties(item["properties"]),
        ranges=tuple(Range(**each) for each in item["ranges"]),
        checks=tuple(PatternCheck(**each) for each in item["checks"]),
        **_constraints(item),
        **_metadata(item),
    )


def _edge(item: dict[str, Any]) -> EdgeType:
    return EdgeType(
        name=item["name"],
        identity=item["stable_type_id"],
        source=item["source"],
        target=item["target"],
        cardinality=Cardinality(**item["cardinality"]),
        properties=_properties(item["properties"]),
        **_constraints(item),
        **_metadata(item),
    )


def _constraints(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "key": tuple(item["key"]),
        "unique": tuple(map(tuple, item["unique"])),
        "indexes": tuple(map(tuple, item["indexes"])),
    }


def _metadata(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "renamed_from": item["renamed_from"],
        "description": item["description"],
        "instruction": item["instruction"],
        "annotations": _annotations(item),
    }


def _properties(items: list[dict[str, Any]]) -> dict[str, Property]:
    return {item["name"]: _property(item) for item in items}


def _property(item: dict[str, Any]) -> Property:
    kind = _type(item["type"])
    default = item["default"]
    return Property(
        name=item["name"],
        identity=item["stable_property_id"],
        type=kind,
        nullable=item["nullable"],
        default=None if default is None else coerce(default, kind),
        embed=item["embed"] and Embed(**item["embed"]),
        renamed_from=item["renamed_from"],
        description=item["description"],
        annotations=_annotations(item),
    )


def _annotations(item: dict[str, Any]) -> tuple[Annotation, ...]:
    return tuple(
        Annotation(
            name=each["name"], value=each["value"], options=tuple(map(tuple, each["options"]))
        )
        for each in item["annotations"]
    )


def _type(text: str) -> ValueType:
    cursor = Cursor(Source("<type>", text), Problems(), Code.SCHEMA_SYNTAX, Code.SCHEMA_CAP)
    try:
        return parse_type(cursor).type
    except Unparsable:
        raise BadValue(f"{text!r} is not a type") from None
