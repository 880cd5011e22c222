"""Rules: the rules between rows that a load could break, and the columns that they read."""

from dataclasses import replace
from typing import TypeAlias

from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import EdgeType, NodeType, StoredType


@dataclass(frozen=True, slots=True)
class RuleReading:
    """Columns of a type that a rule reads; with `staged`, of new rows only."""

    type: str
    columns: tuple[str, ...]
    staged: bool = False

    @property
    def tag(self) -> str:
        """What marks the values of rows that were there, or with `staged` of new ones."""
        return f"{self.type}({','.join(self.columns)}){'+' if self.staged else ''}"

    @property
    def new(self) -> "RuleReading":
        """The same columns of new rows only."""
        return replace(self, staged=True)


@dataclass(frozen=True, slots=True)
class UniqueRule:
    """No two rows have the same values; rows with a null among them are exempt."""

    reading: RuleReading

    @property
    def readings(self) -> tuple[RuleReading, ...]:
        return (self.reading,)


@dataclass(frozen=True, slots=True)
class ExistsRule:
    """Every value of an edge's end is the id of a node."""

    end: RuleReading
    nodes: RuleReading

    @property
    def readings(self) -> tuple[RuleReading, ...]:
        return (self.end, self.nodes)


@dataclass(frozen=True, slots=True)
class CardinalityRule:
    """The number of edges of a type that leave each node is within bounds."""

    sources: RuleReading
    nodes: RuleReading
    minimum: int
    maximum: int | None

    @property
    def readings(self) -> tuple[RuleReading, ...]:
        return (self.sources, self.nodes) if self.minimum > 0 else (self.sources,)


LoadRule: TypeAlias = UniqueRule | ExistsRule | CardinalityRule


def has_known_ids(stored: StoredType, *, gave_ids: bool) -> bool:
    """Whether ids of new rows may clash or be referred to; those made for edges do neither."""
    return isinstance(stored, NodeType) or bool(stored.key) or gave_ids


def rule_columns(stored: StoredType) -> tuple[tuple[str, ...], ...]:
    """Return the columns of new rows that rules may read, but for their ids."""
    ends = (("src",), ("dst",)) if isinstance(stored, EdgeType) else ()
    return tuple(dict.fromkeys([*ends, *stored.unique]))
