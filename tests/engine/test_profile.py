"""Explanations and profiles say what a query does, for people and for programs."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.profile import Cost, Profile
from omnigraph.query.compile import compile_query
from omnigraph.query.plan import ReadPlan
from omnigraph.query.planning.explain import explain_json, explain_text
from omnigraph.read import answer, road
from omnigraph.read.execution import Budget, PlanRequest
from omnigraph.read.road import Road, RoadChoice
from tests.engine.asking import made
from tests.pipeline.loads import edge, node
from tests.sample import access_of

SCHEMA = """
node Person { slug: String @key  age: I32? }
edge Knows: Person -> Person
"""
FRIENDS = """query friends($least: I32) {
  match { $p: Person  $p.age >= $least  $p knows $f }
  return { $p.slug as p, $f.slug as f }
  order { p desc }
  limit 2
}"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Four persons; a knows b, c and d, and b knows c."""
    lines = [
        node("Person", slug=slug, age=age) for slug, age in zip("abcd", (1, 2, 3, 4), strict=True)
    ]
    lines += [edge("Knows", *pair) for pair in ("ab", "ac", "ad", "bc")]
    return made(tmp_path, SCHEMA, *lines)


def operators(profile: Profile) -> list[tuple[str, ...]]:
    """Return the names of the operators that were measured, those together that ran together."""
    return [tuple(each.split()[0] for each in cost.operators) for cost in profile.costs]


def test_an_explanation_is_the_plan_and_the_road(graph: Graph) -> None:
    explanation = graph.explain(FRIENDS)

    assert str(explanation) == (
        explain_text(explanation.plan, explanation.expected)
        + "  Road        adjacency: 8 rows to read first\n"
    )
    assert explanation.to_json() == {
        "plan": explain_json(explanation.plan),
        "expected_rows": [1, 1, 1, 1, 1],
        "orders": [[{"start": "p"}, {"follow": 0, "from": "p"}]],
        "road": {"road": "adjacency", "lookups": None, "rows_to_read": 8},
    }
    assert json.loads(json.dumps(explanation.to_json())) == explanation.to_json()


