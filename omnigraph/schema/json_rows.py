"""Json rows: rows of a type, decoded from the JSON of an answer."""

from collections.abc import Mapping
from typing import Any

from omnigraph.schema.catalog import StoredType, column_name
from omnigraph.schema.types import BLOB
from omnigraph.schema.values import BadValue, coerce


def property_from_json(value: object, stored: StoredType, name: str | None) -> object:
    """Return the value of a property as rows have it: of a Blob, the bytes of its text.

    A value that does not fit is returned as it came: it may be of another branch's schema.
    """
    kind = None if name is None else stored.column(column_name(stored, name))
    if value is None or kind is None:
        return value
    if kind == BLOB and isinstance(value, str):
        return value.encode()
    try:
        found = coerce(value, kind)
    except BadValue:
        return value
    return list(found) if isinstance(found, tuple) else found


def row_from_json(row: Mapping[str, Any], stored: StoredType) -> dict[str, object]:
    """Return a row with its values as rows have them."""
    return {name: property_from_json(value, stored, name) for name, value in row.items()}
