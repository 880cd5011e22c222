"""Indexes: which a table has, and how new fragments get into them."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import lance
from lance.dataset import Index
from lance.indices import IndexSegmentDescription

from omnigraph.schema.catalog import EdgeType, StoredType
from omnigraph.schema.types import STRING, VectorType

# Segments of one index that are allowed before small ones are built again as one.
MOST_SEGMENTS = 32
SMALL_SEGMENT_ROWS = 131_072
# A look into a BTREE costs as much for each segment, so those of so few rows are always joined.
JOINED_SEGMENT_ROWS = 4_096
# Fragments and rows that a BTREE leaves to be read one by one.
MOST_UNCOVERED = 4
MOST_UNCOVERED_ROWS = 1_024

# What a search finds depends on these, so they are never left to Lance's defaults.
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


_Key: TypeAlias = tuple[str, str, str]  # name, column and kind of an index
_Covering: TypeAlias = tuple[IndexSegmentDescription, set[int]]


class IndexKind(StrEnum):
    """The kinds of index that follow from the schema and are kept up with every write."""

    BTREE = "BTREE"
    TEXT = "INVERTED"


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """One index of a table."""

    column: str
    kind: IndexKind

    @property
    def name(self) -> str:
        return f"{self.column}_{self.kind.lower()}"


def indexes_of(stored: StoredType) -> tuple[IndexSpec, ...]:
    """Give the scalar and text indexes that a type's table has from its first day."""
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


def create_index(dataset: lance.LanceDataset, spec: IndexSpec) -> None:
    """Make an index of all rows; on an empty table this is what pins the tokenizer."""
    options = TOKENIZER if spec.kind is IndexKind.TEXT else {}
    dataset.create_scalar_index(spec.column, spec.kind.value, name=spec.name, **options)


@dataclass(frozen=True, slots=True)
class DueSegment:
    """A segment of an index that is to be built over some fragments."""

    name: str
    column: str
    kind: str
    fragments: tuple[int, ...]


def segments_for_new(
    dataset: lance.LanceDataset, declared: Iterable[IndexSpec] = ()
) -> tuple[list[Index], list[Index]]:
    """Build segments for the fragments that no segment covers.

    Gives the segments to add and those that they replace.
    """
    due, replaced = due_segments(dataset, declared)
    return [build_segment(dataset, each) for each in due], replaced


def due_segments(
    dataset: lance.LanceDataset, declared: Iterable[IndexSpec] = ()
) -> tuple[list[DueSegment], list[Index]]:
    """Give the segments that fragments without one need, and those that they replace.

    Where an index has too many segments, its small ones are built again together with the new
    one; the smallest of a BTREE always are. A declared index that the table does not have yet is
    begun.
    """
    rows = {each.fragment_id: each.physical_rows for each in dataset.get_fragments()}
    due: list[DueSegment] = []
    replaced: list[Index] = []
    found = _segments(dataset, set(rows))
    for spec in declared:
        found.setdefault((spec.name, spec.column, spec.kind.value), [])
    for (name, column, kind), segments in found.items():
        uncovered = set(rows) - {each for _, covered in segments for each in covered}
        few = kind == IndexKind.BTREE and _few([rows[each] for each in uncovered])
        if not uncovered or few:
            continue
        joined = _joined_rows(kind, len(segments))
        for segment, covered in segments:
            if sum(rows[each] for each in covered) < joined:
                uncovered |= covered
                replaced.append(_removal(name, segment))
        due.append(DueSegment(name, column, kind, tuple(sorted(uncovered))))
    return due, replaced


def _joined_rows(kind: str, segments: int) -> int:
    """Give the number of rows below which segments are built again as one."""
    if segments > MOST_SEGMENTS:
        return SMALL_SEGMENT_ROWS
    return JOINED_SEGMENT_ROWS if kind == IndexKind.BTREE else 0


def _few(rows: list[int]) -> bool:
    """Tell whether fragments are so few and small that reading them costs less than a segment.

    Only for BTREE: words are sought in an index that has all rows.
    """
    return len(rows) <= MOST_UNCOVERED and sum(rows) < MOST_UNCOVERED_ROWS


def covers(dataset: lance.LanceDataset, spec: IndexSpec) -> bool:
    """Tell whether a table has an index, and all its rows are in it."""
    living = {each.fragment_id for each in dataset.get_fragments()}
    segments = _segments(dataset, living).get((spec.name, spec.column, spec.kind.value))
    return segments is not None and living == {each for _, had in segments for each in had}


def segment_folders(dataset: lance.LanceDataset) -> set[str]:
    """Give the folders of all index segments, relative to the table."""
    described = dataset.describe_indices()
    return {f"_indices/{segment.uuid}" for index in described for segment in index.segments}


def _segments(dataset: lance.LanceDataset, living: set[int]) -> dict[_Key, list[_Covering]]:
    """Give the segments of every index that writes keep up, with the fragments they cover."""
    found: dict[_Key, list[_Covering]] = {}
    for index in dataset.describe_indices():
        kind = index.index_type.upper()
        if kind in tuple(IndexKind):
            found[index.name, index.field_names[0], kind] = [
                (segment, {each for each in segment.fragment_ids if each in living})
                for segment in index.segments
            ]
    return found


def build_segment(dataset: lance.LanceDataset, due: DueSegment) -> Index:
    """Build a segment, which no version of the table has yet; the handle is changed."""
    is_text = due.kind == IndexKind.TEXT
    segment = dataset.create_index_uncommitted(
        due.column,
        due.kind,
        name=due.name,
        fragment_ids=list(due.fragments),
        replace=True,
        **(TOKENIZER if is_text else {}),
    )
    # Without this step Lance commits a text segment that no query can open.
    return dataset.merge_existing_index_segments([segment]) if is_text else segment


def _removal(name: str, segment: IndexSegmentDescription) -> Index:
    version, covered = segment.dataset_version_at_last_update, segment.fragment_ids
    return Index(segment.uuid, name, [0], version, covered, 0)
