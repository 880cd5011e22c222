"""Every `.case` file of both languages gives what it says."""

import json
from pathlib import Path

import pytest

from omnigraph import OmniGraphError, Source, compile_schema, lint_queries
from omnigraph.query.compile import compile_queries
from omnigraph.query.params import bind_params
from omnigraph.query.planning.explain import explain_text
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.printer import print_schema
from tests.languages.casefile import Case, read_cases, update

CASES = [
    case
    for path in sorted((Path(__file__).parent / "cases").glob("*.case"))
    for case in read_cases(path)
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path.stem}: {case.name}")
def test_the_text_gives_what_the_case_says(case: Case, request: pytest.FixtureRequest) -> None:
    found = _outcome(case)
    if request.config.getoption("--update-cases"):
        update(case, found, CASES)
        return
    assert found == case.expected


def test_names_of_cases_are_unique_within_their_file() -> None:
    names = [(case.path, case.name) for case in CASES]
    assert len(names) == len(set(names))


def _outcome(case: Case) -> str:
    """Return the text of the section that the case expects, or the rendered error."""
    try:
        return _result(case)
    except OmniGraphError as error:
        rendered = error.render() + "\n"
        return rendered if case.expects == "error" else "this does not compile\n" + rendered


def _result(case: Case) -> str:
    accepted = case.given.get("accepted")
    before = None if accepted is None else compile_schema(Source("accepted.pg", accepted))
    catalog = compile_schema(Source("schema.pg", case.given["schema"]), accepted=before)
    match case.expects:
        case "catalog":
            return print_schema(catalog)
        case "identities":
            return _identities(catalog)
        case "arrow":
            return _arrow(catalog)
        case "lint":
            report = lint_queries(Source("query.gq", case.given["query"]), catalog)
            return json.dumps(report.to_json("schema.pg"), indent=2) + "\n"
        case "plan" | "error" if "params" not in case.given and "query" in case.given:
            plans = compile_queries(Source("query.gq", case.given["query"]), catalog)
            return _no_error(case, "\n".join(explain_text(plan) for plan in plans.values()))
        case "bound" | "error" if "query" in case.given:
            (plan,) = compile_queries(Source("query.gq", case.given["query"]), catalog).values()
            bound = bind_params(plan, json.loads(case.given["params"]))
            lines = [f"{name} = {value!r}" for name, value in bound.items()]
            return _no_error(case, "\n".join(lines) + "\n")
        case _:
            return _no_error(case, print_schema(catalog))


def _no_error(case: Case, text: str) -> str:
    return "this compiles\n" + text if case.expects == "error" else text


def _identities(catalog: Catalog) -> str:
    lines = []
    for kind in (catalog.interfaces, catalog.nodes, catalog.edges):
        for item in kind.values():
            properties = ", ".join(f"{p.name}={p.identity}" for p in item.properties.values())
            lines.append(f"{item.name} = {item.identity}: {properties}")
    return "\n".join(lines) + "\n"


def _arrow(catalog: Catalog) -> str:
    blocks = []
    for kind in (catalog.nodes, catalog.edges):
        for item in kind.values():
            fields = [
                f"  {field.name}: {field.type}{'' if field.nullable else ' not null'}"
                for field in arrow_schema(item)
            ]
            blocks.append("\n".join([item.name, *fields]))
    return "\n".join(blocks) + "\n"
