"""Languages: the targets that compile texts: schemas, queries, parameters and stored forms."""

import json
from functools import cache

from omnigraph import Catalog, compile_query, compile_schema, lint_queries
from omnigraph.api.registry import open_queries
from omnigraph.query.compile import compile_queries
from omnigraph.query.params import bind_params, params_of_texts
from omnigraph.query.plan import Plan
from omnigraph.query.planning.explain import explain_json, explain_text
from omnigraph.schema.codec import decode_catalog, encode_catalog
from omnigraph.schema.printer import print_schema
from tests.fuzz.corpus import CATALOG, PARAMS, QUERIES, SCHEMAS, STORED_QUERIES
from tests.fuzz.mutation import Language, hostile_file, hostile_params, hostile_text
from tests.fuzz.target import Broken, Target, scratch, written

NAMES = ("s", "b", "i", "j", "u", "w", "f", "g", "d", "t", "x", "l", "m", "v", "e", "ld", "n")
_SCHEMAS, _QUERIES = Language(SCHEMAS), Language(QUERIES)
_FOLDERS = Language(STORED_QUERIES)


@cache
def catalog() -> Catalog:
    """Return the catalog that fuzzed queries are checked against."""
    return compile_schema(CATALOG)


@cache
def params_plan() -> Plan:
    """Return the plan whose parameters are bound to random JSON."""
    return compile_query(PARAMS, catalog())


def _run_schema(given: str) -> None:
    found = compile_schema(given)
    if compile_schema(print_schema(found)) != found:
        raise Broken("the printed schema is another one")
    if decode_catalog(encode_catalog(found)) != found:
        raise Broken("the decoded schema is another one")


def _run_query(given: str) -> None:
    lint_queries(given, catalog()).to_json("schema.pg")
    for plan in compile_queries(given, catalog()).values():
        explain_text(plan)
        json.dumps(explain_json(plan))


def _run_params(given: dict[str, object]) -> None:
    texts = {name: json.dumps(value) for name, value in given.items()}
    params_of_texts(params_plan(), texts)
    bind_params(params_plan(), given)


def _run_folder(given: tuple[bytes, bytes]) -> None:
    for number, data in enumerate(given):
        written(f"queries-{number}.gq", data)
    for query in open_queries([scratch() / f"queries-{number}.gq" for number in (0, 1)]).values():
        if not query.name or query.line < 1:
            raise Broken("a stored query has no name or no line")


@cache
def _stored() -> Language:
    return Language(tuple(encode_catalog(compile_schema(text)) for text in SCHEMAS))


LANGUAGES = (
    Target("schema", lambda random: hostile_text(random, _SCHEMAS), _run_schema),
    Target("query", lambda random: hostile_text(random, _QUERIES), _run_query),
    Target("params", lambda random: hostile_params(random, NAMES), _run_params),
    Target("stored schema", lambda random: hostile_text(random, _stored()), decode_catalog),
    Target(
        "stored queries",
        lambda random: (hostile_file(random, _FOLDERS), hostile_file(random, _FOLDERS)),
        _run_folder,
    ),
)
