"""Soundness: refuses columns of files and answers that are not what Arrow takes them for.

Arrow follows the lengths and places that a file names, and takes its bytes for text, unless it is
asked to look at all of them first.
"""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

_PLAIN = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_integer,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_boolean,
    pa.types.is_null,
)


def check_sound(columns: Iterable[pa.Array]) -> None:
    """Raise ArrowInvalid for a column whose parts do not fit together, or that is not UTF-8."""
    for column in columns:
        plain = _without_date64(column.type)
        (column if plain == column.type else column.view(plain)).validate(full=True)


def check_names(fields: Iterable[pa.Field]) -> None:
    """Raise UnicodeDecodeError for a name of a column, a part or a time zone that is not UTF-8."""
    for field in fields:
        kind = field.type
        _ = field.name
        if pa.types.is_timestamp(kind):
            _ = kind.tz
        check_names(kind.field(number) for number in range(kind.num_fields))


def check_sound_table(table: pa.Table) -> None:
    """Raise ArrowInvalid for a table that has such a column, UnicodeDecodeError for such a name."""
    check_names(table.schema)
    for column in table.columns:
        check_sound(column.chunks)


def check_representable(columns: Iterable[pa.Array]) -> None:
    """Raise ArrowInvalid for values that no result has, OverflowError for times out of range."""
    for column in columns:
        kind = column.type
        if pa.types.is_struct(kind):
            check_representable(column.flatten())
        elif pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
            check_representable([column.flatten()])
        elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            pc.min_max(column).as_py()  # raises for what Python cannot hold
        elif not _is_plain(kind):
            raise pa.ArrowInvalid(f"no result holds values of type {kind}")


def _is_plain(kind: pa.DataType) -> bool:
    """Return whether a type is that of texts, numbers or truth values, or of nulls alone."""
    return any(is_it(kind) for is_it in _PLAIN)


def _without_date64(kind: pa.DataType) -> pa.DataType:
    """Return a type with numbers for date64: Arrow refuses any that is not a whole day."""
    if pa.types.is_date64(kind):
        return pa.int64()
    if pa.types.is_list(kind):
        return pa.list_(_without_date64(kind.value_type))
    return kind
