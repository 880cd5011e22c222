"""Columns: loosely typed Arrow columns become columns of the types that tables hold."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.frozen import dataclass
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.blobs import pack, pack_values
from omnigraph.schema.catalog import Property, StoredType
from omnigraph.schema.types import (
    BLOB,
    DATE,
    DATETIME,
    F32,
    FLOATS,
    INTEGERS,
    STRING,
    EnumType,
    ListType,
    ScalarType,
    ValueType,
    VectorType,
)
from omnigraph.schema.values import BadValue, coerce

_RFC_3339 = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$"
_BASE64 = r"^base64:([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_MICROSECONDS = pa.timestamp("us", "UTC")
_PER_TICK = {"s": (1_000, 1), "ms": (1, 1), "us": (1, 1_000), "ns": (1, 1_000_000)}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The first and the last day that a date can have, counted from 1970.
FIRST_DAY = -719_162
LAST_DAY = 2_932_896
_FIRST_MILLISECOND = (FIRST_DAY + 1) * 86_400_000
_LAST_MILLISECOND = LAST_DAY * 86_400_000


@dataclass(frozen=True, slots=True)
class Conversion:
    """A column as a table holds it, and for each row with a bad value, now null, the reason."""

    values: pa.Array
    reasons: Mapping[int, str] = field(default_factory=dict)


def convert(column: pa.Array, kind: ValueType) -> Conversion:
    """Return a column as a table holds it; a value that does not fit is null, with a reason."""
    quick = convert_whole(column, kind)
    return convert_each(_python_values(column, kind), kind) if quick is None else Conversion(quick)


def _python_values(column: pa.Array, kind: ValueType) -> list[object]:
    """Return the values of a column for `coerce`; dates that Python cannot hold, as numbers."""
    plain = decode(column)
    given = plain.type
    if isinstance(kind, ListType) and pa.types.is_list(given):
        return _in_lists(plain, _python_values(plain.flatten(), ScalarType(kind.item)))
    if kind in INTEGERS and _is_whole(given):
        return [None if each is None else int(each) for each in plain.to_pylist()]
    if kind == DATE and pa.types.is_date32(given):
        return list(plain.cast(pa.int32()).to_pylist())
    if kind == DATETIME and pa.types.is_timestamp(given) and given.tz is not None:
        many, divisor = _PER_TICK[given.unit]
        ticks = plain.cast(pa.int64()).to_pylist()
        return [None if each is None else each * many // divisor for each in ticks]
    return python_values(plain)


def python_values(column: pa.Array) -> list[object]:
    """Return the values of a column, as texts where Python cannot hold them."""
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError, LookupError):  # a time zone may be unknown
        return _as_texts(column)


def _in_lists(column: pa.Array, items: list[object]) -> list[object]:
    """Return the items of lists as lists, with the lengths and the nulls of `column`."""
    left, lengths = iter(items), column.value_lengths().to_pylist()
    return [None if length is None else list(islice(left, length)) for length in lengths]


def _as_texts(column: pa.Array) -> list[object]:
    """Return values that Python cannot hold as texts, or else as objects, which fit no type."""
    given = column.type
    if pa.types.is_list(given):
        return _in_lists(column, python_values(column.flatten()))
    if pa.types.is_timestamp(given) and given.tz is not None:
        column = column.cast(pa.timestamp(given.unit, "UTC"))
    try:
        return list(column.cast(pa.utf8()).to_pylist())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return [{} if each else None for each in column.is_valid().to_pylist()]


def convert_whole(column: pa.Array, kind: ValueType) -> pa.Array | None:
    """Return the column converted at once, or None when its values must be checked one by one.

    What it accepts, `coerce` accepts too, with the same values.
    """
    column = decode(column)
    target = arrow_type(kind)
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), target)
    try:
        found = _convert_kind(column, kind, target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError):
        return None
    return found


def convert_each(values: Sequence[object], kind: ValueType) -> Conversion:
    """Return the values converted one by one; exact, but slow."""
    reasons: dict[int, str] = {}
    kept: list[object] = []
    for row, value in enumerate(values):
        try:
            kept.append(None if value is None else _coerce_stored(value, kind))
        except BadValue as bad:
            reasons[row] = str(bad)
            kept.append(None)
    return Conversion(_build_array(kept, kind), reasons)


def _build_array(values: list[object], kind: ValueType) -> pa.Array:
    """Return values as an array; made from datetimes, a date64 would be cut to its day."""
    if kind == DATETIME:
        return pa.array(map(_to_milliseconds, values), pa.int64()).view(pa.date64())
    if kind == ListType(DATETIME.scalar):
        lists = [
            None if each is None else list(map(_to_milliseconds, cast(tuple[object], each)))
            for each in values
        ]
        ticks = pa.array(lists, pa.list_(pa.int64()))
        return replace_items(ticks, ticks.flatten().view(pa.date64()), arrow_type(kind))
    if kind == BLOB:
        return pack_values(cast(list[str | bytes | None], values))
    return pa.array(values, arrow_type(kind))


def _to_milliseconds(moment: object) -> int | None:
    """Return the milliseconds since 1970."""
    return (
        None if moment is None else (cast(datetime, moment) - _EPOCH) // timedelta(milliseconds=1)
    )


def default_of(item: Property) -> pa.Array:
    """Return the default of a property as an array of one value; null when it has none."""
    return convert_each([item.default], item.type).values


def with_defaults(stored: StoredType, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with the default of a required property wherever it holds null."""
    for item in stored.properties.values():
        column = batch[item.name]
        if item.default is None or item.nullable or not column.null_count:
            continue
        default = default_of(item)[0]
        at = batch.schema.get_field_index(item.name)
        batch = batch.set_column(at, batch.schema.field(at), pc.fill_null(column, default))
    return batch


