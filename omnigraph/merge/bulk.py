"""Bulk: merges the changed rows of one type in tasks, one bucket of ids each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import groupby
from math import ceil
from operator import itemgetter
from typing import TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.lookup import look_up_rows
from omnigraph.frozen import dataclass
from omnigraph.merge.compare.diff import TableDiff, match_rows
from omnigraph.merge.compare.row_change import Op
from omnigraph.merge.conflict import Side
from omnigraph.merge.rowmerge import (
    MergedType,
    SideDiffs,
    TypeMerge,
    loose,
    merge_rows,
    without,
)
from omnigraph.merge.settle import SettledRows, with_columns_of
from omnigraph.merge.stored_change import Soundness, StoredChange, StoredPart
from omnigraph.merge.threeway import Terms
from omnigraph.schema.catalog import StoredType
from omnigraph.spark.choice import Engine, default_settings, runner_for_merge
from omnigraph.spark.deadline import Deadline, deadline_of
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.spark.runner import InlineRunner, Parcel, Runner
from omnigraph.spark.settings import SparkSettings
from omnigraph.storage.finding.delta import DeltaPart, Extent, delta_parts, extent_between
from omnigraph.storage.reading import ADDRESS, Addresses, rows_at
from omnigraph.storage.staging import Piece, TablePlace, place_of, with_pieces, write_pieces
from omnigraph.storage.table import Table
from omnigraph.syntax.problems import parse_choice
from omnigraph.versioning.commit import Models
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.draft import TypeChange
from omnigraph.write.filling import VectorFiller, join_models
from omnigraph.write.indexing import build_indexes
from omnigraph.write.load import keys
from omnigraph.write.load.aside import Aside, new_aside
from omnigraph.write.load.keywords import BulkKeywords
from omnigraph.write.load.replaced import ReplacedRows, keep_addresses, remove_replaced
from omnigraph.write.validate import broken_rows, compared_columns

# A merge of so few rows is no work for Spark, however many bytes they are.
_FEW_ROWS = 10_000
# The most changed rows of one type, on both sides, that are merged in memory at once.
_MOST_HELD = Extent(rows=50_000, bytes=16 << 20)
_BUCKET = Extent(rows=50_000, bytes=32 << 20)
_IDS_AT_A_TIME = 100_000
_SIDES = (Side.OURS, Side.THEIRS)
_NOTHING = pa.schema([("id", pa.utf8()), ("address", pa.uint64())]).empty_table()

Found = TypeVar("Found")
_AddressedIds: TypeAlias = tuple[Addresses, pa.Array]


def make_task_merger(keywords: BulkKeywords) -> "TaskMerger":
    """Return the engine for large changes; raises for an unknown one."""
    deadline = deadline_of(
        "merge", keywords.get("seconds"), keywords.get("cancelled"), keywords.get("bytes")
    )
    return TaskMerger(
        engine=parse_choice(Engine, keywords.get("engine", Engine.AUTO)),
        spark=keywords.get("spark") or default_settings(),
        progress=keywords.get("progress", NO_PROGRESS),
        most_held=_fitting(_MOST_HELD, deadline),
        bucket=_fitting(_BUCKET, deadline),
        deadline=deadline,
    )


def _fitting(extent: Extent, deadline: Deadline) -> Extent:
    """Return how much is held at once, so that rows of both sides and of the result have room."""
    return replace(extent, bytes=int(max(1, min(extent.bytes, deadline.bytes / 4))))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMerger:
    """Merges large changes on Spark or in this process; only its task holds a whole row.

    On Spark every type that is merged by row goes this way; otherwise those with more changes than
    `most_held`. A task gets about a `bucket` of them.
    """

    engine: Engine
    spark: SparkSettings
    most_held: Extent = _MOST_HELD
    bucket: Extent = _BUCKET
    progress: Progress = NO_PROGRESS
    deadline: Deadline = field(default_factory=Deadline)

    def takes(self, type_merge: TypeMerge) -> bool:
        """Whether a type is merged this way."""
        if self.engine is Engine.SPARK:
            return True
        extent = _extent(type_merge)
        return extent.rows > self.most_held.rows or extent.bytes > self.most_held.bytes

    def merged(self, type_merge: TypeMerge, terms: Terms, aside: Aside | None) -> MergedType:
        """Merge a type without writing it; finds only what rules between rows read.

        It is kept in files of `aside`; without that, this process holds it.
        """
        self.progress.begin("merging", _extent(type_merge).rows)
        bucket = _Bucket.of(type_merge, terms)
        if aside is None:
            return _joined(type_merge, self._run(type_merge, partial(_check_bucket, bucket)))
        parts = self._run(type_merge, partial(_store_bucket, bucket, aside))
        kept = StoredChange(type_merge.stored, type_merge.ours, tuple(each.part for each in parts))
        joined = _joined(type_merge, [each.merged for each in parts])
        return replace(joined, change=kept.unread(), kept=kept)

    def soundness(
        self, ours: Snapshot, changes: Mapping[str, StoredChange], aside: Aside
    ) -> Soundness:
        """Return whether the rules between rows hold on what a merge would leave."""
        rows = sum(each.row_count + each.gone_count for each in changes.values())
        size = sum(each.row_count * each.ours.row_bytes for each in changes.values())
        return Soundness(ours, changes, self._runner(Extent(rows, size)), aside)

    def written(
        self,
        type_merge: TypeMerge,
        terms: Terms,
        change: TypeChange,
        settled: SettledRows,
        vectors: VectorFiller | None,
    ) -> tuple[Table, Models]:
        """Write the result of `merged`; rows that were settled since are as `change` has them.

        Vectors that no side made are made by `vectors`. Returns the models of these, too.
        """
        self.progress.begin("writing", _extent(type_merge).rows)
        aside = new_aside(place_of(type_merge.ours).store)
        try:
            bucket = _Bucket.of(type_merge, terms)
            task = partial(_write_bucket, bucket, settled.ids, aside, vectors)
            found = self._run(type_merge, task)
            rows, used = _settled_rows(type_merge, found, change, settled, vectors)
            made = self._written(type_merge, found, change, rows, settled.ids, aside)
        finally:
            aside.discard()
        runner = self._runner(_extent(type_merge))
        built = build_indexes(runner, [(type_merge.stored, made)], self.progress)
        models = [used, *(each.models for each in found)]
        return built[type_merge.stored.name], join_models((), *models)

    def _written(
        self,
        type_merge: TypeMerge,
        found: Sequence["_WrittenBucket"],
        change: TypeChange,
        rows: pa.Table,
        settled: pa.Array,
        aside: Aside,
    ) -> Table:
        """Add the merged and the settled rows to our table, and remove those they replace."""
        pieces = [piece for each in found for piece in each.pieces]
        replaced = [each.replaced for each in found]
        table = type_merge.ours
        if rows.num_rows:
            pieces += write_pieces(place_of(table), rows)
        hidden = change.hidden.filter(pc.is_in(change.hidden, value_set=settled))
        if len(hidden):
            addresses = look_up_rows(table, "id", hidden, [ADDRESS])[ADDRESS].to_numpy()
            replaced.append(keep_addresses(aside, addresses))
        kept = remove_replaced(self._runner(_extent(type_merge)), table, replaced)
        return with_pieces(kept, pieces) if pieces else kept

    def _run(self, type_merge: TypeMerge, task: Callable[[Sequence[Parcel]], Found]) -> list[Found]:
        """Send the ids of all changed rows to buckets, and run a task on each bucket."""
        items = [
            _ChangedFragments(part, number, side)
            for number, base in enumerate(type_merge.bases)
            for side, table in zip(_SIDES, (type_merge.ours, type_merge.theirs), strict=True)
            if base.key != table.key
            for part in delta_parts(base, table)
        ]
        extent = _extent(type_merge)
        runner = self._runner(extent)
        parts = extent.rows / self.bucket.rows, extent.bytes / self.bucket.bytes
        buckets = max(runner.slots, *map(ceil, parts))
        emit = partial(_emitted, buckets=buckets)
        return runner.map_reduce(emit, items, task, self.progress, buckets=buckets)

    def _runner(self, extent: Extent) -> Runner:
        if self.engine is Engine.AUTO and extent.rows <= _FEW_ROWS:
            # They are large by their blobs alone, or only moved beside them.
            return InlineRunner(self.deadline)
        return runner_for_merge(self.engine, self.spark, extent.bytes, self.deadline)


def _extent(type_merge: TypeMerge) -> Extent:
    """Estimate how much both sides changed since all bases."""
    pairs = [
        (base, side) for base in type_merge.bases for side in (type_merge.ours, type_merge.theirs)
    ]
    return sum((extent_between(*pair) for pair in pairs if pair[0].key != pair[1].key), Extent())


@dataclass(frozen=True, slots=True)
class _ChangedFragments:
    """Fragments in which a side may differ from a base."""

    part: DeltaPart
    base: int
    side: Side


def _emitted(reading: _ChangedFragments, buckets: int) -> Iterator[Parcel]:
    delta = reading.part.delta()
    for is_new, place, addresses in (
        (False, reading.part.old, delta.removed),
        (True, reading.part.new, delta.added),
    ):
        tag = _tag(reading.base, reading.side, is_new)
        for first in range(0, len(addresses), _IDS_AT_A_TIME):
            some = addresses[first : first + _IDS_AT_A_TIME]
            ids = to_array(rows_at(place.open(), some, ["id"])["id"])
            rows = pa.record_batch([ids, pa.array(some)], names=["id", "address"])
            for bucket, part in keys.split_into_buckets(rows, buckets, by=["id"]):
                yield Parcel(bucket, tag, keys.pack(part))


def _tag(base: int, side: Side, is_new: bool) -> str:
    return f"{base} {side} {'new' if is_new else 'old'}"


@dataclass(frozen=True, slots=True)
class _Bucket:
    """What a task needs to merge the rows of some ids."""

    stored: StoredType
    bases: tuple[TablePlace, ...]
    ours: TablePlace
    theirs: TablePlace
    root: TablePlace | None
    terms: Terms

    @staticmethod
    def of(type_merge: TypeMerge, terms: Terms) -> "_Bucket":
        bases = tuple(place_of(each) for each in type_merge.bases)
        sides = place_of(type_merge.ours), place_of(type_merge.theirs)
        root = None if type_merge.root is None else place_of(type_merge.root)
        return _Bucket(type_merge.stored, bases, *sides, root, terms)

    def merged(self, parcels: Sequence[Parcel]) -> MergedType:
        bases = tuple(each.open() for each in self.bases)
        root = None if self.root is None else self.root.open()
        type_merge = TypeMerge(self.stored, bases, self.ours.open(), self.theirs.open(), root)
        diffs = [
            SideDiffs(
                self._diff(base, type_merge.ours, _read_parcels(parcels, number, Side.OURS)),
                self._diff(base, type_merge.theirs, _read_parcels(parcels, number, Side.THEIRS)),
            )
            for number, base in enumerate(bases)
        ]
        return merge_rows(type_merge, diffs, self.terms)

    def _diff(self, old: Table, new: Table, sent: tuple[_AddressedIds, _AddressedIds]) -> TableDiff:
        return match_rows(self.stored, old, new, *sent)


def _read_parcels(
    parcels: Sequence[Parcel], base: int, side: Side
) -> tuple[_AddressedIds, _AddressedIds]:
    """Return addresses and ids of the rows that a side lost, and of those it gained."""
    found = []
    for is_new in (False, True):
        tag = _tag(base, side, is_new)
        parts = [keys.unpack(each.payload) for each in parcels if each.tag == tag]
        rows = pa.concat_tables([_NOTHING, *parts]).sort_by("address")
        found.append((rows["address"].to_numpy(), to_array(rows["id"])))
    return found[0], found[1]


@dataclass(frozen=True, slots=True)
class _StoredBucket:
    """The merge of a bucket, and its rows in files."""

    merged: MergedType
    part: StoredPart


def _store_bucket(bucket: _Bucket, aside: Aside, parcels: Sequence[Parcel]) -> _StoredBucket:
    """Merge a bucket, check its rows, and store what rules between rows read."""
    merged = _check_bucket(bucket, parcels)
    addresses = _addresses_in_ours(parcels, merged.change.hidden)
    part = StoredPart.of(merged.change, addresses, aside)
    # A slice without rows would carry all of them to the driver.
    nothing = TypeChange(bucket.stored, merged.change.rows.schema.empty_table())
    return _StoredBucket(replace(merged, change=nothing), part)


def _check_bucket(bucket: _Bucket, parcels: Sequence[Parcel]) -> MergedType:
    """Merge a bucket, check its rows, and keep what rules between rows read."""
    merged = bucket.merged(parcels)
    violations = tuple(broken_rows(merged.change))
    rows = merged.change.rows.select(compared_columns(bucket.stored))
    change = TypeChange(bucket.stored, rows, merged.change.gone)
    return replace(merged, change=change, violations=violations)


@dataclass(frozen=True, slots=True)
class _WrittenBucket:
    """The rows of a bucket as pieces, and the rows of our side that they replace.

    `models` have made vectors for them. `settled` has the merged rows that were settled since.
    """

    pieces: Sequence[Piece]
    replaced: ReplacedRows
    settled: pa.Table
    models: Models = ()


def _write_bucket(
    bucket: _Bucket,
    settled: pa.Array,
    aside: Aside,
    vectors: VectorFiller | None,
    parcels: Sequence[Parcel],
) -> _WrittenBucket:
    """Merge a bucket again, and write its rows except those that were settled since."""
    merged = bucket.merged(parcels)
    change = without(merged.change, settled)
    left = merged.change.rows.filter(pc.is_in(merged.change.rows["id"], value_set=settled))
    replaced = keep_addresses(aside, _addresses_in_ours(parcels, change.hidden))
    if not change.rows.num_rows:
        return _WrittenBucket((), replaced, left)
    rows, models = (
        (change.rows, ()) if vectors is None else vectors.filled_rows(bucket.stored, change.rows)
    )
    rows = rows.cast(bucket.ours.open().schema)
    return _WrittenBucket(write_pieces(bucket.ours, rows), replaced, left, models)


def _settled_rows(
    type_merge: TypeMerge,
    found: Sequence[_WrittenBucket],
    change: TypeChange,
    settled: SettledRows,
    vectors: VectorFiller | None,
) -> tuple[pa.Table, Models]:
    """Return the settled rows that a merge leaves, and the models that made vectors for them."""
    schema = type_merge.ours.schema
    ids = change.ids.filter(pc.is_in(change.ids, value_set=settled.ids))
    if not len(ids):
        return schema.empty_table(), ()
    is_whole = pc.is_in(ids, value_set=pa.array(sorted(settled.whole), pa.utf8()))
    rows = look_up_rows(type_merge.theirs, "id", ids.filter(is_whole), schema.names)
    others = ids.filter(pc.invert(is_whole))
    every = pa.concat_tables([schema.empty_table(), *(each.settled.cast(schema) for each in found)])
    merged = every.filter(pc.is_in(every["id"], value_set=others))
    unmerged = others.filter(pc.invert(pc.is_in(others, value_set=merged["id"])))
    kept = look_up_rows(type_merge.ours, "id", unmerged, schema.names)
    parts = _with_parts(type_merge, pa.concat_tables([merged, kept.cast(schema)]), settled)
    models: Models = ()
    if vectors is not None:
        parts, models = vectors.filled_rows(type_merge.stored, parts)
    return pa.concat_tables([rows.cast(schema), parts.cast(schema)]), models


def _with_parts(type_merge: TypeMerge, rows: pa.Table, settled: SettledRows) -> pa.Table:
    """Return rows with the columns that were settled, in the order in which they were."""
    rows = loose(rows)
    parts = ((columns, side, row_id) for (row_id, columns), side in settled.parts.items())
    for (columns, side), items in groupby(parts, itemgetter(0, 1)):
        ids = pa.array([row_id for _, _, row_id in items], pa.utf8())
        is_meant = pc.is_in(rows["id"], value_set=ids)
        here, others = rows.filter(is_meant), rows.filter(pc.invert(is_meant))
        table = type_merge.ours if side is Side.OURS else type_merge.theirs
        _, taken, _ = with_columns_of(type_merge.stored, here, table, columns)
        rows = pa.concat_tables([others, taken])
    return rows


def _addresses_in_ours(parcels: Sequence[Parcel], ids: pa.Array) -> Addresses:
    """Return where our table has the rows of some ids, of those that it has.

    A row that we changed or moved since a base was sent with its new address. One that we deleted
    was sent as removed. Every other row of a base is where the base has it.
    """
    came, went, stayed = [_NOTHING], [_NOTHING], [_NOTHING]
    for parcel in parcels:
        _, side, age = parcel.tag.split(" ")
        if side == Side.OURS:
            (came if age == "new" else went).append(keys.unpack(parcel.payload))
        elif age == "old":
            stayed.append(keys.unpack(parcel.payload))
    own, lost, base = (pa.concat_tables(each) for each in (came, went, stayed))
    ours = pa.concat_arrays([to_array(own["id"]), to_array(lost["id"])])
    left = base.filter(pc.invert(pc.is_in(base["id"], value_set=ours)))
    every = pa.concat_tables([own, left])
    found: Addresses = every.filter(pc.is_in(every["id"], value_set=ids))["address"].to_numpy()
    return found


def _joined(type_merge: TypeMerge, found: Sequence[MergedType]) -> MergedType:
    names = compared_columns(type_merge.stored)
    none = pa.schema([type_merge.theirs.schema.field(name) for name in names]).empty_table()
    rows = pa.concat_tables([none, *(each.change.rows for each in found)])
    gone = pa.concat_arrays([pa.array([], pa.utf8()), *(each.change.gone for each in found)])
    return MergedType(
        TypeChange(type_merge.stored, rows, gone),
        {op: sum(each.counts[op] for each in found) for op in Op},
        adopts=all(each.adopts for each in found),
        conflicts=tuple(conflict for each in found for conflict in each.conflicts),
        violations=tuple(each for part in found for each in part.violations or ()),
        lacks_vectors=any(each.lacks_vectors for each in found),
        met=frozenset(key for each in found for key in each.met),
    )
