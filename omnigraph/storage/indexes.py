"""Indexes: the indexes that a table has, and how they are extended to new fragments."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import lance
import pyarrow as pa
from lance.dataset import Index, IndexFile
from lance.file import LanceFileReader, LanceFileWriter
from lance.indices import IndexSegmentDescription

from omnigraph.frozen import dataclass
from omnigraph.schema.arrow import PACKED
from omnigraph.schema.catalog import EdgeType, StoredType
from omnigraph.schema.types import STRING, VectorType

# Types that rows are looked up by. Lance compares values of others differently from the language,
# or not at all.
LOOKED_UP = (pa.utf8(), pa.int32(), pa.int64(), pa.date32())
# Segments that one index may have before its small ones are rebuilt as one.
MOST_SEGMENTS = 32
SMALL_SEGMENT_ROWS = 131_072
# Jobs build segments of so many rows, and of more where an index would get more segments than this.
# A look-up reads a page of each segment of a BTREE, and values that repeat are stored once in each:
# ends of ten million edges take 5 bytes in one segment and 7 in ten, and a quarter of the time.
SEGMENT_ROWS = 1_000_000
SORTED_SEGMENT_ROWS = 10_000_000
MOST_LARGE_SEGMENTS = 256
# A BTREE lookup costs the same for each segment, so segments of fewer rows are always joined.
JOINED_SEGMENT_ROWS = 4_096
# Fragments and rows that a BTREE leaves to a scan.
MOST_UNCOVERED = 4
MOST_UNCOVERED_ROWS = 1_024
# `optimize` joins segments of fewer rows, or than half of what a job would build.
WHOLE_SEGMENT_ROWS = 1_000_000
# With fewer rows all vectors are compared, which is exact; from here on they are indexed.
LEAST_VECTORS = 100_000
# A vector index is extended once it misses more than this share of all rows.
MOST_VECTORS_UNCOVERED = 0.05
VECTORS_PER_PARTITION = 1_024
_MOST_PARTITIONS = 4_096
# The pages of a BTREE of so many rows are packed.
LEAST_PACKED = 16_384
_PACKED_ROWS = 65_536
_PAGES = "page_data.lance"
_INDEX_FILES = "2.2"

# Search results depend on these, so they are never left to Lance's defaults.
TOKENIZER: dict[str, Any] = {
    "base_tokenizer": "simple",
    "language": "English",
    "lower_case": True,
    "stem": True,
    "remove_stop_words": False,
    "ascii_folding": True,
    "max_token_length": None,
    "with_position": True,
}


_Covering: TypeAlias = tuple[IndexSegmentDescription, set[int]]


class IndexKind(StrEnum):
    """The kinds of index that follow from the schema.

    Every write maintains those of scalars and texts; `optimize` maintains those of vectors.
    """

    BTREE = "BTREE"
    TEXT = "INVERTED"
    VECTOR = "IVF_FLAT"


_WRITTEN = (IndexKind.BTREE, IndexKind.TEXT)


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """One index of a table."""

    column: str
    kind: IndexKind

    @property
    def name(self) -> str:
        return f"{self.column}_{self.kind.lower()}"


def indexes_of(stored: StoredType) -> tuple[IndexSpec, ...]:
    """Return the scalar and text indexes that a type's table has from the start."""
    columns = (
        {"id": None, "src": None, "dst": None} if isinstance(stored, EdgeType) else {"id": None}
    )
    specs = dict.fromkeys(IndexSpec(column, IndexKind.BTREE) for column in columns)
    for column in [*stored.key, *(name for columns in stored.unique for name in columns)]:
        specs[IndexSpec(column, IndexKind.BTREE)] = None
    for column in (name for columns in stored.indexes for name in columns):
        kind = stored.column(column)
        if not isinstance(kind, VectorType):
            text = kind == STRING and column not in ("id", "src", "dst")
            specs[IndexSpec(column, IndexKind.TEXT if text else IndexKind.BTREE)] = None
    return tuple(specs)


