"""Stored: queries under a name that others may run, and what each takes and returns."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Self

from omnigraph.errors import Json, OmniGraphError, QueryNotFoundError
from omnigraph.frozen import dataclass
from omnigraph.query.compile import AcceptedSchema, compile_cached, read_queries
from omnigraph.query.parsing import ast
from omnigraph.query.plan import Plan, ReadPlan
from omnigraph.schema.parsing.type_parser import TypeRef
from omnigraph.schema.types import (
    BOOL,
    DATE,
    DATETIME,
    INTEGER_BOUNDS,
    EnumType,
    ListType,
    ScalarType,
    ValueType,
    VectorType,
    is_number,
)
from omnigraph.span import Source
from omnigraph.syntax.problems import Problems

READ = "read"
CHANGE = "change"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuery:
    """A query of a file that can be run by its name.

    One that is not exposed is in no list. With `roles`, only actors of these groups of the policy
    may run it.
    """

    source: Source
    parsed: ast.Query = field(compare=False, repr=False)
    is_exposed: bool = True
    roles: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.parsed.name.text

    @property
    def changes(self) -> bool:
        """Whether it is a mutation."""
        return isinstance(self.parsed.body, ast.Mutation)

    @property
    def line(self) -> int:
        """The line of its file in which it begins."""
        return self.source.locate(self.parsed.name.span.start).line

    def describe(self, schema: AcceptedSchema) -> "QueryDescription":
        """Return what it takes and returns on a schema, or why it does not fit that schema."""
        about: dict[str, Any] = {
            "name": self.name,
            "kind": CHANGE if self.changes else READ,
            "description": self.parsed.description,
            "instruction": self.parsed.instruction,
        }
        try:
            plan = compile_cached(self.source, schema, self.name)
        except OmniGraphError as wrong:
            return QueryDescription(**about, problem=wrong.message)
        return QueryDescription(**about, params=params_schema(plan), columns=_columns(plan))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDescription:
    """A stored query as its callers see it.

    `params` is the JSON Schema of the object that holds the parameters, and `columns` the columns
    of the rows with their types. With a `problem` it cannot be run on this schema.
    """

    name: str
    kind: str
    description: str | None = None
    instruction: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[tuple[str, str], ...] = ()
    problem: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the description as JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "description": self.description,
            "instruction": self.instruction,
            "params": dict(self.params),
            "columns": [{"name": name, "type": kind} for name, kind in self.columns],
            "problem": self.problem,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the description that `to_json` wrote."""
        columns = tuple((each["name"], each["type"]) for each in document["columns"])
        return cls(**{**document, "columns": columns})


class StoredQueries(Mapping[str, StoredQuery]):
    """The stored queries of a graph, by name; names are unique."""

    def __init__(self, queries: Iterable[StoredQuery] = ()) -> None:
        self._by_name = MappingProxyType({each.name: each for each in queries})

    def __getitem__(self, name: str) -> StoredQuery:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __hash__(self) -> int:
        return hash(frozenset(self._by_name))

    def __repr__(self) -> str:
        return f"StoredQueries({list(self)})"


NO_QUERIES = StoredQueries()


def parse_stored(source: Source, problems: Problems) -> list[StoredQuery]:
    """Return all queries of a text as stored ones; what is wrong with it is reported."""
    parsed = read_queries(source, problems)
    return [StoredQuery(source=source, parsed=each) for each in parsed.queries]


def unknown_query(name: str) -> QueryNotFoundError:
    """Return the error for a query that is not stored, and for one that an actor may not run."""
    hint = "`omnigraph query list` shows those that you may run"
    return QueryNotFoundError(f"no stored query '{name}'", hint=hint)


def params_schema(plan: Plan) -> dict[str, Json]:
    """Return the JSON Schema of the object that holds the parameters of a plan."""
    return {
        "type": "object",
        "properties": {param.name: type_schema(param.type) for param in plan.params},
        "required": [param.name for param in plan.params if not param.type.nullable],
        "additionalProperties": False,
    }


def type_schema(ref: TypeRef) -> dict[str, Json]:
    """Return the JSON Schema of the values of a type."""
    found = _value_schema(ref.type)
    if not ref.nullable:
        return found
    if "enum" in found:
        return {**found, "type": ["string", "null"], "enum": [*ref.type.values, None]}  # type: ignore[union-attr]
    return {**found, "type": [found["type"], "null"]}


def _value_schema(kind: ValueType) -> dict[str, Json]:
    match kind:
        case ListType(item):
            return {"type": "array", "items": _value_schema(ScalarType(item))}
        case VectorType(dimension):
            numbers: Json = {"type": "number"}
            return {
                "type": "array",
                "items": numbers,
                "minItems": dimension,
                "maxItems": dimension,
            }
        case EnumType(values):
            return {"type": "string", "enum": [*values]}
        case ScalarType():
            return _scalar_schema(kind)


def _scalar_schema(kind: ScalarType) -> dict[str, Json]:
    if kind in INTEGER_BOUNDS:
        least, most = INTEGER_BOUNDS[kind]
        return {"type": "integer", "minimum": least, "maximum": most}
    if is_number(kind):
        return {"type": "number"}
    if kind == BOOL:
        return {"type": "boolean"}
    if kind == DATE:
        return {"type": "string", "format": "date"}
    if kind == DATETIME:
        return {"type": "string", "format": "date-time"}
    return {"type": "string"}


def _columns(plan: Plan) -> tuple[tuple[str, str], ...]:
    if not isinstance(plan, ReadPlan):
        return ()
    return tuple((column.name, str(column.type)) for column in plan.columns)
