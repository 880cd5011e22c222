"""Matches: the rows of a query so far as a frame of Spark, and what its columns hold."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import count
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from pyspark.sql import functions as fn

from omnigraph.frozen import dataclass
from omnigraph.query.expr import Constant, EntityType, ListOf, Now, ParamRef, ResultType, TextMatch
from omnigraph.query.plan import NodeScan
from omnigraph.schema.types import I64, INTEGER_BOUNDS, ValueType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# A property and its type, because the types of one variable may give a property other types.
TypedProperty: TypeAlias = tuple[str, ValueType]
# An expression with one value for all rows.
FixedExpr: TypeAlias = Constant | ParamRef | Now | ListOf

# Spark sends about 10 MB to all tasks, which have room for hardly more rows than these.
_MOST_MET = 1 << 18

_LEAST, _MOST = INTEGER_BOUNDS[I64]

# The first fields of a column that holds whole nodes or edges; the properties follow.
ID = "id"
TYPE = "type"


class ColumnNames:
    """New names for columns of frames: those of users may differ only in case."""

    def __init__(self) -> None:
        self._numbers = count()

    def new(self) -> str:
        """Return a name that no column has yet."""
        return f"c{next(self._numbers)}"

    def new_list(self, many: int) -> list[str]:
        """Return `many` new names."""
        return [self.new() for _ in range(many)]


@dataclass(frozen=True, slots=True)
class EntityColumns:
    """The columns that hold a variable: its id, the number of its type, and some properties.

    The id and the type are null when the variable is not bound. A key that is one text is its id.
    If the keys of all its types are integers, `number` has them, and its id is their text: of one
    type, a number tells nodes apart as the id does, in less time.
    """

    kind: EntityType
    id: str
    type: str
    properties: Mapping[TypedProperty, str] = field(default_factory=dict)
    number: str | None = None

    @property
    def identity(self) -> tuple[str, str]:
        """The columns that identify a node or edge."""
        return self.id, self.type

    @property
    def key(self) -> str:
        """The column that identifies it among those of its type."""
        return self.number or self.id

    @property
    def bare(self) -> tuple[str, ...]:
        """All columns of the variable but its properties."""
        return self.identity if self.number is None else (*self.identity, self.number)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the variable."""
        return tuple(dict.fromkeys((*self.bare, *self.properties.values())))

    def pair_with(self, other: "EntityColumns") -> list[tuple[str, str]]:
        """Return which columns of two variables are equal where both are the same node or edge."""
        if self.number is None or other.number is None:
            return list(zip(self.identity, other.identity, strict=True))
        return [(self.number, other.number), (self.type, other.type)]

    def column_of(self, item: TypedProperty) -> str:
        """Return the column of a property."""
        return self.id if item[0] == "id" else self.properties[item]

    def rename(self, names: Mapping[str, str]) -> "EntityColumns":
        """Return the variable in a frame whose columns have other names."""
        own = {item: names[column] for item, column in self.properties.items()}
        number = None if self.number is None else names[self.number]
        return EntityColumns(self.kind, names[self.id], names[self.type], own, number)


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """A column that an operator computed: a value for each row, or `fixed`, one for all."""

    kind: ResultType | None
    column: str = ""
    fixed: FixedExpr | None = None


@dataclass(frozen=True, slots=True)
class FrameMatches:
    """Rows with variables and computed columns. A row of weight n stands for n equal rows.

    About as many rows are `expected`, and there are never more than `most`; None is not known. Of
    `every`, a scan of all nodes, the rows are still to be made by the expand that follows it.
    """

    frame: "DataFrame"
    entities: Mapping[str, EntityColumns] = field(default_factory=dict)
    columns: Mapping[str, ComputedColumn] = field(default_factory=dict)
    weight: str | None = None
    found: Mapping[TextMatch, str] = field(default_factory=dict)
    expected: float | None = None
    most: int | None = None
    every: NodeScan | None = None

    def bind(self, frame: "DataFrame", variable: str, entity: EntityColumns) -> "FrameMatches":
        """Return these matches in `frame`, which holds one more variable."""
        return replace(
            self,
            frame=frame,
            entities={**self.entities, variable: entity},
            expected=None,
            most=None,
        )

    def filter(self, condition: "Column") -> "FrameMatches":
        """Return the rows for which a condition is true."""
        return replace(self, frame=self.frame.filter(condition))

    def distinct_bindings(self, names: Sequence[str]) -> "FrameMatches":
        """Return every different combination of some variables once, and nothing else."""
        entities = {name: self.entities[name] for name in names}
        told = {entity.id for entity in entities.values() if entity.number is not None}
        columns = [column for entity in entities.values() for column in entity.columns]
        keys = identities(entities.values())
        if not keys:
            return FrameMatches(self.frame.select(fn.lit(1).alias("one")).limit(1))
        rows = self.frame.select([column for column in columns if column not in told])
        return FrameMatches(add_ids(rows.dropDuplicates(keys), *entities.values()), entities)


