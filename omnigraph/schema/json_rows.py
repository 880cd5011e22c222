"""Json rows: rows of a type read back from the JSON that answers hold."""

from collections.abc import Mapping
from typing import Any

from omnigraph.schema.catalog import StoredType, column_name
from omnigraph.schema.types import BLOB
from omnigraph.schema.values import coerce


def property_from_json(value: object, stored: StoredType, name: str | None) -> object:
    """Return the value of a property as the graph holds it; a Blob stays as it is."""
    kind = None if name is None else stored.column(column_name(stored, name))
    if value is None or kind is None or kind == BLOB:
        return value
    found = coerce(value, kind)
    return list(found) if isinstance(found, tuple) else found


def row_from_json(row: Mapping[str, Any], stored: StoredType) -> dict[str, object]:
    """Return a row with the values that the graph holds."""
    return {name: property_from_json(value, stored, name) for name, value in row.items()}


def stored_row_from_json(row: Mapping[str, Any], stored: StoredType) -> dict[str, object]:
    """Return a row as its table holds it, with its blobs as bytes."""
    texts = {name: text for name, text in row.items() if stored.column(name) == BLOB}
    blobs = {name: None if text is None else text.encode() for name, text in texts.items()}
    return {**row_from_json(row, stored), **blobs}
