"""What has no value is an error on Spark too, whatever Spark would leave out."""

from typing import TYPE_CHECKING

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import ExpressionError, ResultOverflowError
from tests.engine.asking import made
from tests.pipeline.loads import edge, node

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node P { slug: String @key  n: I64  i: I32  f: F64?  big: I64  team: String  bio: String @index }
node One { slug: String @key  n: I64 }
node None { slug: String @key  n: I64 }
edge Likes: P -> P
"""
# The rows with a zero are the last ones, and nobody likes p0.
PERSONS = [
    node("P", slug=f"p{at}", n=3 - at, i=3 - at, f=None, big=2**62, team="ab"[at % 2], bio="here")
    for at in range(4)
]
LIKES = [edge("Likes", f"p{at}", f"p{at + 1}") for at in range(3)]

FAILING = {
    "optional, which nothing reads": """match { $p: P  optional { $p likes $q  1 / $q.n > 0 } }
        return distinct { $p.team }""",
    "exists": "match { $p: P  exists { $p likes $q  1 / $q.n > 0 } } return { $p.slug }",
    "order of groups": """match { $p: P }
        return { $p.team, min($p.n) as least } order { 1 / least } limit 1""",
    "sum, beside a sum of nothing": """match { $p: P }
        return { $p.team, sum(1 / $p.n) as s, sum($p.f) as f } having { f > 1.0 }""",
    "condition in a union": """match { $o: One } return { 1 as x }
        union match { $p: P  1 / $p.n != 7 } return { 1 as x }""",
    "coalesce": "match { $p: P  coalesce($p.f, 1 / $p.n) > $null_number } return { $p.slug }",
}
# More forms of the same, most of them before what leaves out all rows, or all but a few.
FAILING_MORE = {
    "not": "match { $p: P  not { $p likes $q  1 / $q.n < 0 } } return { $p.slug }",
    "among nothing": "match { $p: P  1 / $p.n in [] } return { $p.slug }",
    "with a condition that is unknown": """
        match { $p: P  $p.slug = "x" or ($p.team = $null and 1 / $p.n > 0) }
        return { $p.slug }""",
    "compared with a number that is too large": """match { $p: P  ($p.i + 0) / $p.i > 99999999999 }
        return { $p.slug }""",
    "order of all rows as one": "match { $p: P } return { count($p) as n } order { 1 / (n - 4) }",
    "order of distinct rows": """match { $p: P }
        return distinct { $p.slug, $p.n } order { 1 / $p.n } limit 1""",
    "order of a union": """
        match { $o: One } return { 0 as x } union match { $p: P } return { 3 as x }
        order { 1 / x } limit 1""",
    "list of which few items are wanted": """match { $p: P }
        return { $p.team, collect(1 / $p.n order { $p.slug } limit 1) as l }""",
    "order of one row": "match { $p: P  $p.n = 0 } return { $p.slug } order { 1 / $p.n }",
    "compared with null": "match { $p: P  1 / $p.n > $null_number } return { $p.slug }",
    "in a list that is null": "match { $p: P  1 / $p.n in $null_list } return { $p.slug }",
    "among null": "match { $p: P  1 / $p.n in [$null_number] } return { $p.slug }",
    "optional, before a condition that nothing passes": """
        match { $p: P  optional { $p likes $q  1 / $q.n > 0 } }
        return { $p.slug } having { $q.team in [$null] }""",
    "optional, before a condition on its variable": """
        match { $p: P  optional { $p likes $q  1 / $q.n > 0 }  $q.slug = "x" }
        return { $p.slug }""",
    "optional, before a block that drops all rows": """
        match { $p: P  optional { $p likes $q  1 / $q.n > 0 }
        not { $o: One  $q.slug is null or $q.slug != "x" } } return { $p.slug }""",
    "exists, in an alternative that is true": """
        match { $p: P  exists { $p likes $q  1 / $q.n > 0 } or $p.slug != "x" }
        return { $p.slug }""",
    "exists, in an optional block": """match { $p: P
        optional {
            $p likes $q  exists { $q likes $r  1 / $r.n > 0 } or not exists { 2 <= 0.5 % $p.n }
        } }
        return { $p.slug } having { $q.team in [$null] }""",
    "not, before another that drops all rows": """match { $p: P  not { $p likes $q  1 / $q.n < 0 }
        not { $p likes{0,} $q } } return { $p.slug }""",
    "order, then few rows": """match { $p: P }
        return { $p.slug } order { $p.slug, 1 / $p.n } limit 1""",
    "condition, then few rows": """match { $p: P  1 / $p.n != 7 }
        return { $p.slug } order { $p.slug } limit 1""",
    "condition, then one value for all": """match { $p: P  1 / $p.n != 7 }
        return distinct { 1 as one }""",
    "condition, then groups that nobody wants": """match { $p: P  1 / $p.n != 7 }
        return { $p.team, count(*) as n } having { $p.team in [$null] }""",
    "condition, then a count that is no number": """match { $p: P  1 / $p.n != 7 }
        return { $p.team, count(*) as n } having { n is null }""",
    "condition, then a ranking of nothing": """match { $p: P  1 / $p.n != 7 }
        return { $p.slug } order { bm25($p.bio, "nowhere") desc } limit 3""",
    "sum, then groups that nobody wants": """match { $p: P }
        return { $p.team, sum(1 / $p.n) as s } having { $p.team in [$null] }""",
    "sum, then other groups": """match { $p: P }
        return { $p.slug, sum(1 / $p.n) as s } having { $p.slug = "p0" }""",
    "list, then groups that nobody wants": """match { $p: P }
        return { $p.team, collect(1 / $p.n) as l } having { $p.team in [$null] }""",
    "group key, then groups that nobody wants": """match { $p: P }
        return { 1 / $p.n as k, count(*) as n } having { n > 99 and n is null }""",
    "union, of which few rows are wanted": """match { $o: One } return { 1 as x }
        union all match { $p: P } return { 1 / $p.n as x } limit 1""",
}
TOO_LARGE = {
    "condition on a key": 'having { $p.team = "c" }',
    "condition that nothing passes": "having { $p.team in [$null] }",
    "condition on the sum": "having { s < 0 }",
    "few rows": "limit 1",
}
SPARED = {
    "by a condition": "match { $p: P  1 / $p.n != 7  $p.n != 0 } return { $p.slug }",
    "by a block": """match { $p: P  1 / $p.n != 7  $p likes $q  not { $p.n = 0 } }
        return { $p.slug }""",
    "by an alternative": "match { $p: P  $p.n = 0 or 1 / $p.n != 7 } return { $p.slug }",
    "by one that can fail": """match { $p: P  $p.n = 0 or 1 / $p.n > 7 or 6 / $p.n > 2 }
        return { $p.slug }""",
    "in an optional block": """match { $p: P  optional { $p likes $q  $q.n != 0  1 / $q.n > 0 } }
        return { $p.slug, $q.slug as q }""",
    "by coalesce": "match { $p: P  coalesce($p.n, 1 / $p.n) != 7 } return { $p.slug }",
    "by a limit": "match { $p: P } return { 6 / $p.n as x } order { $p.slug } limit 2",
    "in the order of a union": """match { $p: P } return { $p.n as x }
        union all match { $p: P } return { $p.n as x } order { x + 1 desc }""",
    "where no row is": "match { $p: P  $n: None  1 / $p.n > 1 } return { $p.slug }",
    "by an exists that asks nobody": """
        match { $p: P  exists { $p likes $q  $q.n != 0  1 / $q.n > 0 } }
        return { $p.slug }""",
}
FEW_TOO_LARGE = ("condition on the sum", "few rows")
FEW_SPARED = ("by a block", "in the order of a union", "in an optional block", "where no row is")
PARAMS = "$null: String?, $null_number: I64?, $null_list: [I64]?"


@pytest.fixture(scope="module")
def graph(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Four persons, each of whom likes the next, and one of whom has a zero; Spark runs."""
    assert spark is not None
    one = node("One", slug="o", n=0)
    return made(tmp_path_factory.mktemp("failures"), SCHEMA, *PERSONS, one, *LIKES)


