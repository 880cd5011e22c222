"""Rewrite: decides from one line alone what an offline embed does to it."""

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import TypeAlias

import msgspec

from omnigraph.errors import Code, Violation
from omnigraph.frozen import dataclass
from omnigraph.schema.types import STRING, ValueType, VectorType
from omnigraph.schema.values import BadValue, coerce
from omnigraph.write.embed.row_filter import RowFilter
from omnigraph.write.embed.seed import Fields, Spec
from omnigraph.write.embed.splice import JsonMembers
from omnigraph.write.load.sources.records import JSON_SPACE, decode_line

_LARGE = 1e38
_SHAPE = 'write {"type": …, "data": {…}} or {"edge": …, "from": …, "to": …}'


class EmbedMode(StrEnum):
    """Which vectors an offline embed makes, or that it removes them."""

    FILL_MISSING = "fill_missing"
    REEMBED_ALL = "reembed_all"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class KeptLine:
    """A line that stays as it is."""

    line: bytes
    is_row: bool = True
    is_selected: bool = False


@dataclass(frozen=True, slots=True)
class DueRow:
    """A row that gets the vector of a text, between the bytes before and after it."""

    before: bytes
    text: str
    after: bytes


@dataclass(frozen=True, slots=True)
class CleanedRow:
    """A row whose vector is removed."""

    line: bytes


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not a valid record, and why."""

    faults: tuple[Violation, ...]


LineStep: TypeAlias = KeptLine | DueRow | CleanedRow | BadLine


class _RecordHeader(msgspec.Struct):
    type: object = None
    edge: object = None
    data: msgspec.Raw = msgspec.Raw(b"")


_header = msgspec.json.Decoder(_RecordHeader)
_numbers = msgspec.json.Decoder(list[float])


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What an offline embed does to the lines of a file."""

    spec: Spec
    mode: EmbedMode
    rows: RowFilter

    def step(self, line: bytes, start: int = 0) -> LineStep:
        """Return what happens to a UTF-8 line; a byte order mark may come before `start`."""
        text = line[start:].strip(JSON_SPACE)
        if not text or text.startswith(b"//"):
            return KeptLine(line, is_row=False)
        try:
            header = _header.decode(text)
        except msgspec.ValidationError:
            return _bad(Code.RECORD_SHAPE, f"is not a record; {_SHAPE}")
        except (msgspec.DecodeError, RecursionError):
            return _bad(Code.RECORD_SYNTAX, _syntax_fault(text))
        name = header.edge if header.type is None else header.type
        if not isinstance(name, str) or None not in (header.type, header.edge):
            return _bad(Code.RECORD_SHAPE, f"names no type; {_SHAPE}")
        if header.edge is not None:
            return KeptLine(line)
        opening = bytes(memoryview(header.data)[:1])
        if opening != b"{":
            reason = '"data" is not an object' if opening else 'has no "data"'
            return _bad(Code.RECORD_SHAPE, reason, name)
        fields = self.spec.types.get(name)
        return KeptLine(line) if fields is None else self._row(line, start, name, fields)

    def _row(self, line: bytes, start: int, name: str, fields: Fields) -> LineStep:
        top = JsonMembers(line, line.index(b"{", start))
        data = JsonMembers(line, top.named("data")[-1].start)
        repeated = [each for each in ("type", "data") if len(top.named(each)) > 1]
        repeated += [e for e in (fields.source, fields.target) if len(data.named(e)) > 1]
        if repeated:
            reason = "is given twice"
            return BadLine(tuple(_fault(Code.REPEATED_FIELD, reason, name, e) for e in repeated))
        if not self.rows.matches(name, data):
            return KeptLine(line)
        if self.mode is EmbedMode.CLEAN:
            held = data.named(fields.target)
            return (
                CleanedRow(data.without(fields.target))
                if held
                else KeptLine(line, is_selected=True)
            )
        return self._embedded(line, name, data, fields)

    def _embedded(self, line: bytes, name: str, data: JsonMembers, fields: Fields) -> LineStep:
        text, vector = data.value(fields.source), data.value(fields.target)
        if vector is not None and _is_empty(vector):
            vector = None
        faults = tuple(self._faults(name, text, vector, fields))
        if faults:
            return BadLine(faults)
        if text is None or not _has_text(text) or (vector and not self._renews):
            return KeptLine(line, is_selected=True)
        before, after = data.around(fields.target)
        return DueRow(before, msgspec.json.decode(text, type=str), after)

    @property
    def _renews(self) -> bool:
        return self.mode is EmbedMode.REEMBED_ALL

    def _faults(
        self, name: str, text: bytes | None, vector: bytes | None, fields: Fields
    ) -> Iterator[Violation]:
        text_fault = None if text is None or text == b"null" else _misfit(text, STRING)
        if text_fault is not None:
            yield _fault(Code.VALUE_TYPE, text_fault, name, fields.source)
        elif vector and self._renews and not (text and _has_text(text)):
            reason = f"is required; without it the old '{fields.target}' would stay"
            yield _fault(Code.REQUIRED_VALUE, reason, name, fields.source)
        if vector and not self._renews and not _is_vector(vector, self.spec.dimension):
            vector_fault = _misfit(vector, VectorType(self.spec.dimension))
            if vector_fault is not None:
                yield _fault(Code.VALUE_TYPE, vector_fault, name, fields.target)


def _is_empty(vector: bytes) -> bool:
    return vector == b"null" or (vector.startswith(b"[") and not vector[1:-1].strip())


def _has_text(text: bytes) -> bool:
    return text != b"null" and bool(msgspec.json.decode(text, type=str).strip())


def _is_vector(value: bytes, dimension: int) -> bool:
    """Whether a value is a vector: a quick test, after which `_misfit` finds the reason."""
    try:
        numbers = _numbers.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return False
    return len(numbers) == dimension and all(-_LARGE < each < _LARGE for each in numbers)


def _misfit(value: bytes, kind: ValueType) -> str | None:
    """Return why a value does not have a type, in the words of a load; None when it does."""
    if kind == STRING and value.startswith(b'"'):
        return None
    try:
        coerce(json.loads(value), kind)
    except BadValue as bad:
        return str(bad)
    except RecursionError:
        return "is nested too deeply"
    except ValueError:
        return "holds a number that is too long"
    return None


def _syntax_fault(text: bytes) -> str:
    found = decode_line(text)
    surrogate = "is not JSON: half of a surrogate pair is not a character"
    return found if isinstance(found, str) else surrogate


def _bad(code: Code, reason: str, type_name: str | None = None) -> BadLine:
    return BadLine((_fault(code, reason, type_name),))


def _fault(code: Code, reason: str, type_name: str | None, field: str | None = None) -> Violation:
    return Violation(code=code, reason=reason, type=type_name, field=field)
