"""Stage: reads one split, checks it row by row, and writes it as pieces of tables."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import msgspec
import pyarrow as pa

from omnigraph.data.values.ids import assign_ids
from omnigraph.data.values.rules import find_breaches
from omnigraph.errors import MOST_VIOLATIONS, Violation
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import StoredType, field_name
from omnigraph.spark.deadline import Deadline
from omnigraph.storage.staging import Piece, Place, write_pieces
from omnigraph.write.filling import Vectors
from omnigraph.write.load.records import Rows
from omnigraph.write.load.splits import Split, blocks

_MOST_BUFFERED = 64 << 20
_EMBEDDED_ROWS = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The task of a load's first job; the same split has the same rows and violations each time.

    `most_violations` limits how many come back. After the first one a split is only checked, and
    after more than `MOST_VIOLATIONS` it is read no further.
    """

    catalog: str
    places: Mapping[str, Place]
    vectors: Vectors
    most_violations: int
    deadline: Deadline

    def __call__(self, split: Split) -> "StagedSplit":
        pieces = _Pieces(self.places)
        faults = _Faults(self.most_violations)
        counts: dict[str, int] = {}
        given: set[str] = set()
        lines = 0
        for block in blocks(split, self.catalog, self.deadline):
            every = (each for rows in block.rows for each in broken_rules(rows))
            broken = islice(every, MOST_VIOLATIONS + 1)
            faults.add(sorted([*block.violations, *broken], key=_line), lines)
            for rows in block.rows:
                counts[rows.stored.name] = counts.get(rows.stored.name, 0) + len(rows.columns)
                if not rows.stored.key and rows.columns["id"].null_count < len(rows.columns):
                    given.add(rows.stored.name)
            for rows in () if faults.total else block.rows:
                for columns in _slices(rows):
                    pieces.add(rows.stored, self._complete(rows.stored, columns))
            lines += block.lines
            if faults.total > MOST_VIOLATIONS:
                break
        written = {} if faults.total else pieces.written()
        return StagedSplit(lines, counts, written, frozenset(given), faults.packed(), faults.total)

    def _complete(self, stored: StoredType, columns: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows in the form of the table: with vectors and ids, nulls only where allowed."""
        filled = self.vectors.filled(stored, columns)
        arrays = [assign_ids(stored, filled), *filled.columns[1:]]
        return pa.record_batch(arrays, schema=arrow_schema(stored))


@dataclass(frozen=True, slots=True)
class StagedSplit:
    """The result of a split: its lines, its rows by type, and its pieces or its violations.

    `given` names the types without a key for which some rows had an id.
    """

    lines: int
    rows: Mapping[str, int]
    pieces: Mapping[str, Sequence[Piece]]
    given: frozenset[str]
    violations: bytes
    total: int


def _slices(rows: Rows) -> Iterator[pa.RecordBatch]:
    """Yield the columns whole, or a few rows at a time where vectors will be added."""
    embeds = any(item.embed is not None for item in rows.stored.properties.values())
    size = _EMBEDDED_ROWS if embeds else max(len(rows.columns), 1)
    for start in range(0, len(rows.columns), size):
        yield rows.columns.slice(start, size)


def broken_rules(rows: Rows) -> Iterator[Violation]:
    """Yield the rows that break a rule of their type, unless that is reported already."""
    for breach in find_breaches(rows.stored, rows.columns):
        if (breach.row, breach.field) not in rows.spoilt:
            yield Violation(
                code=breach.code,
                reason=breach.reason,
                type=rows.stored.name,
                field=field_name(rows.stored, breach.field),
                line=int(rows.lines[breach.row]),
            )


def _line(violation: Violation) -> int:
    return -1 if violation.line is None else violation.line


def unpacked(violations: bytes) -> list[Violation]:
    """Return the violations of a split, ordered by line."""
    return msgspec.msgpack.decode(zlib.decompress(violations), type=list[Violation])


class _Faults:
    """Counts violations and keeps the first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[Violation] = []
        self.total = 0

    def add(self, found: Iterable[Violation], lines_before: int) -> None:
        for violation in found:
            self.total += 1
            if len(self._kept) < self._most:
                line = None if violation.line is None else violation.line + lines_before
                self._kept.append(replace(violation, line=line))

    def packed(self) -> bytes:
        return zlib.compress(msgspec.msgpack.encode(self._kept), 1)


@dataclass(slots=True)
class _Buffer:
    stored: StoredType
    batches: list[pa.RecordBatch] = field(default_factory=list)
    size: int = 0


class _Pieces:
    """Rows by type, written whenever enough of one type have been collected."""

    def __init__(self, places: Mapping[str, Place]) -> None:
        self._places = places
        self._buffers: dict[str, _Buffer] = {}
        self._written: dict[str, list[Piece]] = {}

    def add(self, stored: StoredType, batch: pa.RecordBatch) -> None:
        if not len(batch):
            return
        buffer = self._buffers.setdefault(stored.name, _Buffer(stored))
        buffer.batches.append(batch)
        buffer.size += batch.nbytes
        if buffer.size >= _MOST_BUFFERED:
            self._write(stored.name)

    def written(self) -> Mapping[str, Sequence[Piece]]:
        for name in list(self._buffers):
            self._write(name)
        return self._written

    def _write(self, name: str) -> None:
        buffer = self._buffers.pop(name)
        rows = pa.RecordBatchReader.from_batches(arrow_schema(buffer.stored), buffer.batches)
        pieces = write_pieces(self._places[name], rows)
        self._written.setdefault(name, []).extend(pieces)