@pytest.mark.parametrize(
    "body",
    [
        *(pytest.param(body, id=name) for name, body in FAILING.items()),
        *(pytest.param(b, id=name, marks=pytest.mark.long) for name, b in FAILING_MORE.items()),
    ],
)
def test_what_has_no_value_is_found(graph: Graph, body: str) -> None:
    text = f"query q({PARAMS}) {{ {body} }}"

    problems = [_problem(graph, engine, text) for engine in ("inline", "spark")]

    assert problems[0] == problems[1]


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(tail, id=name, marks=() if name in FEW_TOO_LARGE else pytest.mark.long)
        for name, tail in TOO_LARGE.items()
    ],
)
def test_a_sum_that_is_too_large_is_found(graph: Graph, tail: str) -> None:
    text = (
        f"query q({PARAMS}) {{ match {{ $p: P }} return {{ $p.team, sum($p.big) as s }} {tail} }}"
    )

    for engine in ("inline", "spark"):
        with pytest.raises(ResultOverflowError):
            graph.at(engine=engine).query(text)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(body, id=name, marks=() if name in FEW_SPARED else pytest.mark.long)
        for name, body in SPARED.items()
    ],
)
def test_rows_that_are_not_asked_about_do_not_fail(graph: Graph, body: str) -> None:
    text = f"query q() {{ {body} }}"

    found = [graph.at(engine=engine).query(text).to_dicts() for engine in ("inline", "spark")]

    assert found[0] == found[1]


def _problem(graph: Graph, engine: str, text: str) -> tuple[str, object]:
    with pytest.raises(ExpressionError) as raised:
        graph.at(engine=engine).query(text)
    (problem,) = raised.value.problems
    return problem.message, problem.span
