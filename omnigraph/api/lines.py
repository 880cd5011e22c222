"""Lines: whatever a user hands to a load, as JSON lines for a server."""

import base64
import json
import math
import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from omnigraph.errors import (
    InputError,
    Json,
    UnavailableError,
    UnreadableError,
    Violation,
    ViolationsError,
)
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, StoredType, find_type
from omnigraph.schema.identity import key_id
from omnigraph.schema.json_rows import row_from_json
from omnigraph.schema.types import BLOB
from omnigraph.schema.values import Value
from omnigraph.syntax.literal import datetime_text

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.write.load.sources.inputs import Data
    from omnigraph.write.load.sources.splits import LoadSource

_PART_BYTES = 1 << 20
_TABULAR = (".csv", ".csv.gz", ".parquet")


@dataclass
class SentLines:
    """JSON lines of one or several sources, and how many there were of each once they were sent."""

    sources: list[tuple[str, Iterable[bytes]]]
    counts: list[tuple[str, int]] = field(default_factory=list)

    def __iter__(self) -> Iterator[bytes]:
        for name, parts in self.sources:
            lines, last = 0, b"\n"
            for part in parts:
                lines, last = lines + part.count(b"\n"), part[-1:] or last
                yield part
            if last != b"\n":
                lines += 1
                yield b"\n"
            self.counts.append((name, lines))

    def placed(self, error: ViolationsError, shown: int | None) -> ViolationsError:
        """Return an error whose violations, at most so many, name sources, not the stream."""
        found = [self._placed(each) for each in error.violations[:shown]]
        return ViolationsError(found, total=error.total)

    def _placed(self, violation: Violation) -> Violation:
        before = 0
        for name, lines in self.counts:
            if violation.line is not None and violation.line <= before + lines:
                return replace(violation, file=name, line=violation.line - before)
            before += lines
        return violation


def lines_of(data: "Data", type_name: str | None, catalog: Callable[[], Catalog]) -> SentLines:
    """Return the JSON lines of what was handed over; a `str` that is no URI is the text itself."""
    files = None if type_name is not None else _plain_files(data)
    if files is None:
        files = _held(data, type_name, catalog)
    return SentLines(_read_sources(data, type_name, catalog) if files is None else files)


def _held(
    data: "Data", type_name: str | None, catalog: Callable[[], Catalog]
) -> list[tuple[str, Iterable[bytes]]] | None:
    """Return the lines of texts, streams and dicts, which need nothing heavy; None for all else."""
    from omnigraph.write.load.sources.rows import (
        is_network,
        is_uri,
        refuse_name,
        row_lines,
        rows_in,
    )

    if isinstance(data, Mapping) or is_network(data):
        return None
    if hasattr(data, "read") or (isinstance(data, str) and not is_uri(data)):
        stored = None if type_name is None else find_type(type_name, catalog())
        if not isinstance(data, str):
            return [("<stdin>", _records(_parts(getattr(data, "buffer", data)), stored))]
        refuse_name(data)
        return [("<text>", _records([data.encode(errors="surrogatepass")], stored))]
    rows = rows_in(data) if isinstance(data, Sequence) else None
    return None if rows is None else [("<rows>", row_lines(rows, type_name, catalog))]


def _plain_files(data: "Data") -> list[tuple[str, Iterable[bytes]]] | None:
    """Return the content of local files of lines, which needs nothing heavy; None for all else."""
    places = [data] if isinstance(data, os.PathLike) else data
    if isinstance(places, str) or not isinstance(places, Sequence):
        return None
    if not all(isinstance(place, str | os.PathLike) for place in places):
        return None
    names = [os.fspath(place) for place in places]
    if not all(Path(name).is_file() and not name.lower().endswith(_TABULAR) for name in names):
        return None
    return [(name, _unmarked(_content(_opened(name)))) for name in names]


def _read_sources(
    data: "Data", type_name: str | None, catalog: Callable[[], Catalog]
) -> list[tuple[str, Iterable[bytes]]]:
    from omnigraph.write.load.sources.files import files_at
    from omnigraph.write.load.sources.inputs import places_of
    from omnigraph.write.load.sources.rows import is_network, network_lines, row_lines, rows_in
    from omnigraph.write.load.sources.splits import source_of
    from omnigraph.write.load.sources.spool import frames_by_type, is_frame

    if is_network(data):
        return [("<networkx>", network_lines(data, catalog()))]
    if isinstance(data, Mapping) or is_frame(data):
        frames = frames_by_type(data, type_name)
        return [_framed(find_type(name, catalog()), each, catalog) for name, each in frames.items()]
    rows = rows_in(data)
    if rows is not None:
        return [("<rows>", row_lines(rows, type_name, catalog))]
    sources = [source_of(file, type_name, catalog()) for file in files_at(places_of(data))]
    return [_file(each, catalog) for each in sources]


def _records(parts: Iterable[bytes], stored: StoredType | None) -> Iterable[bytes]:
    """Return lines as they are, or plain ones as records of a type."""
    from omnigraph.write.load.sources.rows import to_records

    unmarked = _unmarked(parts)
    if stored is None:
        return unmarked
    return (to_records(line, stored) + b"\n" for line in split(unmarked))


