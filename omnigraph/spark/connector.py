"""Connector: the types of Spark for the values of a graph, and how a session knows the source."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import StoredType
from omnigraph.schema.types import EnumType, ListType, Scalar, ScalarType, ValueType, VectorType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SPARK_TYPES: dict[Scalar, DataType] = {
    Scalar.STRING: StringType(),
    Scalar.BLOB: BinaryType(),
    Scalar.BOOL: BooleanType(),
    Scalar.I32: IntegerType(),
    Scalar.I64: LongType(),
    Scalar.U32: LongType(),
    Scalar.U64: DecimalType(20, 0),
    Scalar.F32: FloatType(),
    Scalar.F64: DoubleType(),
    Scalar.DATE: DateType(),
    Scalar.DATETIME: TimestampType(),
}
_ARROW_TYPES: dict[type[DataType], pa.DataType] = {
    StringType: pa.utf8(),
    BinaryType: pa.binary(),
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    DecimalType: pa.decimal128(20, 0),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    DateType: pa.date32(),
    TimestampType: pa.timestamp("us", "UTC"),
}


def register(spark: "SparkSession") -> None:
    """Make `format("omnigraph")` known to a session that did not find it by itself."""
    from pyspark.errors import AnalysisException

    # Where Spark looks by itself; the source is made of rooms above this one.
    from pyspark_omnigraph import DefaultSource

    try:
        spark.dataSource.register(DefaultSource)
    except AnalysisException as failed:
        if failed.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise


def to_spark_schema(stored: StoredType, columns: Sequence[str]) -> StructType:
    """Return the columns of a type with Spark's types."""
    schema = arrow_schema(stored)
    fields = []
    for name in columns:
        kind = stored.column(name)
        assert kind is not None
        fields.append(StructField(name, to_spark_type(kind), schema.field(name).nullable))
    return StructType(fields)


def to_spark_type(kind: ValueType) -> DataType:
    """Return the type that Spark has for values of a type."""
    match kind:
        case VectorType():
            return ArrayType(FloatType(), containsNull=False)
        case ListType(item):
            return ArrayType(_SPARK_TYPES[item], containsNull=False)
        case EnumType():
            return StringType()
        case ScalarType(scalar):
            return _SPARK_TYPES[scalar]


def to_arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema that Spark wants batches in."""
    fields = [
        pa.field(field.name, _arrow_type(field.dataType), nullable=field.nullable)
        for field in schema.fields
    ]
    return pa.schema(fields)


def _arrow_type(kind: DataType) -> pa.DataType:
    if isinstance(kind, ArrayType):
        item = _arrow_type(kind.elementType)
        return pa.list_(pa.field("element", item, nullable=kind.containsNull))
    return _ARROW_TYPES[type(kind)]
