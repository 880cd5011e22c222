"""Lint: checks every query of a file and reports errors and doubtful queries."""

from collections import defaultdict
from dataclasses import field

from omnigraph.errors import Code, Json, Problem
from omnigraph.frozen import dataclass
from omnigraph.query.check import check_query
from omnigraph.query.checked import CheckedMutation, CheckedQuery, FromMatch, SetRows, Update
from omnigraph.query.compile import read_queries, report_twin
from omnigraph.query.parsing import ast
from omnigraph.schema.catalog import Catalog, StoredType
from omnigraph.span import Source
from omnigraph.syntax.problems import Problems
from omnigraph.syntax.source import make_source

_HARDCODED = "mutation declares no params; hardcoded mutations are easy to miss"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One error or warning; an error keeps the problem that it comes from."""

    severity: str
    code: Code
    message: str
    type_name: str | None = None
    property: str | None = None
    query_names: tuple[str, ...] = ()
    problem: Problem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """The result of linting one query."""

    name: str
    kind: str
    error: str | None = None
    warnings: tuple[str, ...] = ()
    description: str | None = None
    instruction: str | None = None

    @property
    def status(self) -> str:
        return "ok" if self.error is None else "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """All findings for one file; errors come first."""

    source: Source
    results: tuple[QueryResult, ...] = ()
    findings: tuple[LintFinding, ...] = ()
    errors: int = 0

    @property
    def warnings(self) -> int:
        return sum(finding.severity == "warning" for finding in self.findings)

    @property
    def ok(self) -> bool:
        return self.errors == 0

    def to_json(self, schema_path: str) -> dict[str, Json]:
        """Return the report as a JSON object; its form is stable."""
        return {
            "status": "ok" if self.ok else "error",
            "schema_source": {"kind": "file", "path": schema_path},
            "query_path": self.source.name,
            "queries_processed": len(self.results),
            "errors": self.errors,
            "warnings": self.warnings,
            "infos": 0,
            "results": [_result_json(result) for result in self.results],
            "findings": [self._finding_json(finding) for finding in self.findings],
        }

    def _finding_json(self, finding: LintFinding) -> Json:
        found: dict[str, Json] = {
            "severity": finding.severity,
            "code": str(finding.code),
            "message": self._message(finding),
            "query_names": list(finding.query_names),
        }
        if finding.type_name is not None:
            found["type_name"] = finding.type_name
        if finding.property is not None:
            found["property"] = finding.property
        return found

    def _message(self, finding: LintFinding) -> str:
        return (
            finding.message
            if finding.problem is None
            else _place_message(finding.problem, self.source)
        )


def lint_queries(text: str | Source, catalog: Catalog) -> LintReport:
    """Lint the queries of a text: errors, and warnings about doubtful ones."""
    source = make_source(text, "<query>")
    problems = Problems()
    file = read_queries(source, problems)
    return _Linter(source, catalog, problems).lint(file)


@dataclass(slots=True)
class _Linter:
    source: Source
    catalog: Catalog
    problems: Problems
    findings: list[LintFinding] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    warnings: list[LintFinding] = field(default_factory=list)

    def lint(self, file: ast.QueryFile) -> LintReport:
        self.findings += [_error(problem, ()) for problem in self.problems.in_order()]
        results, mutations = [], []
        for query in file.queries:
            result, checked = self._query(query)
            results.append(result)
            if checked is not None and isinstance(checked.body, CheckedMutation):
                mutations.append(checked)
        self.warnings += self._never_updated(mutations)
        return LintReport(
            source=self.source,
            results=tuple(results),
            findings=(*self.findings, *self.warnings),
            errors=self.problems.total,
        )

    def _query(self, query: ast.Query) -> tuple[QueryResult, CheckedQuery | None]:
        name = query.name.text
        before, count = len(self.problems.items), self.problems.total
        report_twin(query, self.names, self.problems)
        checked = check_query(query, self.catalog, self.problems)
        found = self.problems.items[before:]
        self.findings += [_error(problem, (name,)) for problem in found]
        error = None
        if self.problems.total > count:
            error = (
                _place_message(found[0], self.source) if found else "too many problems in this file"
            )
        warnings: tuple[str, ...] = ()
        is_mutation = isinstance(query.body, ast.Mutation)
        if is_mutation and not query.params:
            warnings = (_HARDCODED,)
            code = Code.MUTATION_WITHOUT_PARAMS
            message = f"{name}: {_HARDCODED}"
            warning = LintFinding(
                severity="warning", code=code, message=message, query_names=(name,)
            )
            self.warnings.append(warning)
        kind = "mutation" if is_mutation else "read"
        result = QueryResult(
            name=name,
            kind=kind,
            error=error,
            warnings=warnings,
            description=query.description,
            instruction=query.instruction,
        )
        return result, checked

    def _never_updated(self, mutations: list[CheckedQuery]) -> list[LintFinding]:
        """Return a warning for each nullable property of an updated type that no update sets."""
        updated: defaultdict[str, set[str]] = defaultdict(set)
        queries: defaultdict[str, set[str]] = defaultdict(set)
        for mutation in mutations:
            assert isinstance(mutation.body, CheckedMutation)
            for each in mutation.body.statements:
                statement = each.change if isinstance(each, FromMatch) else each
                if isinstance(statement, Update | SetRows):
                    updated[statement.type] |= {name for name, _ in statement.values}
                    queries[statement.type].add(mutation.name)
        return [
            _never_set(stored, name, sorted(queries[stored.name]))
            for stored in _sorted(self.catalog, updated)
            for name in sorted(_settable(stored) - updated[stored.name])
        ]


def _sorted(catalog: Catalog, names: dict[str, set[str]]) -> list[StoredType]:
    found = [catalog.stored(name) for name in sorted(names)]
    return [stored for stored in found if stored is not None]


def _settable(stored: StoredType) -> set[str]:
    return {
        item.name
        for item in stored.properties.values()
        if item.nullable and item.embed is None and item.name not in stored.key
    }


def _never_set(stored: StoredType, name: str, queries: list[str]) -> LintFinding:
    return LintFinding(
        severity="warning",
        code=Code.PROPERTY_NEVER_UPDATED,
        message=f"{stored.name}.{name} exists in schema but no update query sets it",
        type_name=stored.name,
        property=name,
        query_names=tuple(queries),
    )


def _error(problem: Problem, names: tuple[str, ...]) -> LintFinding:
    return LintFinding(
        severity="error",
        code=problem.code,
        message=problem.message,
        query_names=names,
        problem=problem,
    )


def _place_message(problem: Problem, source: Source) -> str:
    """Return the message with its place and hint, for output without spans."""
    hint = "" if problem.hint is None else f" ({problem.hint})"
    if problem.span is None:
        return problem.message + hint
    place = source.locate(problem.span.start)
    return f"{place.line}:{place.column}: {problem.message}{hint}"


def _result_json(result: QueryResult) -> Json:
    found: dict[str, Json] = {"name": result.name, "kind": result.kind, "status": result.status}
    if result.error is not None:
        found["error"] = result.error
    found["warnings"] = list(result.warnings)
    notes = {"description": result.description, "instruction": result.instruction}
    return {**found, **{name: note for name, note in notes.items() if note is not None}}
