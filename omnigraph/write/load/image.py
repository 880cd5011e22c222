"""Image: the tables that a load would leave: new versions where it wrote, pinned ones elsewhere."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, EdgeType, StoredType
from omnigraph.spark.runner import Runner
from omnigraph.storage.staging import Piece, of_pieces, with_pieces
from omnigraph.storage.table import Table
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.load.loaded import LoadMode
from omnigraph.write.load.replaced import ReplacedRows, remove_replaced
from omnigraph.write.load.rules import (
    CardinalityRule,
    ExistsRule,
    LoadRule,
    RuleReading,
    UniqueRule,
)


@dataclass(frozen=True, slots=True)
class TouchedTable:
    """A type that a load writes: its table afterwards, and with only the rows that stay."""

    stored: StoredType
    table: Table
    kept: Table | None
    gave_ids: bool


@dataclass(frozen=True, slots=True)
class Image:
    """The graph as a load would leave it; `idle` names types of which records change nothing."""

    snapshot: Snapshot
    mode: LoadMode
    touched: Mapping[str, TouchedTable]
    idle: frozenset[str] = frozenset()

    def kept(self, type_name: str) -> Table | None:
        """Return the rows of a type that were there before the load and stay as they are."""
        touched = self.touched.get(type_name)
        if touched is not None:
            return touched.kept
        return self.snapshot.table(_identity(self.snapshot.catalog, type_name))


@dataclass(frozen=True, slots=True)
class StagedRows:
    """What the tasks of a load made of its records, by type."""

    pieces: Mapping[str, Sequence[Piece]]
    idle: frozenset[str]
    replaced: Mapping[str, Sequence[ReplacedRows]]
    gave_ids: frozenset[str]


def image_of(snapshot: Snapshot, mode: LoadMode, staged: StagedRows, runner: Runner) -> Image:
    """Make the new versions of all tables that got pieces; nobody sees them yet."""
    touched = {}
    for name, written in staged.pieces.items():
        stored = snapshot.catalog.stored(name)
        assert stored is not None
        before = snapshot.table(stored.identity)
        is_whole = mode is LoadMode.OVERWRITE
        kept = None if is_whole else remove_replaced(runner, before, staged.replaced.get(name, ()))
        after = of_pieces(before, written) if kept is None else with_pieces(kept, written)
        touched[name] = TouchedTable(stored, after, kept, name in staged.gave_ids)
    return Image(snapshot, mode, touched, staged.idle)


def rules_of(image: Image) -> list[LoadRule]:
    """Return the rules between rows that a load could have broken."""
    rules: list[LoadRule] = []
    for touched in image.touched.values():
        rules += _unique(touched, image.mode)
    rules += [_given_once(name) for name in sorted(image.idle - {*image.touched})]
    for edge in image.snapshot.catalog.edges.values():
        rules += _ends(edge, image)
        rules += _cardinality(edge, image)
    return rules


def find_read_tables(image: Image, rules: Sequence[LoadRule]) -> frozenset[str]:
    """Return the tables that rules read and the load does not write."""
    names = {reading.type for rule in rules for reading in rule.readings}
    return frozenset(_identity(image.snapshot.catalog, name) for name in names - {*image.touched})


def find_untouched(image: Image, names: Iterable[str]) -> frozenset[str]:
    """Return the tables of types that the load does not write."""
    catalog = image.snapshot.catalog
    return frozenset(_identity(catalog, name) for name in names if name not in image.touched)


def _identity(catalog: Catalog, name: str) -> str:
    stored = catalog.stored(name)
    assert stored is not None
    return stored.identity


def _unique(touched: TouchedTable, mode: LoadMode) -> Iterator[LoadRule]:
    name = touched.stored.name
    if touched.stored.key or touched.gave_ids:
        yield _given_once(name) if mode.looks_up else UniqueRule(RuleReading(name, ("id",)))
    for columns in touched.stored.unique:
        yield UniqueRule(RuleReading(name, columns))


def _given_once(name: str) -> UniqueRule:
    """Return the rule that no two records have one id; a row that exists may have it too."""
    return UniqueRule(RuleReading(name, ("id",), staged=True))


def _ends(edge: EdgeType, image: Image) -> Iterator[LoadRule]:
    """Yield the rules for edge ends: of new edges, and of old ones when nodes were replaced."""
    for column, target in (("src", edge.source), ("dst", edge.target)):
        replaced = image.mode is LoadMode.OVERWRITE and target in image.touched
        if replaced or edge.name in image.touched:
            yield ExistsRule(
                RuleReading(edge.name, (column,), not replaced), RuleReading(target, ("id",))
            )


def _cardinality(edge: EdgeType, image: Image) -> Iterator[LoadRule]:
    bounds = edge.cardinality
    minimal = bounds.minimum > 0 and edge.source in image.touched
    bounded = bounds.minimum > 0 or bounds.maximum is not None
    if minimal or (bounded and edge.name in image.touched):
        nodes = RuleReading(edge.source, ("id",))
        sources = RuleReading(edge.name, ("src",))
        yield CardinalityRule(sources, nodes, bounds.minimum, bounds.maximum)