def first_indexes_of(stored: StoredType) -> tuple[IndexSpec, ...]:
    """Return the indexes with which a type's table is created.

    Those of texts, because they pin the tokenizer. The others start with the first rows: a schema
    of hundreds of types would wait for them for seconds.
    """
    return tuple(each for each in indexes_of(stored) if each.kind is IndexKind.TEXT)


def vector_indexes_of(stored: StoredType) -> tuple[IndexSpec, ...]:
    """Return the vector indexes that a type's table gets once it has many rows."""
    listed = {name for columns in stored.indexes for name in columns}
    return tuple(
        IndexSpec(each.name, IndexKind.VECTOR)
        for each in stored.properties.values()
        if isinstance(each.type, VectorType) and (each.embed is not None or each.name in listed)
    )


def create_index(dataset: lance.LanceDataset, spec: IndexSpec) -> None:
    """Create an index over all rows; on an empty table this is what pins the tokenizer."""
    if spec.kind is IndexKind.TEXT:
        dataset.create_scalar_index(spec.column, "INVERTED", name=spec.name, **TOKENIZER)
    else:
        dataset.create_scalar_index(spec.column, "BTREE", name=spec.name)


@dataclass(frozen=True, slots=True)
class DueSegment:
    """A segment of an index that has to be built over some fragments."""

    name: str
    column: str
    kind: IndexKind
    fragments: tuple[int, ...]
    partitions: int = 0


@dataclass(frozen=True, slots=True)
class _IndexSegments:
    """An index that a version has: its name, and its segments with the fragments each covers."""

    name: str
    segments: list[_Covering]

    @property
    def covered(self) -> set[int]:
        return {each for _, covered in self.segments for each in covered}


def build_segments(
    dataset: lance.LanceDataset, due: Iterable[DueSegment], check: Callable[[], None]
) -> list[Index]:
    """Build segments that belong to no version yet; this changes the handle.

    `check` is called before each, and raises to stop.
    """
    added = []
    for each in due:
        check()
        added.append(build_segment(dataset, each))
    return added


def segment_rows(rows: int, kind: IndexKind) -> int:
    """Return how many rows a segment of a table of `rows` rows has when a job builds it."""
    least = SORTED_SEGMENT_ROWS if kind is IndexKind.BTREE else SEGMENT_ROWS
    return max(least, joined_rows(rows))


