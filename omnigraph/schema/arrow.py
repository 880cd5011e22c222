"""Arrow: the Arrow schema of each node and edge table."""

import pyarrow as pa

from omnigraph.schema.catalog import EDGE_COLUMNS, NODE_COLUMNS, NodeType, StoredType
from omnigraph.schema.types import EnumType, ListType, Scalar, ScalarType, ValueType, VectorType

_SCALARS = {
    Scalar.STRING: pa.utf8(),
    Scalar.BLOB: pa.large_binary(),
    Scalar.BOOL: pa.bool_(),
    Scalar.I32: pa.int32(),
    Scalar.I64: pa.int64(),
    Scalar.U32: pa.uint32(),
    Scalar.U64: pa.uint64(),
    Scalar.F32: pa.float32(),
    Scalar.F64: pa.float64(),
    Scalar.DATE: pa.date32(),
    Scalar.DATETIME: pa.date64(),
}

# Ids of edges are made in a row and begin alike: of their 26 characters, Lance stores 12 bytes by
# default and 4 with these settings, and reads and writes them as fast.
PACKED = {
    "lance-encoding:compression": "zstd",
    "lance-encoding:compression-level": "1",
    "lance-encoding:minichunk-size": "32768",
}
# Starts of edges begin like those before them where a load ordered them. Other edges lead from them
# to a node, so they are read a few at a time more often, for which chunks are smaller.
PACKED_STARTS = PACKED | {"lance-encoding:minichunk-size": "8192"}


def arrow_schema(stored: StoredType) -> pa.Schema:
    """Return the columns of a type's table: `id`, for edges `src` and `dst`, then properties."""
    system = NODE_COLUMNS if isinstance(stored, NodeType) else EDGE_COLUMNS
    fields = [pa.field(name, pa.utf8(), nullable=False) for name in system]
    fields += [
        pa.field(item.name, arrow_type(item.type), nullable=item.nullable)
        for item in stored.properties.values()
    ]
    return pa.schema(fields)


def file_schema(stored: StoredType) -> pa.Schema:
    """Return the columns of a type's table, with how its files encode them."""
    schema = arrow_schema(stored)
    if isinstance(stored, NodeType):
        return schema
    schema = schema.set(0, schema.field("id").with_metadata(PACKED))
    return schema.set(1, schema.field("src").with_metadata(PACKED_STARTS))


def arrow_type(kind: ValueType) -> pa.DataType:
    """Return the Arrow type that stores values of a type."""
    match kind:
        case ScalarType(scalar):
            return _SCALARS[scalar]
        case EnumType():
            return pa.utf8()
        case ListType(item):
            return pa.list_(_SCALARS[item])
        case VectorType(dimension):
            return pa.list_(pa.float32(), dimension)