def _unmarked(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a source without a byte order mark, which could not stand within a stream."""
    rest, begin = iter(parts), b""
    while len(begin) < len(BOM_UTF8) and (part := next(rest, None)) is not None:
        begin += part
    if begin := begin.removeprefix(BOM_UTF8):
        yield begin
    yield from rest


def split(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream that comes in pieces."""
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        yield from lines
    if rest:
        yield rest


def record_of(line: bytes, catalog: Catalog) -> tuple[StoredType, dict[str, object]]:
    """Return the type and the row, without its blobs, of a line as an export writes it."""
    found = json.loads(line)
    stored = catalog.stored(found.get("type") or found["edge"])
    assert stored is not None
    hidden = {name for name, item in stored.properties.items() if item.type == BLOB}
    data = {name: value for name, value in found["data"].items() if name not in hidden}
    row = row_from_json(data, stored)
    if stored.key:
        kinds = [stored.column(name) for name in stored.key]
        values = [cast(Value, row[name]) for name in stored.key]
        row["id"] = key_id(values, [each for each in kinds if each is not None])
    return stored, {**row, "src": found.get("from"), "dst": found.get("to")}


def is_json(value: object) -> bool:
    """Return whether JSON can hold a parameter, so that a server can judge it."""
    match value:
        case float():
            return math.isfinite(value)
        case str():
            return not any("\ud800" <= char <= "\udfff" for char in value)
        case list() | tuple():
            return all(is_json(each) for each in value)
        case datetime() if value.tzinfo is not None:
            return _has_utc_year(value)
        case _:
            return value is None or isinstance(value, bool | int | bytes | date | datetime)


def _has_utc_year(value: datetime) -> bool:
    """Whether a time is in the years 1 to 9999 in UTC, too."""
    try:
        value.astimezone(UTC)
    except OverflowError:
        return False
    return True


def params_json(params: Mapping[str, object]) -> dict[str, Json]:
    """Return parameters as JSON."""
    return {name: _plain(value) for name, value in params.items()}


def _file(source: "LoadSource", catalog: Callable[[], Catalog]) -> tuple[str, Iterable[bytes]]:
    from omnigraph.write.load.sources.splits import Format

    name = source.file.name
    match source.format:
        case Format.JSONL | Format.PACKED:
            is_packed = source.format is Format.PACKED
            stored = None if source.type is None else find_type(source.type, catalog())
            opened = source.file.unpacked() if is_packed else source.file.open()
            return name, _records(_content(opened), stored)
        case Format.PARQUET | Format.ARROW | Format.ARROW_STREAM:
            return name, _rows(find_type(source.type or "", catalog()), _typed(source))
        case Format.CSV | Format.CSV_PACKED:
            hint = "load it where the graph is, or read it into a frame"
            raise UnavailableError(f"'{name}' is not sent to a server", hint=hint)


def _typed(source: "LoadSource") -> "Iterator[pa.RecordBatch]":
    from omnigraph.write.load.sources.splits import splits_of, tabular_rows

    for split in splits_of([source], slots=1):
        with tabular_rows(split).opened() as (_, batches):
            yield from batches


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    from omnigraph.write.load.sources.packing import HEAD, packing_of, unpacked

    try:
        with Path(name).open("rb") as file:
            is_packed = name.lower().endswith(".gz") or packing_of(file.read(HEAD)) is not None
            file.seek(0)
            with unpacked(file, name) if is_packed else nullcontext(file) as opened:
                yield opened
    except OSError as bad:
        raise UnreadableError(f"cannot read '{name}': {bad.strerror or bad}") from None


def _content(opened: AbstractContextManager[BinaryIO]) -> Iterator[bytes]:
    with opened as file:
        yield from _parts(file)


def _parts(stream: Any) -> Iterator[bytes]:  # noqa: ANN401 - whatever can be read
    while part := stream.read(_PART_BYTES):
        yield part if isinstance(part, bytes) else part.encode()


def _framed(
    stored: StoredType,
    frame: Any,  # noqa: ANN401 - of any library
    catalog: Callable[[], Catalog],
) -> tuple[str, Iterable[bytes]]:
    from omnigraph.write.load.sources.rows import row_lines, rows_in
    from omnigraph.write.load.sources.spool import is_frame, to_stream

    rows = rows_in(frame)
    if rows is not None:
        return f"<{stored.name}>", row_lines(rows, stored.name, catalog)
    if not is_frame(frame):
        raise InputError(f"a {type(frame).__name__} is not a frame")
    if hasattr(frame, "mapInArrow"):
        frame = frame.toArrow()
    return f"<{stored.name}>", _rows(stored, to_stream(frame))


def _rows(stored: StoredType, batches: "Iterable[pa.RecordBatch]") -> Iterator[bytes]:
    from omnigraph.data.values.columns import python_values

    for batch in batches:
        columns = zip(*map(python_values, batch.columns), strict=True)
        rows = (dict(zip(batch.schema.names, row, strict=True)) for row in columns)
        records = (_record(stored, row) for row in rows)
        yield b"".join(json.dumps(each, default=str).encode() + b"\n" for each in records)


def _record(stored: StoredType, row: Mapping[str, object]) -> dict[str, object]:
    from omnigraph.write.load.sources.rows import record_of as record_of_row

    values = {name: _plain(value) for name, value in row.items()}
    if isinstance(values.get("id"), int):
        values["id"] = str(values["id"])
    return record_of_row(stored, values)


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON out of whatever Python has
    """Return a value as JSON lines have it."""
    match value:
        case datetime() if value.tzinfo is not None:
            return datetime_text(value.astimezone(UTC))
        case date():
            return value.isoformat()
        case bytes():
            return f"base64:{base64.b64encode(value).decode()}"
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value
