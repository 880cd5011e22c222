"""Aliases that use each other compile within the caps, as large as what they stand for."""

from collections.abc import Iterator

import pytest

import omnigraph as og
from omnigraph.query.parsing.value_parser import MOST_OPERATORS
from omnigraph.schema.catalog import Catalog

CATALOG = og.compile_schema("node P { slug: String @key  i: I64?  s: String? }")


def read(*columns: str, rest: str = "") -> str:
    return f"match {{ $p: P }} return {{ {', '.join(columns)} }} {rest}"


def codes(text: str, catalog: Catalog = CATALOG) -> list[str]:
    """Return the codes of the problems of a query."""
    try:
        og.compile_query(text, catalog)
    except og.QueryError as error:
        return [str(each.code) for each in error.problems]
    return []


def chain(count: int, step: str) -> Iterator[str]:
    yield "$p.i + 1 as a0"
    for at in range(count):
        yield f"{step.format(a=f'a{at}')} as a{at + 1}"


def test_an_expression_may_have_as_many_operators_by_its_aliases_as_written() -> None:
    assert codes(read(*chain(MOST_OPERATORS - 1, "{a} + 1"))) == []
    assert codes(read(*chain(MOST_OPERATORS, "{a} + 1"))) == ["Q001"]


@pytest.mark.parametrize("step", ["{a} + {a}", "{a} * {a} * {a}", "coalesce({a}, {a})", "-{a}"])
def test_a_long_chain_of_aliases_is_refused_where_it_grows_too_large(step: str) -> None:
    found = codes(read(*chain(1_200, step)))

    assert found[0] == "Q001"


def test_a_condition_on_aliases_is_as_large_as_what_they_stand_for() -> None:
    columns = list(chain(80, "{a} + 1"))

    assert codes(read(*columns, rest="having { a80 > 1  a80 + a80 > 1 }")) == ["Q001"]
    assert codes(read(*columns, rest="order { a80 - a79 }")) == ["Q001"]


def test_an_alias_of_many_functions_may_be_used_alone() -> None:
    inner = ", ".join(["lower($p.s)"] * 20)
    many = ", ".join([f"coalesce({inner})"] * 6)

    assert codes(read(f"coalesce({many}) as a", rest="having { a is not null } order { a }")) == []
    assert (
        codes(
            "query q() { update P set { s: coalesce("
            + many.replace("$p.", "")
            + ") } where i = 1 }"
        )
        == []
    )
