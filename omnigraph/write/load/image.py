"""Image: the tables that a load would leave: new versions where it wrote, pinned ones elsewhere."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.schema.catalog import Catalog, EdgeType, StoredType
from omnigraph.storage.staging import (
    Piece,
    Share,
    count_rows,
    fragment_numbers,
    of_pieces,
    shares,
    with_pieces,
)
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.load.checks import Exists, Reading, Rule, Unique, Within
from omnigraph.write.load.loaded import LoadMode

_ROWS_PER_SHARE = 500_000


@dataclass(frozen=True, slots=True)
class Touched:
    """A type that a load writes: its table afterwards, and which of its fragments are new."""

    stored: StoredType
    table: Table
    new: frozenset[int]
    gave_ids: bool


@dataclass(frozen=True, slots=True)
class Image:
    """The graph as a load would leave it."""

    snapshot: Snapshot
    mode: LoadMode
    touched: Mapping[str, Touched]

    def table(self, type_name: str) -> Table:
        """Return the table of a type."""
        touched = self.touched.get(type_name)
        if touched is not None:
            return touched.table
        return self.snapshot.table(_identity(self.snapshot.catalog, type_name))

    def shares(self, reading: Reading) -> Sequence[Share]:
        """Return the rows that a reading covers, in shares for tasks."""
        touched = self.touched.get(reading.type)
        new = touched.new if touched is not None and reading.staged else None
        return shares(self.table(reading.type), _ROWS_PER_SHARE, new)

    def rows(self, type_name: str) -> int:
        """Return how many rows a type has."""
        return self.table(type_name).count()

    def staged_rows(self, type_name: str) -> int:
        """Return how many rows of a type are new."""
        touched = self.touched[type_name]
        return count_rows(touched.table, touched.new)


def image_of(
    snapshot: Snapshot,
    mode: LoadMode,
    pieces: Mapping[str, Sequence[Piece]],
    gave_ids: frozenset[str],
) -> Image:
    """Make the new versions of all tables that got pieces; nobody sees them yet."""
    touched = {}
    for name, written in pieces.items():
        stored = snapshot.catalog.stored(name)
        assert stored is not None
        before = snapshot.table(stored.identity)
        kept = _kept(before, mode, written)
        after = of_pieces(before, written) if kept is None else with_pieces(kept, written)
        old = frozenset() if kept is None else fragment_numbers(kept)
        touched[name] = Touched(stored, after, fragment_numbers(after) - old, name in gave_ids)
    return Image(snapshot, mode, touched)


def _kept(before: Table, mode: LoadMode, written: Sequence[Piece]) -> Table | None:
    """Return the table without the replaced rows; None when all rows are replaced."""
    if mode is LoadMode.OVERWRITE:
        return None
    if mode is LoadMode.APPEND or not before.count():
        return before
    ids: pa.ChunkedArray = of_pieces(before, written).scan(["id"])["id"]
    return before.deleted(ids.combine_chunks())


def rules_of(image: Image) -> list[Rule]:
    """Return the rules between rows that a load could have broken."""
    rules: list[Rule] = []
    for touched in image.touched.values():
        rules += _unique(touched)
    for edge in image.snapshot.catalog.edges.values():
        rules += _ends(edge, image)
        rules += _cardinality(edge, image)
    return rules


def validated(image: Image, rules: Sequence[Rule]) -> frozenset[str]:
    """Return the tables that rules read and the load does not write."""
    names = {reading.type for rule in rules for reading in rule.readings}
    return frozenset(_identity(image.snapshot.catalog, name) for name in names - {*image.touched})


def _identity(catalog: Catalog, name: str) -> str:
    stored = catalog.stored(name)
    assert stored is not None
    return stored.identity


def _unique(touched: Touched) -> Iterator[Rule]:
    name = touched.stored.name
    if touched.stored.key or touched.gave_ids:
        yield Unique(Reading(name, ("id",)))
    for columns in touched.stored.unique:
        yield Unique(Reading(name, columns))


def _ends(edge: EdgeType, image: Image) -> Iterator[Rule]:
    """Yield the rules for edge ends: of new edges, and of old ones when nodes were replaced."""
    for column, target in (("src", edge.source), ("dst", edge.target)):
        replaced = image.mode is LoadMode.OVERWRITE and target in image.touched
        if replaced or edge.name in image.touched:
            yield Exists(Reading(edge.name, (column,), not replaced), Reading(target, ("id",)))


def _cardinality(edge: EdgeType, image: Image) -> Iterator[Rule]:
    bounds = edge.cardinality
    minimal = bounds.minimum > 0 and edge.source in image.touched
    bounded = bounds.minimum > 0 or bounds.maximum is not None
    if minimal or (bounded and edge.name in image.touched):
        nodes = Reading(edge.source, ("id",))
        sources = Reading(edge.name, ("src",))
        yield Within(sources, nodes, bounds.minimum, bounds.maximum)
