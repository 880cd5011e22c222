"""Stage: reads one split, checks it row by row, and writes it as pieces of tables."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.ids import assign_ids
from omnigraph.data.values.rules import find_breaches
from omnigraph.errors import MOST_VIOLATIONS, Code, Violation
from omnigraph.frozen import dataclass
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import EdgeType, StoredType, field_name
from omnigraph.spark.deadline import Deadline
from omnigraph.storage.reading import Addresses
from omnigraph.storage.staging import Piece, TablePlace, write_pieces
from omnigraph.syntax.problems import shorten
from omnigraph.versioning.commit import Models
from omnigraph.write.counts import RowCounts
from omnigraph.write.filling import VectorFiller, join_models
from omnigraph.write.load.aside import Answer, Aside
from omnigraph.write.load.gathered import GatheredKeys, KeyWriter
from omnigraph.write.load.meet import Meeting, MetRows, known_ids
from omnigraph.write.load.order import order_by_start
from omnigraph.write.load.replaced import ReplacedRows, keep_addresses
from omnigraph.write.load.rules import RuleReading, has_known_ids, rule_columns
from omnigraph.write.load.sources.records import Block, RecordRows
from omnigraph.write.load.sources.splits import Split, blocks
from omnigraph.write.upsert import find_places, find_unchanged

_MOST_BUFFERED = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The task of a load's first job; the same split has the same rows and violations each time.

    `most_violations` limits how many come back. After the first one a split is only checked, and
    after more than `MOST_VIOLATIONS` it is read no further. The values that rules between rows
    compare go to `buckets`. They, the addresses of replaced rows and the violations are stored in
    the folder `aside` if any of them has more than `held_bytes`.
    """

    catalog: str
    meeting: Meeting
    aside: Aside
    vectors: VectorFiller
    buckets: int
    held_bytes: int
    most_violations: int
    deadline: Deadline

    def __call__(self, split: Split) -> "StagedSplit":
        staging = _Staging(self)
        lines = 0
        for block in blocks(split, self.catalog, self.deadline, partial=self.meeting.mode.looks_up):
            staging.add(block, lines)
            lines += block.lines
            if staging.faults.total > MOST_VIOLATIONS:
                break
        return staging.finish(lines)

    def complete(
        self, stored: StoredType, columns: pa.RecordBatch
    ) -> tuple[pa.RecordBatch, Models]:
        """Return rows in the form of the table, with vectors and ids, and the vectors' models."""
        filled, models = self.vectors.filled(stored, columns)
        arrays = [assign_ids(stored, filled), *filled.columns[1:]]
        return pa.record_batch(arrays, schema=arrow_schema(stored)), models


@dataclass(frozen=True, slots=True)
class StagedSplit:
    """The result of a split: its lines, its rows by type, and its pieces or its violations.

    `given` names the types without a key for which some rows had an id. `keys` has the values that
    rules between rows compare, `replaced` says where the rows are that others replace, and `models`
    which models made vectors.
    """

    lines: int
    counts: Mapping[str, RowCounts]
    pieces: Mapping[str, Sequence[Piece]]
    keys: GatheredKeys
    replaced: Mapping[str, ReplacedRows]
    given: frozenset[str]
    models: Mapping[str, Models]
    violations: Answer[bytes]
    total: int


class _Staging:
    """One split that is being staged."""

    def __init__(self, task: Stage) -> None:
        self._task = task
        self._pieces = _Pieces(task.meeting.places, task.deadline)
        self._keys = KeyWriter(task.aside, task.buckets, task.held_bytes)
        self._replaced: dict[str, list[Addresses]] = {}
        self._counts: dict[str, RowCounts] = {}
        self._given: set[str] = set()
        self._models: dict[str, Models] = {}
        self.faults = _Faults(task.most_violations)

    def add(self, block: Block, lines_before: int) -> None:
        """Check the rows of a block, and write them unless something is wrong."""
        self._pieces.make_room(sum(rows.columns.nbytes for rows in block.rows))
        broken: list[Violation] = []
        for rows in block.rows:
            name = rows.stored.name
            self._counts.setdefault(name, RowCounts())
            if not rows.stored.key and rows.columns["id"].null_count < len(rows.columns):
                self._given.add(name)
            for met in self._task.meeting.of(rows):
                room = MOST_VIOLATIONS + 1 - len(broken)
                broken += islice(broken_rules(met.rows), max(room, 0))
                if not (self.faults.total or block.violations or broken):
                    self._write(met)
        self.faults.add(sorted([*block.violations, *broken], key=_line), lines_before)

    def finish(self, lines: int) -> StagedSplit:
        """Write what is held and return the result."""
        faults = self.faults
        is_sound = not faults.total
        return StagedSplit(
            lines=lines,
            counts=self._counts,
            pieces=self._pieces.written() if is_sound else {},
            keys=self._keys.finish() if is_sound else GatheredKeys({}),
            replaced=self._write_replaced() if is_sound else {},
            given=frozenset(self._given),
            models=self._models,
            violations=self._task.aside.answer(faults.packed(), self._task.held_bytes),
            total=faults.total,
        )

    def _write(self, met: MetRows) -> None:
        stored = met.rows.stored
        rows, models = self._task.complete(stored, met.rows.columns)
        if models:
            self._models[stored.name] = join_models(self._models.get(stored.name, ()), models)
        self._gather_ids(met.rows, rows)
        counts = RowCounts(inserted=len(rows))
        if met.before.num_rows:
            rows, counts = self._changed(stored, rows, met)
        self._counts[stored.name] += counts
        for columns in rule_columns(stored):
            self._keys.add(RuleReading(stored.name, columns, staged=True), rows)
        are_made = not stored.key and met.rows.columns["id"].null_count == len(met.rows.columns)
        self._pieces.add(stored, rows, are_made=are_made)

    def _gather_ids(self, given: RecordRows, rows: pa.RecordBatch) -> None:
        """Gather the ids of records, also of those that change nothing: none may come twice."""
        gave_ids = given.columns["id"].null_count < len(rows)
        if has_known_ids(given.stored, gave_ids=gave_ids):
            self._keys.add(RuleReading(given.stored.name, ("id",), staged=True), rows)

    def _changed(
        self, stored: StoredType, rows: pa.RecordBatch, met: MetRows
    ) -> tuple[pa.RecordBatch, RowCounts]:
        """Return the rows that are new or differ, and what happens to all."""
        before = met.before
        table = pa.Table.from_batches([rows]).cast(before.schema)
        if self._task.vectors.blank:
            # What a dry run fills in is no vector, and says nothing about the real one.
            kept = [n for n in table.column_names if not _is_embedded(stored, n)]
            table, before = table.select(kept), before.select(kept)
        same, places = find_unchanged(table, before), find_places(table, before)
        known = int((places >= 0).sum())
        differing = places[(places >= 0) & ~np.asarray(same, bool)]
        if len(differing):
            self._replaced.setdefault(stored.name, []).append(met.addresses[differing])
        counts = RowCounts(len(rows) - known, known - same.true_count, same.true_count)
        return rows.filter(pc.invert(same)), counts

    def _write_replaced(self) -> dict[str, ReplacedRows]:
        return {
            name: keep_addresses(self._task.aside, np.concatenate(addresses), self._task.held_bytes)
            for name, addresses in self._replaced.items()
        }


