"""Records: turns lines of JSON into typed columns, and reports why a line is bad."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from omnigraph.data.values.columns import convert_each, convert_whole
from omnigraph.data.values.equality import Mask
from omnigraph.errors import MOST_VIOLATIONS, Code, Violation
from omnigraph.frozen import dataclass
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.catalog import EDGE_ENDS, Catalog, EdgeType, StoredType, field_name
from omnigraph.schema.types import (
    BLOB,
    DATE,
    DATETIME,
    FLOATS,
    STRING,
    ListType,
    ScalarType,
    ValueType,
    VectorType,
)
from omnigraph.spark.deadline import Deadline
from omnigraph.syntax.json_numbers import parse_finite, refuse_constant
from omnigraph.syntax.problems import suggest
from omnigraph.write.load.sources.fields import end_reason, integer_ends

# Groups that cannot be read at once are halved until they are this small.
_FEW_LINES = 64
_PARTS = 16
# Lines that are Python objects at the same time.
_SLICE_LINES = 16_384
_SMALLEST_BLOCK = 1 << 16
# What JSON calls white space; Python's own strips more.
JSON_SPACE = b" \t\r\n"
_SHAPE = 'write {"type": …, "data": {…}} or {"edge": …, "from": …, "to": …}'


@dataclass(frozen=True, slots=True)
class RecordRows:
    """Rows of one type from one source: their columns, and the line of each row.

    The columns are `id`, for edges `src` and `dst`, and all properties; each may hold null. A
    missing id is null. `spoilt` names the cells that are null because their value did not fit,
    which is reported already. `named` has a mask of the rows that name a column, for each column
    that some do not, when the reader was asked for it.
    """

    stored: StoredType
    columns: pa.RecordBatch
    lines: np.ndarray[Any, np.dtype[np.int64]]
    spoilt: frozenset[tuple[int, str]] = frozenset()
    named: Mapping[str, Mask] = field(default_factory=dict)


@dataclass(slots=True)
class Block:
    """The content of a block of lines; with too many violations, only that of its first lines."""

    lines: int
    rows: list[RecordRows] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    deadline: Deadline = field(default_factory=Deadline)

    @property
    def is_hopeless(self) -> bool:
        """Whether there are so many violations that looking for more is pointless."""
        return len(self.violations) > MOST_VIOLATIONS


class RecordReader:
    """Reads lines of JSON as records of a catalog; `partial` ones say which fields they name."""

    def __init__(self, catalog: Catalog, *, partial: bool = False) -> None:
        self._partial = partial
        self._shapes = {
            stored.name: _RecordShape(stored, integer_ends(stored, catalog))
            for stored in catalog.by_identity.values()
        }
        self._prefixes = [
            (f'{{"{shape.word}":{gap}"{name}"'.encode(), shape)
            for gap in ("", " ")
            for name, shape in self._shapes.items()
        ]

    def read(self, data: bytes, deadline: Deadline) -> Block:
        """Read whole lines, numbered from 0."""
        lines = _lines(data)
        block = Block(len(lines), deadline=deadline)
        lines, numbers = _without_empty(lines)
        if not is_utf8(data):
            lines, numbers = self._without_bad_text(lines, numbers, block)
        for shape, group, places in self._groups(lines, numbers, block):
            self._read_group(shape, group, places, block)
        return block

    def _without_bad_text(
        self, lines: pa.Array, numbers: np.ndarray, block: Block
    ) -> tuple[pa.Array, np.ndarray]:
        sound = np.fromiter(map(is_utf8, _each(lines, block.deadline)), bool, len(lines))
        for number in numbers[~sound][: MOST_VIOLATIONS + 1].tolist():
            block.violations.append(_bad(number, Code.RECORD_SYNTAX, "is not UTF-8"))
        return lines.filter(pa.array(sound)), numbers[sound]

    def _groups(
        self, lines: pa.Array, numbers: np.ndarray, block: Block
    ) -> Iterator[tuple["_RecordShape", pa.Array, np.ndarray]]:
        """Yield the lines of each type; lines that begin in an unusual way are decoded first."""
        odd = np.ones(len(lines), bool)
        for prefix, shape in self._prefixes:
            if not odd.any():
                return
            mask = pc.starts_with(lines, prefix)
            found = mask.to_numpy(zero_copy_only=False)
            if found.any():
                odd &= ~found
                yield shape, lines.filter(mask), numbers[found]
        yield from self._odd_groups(lines.filter(pa.array(odd)), numbers[odd], block)

    def _odd_groups(
        self, lines: pa.Array, numbers: np.ndarray, block: Block
    ) -> Iterator[tuple["_RecordShape", pa.Array, np.ndarray]]:
        groups: dict[str, tuple[list[bytes], list[int]]] = {}
        for line, number in zip(_each(lines, block.deadline), numbers, strict=True):
            name = self._name(line, int(number), block)
            if block.is_hopeless:
                return
            if name is not None:
                group = groups.setdefault(name, ([], []))
                group[0].append(line.strip(JSON_SPACE) + b"\n")
                group[1].append(int(number))
        for name, (found, places) in groups.items():
            yield self._shapes[name], pa.array(found, pa.binary()), np.array(places)

    def _name(self, line: bytes, number: int, block: Block) -> str | None:
        """Return the type of a line that is one JSON object; report any other but a blank one."""
        text = line.strip(JSON_SPACE)
        if not text or text.startswith(b"//"):
            return None
        name = _type_name(text)
        if isinstance(name, str) and name in self._shapes:
            return name
        block.violations += self._misshapen(text, number)
        return None

    def _misshapen(self, text: bytes, number: int) -> Iterator[Violation]:
        record = decode_line(text)
        if isinstance(record, str):
            yield _bad(number, Code.RECORD_SYNTAX, record)
            return
        if not isinstance(record, dict):
            yield _bad(number, Code.RECORD_SHAPE, f"is not a record; {_SHAPE}")
            return
        given = [word for word in ("type", "edge") if word in record]
        if len(given) != 1 or not isinstance(record[given[0]], str):
            yield _bad(number, Code.RECORD_SHAPE, f"names no type; {_SHAPE}")
            return
        name = _printable(record[given[0]])
        hint = suggest(name, self._shapes)
        reason = f"no type '{name}'" + ("" if hint is None else f"; {hint}")
        yield _bad(number, Code.RECORD_TYPE, reason)

    def _read_group(
        self, shape: "_RecordShape", lines: pa.Array, numbers: np.ndarray, block: Block
    ) -> None:
        if block.is_hopeless:
            return
        block.deadline.check()
        columns = shape.read_at_once(lines)
        if columns is not None:
            named = shape.find_named(lines, columns) if self._partial else {}
            block.rows.append(RecordRows(shape.stored, columns, numbers, named=named))
        elif len(lines) > _FEW_LINES:
            size = -(-len(lines) // _PARTS)
            for start in range(0, len(lines), size):
                part = slice(start, start + size)
                self._read_group(shape, lines[part], numbers[part], block)
        else:
            shape.read_one_by_one(lines.to_pylist(), numbers, block)


class _LineHeader(msgspec.Struct):
    type: object = None
    edge: object = None


def _type_name(text: bytes) -> object:
    """Return what a line that is one JSON object names as its type."""
    try:
        header = msgspec.json.decode(text, type=_LineHeader)
    except (msgspec.DecodeError, RecursionError):
        # The other decoder accepts lone surrogates, which are then reported with their field.
        record = decode_line(text)
        if not isinstance(record, RecordObject):
            return None
        return record.get("type") or record.get("edge")
    return header.type or header.edge


class _RecordShape:
    """The JSON form of the records of one type."""

    def __init__(self, stored: StoredType, integer_ends: frozenset[str]) -> None:
        self.stored = stored
        self._integer_ends = integer_ends
        self.is_edge = isinstance(stored, EdgeType)
        self.word = "edge" if self.is_edge else "type"
        self.fields: dict[str, ValueType] = {"id": STRING}
        self.fields |= {item.name: item.type for item in stored.properties.values()}
        self.top = (self.word, "from", "to", "data") if self.is_edge else (self.word, "data")
        data = pa.struct([(name, _wire_type(kind)) for name, kind in self.fields.items()])
        self._wires = [self._wire(data, pa.utf8())]
        self._wires += [self._wire(data, pa.int64())] if integer_ends else []
        self.columns = loose_schema(stored)

    def _wire(self, data: pa.DataType, end: pa.DataType) -> pa.Schema:
        """Return the schema in which lines are read whose ends are texts, or whole numbers."""
        kinds = {"data": data, self.word: pa.utf8()}
        return pa.schema([(name, kinds.get(name, end)) for name in self.top])

    def read_at_once(self, lines: pa.Array) -> pa.RecordBatch | None:
        """Return the columns of many lines, or None when one of them needs a closer look."""
        found = (self._read_as(wire, lines) for wire in self._wires)
        return next((columns for columns in found if columns is not None), None)

    def _read_as(self, wire: pa.Schema, lines: pa.Array) -> pa.RecordBatch | None:
        offsets = np.frombuffer(lines.buffers()[1], np.int32)[lines.offset :][: len(lines) + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        text = lines.buffers()[2].slice(first, last - first)
        if not _each_ends_an_object(text, offsets[1:] - first):
            return None
        try:
            table = pyarrow.json.read_json(
                pa.BufferReader(text),
                read_options=pyarrow.json.ReadOptions(
                    use_threads=False, block_size=max(text.size + 1, _SMALLEST_BLOCK)
                ),
                parse_options=pyarrow.json.ParseOptions(
                    explicit_schema=wire, unexpected_field_behavior="error"
                ),
            )
        except pa.ArrowInvalid:
            return None
        # Each line begins and ends an object, so as many rows as lines means one per line.
        return self._converted(table) if table.num_rows == len(lines) else None

    def _converted(self, table: pa.Table) -> pa.RecordBatch | None:
        batch = table.combine_chunks().to_batches()[0]
        data = batch["data"]
        if data.null_count and not self.is_edge:
            return None
        names = [each.name for each in data.type]
        found = dict(zip(names, data.flatten(), strict=True))
        if self.is_edge:
            found |= {"src": batch["from"].cast(pa.utf8()), "dst": batch["to"].cast(pa.utf8())}
        columns = []
        for name in self.columns.names:
            kind = self.stored.column(name)
            assert kind is not None
            column = convert_whole(found[name], kind) if name in found else _nulls(batch, kind)
            if column is None:
                return None
            columns.append(column)
        return pa.record_batch(columns, schema=self.columns)

    def find_named(self, lines: pa.Array, columns: pa.RecordBatch) -> dict[str, Mask]:
        """Return which rows name a column, for each column that some do not.

        Only lines with a null are decoded again: a value is named, and null may be.
        """
        nulls = {
            name: np.asarray(columns[name].is_null(), bool)
            for name in columns.schema.names
            if name != "id" and columns[name].null_count
        }
        if not nulls:
            return {}
        masks = {name: ~missing for name, missing in nulls.items()}
        unsure = np.flatnonzero(np.logical_or.reduce(list(nulls.values())))
        for row, line in zip(
            unsure.tolist(), lines.take(pa.array(unsure)).to_pylist(), strict=True
        ):
            given = _given_columns(line)
            for name, mask in masks.items():
                mask[row] |= name in given
        return {name: mask for name, mask in masks.items() if not mask.all()}

    def read_one_by_one(self, lines: Sequence[bytes], numbers: np.ndarray, block: Block) -> None:
        """Read lines one by one, and report everything that is wrong with its field."""
        values: dict[str, list[object]] = {name: [] for name in self.columns.names}
        given_by_row: list[Mapping[str, object]] = []
        kept: list[int] = []
        faults: list[Violation] = []
        for line, number in zip(lines, numbers.tolist(), strict=True):
            record, wrong = self._record(line, number)
            faults += wrong
            if record is not None:
                kept.append(number)
                given_by_row.append(record)
                for name, given in values.items():
                    given.append(record.get(name))
        spoilt: set[tuple[int, str]] = set()
        columns = []
        for name, given in values.items():
            kind = self.stored.column(name)
            assert kind is not None
            column = convert_each(given, kind)
            columns.append(column.values)
            for row, reason in column.reasons.items():
                spoilt.add((row, name))
                shown = field_name(self.stored, name)
                why = end_reason(reason, is_integer_end=name in self._integer_ends)
                faults.append(self._bad(kept[row], Code.VALUE_TYPE, why, shown))
        batch = pa.record_batch(columns, schema=self.columns)
        places, named = np.array(kept, np.int64), _named_in(given_by_row, self.columns.names)
        block.rows.append(RecordRows(self.stored, batch, places, frozenset(spoilt), named))
        block.violations += faults

    def _record(
        self, line: bytes, number: int
    ) -> tuple[Mapping[str, object] | None, list[Violation]]:
        """Return the values of one line by column, and what is wrong with its form."""
        record = decode_line(line)
        if not isinstance(record, RecordObject):
            reason = record if isinstance(record, str) else f"is not a record; {_SHAPE}"
            return None, [self._bad(number, Code.RECORD_SYNTAX, reason)]
        if self.word not in record:
            kind = "an edge type" if self.is_edge else "a node type"
            reason = f'is {kind}; write {{"{self.word}": "{self.stored.name}", …}}'
            return None, [self._bad(number, Code.RECORD_SHAPE, reason)]
        faults = self._field_faults(record, self.top, number)
        data = record.get("data")
        if data is None and self.is_edge:
            data = RecordObject()
        if not isinstance(data, RecordObject):
            reason = 'has no "data"' if data is None else '"data" is not an object'
            return None, [*faults, self._bad(number, Code.RECORD_SHAPE, reason)]
        faults += self._field_faults(data, tuple(self.fields), number)
        ends = {
            column: self._end(record[name], column)
            for name, column in EDGE_ENDS.items()
            if name in record
        }
        given: dict[str, object] = {**data, **(ends if self.is_edge else {})}
        if self.stored.key and _is_number(data.get("id")):
            given["id"] = str(data["id"])
        return given, faults

    def _end(self, value: object, column: str) -> object:
        """Return an end of an edge; a whole number is the id of a node with such a key."""
        return str(value) if _is_number(value) and column in self._integer_ends else value

    def _field_faults(
        self, found: "RecordObject", known: tuple[str, ...], number: int
    ) -> list[Violation]:
        faults = [
            self._bad(number, Code.REPEATED_FIELD, "is given twice", name)
            for name in found.repeated[: MOST_VIOLATIONS + 1]
        ]
        unknown = (name for name in found if name not in known)
        return faults + [
            self._bad(number, Code.RECORD_FIELD, self._unknown(name), name)
            for name in islice(unknown, MOST_VIOLATIONS + 1)
        ]

    def _unknown(self, name: str) -> str:
        hint = suggest(name, self.fields)
        return "no such field" + ("" if hint is None else f"; {hint}")

    def _bad(self, number: int, code: Code, reason: str, name: str | None = None) -> Violation:
        field_name = None if name is None else _printable(name)
        return Violation(
            code=code, reason=reason, type=self.stored.name, field=field_name, line=number
        )


class _GivenFields(msgspec.Struct):
    """The names of a record's fields; their values are not decoded."""

    data: dict[str, msgspec.Raw] | None = None
    source: msgspec.Raw | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="from")
    target: msgspec.Raw | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="to")