def to_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, not copied if it is one already."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def to_timestamps(column: pa.Array) -> pa.Array:
    """Return a date64 column as timestamps; Arrow and Python take a date64 for a day."""
    return column.view(pa.int64()).cast(pa.timestamp("ms", "UTC"))


def with_timestamps(rows: pa.Table) -> pa.Table:
    """Return rows whose date64 values are timestamps: Python would keep only the day."""
    for at, field_ in enumerate(rows.schema):
        if pa.types.is_date64(field_.type):
            times = to_timestamps(to_array(rows.column(at)))
            rows = rows.set_column(at, field_.name, times)
        elif field_.type == pa.list_(pa.date64()):
            lists = to_array(rows.column(at))
            times = to_timestamps(lists.flatten())
            kind = pa.list_(times.type)
            rows = rows.set_column(at, field_.name, replace_items(lists, times, kind))
    return rows


def _coerce_stored(value: object, kind: ValueType) -> object:
    """Return a value as `_build_array` takes it.

    That an enum has the text is checked by a rule of its own.
    """
    if isinstance(kind, EnumType) and isinstance(value, str):
        return coerce(value, STRING)
    return coerce(value, kind)


def decode(column: pa.Array) -> pa.Array:
    """Return the column without dictionary, view or large encodings."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return decode(column.dictionary_decode())
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.utf8())
    if pa.types.is_large_list(kind):
        return column.cast(pa.list_(kind.value_type))
    return column


def _convert_kind(column: pa.Array, kind: ValueType, target: pa.DataType) -> pa.Array | None:
    match kind:
        case VectorType(dimension):
            return _convert_vectors(column, dimension)
        case ListType(item):
            return _convert_lists(column, ScalarType(item), target)
        case EnumType():
            return column if column.type == target else None
        case ScalarType():
            return _convert_scalars(column, kind, target)


def _convert_scalars(column: pa.Array, kind: ScalarType, target: pa.DataType) -> pa.Array | None:
    given = column.type
    if kind == DATETIME:
        return _convert_times(column)
    if kind == BLOB:
        return _convert_blobs(column)
    if kind in FLOATS:
        number = pa.types.is_floating(given) or pa.types.is_integer(given)
        return _convert_floats(column, target) if number else None
    if kind == DATE and (pa.types.is_string(given) or given == target):
        return _convert_dates(column)
    if given == target:
        return column
    return column.cast(target) if kind in INTEGERS and _is_whole(given) else None


def _is_whole(kind: pa.DataType) -> bool:
    """Whether a type holds only whole numbers; Spark has U64 as a decimal."""
    return bool(pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0))


def _convert_floats(column: pa.Array, target: pa.DataType) -> pa.Array | None:
    """Return finite floats, rounded once from 64 bits; None when any is not finite."""
    values = column
    if column.type != target:
        values = column.cast(pa.float64(), safe=False).cast(target, safe=False)
    finite = pc.all(pc.is_finite(values)).as_py()
    return None if finite is False else values


def _convert_times(column: pa.Array) -> pa.Array | None:
    given = column.type
    if pa.types.is_string(given):
        if pc.all(pc.match_substring_regex(column, _RFC_3339)).as_py() is False:
            return None
        return _cut_to_milliseconds(column.cast(_MICROSECONDS))
    if pa.types.is_date64(given):
        return _cut_to_milliseconds(column.cast(pa.timestamp("ms")))
    if pa.types.is_timestamp(given) and given.tz is not None:
        return _cut_to_milliseconds(column)
    return None


def _cut_to_milliseconds(moments: pa.Array) -> pa.Array | None:
    """Return times cut to the millisecond; None if one is at the edge of the years 1 to 9999."""
    ticks = moments.cast(pa.int64())
    numbers = ticks.fill_null(0).to_numpy(zero_copy_only=False)
    many, divisor = _PER_TICK[moments.type.unit]
    least, most = (numbers.min(), numbers.max()) if len(numbers) else (0, 0)
    first, last = (bound // many * divisor for bound in (_FIRST_MILLISECOND, _LAST_MILLISECOND))
    if least < first or most > last:
        return None
    numbers = numbers * many if many > 1 else np.floor_divide(numbers, divisor)
    missing = ticks.is_null().to_numpy(zero_copy_only=False) if ticks.null_count else None
    return pa.array(numbers, pa.int64(), mask=missing).view(pa.date64())


def _convert_blobs(column: pa.Array) -> pa.Array | None:
    """Return texts that are all base64 as they are stored; None when any may be a URI."""
    if not pa.types.is_string(column.type):
        return None
    if pc.all(pc.match_substring_regex(column, _BASE64)).as_py() is False:
        return None
    return pack(column.cast(pa.binary()).cast(pa.large_binary()))


def _convert_dates(column: pa.Array) -> pa.Array | None:
    days = column.cast(pa.date32())
    bounds = pc.min_max(days.cast(pa.int32()))
    least, most = bounds["min"].as_py(), bounds["max"].as_py()
    return None if least is not None and (least < FIRST_DAY or most > LAST_DAY) else days


def _convert_lists(column: pa.Array, item: ScalarType, target: pa.DataType) -> pa.Array | None:
    if not pa.types.is_list(column.type):
        return None
    items = column.flatten()
    if items.null_count:
        return None
    found = convert_whole(items, item)
    if found is None:
        return None
    return replace_items(column, found, target)


def replace_items(column: pa.Array, items: pa.Array, target: pa.DataType) -> pa.Array:
    """Return lists of other items, with the lengths and the nulls of `column`."""
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    mask = column.is_null() if column.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), items, type=target, mask=mask)


def _convert_vectors(column: pa.Array, dimension: int) -> pa.Array | None:
    if not (pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type)):
        return None
    lengths = column.value_lengths()
    if pc.all(pc.equal(lengths, dimension)).as_py() is False:
        return None
    items = column.drop_null().flatten() if column.null_count else column.flatten()
    if items.null_count:
        return None
    numbers = _convert_scalars(items, F32, pa.float32())
    return None if numbers is None else _insert_nulls(numbers, column, dimension)


def _insert_nulls(numbers: pa.Array, column: pa.Array, dimension: int) -> pa.Array:
    """Return vectors of the numbers, with null where the column has null."""
    dense = pa.FixedSizeListArray.from_arrays(numbers, dimension)
    if not column.null_count:
        return dense
    present = column.is_valid().to_numpy(zero_copy_only=False)
    places = np.where(present, np.cumsum(present) - 1, 0)
    return dense.take(pa.array(places, mask=~present))