class MadeRows:
    """The most rows that the joins of a pattern make of one row that a task reads.

    A join reads the rows that were found before it, and makes of each as many as a start has. Or it
    reads the other side, and meets the rows that were found before, which are then sent to all
    tasks: so many with the same node, and never more than Spark sends.
    """

    def __init__(self) -> None:
        self.most = 1.0
        self._all = inf
        self._of_one = 1.0
        self._same: dict[str, float] = {}

    def begin(self, variable: str, rows: int) -> None:
        """Begin with a variable that is bound to so many different nodes."""
        self._all, self._same = max(rows, 1), {variable: 1.0}

    def expand(self, source: str, target: str, most: tuple[int, int] | None) -> None:
        """Add an expand by which no start has more than so many rows, and no end."""
        starts, ends = (inf, inf) if most is None else (max(each, 1) for each in most)
        to_source = self._same.get(source, inf)
        self._of_one = max(self._of_one * starts, self._met(source))
        self._all *= starts
        self._same = {name: rows * starts for name, rows in self._same.items()}
        self._same[target] = to_source * ends
        self._note()

    def look_up(self, variable: str) -> None:
        """Add a join with the properties of a variable."""
        self._of_one = max(self._of_one, self._met(variable))
        self._note()

    def add_any(self) -> None:
        """Add what may make any number of rows."""
        self.most = inf

    def _met(self, variable: str) -> float:
        """Return how many rows that were sent have the same node."""
        return min(self._same.get(variable, inf), self._all, _MOST_MET)

    def _note(self) -> None:
        self.most = max(self.most, min(self._of_one, self._all))


def identities(entities: Iterable[EntityColumns]) -> list[str]:
    """Return the columns that identify combinations of variables."""
    return [column for entity in entities for column in (entity.key, entity.type)]


def add_ids(frame: "DataFrame", *entities: EntityColumns) -> "DataFrame":
    """Return a frame with the ids of nodes that it has by their numbers."""
    made = [f"{to_text(each.number)} as {each.id}" for each in entities if each.number]
    return frame.selectExpr("*", *made) if made else frame


def to_text(number: str) -> str:
    """Return, in SQL, the id of a node whose number a column has."""
    return f"cast({number} as string)"


def to_number(row_id: str) -> int | None:
    """Return the number that an id is the text of, or None if there is none of 64 bits."""
    try:
        number = int(row_id)
    except ValueError:
        return None
    return number if str(number) == row_id and _LEAST <= number <= _MOST else None


def join(
    left: "DataFrame", right: "DataFrame", pairs: Sequence[tuple[str, str]], how: str = "inner"
) -> "DataFrame":
    """Join two frames on columns of different names; null equals nothing."""
    return left.join(right, _all_equal(pairs, "="), how)


def join_null_safe(
    left: "DataFrame", right: "DataFrame", pairs: Sequence[tuple[str, str]], how: str
) -> "DataFrame":
    """Join two frames on columns of different names; null equals null."""
    return left.join(right, _all_equal(pairs, "<=>"), how)


def _all_equal(pairs: Sequence[tuple[str, str]], operator: str) -> "Column":
    """Return a condition, which takes Spark one call as SQL, and several for each column else."""
    tests = (f"`{one}` {operator} `{other}`" for one, other in pairs)
    return fn.expr(" and ".join(tests) or "true")
