"""Findings: what is wrong with a text, as places in it."""

from omnigraph.errors import Problem, SchemaError
from omnigraph.frozen import dataclass
from omnigraph.query.compile import read_queries
from omnigraph.query.editor.diagnose import Diagnostic, diagnose
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import compile_schema
from omnigraph.span import Source, Span
from omnigraph.syntax.problems import Problems


@dataclass(frozen=True, slots=True)
class Finding:
    """An error or a warning at a place of a text."""

    span: Span
    code: str
    message: str
    is_error: bool = True


def query_findings(source: Source, catalog: Catalog | None) -> list[Finding]:
    """Return the problems of queries as `omnigraph query lint` finds them.

    Without a catalog only the syntax is checked.
    """
    if catalog is None:
        problems = Problems()
        read_queries(source, problems)
        return [_of_problem(each) for each in problems.in_order()]
    return [_of_diagnostic(each) for each in diagnose(source, catalog).problems]


def schema_findings(source: Source) -> list[Finding]:
    """Return the problems of a schema."""
    try:
        compile_schema(source)
    except SchemaError as wrong:
        return [_of_problem(each) for each in wrong.problems]
    return []


def compile_or_none(source: Source | None) -> Catalog | None:
    """Return the catalog of a schema; None for one that does not compile."""
    if source is None:
        return None
    try:
        return compile_schema(source)
    except SchemaError:
        return None


def names_of_queries(source: Source) -> list[tuple[str, Span]]:
    """Return the queries of a text that parse, each with its place."""
    found = read_queries(source, Problems()).queries
    return [(each.name.text, each.name.span) for each in found]


def _of_problem(problem: Problem) -> Finding:
    hint = "" if problem.hint is None else f"\nhint: {problem.hint}"
    return Finding(problem.span or Span(0, 0), str(problem.code), problem.message + hint)


def _of_diagnostic(found: Diagnostic) -> Finding:
    hint = "" if found.hint is None else f"\nhint: {found.hint}"
    span = Span(found.start, found.end)
    return Finding(span, found.code, found.message + hint, found.severity == "error")