def joined_rows(rows: int) -> int:
    """Return up to how many rows the segments of a table of `rows` rows are joined by jobs."""
    return max(SEGMENT_ROWS, -(-rows // MOST_LARGE_SEGMENTS))


def due_segments(
    dataset: lance.LanceDataset, declared: Iterable[IndexSpec] = (), most_joined: int = 0
) -> tuple[list[DueSegment], list[Index]]:
    """Plan the segments that uncovered fragments need, and return those that they replace too.

    Where an index has too many segments, its small ones are rebuilt together with the new one; the
    smallest of a BTREE always are. A job also joins those that are no larger than what is new and
    was joined before, up to `most_joined` rows. A declared index that the table lacks is started.
    """
    rows = _rows(dataset)
    due: list[DueSegment] = []
    replaced: list[Index] = []
    for spec, found in _wanted(dataset, set(rows), declared).items():
        if spec.kind not in _WRITTEN:
            continue
        uncovered = set(rows) - found.covered
        few = spec.kind is IndexKind.BTREE and _few([rows[each] for each in uncovered])
        if uncovered and not few:
            least = _small_rows(spec.kind, len(found.segments))
            if len(found.segments) > MOST_SEGMENTS:
                least = max(least, _joined_with(found, uncovered, rows, most_joined))
            fragments, joined = _with_small(found, uncovered, rows, least)
            replaced += joined
            due.append(DueSegment(found.name, spec.column, spec.kind, fragments))
    return due, replaced


def whole_segments(
    dataset: lance.LanceDataset, declared: Iterable[IndexSpec]
) -> tuple[list[DueSegment], list[Index]]:
    """Plan the segments with which every index covers all rows, in few segments.

    Returns them and the segments that they replace. A vector index is started and extended only
    when that is worth its cost.
    """
    rows = _rows(dataset)
    least = max(WHOLE_SEGMENT_ROWS, joined_rows(sum(rows.values())) // 2)
    due: list[DueSegment] = []
    replaced: list[Index] = []
    for spec, found in _wanted(dataset, set(rows), declared).items():
        uncovered = set(rows) - found.covered
        if spec.kind is IndexKind.VECTOR:
            part, joined = _due_vectors(dataset, spec, found, rows)
            due += part
            replaced += joined
            continue
        fragments, joined = _with_small(found, uncovered, rows, least)
        if uncovered or len(joined) > 1:
            replaced += joined
            due.append(DueSegment(found.name, spec.column, spec.kind, fragments))
    return due, replaced


def undeclared_segments(dataset: lance.LanceDataset, declared: Iterable[IndexSpec]) -> list[Index]:
    """Return the segments of the indexes that a version has and that are not declared."""
    wanted = set(declared)
    return [
        _removal(found.name, segment)
        for spec, found in _indexes(dataset, set()).items()
        if spec not in wanted
        for segment, _ in found.segments
    ]


def _due_vectors(
    dataset: lance.LanceDataset, spec: IndexSpec, found: _IndexSegments, rows: Mapping[int, int]
) -> tuple[list[DueSegment], list[Index]]:
    """Plan the segment that a vector index needs.

    It covers what no segment covers, and replaces the segments that are no larger than that.
    """
    uncovered = set(rows) - found.covered
    waiting = sum(rows[each] for each in uncovered)
    if waiting <= MOST_VECTORS_UNCOVERED * sum(rows.values()):
        return [], []
    fragments, joined = _with_small(found, uncovered, rows, max(waiting, LEAST_VECTORS))
    vectors = count_vectors(dataset, spec.column, fragments)
    if vectors < LEAST_VECTORS:
        return [], []
    partitions = min(max(vectors // VECTORS_PER_PARTITION, 1), _MOST_PARTITIONS)
    return [DueSegment(found.name, spec.column, spec.kind, fragments, partitions)], joined


def count_vectors(dataset: lance.LanceDataset, column: str, fragments: Iterable[int]) -> int:
    """Count the rows of some fragments that have a value in a column."""
    chosen = set(fragments)
    if not chosen:
        return 0
    every = [each for each in dataset.get_fragments() if each.fragment_id in chosen]
    condition = f"`{column}` IS NOT NULL"
    return int(dataset.scanner(columns=[], filter=condition, fragments=every).count_rows())


def _with_small(
    found: _IndexSegments, uncovered: set[int], rows: Mapping[int, int], least: int
) -> tuple[tuple[int, ...], list[Index]]:
    """Return fragments with those of the segments below `least` rows, and these segments."""
    fragments, joined = set(uncovered), []
    for segment, covered in found.segments:
        if sum(rows[each] for each in covered) < least:
            fragments |= covered
            joined.append(_removal(found.name, segment))
    return tuple(sorted(fragments)), joined


def _joined_with(
    found: _IndexSegments, uncovered: set[int], rows: Mapping[int, int], most: int
) -> int:
    """Return below how many rows segments are rebuilt with what is new.

    Each is no larger than all before it, so that a row is rebuilt a few times in the life of a
    table, and the number of segments grows with the logarithm of its rows.
    """
    total, least = sum(rows[each] for each in uncovered), 0
    for size in sorted(sum(rows[each] for each in covered) for _, covered in found.segments):
        if size > total or total + size > most:
            break
        total, least = total + size, size + 1
    return least


def _small_rows(kind: IndexKind, segments: int) -> int:
    """Return the number of rows below which segments are rebuilt as one."""
    if segments > MOST_SEGMENTS:
        return SMALL_SEGMENT_ROWS
    return JOINED_SEGMENT_ROWS if kind is IndexKind.BTREE else 0


def _few(rows: list[int]) -> bool:
    """Whether fragments are so few and small that scanning them is cheaper than a segment.

    Only for BTREE: a text index has to cover all rows.
    """
    return len(rows) <= MOST_UNCOVERED and sum(rows) < MOST_UNCOVERED_ROWS


def covers(dataset: lance.LanceDataset, spec: IndexSpec) -> bool:
    """Whether a table has an index that covers all its rows."""
    living = set(_rows(dataset))
    found = _indexes(dataset, living).get(spec)
    return found is not None and living == found.covered


def covered_fragments(dataset: lance.LanceDataset, spec: IndexSpec) -> set[int] | None:
    """Return the fragments that an index covers; None when there is no such index."""
    found = _indexes(dataset, set(_rows(dataset))).get(spec)
    return None if found is None else found.covered


def segment_folders(dataset: lance.LanceDataset) -> set[str]:
    """Return the folders of all index segments, relative to the table."""
    described = dataset.describe_indices()
    return {f"_indices/{segment.uuid}" for index in described for segment in index.segments}


def _rows(dataset: lance.LanceDataset) -> dict[int, int]:
    return {each.fragment_id: each.physical_rows for each in dataset.get_fragments()}


def _wanted(
    dataset: lance.LanceDataset, living: set[int], declared: Iterable[IndexSpec]
) -> dict[IndexSpec, _IndexSegments]:
    """Return the indexes that a version has, and those it lacks, without segments."""
    found = _indexes(dataset, living)
    names = {each.name for each in found.values()}
    for spec in declared:
        # A column that was renamed took the name of its index with it.
        free = spec.name if spec.name not in names else f"{spec.name}_{uuid4().hex[:8]}"
        found.setdefault(spec, _IndexSegments(free, []))
    return found


def _indexes(dataset: lance.LanceDataset, living: set[int]) -> dict[IndexSpec, _IndexSegments]:
    """Return the indexes of a version by column and kind, since a column may have been renamed."""
    found: dict[IndexSpec, _IndexSegments] = {}
    for index in dataset.describe_indices():
        kind = index.index_type.upper()
        if kind in tuple(IndexKind):
            segments = [
                (segment, {each for each in segment.fragment_ids if each in living})
                for segment in index.segments
            ]
            spec = IndexSpec(index.field_names[0], IndexKind(kind))
            found[spec] = _IndexSegments(index.name, segments)
    return found


def build_segment(dataset: lance.LanceDataset, due: DueSegment) -> Index:
    """Build a segment that belongs to no version yet; this changes the handle."""
    segment = dataset.create_index_uncommitted(
        due.column,
        due.kind.value,
        name=due.name,
        fragment_ids=list(due.fragments),
        replace=True,
        **_options(due),
    )
    if due.kind is IndexKind.BTREE:
        return _packed(dataset, segment)
    # Without this step Lance commits a text segment that no query can open.
    is_text = due.kind is IndexKind.TEXT
    return dataset.merge_existing_index_segments([segment]) if is_text else segment


def _packed(dataset: lance.LanceDataset, segment: Index) -> Index:
    """Write the pages of a new BTREE again, in half of the bytes, and return its segment.

    Lance has no setting for how an index is encoded. In a bucket it would take longer than it
    saves.
    """
    path = Path(dataset.uri, "_indices", segment.uuid, _PAGES)
    if segment.files is None or not path.is_file():
        return segment
    reader = LanceFileReader(str(path))
    known = reader.metadata().schema
    if reader.num_rows() < LEAST_PACKED or known.types[0] != pa.utf8():
        return segment
    schema = pa.schema([field.with_metadata(PACKED) for field in known], known.metadata)
    aside = path.with_suffix(".packed")
    with LanceFileWriter(str(aside), schema, version=_INDEX_FILES) as writer:
        for batch in reader.read_all(batch_size=_PACKED_ROWS).to_batches():
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
    size = aside.stat().st_size
    aside.replace(path)
    sizes = {each.path: each.size_bytes for each in segment.files} | {_PAGES: size}
    return replace(segment, files=[IndexFile(*each) for each in sizes.items()])


def _options(due: DueSegment) -> dict[str, Any]:
    match due.kind:
        case IndexKind.TEXT:
            return TOKENIZER
        case IndexKind.VECTOR:
            return {"metric": "cosine", "num_partitions": due.partitions}
        case IndexKind.BTREE:
            return {}


def _removal(name: str, segment: IndexSegmentDescription) -> Index:
    version, covered = segment.dataset_version_at_last_update, segment.fragment_ids
    return Index(segment.uuid, name, [0], version, covered, 0)
