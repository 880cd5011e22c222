"""Fields: the names under which sources may give the columns of a type."""

from omnigraph.schema.catalog import Catalog, EdgeType, StoredType, column_name
from omnigraph.schema.types import is_integer

# What frames of other tools call the ends of an edge.
_ENDS = {"from": "src", "source": "src", "src": "src", "to": "dst", "target": "dst", "dst": "dst"}


def column_of(stored: StoredType, name: str) -> str:
    """Return the column that a field of a frame or a file means; a property comes first."""
    if name in stored.properties or not isinstance(stored, EdgeType):
        return column_name(stored, name)
    return _ENDS.get(name, name)


def integer_ends(stored: StoredType, catalog: Catalog) -> frozenset[str]:
    """Return the columns of an edge's ends whose nodes have a whole number as their key.

    Such a number means the same there as in the key: its decimal digits are the id.
    """
    if not isinstance(stored, EdgeType):
        return frozenset()
    ends = {"src": stored.source, "dst": stored.target}
    return frozenset(column for column, node in ends.items() if _has_integer_key(catalog, node))


def end_reason(reason: str, *, is_integer_end: bool) -> str:
    """Return why a value is not an id, where a whole number would have been one."""
    if not is_integer_end:
        return reason
    return reason.replace("expected String", "expected a whole number or its digits", 1)


def _has_integer_key(catalog: Catalog, name: str) -> bool:
    node = catalog.nodes[name]
    kinds = [node.column(each) for each in node.key]
    return len(kinds) == 1 and is_integer(kinds[0])