def _is_embedded(stored: StoredType, name: str) -> bool:
    item = stored.properties.get(name)
    return item is not None and item.embed is not None


def broken_rules(rows: RecordRows) -> Iterator[Violation]:
    """Yield the rows that break a rule of their type, unless that is reported already."""
    yield from _other_ids(rows)
    for breach in find_breaches(rows.stored, rows.columns):
        if (breach.row, breach.field) not in rows.spoilt:
            yield Violation(
                code=breach.code,
                reason=breach.reason,
                type=rows.stored.name,
                field=field_name(rows.stored, breach.field),
                line=int(rows.lines[breach.row]),
            )


def _other_ids(rows: RecordRows) -> Iterator[Violation]:
    """Yield the rows that have a key, and an id which is not that of the key."""
    given = rows.columns["id"]
    if not rows.stored.key or given.null_count == len(given):
        return
    made = known_ids(rows.stored, rows.columns)
    for row in pc.indices_nonzero(
        pc.fill_null(pc.not_equal(given, made), fill_value=False)
    ).to_pylist():
        one, other = (shorten(str(each[row].as_py())) for each in (given, made))
        yield Violation(
            code=Code.RECORD_FIELD,
            reason=f"the id '{one}' is not that of the key, which is '{other}'",
            type=rows.stored.name,
            field="id",
            line=int(rows.lines[row]),
        )


def _line(violation: Violation) -> int:
    return -1 if violation.line is None else violation.line


def unpack_violations(violations: bytes) -> list[Violation]:
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
    are_made: bool = True


class _Pieces:
    """Rows by type, written whenever enough of one type have been collected."""

    def __init__(self, places: Mapping[str, TablePlace], deadline: Deadline) -> None:
        self._places = places
        self._deadline = deadline
        self._buffers: dict[str, _Buffer] = {}
        self._written: dict[str, list[Piece]] = {}

    def add(self, stored: StoredType, batch: pa.RecordBatch, *, are_made: bool) -> None:
        """Take rows; `are_made` says whether all their ids were made here."""
        if not len(batch):
            return
        buffer = self._buffers.setdefault(stored.name, _Buffer(stored))
        buffer.batches.append(batch)
        buffer.size += batch.nbytes
        buffer.are_made &= are_made
        if buffer.size >= _MOST_BUFFERED:
            self._write(stored.name)

    def make_room(self, size: int) -> None:
        """Write rows early if those of a block would not fit in beside them.

        Raises BudgetError for a block that is too large by itself.
        """
        self._deadline.check_bytes(2 * size)
        while self._buffers and self._held + 2 * size > self._deadline.bytes:
            self._write(max(self._buffers, key=lambda name: self._buffers[name].size))

    @property
    def _held(self) -> int:
        return sum(each.size for each in self._buffers.values())

    def written(self) -> Mapping[str, Sequence[Piece]]:
        for name in list(self._buffers):
            self._write(name)
        return self._written

    def _write(self, name: str) -> None:
        buffer = self._buffers.pop(name)
        rows = pa.RecordBatchReader.from_batches(arrow_schema(buffer.stored), buffer.batches)
        if buffer.are_made and isinstance(buffer.stored, EdgeType):
            rows = order_by_start(rows.read_all()).to_reader()
        pieces = write_pieces(self._places[name], rows)
        self._written.setdefault(name, []).extend(pieces)