def _given_columns(line: bytes) -> set[str]:
    """Return the columns that a line names, which is a record that was read before."""
    try:
        record = msgspec.json.decode(line, type=_GivenFields)
    except msgspec.DecodeError:
        # Arrow accepts lone surrogates.
        found = decode_line(line)
        assert isinstance(found, RecordObject)
        data = found.get("data")
        given = set(data if isinstance(data, RecordObject) else ())
        return given | {column for name, column in EDGE_ENDS.items() if name in found}
    given = set(record.data or ())
    given |= set() if record.source is msgspec.UNSET else {"src"}
    return given | (set() if record.target is msgspec.UNSET else {"dst"})


def _named_in(records: Sequence[Mapping[str, object]], names: Sequence[str]) -> dict[str, Mask]:
    """Return which records name a column, for each column that some do not."""
    columns = (name for name in names if name != "id")
    masks = {
        name: np.fromiter((name in each for each in records), bool, len(records))
        for name in columns
    }
    return {name: mask for name, mask in masks.items() if not mask.all()}


def loose_schema(stored: StoredType) -> pa.Schema:
    """Return the columns of a type's table, all nullable."""
    names = ("id", "src", "dst") if isinstance(stored, EdgeType) else ("id",)
    fields = [pa.field(name, pa.utf8()) for name in names]
    fields += [pa.field(item.name, arrow_type(item.type)) for item in stored.properties.values()]
    return pa.schema(fields)


