"""Diagnose: the problems of a text with their places, and what its queries take and return."""

from collections.abc import Mapping
from typing import Any, Self

from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.query.check import check_query
from omnigraph.query.compile import plan_query, read_queries
from omnigraph.query.lint import LintFinding, lint_queries
from omnigraph.query.parsing import ast
from omnigraph.query.plan import ReadPlan
from omnigraph.query.stored import CHANGE, READ
from omnigraph.schema.catalog import Catalog
from omnigraph.span import Source, Span
from omnigraph.syntax.problems import Problems
from omnigraph.syntax.source import make_source


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """An error or a warning, and the characters of the text that it is about."""

    severity: str
    code: str
    message: str
    hint: str | None
    line: int
    column: int
    start: int
    end: int

    def to_json(self) -> dict[str, Json]:
        """Return the diagnostic as JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSketch:
    """A parameter of a query."""

    name: str
    type: str
    required: bool

    def to_json(self) -> dict[str, Json]:
        """Return the parameter as JSON."""
        return {"name": self.name, "type": self.type, "required": self.required}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySketch:
    """A query of a text with what it takes; what it returns is known of one without errors."""

    name: str
    kind: str
    parameters: tuple[ParameterSketch, ...]
    columns: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the query as JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "parameters": [each.to_json() for each in self.parameters],
            "columns": [{"name": name, "type": kind} for name, kind in self.columns],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the query that `to_json` wrote."""
        return cls(
            name=document["name"],
            kind=document["kind"],
            parameters=tuple(ParameterSketch(**each) for each in document["parameters"]),
            columns=tuple((each["name"], each["type"]) for each in document["columns"]),
        )


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All problems of a text, by where they are, and its queries."""

    problems: tuple[Diagnostic, ...]
    queries: tuple[QuerySketch, ...]

    @property
    def ok(self) -> bool:
        """Whether the queries can be run as they are written."""
        return all(each.severity != "error" for each in self.problems)

    def to_json(self) -> dict[str, Json]:
        """Return the diagnosis as JSON."""
        return {
            "problems": [each.to_json() for each in self.problems],
            "queries": [each.to_json() for each in self.queries],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the diagnosis that `to_json` wrote."""
        return cls(
            tuple(Diagnostic(**each) for each in document["problems"]),
            tuple(QuerySketch.from_json(each) for each in document["queries"]),
        )


def diagnose(text: str | Source, catalog: Catalog) -> Diagnosis:
    """Return the problems that linting a text finds, with their places, and its queries."""
    source = make_source(text, "<query>")
    file = read_queries(source, Problems())
    names = {query.name.text: query.name.span for query in reversed(file.queries)}
    found = [_place(each, names, source) for each in lint_queries(source, catalog).findings]
    found.sort(key=lambda each: (each.start, each.end))
    return Diagnosis(tuple(found), tuple(_sketch(query, catalog) for query in file.queries))


def _place(finding: LintFinding, names: Mapping[str, Span], source: Source) -> Diagnostic:
    """Return a finding with its place; one about a whole query is at its name."""
    problem = finding.problem
    span = None if problem is None else problem.span
    for name in finding.query_names if span is None else ():
        span = span or names.get(name)
    span = span or Span(0, 0)
    place = source.locate(span.start)
    return Diagnostic(
        severity=finding.severity,
        code=str(finding.code),
        message=finding.message,
        hint=None if problem is None else problem.hint,
        line=place.line,
        column=place.column,
        start=span.start,
        end=span.end,
    )


def _sketch(query: ast.Query, catalog: Catalog) -> QuerySketch:
    problems = Problems()
    checked = check_query(query, catalog, problems)
    columns: tuple[tuple[str, str], ...] = ()
    if checked is not None and not problems.total:
        plan = plan_query(checked, catalog)
        if isinstance(plan, ReadPlan):
            columns = tuple((column.name, str(column.type)) for column in plan.columns)
    return QuerySketch(
        name=query.name.text,
        kind=CHANGE if isinstance(query.body, ast.Mutation) else READ,
        parameters=tuple(
            ParameterSketch(
                name=each.name.text, type=str(each.type), required=not each.type.nullable
            )
            for each in query.params
        ),
        columns=columns,
    )