def test_an_explanation_of_look_ups_counts_them(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(road, "LOOKUP_ROWS", 1)
    query = 'query q() { match { $p: Person { slug: "a" } } return { $p.age } }'

    explanation = graph.explain(query)

    assert str(explanation).endswith(
        "\n  Road        index: about 1 look-ups, not 4 rows to read\n"
    )
    assert explanation.to_json()["road"] == {"road": "index", "lookups": 1, "rows_to_read": 4}


def test_an_explanation_needs_no_parameters(graph: Graph) -> None:
    assert graph.explain(FRIENDS).plan.name == "friends"


def test_a_choice_tells_its_reason() -> None:
    assert str(RoadChoice(Road.ADJACENCY, None, 0)) == "adjacency"
    assert str(RoadChoice(Road.ADJACENCY, 3, 12_000)) == "adjacency: 12,000 rows to read first"
    assert str(RoadChoice(Road.INDEX, 1_200, 9_000_000)) == (
        "index: about 1,200 look-ups, not 9,000,000 rows to read"
    )


def test_a_profile_has_the_result_and_the_rows_after_each_operator(graph: Graph) -> None:
    profile = graph.profile(FRIENDS, least=1)

    assert profile.result.to_dicts() == graph.query(FRIENDS, least=1).to_dicts()
    assert profile.road is Road.ADJACENCY
    assert operators(profile) == [("NodeScan",), ("Expand",), ("Order",), ("Limit",), ("Project",)]
    assert [cost.rows for cost in profile.costs] == [4, 4, 4, 2, 2]
    assert all(cost.milliseconds >= 0 for cost in profile.costs)


def test_a_profile_tells_where_bytes_were_read(graph: Graph) -> None:
    first, second = graph.profile(FRIENDS, least=1), graph.profile(FRIENDS, least=1)

    read = dict(zip([names[0] for names in operators(first)], first.costs, strict=True))
    assert read["NodeScan"].bytes_read > 0
    assert read["Expand"].bytes_read > 0
    assert read["Limit"].bytes_read == 0
    assert [cost.bytes_read for cost in second.costs] == [0] * 5


def test_the_bytes_of_rows_that_are_looked_up_are_few(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (road, answer):
        monkeypatch.setattr(module, "LOOKUP_ROWS", 0)
    query = 'query q() { match { $p: Person { slug: "b" }  $p knows $f } return { $f.age } }'

    profile = graph.profile(query)

    assert profile.road is Road.INDEX
    assert 0 < sum(cost.bytes_read for cost in profile.costs) < 200


def test_operators_that_run_together_are_measured_together(graph: Graph) -> None:
    query = "query q() { match { $p: Person  $p knows $f  $f knows $g } return { count($p) as n } }"

    profile = graph.profile(query)

    assert profile.result.to_dicts() == [{"n": 1}]
    assert operators(profile) == [("NodeScan", "Expand", "Expand"), ("Aggregate",), ("Project",)]


def test_a_pattern_inside_another_is_part_of_the_outer_operator(graph: Graph) -> None:
    pattern = "$p: Person  not { $p knows $f  $f knows $_ }"

    profile = graph.profile(f"query q() {{ match {{ {pattern} }} return {{ $p.slug }} }}")

    assert operators(profile) == [("NodeScan",), ("AntiJoin",), ("Order",), ("Project",)]
    assert len(profile.result) == 3


def test_a_profile_is_printed_in_columns(graph: Graph) -> None:
    query = "query q() { match { $p: Person  $p knows $f } return { count($p) as n } }"
    profile = graph.profile(query)

    # A busy machine takes more digits; the columns keep their width.
    lines = re.sub(
        r"\d+\.\d{3}", lambda found: "0.000".rjust(len(found[0])), str(profile)
    ).splitlines()

    assert lines[0] == "        rows       expected          ms      bytes read  operator"
    number = re.compile(r" +[\d,]+ +[\d,]+[! ] +0\.000 +[\d,]+  \w+")
    assert [bool(number.match(line)) for line in lines[1:-1]] == [True, False, True, True]
    assert lines[2].strip() == profile.costs[0].operators[1]
    assert lines[-1] == "           1                      0.000                  by adjacency"
    assert {line.index(line.split()[0]) for line in lines[2:3]} == {57}


def test_a_profile_is_json_too(graph: Graph) -> None:
    profile = Profile(
        graph.query(FRIENDS, least=4),
        Road.INDEX,
        (
            Cost(("NodeScan    $p: Person",), 1_000, 12.34567, 99, 100),
            Cost(("Limit  2",), 2, 0.1, 0),
        ),
    )

    assert profile.to_json() == {
        "road": "index",
        "row_count": 0,
        "operators": [
            {
                "operators": ["NodeScan    $p: Person"],
                "rows": 1_000,
                "ms": 12.346,
                "bytes_read": 99,
                "expected_rows": 100,
            },
            {
                "operators": ["Limit  2"],
                "rows": 2,
                "ms": 0.1,
                "bytes_read": 0,
                "expected_rows": None,
            },
        ],
    }
    assert "1,000           100!      12.346              99  NodeScan    $p: Person\n" in str(
        profile
    )
    assert str(profile).endswith(
        "           0                     12.446                  by index\n"
    )


def test_a_query_that_is_not_profiled_is_not_measured(graph: Graph) -> None:
    snapshot = graph.snapshot()
    plan = compile_query(FRIENDS, snapshot.catalog)
    assert isinstance(plan, ReadPlan)
    terms = PlanRequest(
        params={"least": 1},
        now=datetime.now(UTC),
        budget=Budget(),
        environment={},
        cancelled=Event(),
    )

    assert answer.answer(plan, snapshot, access_of(graph).topology, terms).measurements == ()