class RecordObject(dict[str, object]):
    """A JSON object that remembers which names occurred twice."""

    repeated: tuple[str, ...] = ()

    @staticmethod
    def of(pairs: list[tuple[str, object]]) -> "RecordObject":
        found = RecordObject(pairs)
        if len(found) != len(pairs):
            times = Counter(name for name, _ in pairs)
            found.repeated = tuple(name for name in found if times[name] > 1)
        return found


def decode_line(line: bytes) -> object:
    """Return the JSON value of a line, or a text that says why it is not JSON."""
    try:
        value: object = json.loads(
            line.rstrip(b"\r\n").decode(),
            object_pairs_hook=RecordObject.of,
            parse_constant=refuse_constant,
            parse_float=parse_finite,
            parse_int=_whole,
        )
    except json.JSONDecodeError as bad:
        return f"is not JSON: {bad.msg} at column {bad.colno}"
    except RecursionError:
        return "is not JSON: nested too deeply"
    except ValueError as bad:
        return f"is not JSON: {bad}"
    return [value] if isinstance(value, str) else value


class _MinusZero(int):
    """`-0`, which is the whole number 0 but another float."""

    def __float__(self) -> float:
        return -0.0


def _whole(text: str) -> int:
    return _MinusZero() if text == "-0" else int(text)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _bad(number: int, code: Code, reason: str) -> Violation:
    return Violation(code=code, reason=reason, line=number)


