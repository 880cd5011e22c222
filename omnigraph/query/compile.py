"""Compile: `.gq` text to plans in one call."""

from collections import OrderedDict
from dataclasses import field
from functools import lru_cache
from threading import Lock

from omnigraph.errors import Code, QueryError, QueryNotFoundError
from omnigraph.frozen import dataclass
from omnigraph.query.check import check_query
from omnigraph.query.checked import CheckedQuery
from omnigraph.query.parsing import ast
from omnigraph.query.parsing.foreign import recognize
from omnigraph.query.parsing.parser import parse_queries
from omnigraph.query.plan import Plan
from omnigraph.query.planning.lower import lower
from omnigraph.query.planning.rewrite import rewrite
from omnigraph.schema.catalog import Catalog
from omnigraph.span import Source
from omnigraph.syntax.problems import Problems, suggest
from omnigraph.syntax.source import make_source, size_problem


def compile_query(text: str | Source, catalog: Catalog, name: str | None = None) -> Plan:
    """Compile one query of a text to its plan; a text with one query needs no name."""
    source = make_source(text, "<query>")
    problems = Problems()
    query = _select(read_queries(source, problems), source, name, problems)
    return plan_query(_check(query, catalog, source, problems), catalog)


@dataclass(frozen=True, slots=True)
class AcceptedSchema:
    """An accepted schema; equal digests stand for equal catalogs."""

    digest: str
    catalog: Catalog = field(compare=False, repr=False)


# The plans used last, by the name and the text of the source, the digest of the schema, and the
# name of the query: texts alone, which are compared in less time than values that hold them.
_plans: OrderedDict[tuple[str, str, str, str | None], Plan] = OrderedDict()
_plans_lock = Lock()
_MOST_PLANS = 256


def compile_cached(text: str | Source, schema: AcceptedSchema, name: str | None) -> Plan:
    """Compile one query like `compile_query`; the 256 plans used last are cached."""
    source = make_source(text, "<query>")
    key = (source.name, source.text, schema.digest, name)
    with _plans_lock:
        found = _plans.get(key)
        if found is not None:
            _plans.move_to_end(key)
            return found
    made = compile_query(source, schema.catalog, name)
    with _plans_lock:
        made = _plans.setdefault(key, made)
        if len(_plans) > _MOST_PLANS:
            _plans.popitem(last=False)
    return made


def compile_queries(text: str | Source, catalog: Catalog) -> dict[str, Plan]:
    """Compile all queries of a text to plans by name; raise QueryError with all problems."""
    source = make_source(text, "<query>")
    problems = Problems()
    file = read_queries(source, problems)
    _report_twins(file, problems)
    checked = [check_query(query, catalog, problems) for query in file.queries]
    _raise(problems, source)
    return {each.name: plan_query(each, catalog) for each in checked if each is not None}


@lru_cache(maxsize=256)
def query_name(source: Source, name: str | None) -> str:
    """Return the name of the selected query, without checking it against a schema.

    Raises QueryError when the text cannot be read, and QueryNotFoundError.
    """
    problems = Problems()
    return _select(read_queries(source, problems), source, name, problems).name.text


def plan_query(query: CheckedQuery, catalog: Catalog) -> Plan:
    """Return the plan of a checked query, lowered and rewritten."""
    return rewrite(lower(query, catalog), catalog)


def read_queries(source: Source, problems: Problems) -> ast.QueryFile:
    """Parse the queries of a text; a text that is too large is reported instead."""
    too_large = size_problem(source, Code.QUERY_CAP)
    if too_large is not None:
        problems.report(too_large.code, too_large.span, too_large.message, too_large.hint)
        return ast.QueryFile(())
    if (foreign := recognize(source.text, _parses)) is not None:
        message = f"this looks like {foreign.language}; queries are written in .gq"
        problems.report(Code.QUERY_SYNTAX, foreign.span, message, f"write {foreign.instead}")
        return ast.QueryFile(())
    return parse_queries(source, problems)


def _parses(text: str) -> bool:
    problems = Problems()
    parse_queries(make_source(text, "<query>"), problems)
    return not problems.total


def report_twin(query: ast.Query, seen: set[str], problems: Problems) -> None:
    """Report a query whose name an earlier one has; add its name to `seen`."""
    if query.name.text in seen:
        message = f"query '{query.name.text}' is declared twice"
        problems.report(Code.DUPLICATE_NAME, query.name.span, message)
    seen.add(query.name.text)


def _report_twins(file: ast.QueryFile, problems: Problems) -> None:
    seen: set[str] = set()
    for query in file.queries:
        report_twin(query, seen, problems)


def _select(file: ast.QueryFile, source: Source, name: str | None, problems: Problems) -> ast.Query:
    _report_twins(file, problems)
    _raise(problems, source)
    names = [query.name.text for query in file.queries]
    if name is None and len(names) == 1:
        return file.queries[0]
    for query in file.queries:
        if query.name.text == name:
            return query
    known = f"the queries are: {', '.join(names) or 'none'}"
    if name is None and not names:
        raise QueryNotFoundError(f"{source.name} has no query")
    if name is None:
        message = f"{source.name} has {len(names)} queries; name the one to use"
        raise QueryNotFoundError(message, hint=known)
    hint = suggest(name, names) or known
    raise QueryNotFoundError(f"{source.name} has no query '{name}'", hint=hint)


def _check(query: ast.Query, catalog: Catalog, source: Source, problems: Problems) -> CheckedQuery:
    checked = check_query(query, catalog, problems)
    _raise(problems, source)
    assert checked is not None
    return checked


def _raise(problems: Problems, source: Source) -> None:
    if problems.total:
        raise QueryError(problems.in_order(), source=source, total=problems.total)
