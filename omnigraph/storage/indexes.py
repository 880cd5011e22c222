"""Indexes: which a table has, and how new fragments get into them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import lance
from lance.dataset import Index

from omnigraph.schema.catalog import EdgeType, StoredType
from omnigraph.schema.types import STRING, VectorType

# Segments of one index that are allowed before small ones are built again as one.
MOST_SEGMENTS = 32
SMALL_SEGMENT_ROWS = 131_072

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


Segment: TypeAlias = Any  # one entry of Lance's `list_indices`


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


def create_empty(dataset: lance.LanceDataset, spec: IndexSpec) -> None:
    """Make an index on an empty table; this is what pins the tokenizer."""
    options = TOKENIZER if spec.kind is IndexKind.TEXT else {}
    dataset.create_scalar_index(spec.column, spec.kind.value, name=spec.name, **options)


def segments_for_new(
    dataset: lance.LanceDataset, declared: Iterable[IndexSpec] = ()
) -> tuple[list[Index], list[Index]]:
    """Build segments for the fragments that no segment covers.

    Gives the segments to add and those that they replace: where an index has too many, its
    small ones are built again together with the new one. A declared index that the table does
    not have yet is begun.
    """
    rows = {each.fragment_id: each.physical_rows for each in dataset.get_fragments()}
    added: list[Index] = []
    replaced: list[Index] = []
    found = _segments(dataset, set(rows))
    for spec in declared:
        found.setdefault((spec.name, spec.column, spec.kind.value), [])
    for (name, column, kind), segments in found.items():
        uncovered = set(rows) - {each for _, covered in segments for each in covered}
        if not uncovered:
            continue
        if len(segments) > MOST_SEGMENTS:
            for segment, covered in segments:
                if sum(rows[each] for each in covered) < SMALL_SEGMENT_ROWS:
                    uncovered |= covered
                    replaced.append(_removal(segment))
        added.append(_build(dataset, name, column, kind, sorted(uncovered)))
    return added, replaced


def _segments(
    dataset: lance.LanceDataset, living: set[int]
) -> dict[tuple[str, str, str], list[tuple[Segment, set[int]]]]:
    found: defaultdict[tuple[str, str, str], list[tuple[Segment, set[int]]]]
    found = defaultdict(list)
    for segment in dataset.list_indices():
        kind = segment["type"].upper()
        if kind in tuple(IndexKind):
            covered = {each for each in segment["fragment_ids"] if each in living}
            found[segment["name"], segment["fields"][0], kind].append((segment, covered))
    return found


def _build(
    dataset: lance.LanceDataset, name: str, column: str, kind: str, fragments: list[int]
) -> Index:
    is_text = kind == IndexKind.TEXT
    segment = dataset.create_index_uncommitted(
        column,
        kind,
        name=name,
        fragment_ids=fragments,
        replace=True,
        **(TOKENIZER if is_text else {}),
    )
    # Without this step Lance commits a text segment that no query can open.
    return dataset.merge_existing_index_segments([segment]) if is_text else segment


def _removal(segment: Segment) -> Index:
    covered = segment["fragment_ids"]
    return Index(segment["uuid"], segment["name"], [0], segment["version"], covered, 0)