def _printable(name: str) -> str:
    return name.encode(errors="backslashreplace").decode()


def _nulls(batch: pa.RecordBatch, kind: ValueType) -> pa.Array:
    return pa.nulls(len(batch), arrow_type(kind))


def _wire_type(kind: ValueType) -> pa.DataType:
    """Return the type as which a JSON value is read before it is converted."""
    match kind:
        case VectorType():
            return pa.list_(pa.float64())
        case ListType(item):
            return pa.list_(_wire_type(ScalarType(item)))
        case ScalarType() if kind in FLOATS:
            return pa.float64()
        case ScalarType() if kind in (DATE, DATETIME, BLOB):
            return pa.utf8()
    return arrow_type(kind)


def _lines(data: bytes) -> pa.Array:
    """Return the lines of a text as binary values that share its bytes, newlines included."""
    if data and not data.endswith(b"\n"):
        data += b"\n"
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends + 1
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(ends), buffers)


def _without_empty(lines: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Return the lines that hold more than a newline, and their numbers."""
    offsets = np.frombuffer(lines.buffers()[1], np.int32)[: len(lines) + 1]
    full = np.diff(offsets) > 1
    if full.all():
        return lines, np.arange(len(lines))
    return lines.filter(pa.array(full)), np.flatnonzero(full)


def _each(lines: pa.Array, deadline: Deadline) -> Iterator[bytes]:
    """Yield the lines one by one; only a few are Python objects at the same time."""
    for start in range(0, len(lines), _SLICE_LINES):
        deadline.check()
        yield from lines[start : start + _SLICE_LINES].to_pylist()


def _each_ends_an_object(text: pa.Buffer, ends: np.ndarray) -> bool:
    """Whether the last character of every line is a closing brace."""
    data = np.frombuffer(text, np.uint8)
    last = data[ends - 2]
    if (last == ord("\r")).any():
        last = np.where(last == ord("\r"), data[np.maximum(ends - 3, 0)], last)
    return bool((last == ord("}")).all())


def is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8 text."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
