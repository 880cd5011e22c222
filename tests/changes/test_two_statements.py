"""The truth table of two statements in one query: the second sees what the first left."""

from dataclasses import dataclass

import pytest

from omnigraph.api.graph import Graph
from tests.changes.statements import city, link, person
from tests.changes.town import column, commits, content, counts, do, ends, refused, rows


@dataclass(frozen=True)
class Pair:
    """Two statements on a town with ada (36), bob (20) and cy, and what they leave of the ages."""

    name: str
    first: str
    second: str
    affected: tuple[int, int]
    ages: dict[str, int | None]
    knows: int = 3


ADA, BOB, CY = {"ada": 36}, {"bob": 20}, {"cy": None}
PAIRS = (
    Pair(
        "insert, insert another",
        person("dan", age="1"),
        person("eve", age="2"),
        (2, 0),
        {**ADA, **BOB, **CY, "dan": 1, "eve": 2},
    ),
    Pair(
        "insert, insert the same key",
        person("dan", age="1"),
        person("dan", name='"Other"'),
        (1, 0),
        {**ADA, **BOB, **CY, "dan": 1},
    ),
    Pair(
        "insert, replace the same key",
        person("dan", age="1"),
        person("dan").replace("insert", "replace"),
        (1, 0),
        {**ADA, **BOB, **CY, "dan": None},
    ),
    Pair(
        "upsert, upsert back",
        person("bob", age="1"),
        person("bob", age="20"),
        (0, 0),
        {**ADA, **BOB, **CY},
    ),
    Pair(
        "insert, update it by its key",
        person("dan", age="1"),
        'update Person set { age: 2 } where slug = "dan"',
        (1, 0),
        {**ADA, **BOB, **CY, "dan": 2},
    ),
    Pair(
        "insert, update it and committed ones by a value",
        person("dan", age="50"),
        "update Person set { age: 99 } where age > 30",
        (2, 0),
        {"ada": 99, **BOB, **CY, "dan": 99},
    ),
    Pair(
        "insert, update everything but it",
        person("dan", age="50"),
        'update Person set { age: 99 } where age is not null and slug != "dan"',
        (3, 0),
        {"ada": 99, "bob": 99, **CY, "dan": 50},
    ),
    Pair(
        "upsert, update by what it was before",
        person("bob", age="70"),
        "update Person set { age: 99 } where age = 20",
        (1, 0),
        {**ADA, "bob": 70, **CY},
    ),
    Pair(
        "update, update by the new value",
        "update Person set { age: 50 } where age = 20",
        "update Person set { age: 51 } where age = 50",
        (1, 0),
        {**ADA, "bob": 51, **CY},
    ),
    Pair(
        "update, update by the old value",
        "update Person set { age: 50 } where age = 20",
        "update Person set { age: 51 } where age = 20",
        (1, 0),
        {**ADA, "bob": 50, **CY},
    ),
    Pair(
        "update, update back",
        "update Person set { age: 36 } where age = 20",
        'update Person set { age: 20 } where slug = "bob"',
        (0, 0),
        {**ADA, **BOB, **CY},
    ),
    Pair(
        "update, update other properties of the same rows",
        'update Person set { kind: "staff" } where age is not null',
        'update Person set { age: 99 } where kind = "staff"',
        (2, 0),
        {"ada": 99, "bob": 99, **CY},
    ),
    Pair(
        "update, replace",
        'update Person set { age: 50 } where slug != ""',
        person("bob").replace("insert", "replace"),
        (3, 0),
        {"ada": 50, "bob": None, "cy": 50},
    ),
    Pair(
        "insert a node, insert an edge to it",
        person("dan"),
        link("Knows", "dan", "ada"),
        (1, 1),
        {**ADA, **BOB, **CY, "dan": None},
        4,
    ),
    Pair(
        "insert an edge, insert the node that it needs",
        link("Knows", "ada", "dan"),
        person("dan"),
        (1, 1),
        {**ADA, **BOB, **CY, "dan": None},
        4,
    ),
    Pair(
        "insert an edge, update it",
        link("Knows", "ada", "cy"),
        'update Knows set { weight: 9.0 } where to = "cy"',
        (0, 2),
        {**ADA, **BOB, **CY},
        4,
    ),
    Pair(
        "delete a node, delete its edges",
        'delete Person where slug = "ada"',
        'delete Knows where from = "ada" or to = "ada"',
        (1, 3),
        {**BOB, **CY},
        1,
    ),
    Pair(
        "delete edges, delete their node",
        'delete Knows where from = "ada"',
        'delete Person where slug = "ada"',
        (1, 3),
        {**BOB, **CY},
        1,
    ),
    Pair(
        "delete, delete the same again",
        "delete Person where age = 20",
        "delete Person where age = 20",
        (1, 2),
        {**ADA, **CY},
        1,
    ),
    Pair(
        "delete, delete what is left",
        "delete Person where age = 20",
        'delete Person where slug != ""',
        (3, 4),
        {},
        0,
    ),
    Pair(
        "delete both ends of an edge",
        'delete Person where slug = "ada"',
        'delete Person where slug = "bob"',
        (2, 3),
        {**CY},
        1,
    ),
    Pair(
        "delete nothing, delete something",
        'delete Person where slug = "nobody"',
        'delete Knows where from = "cy"',
        (0, 1),
        {**ADA, **BOB, **CY},
        2,
    ),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_second_statement_sees_the_first(settled: Graph, pair: Pair) -> None:
    version = commits(settled)

    receipt = do(settled, pair.first, pair.second)

    assert column(settled, "Person", "age") == pair.ages
    assert len(rows(settled, "Knows")) == pair.knows
    assert counts(receipt) == pair.affected
    assert commits(settled) == version + (pair.affected != (0, 0))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_two_statements_in_one_query_leave_what_they_leave_in_two(
    settled: Graph, pair: Pair
) -> None:
    """Where each of them can stand alone: an edge cannot come before its node."""
    if pair.first.startswith('insert Knows { from: "ada", to: "dan"'):
        pytest.skip("an edge cannot come before its node")
    settled.create_branch("apart")
    do(settled, pair.first, pair.second)
    do(settled.branch("apart"), pair.first)
    do(settled.branch("apart"), pair.second)

    assert _without_edge_ids(content(settled)) == _without_edge_ids(content(settled, "apart"))


def test_a_condition_is_asked_of_no_row_that_an_earlier_statement_replaced(settled: Graph) -> None:
    do(settled, 'update Person set { age: 0 } where slug = "bob"')
    receipt = do(
        settled,
        'update Person set { age: 5 } where slug = "bob"',
        'update Person set { name: "Young" } where 100 / age >= 20',
    )
    assert counts(receipt) == (1, 0)
    assert (column(settled, "Person", "name")["bob"], column(settled, "Person", "age")["bob"]) == (
        "Young",
        5,
    )


def test_two_edges_of_one_query_are_counted_together(settled: Graph) -> None:
    lives = [link("Lives", "bob", "ulm"), link("Lives", "bob", "rom")]
    (told,) = refused(settled, *lives)
    assert told.startswith("error[V15]: Lives of 'bob': 2 Lives leave")


def test_the_same_keyed_edge_twice_in_one_query_is_one_edge(settled: Graph) -> None:
    do(settled, 'insert Note { id: "n", text: "t" }')
    receipt = do(
        settled,
        link("Wrote", "ada", "n"),
        link("Wrote", "ada", "n", at='datetime("2024-01-01T00:00:00Z")'),
    )
    assert counts(receipt) == (0, 1)
    assert ends(settled, "Wrote") == [("ada", "n")]


def test_many_statements_are_one_commit(graph: Graph) -> None:
    names = [f"c{number}" for number in range(100)]
    receipt = do(graph, *map(city, names), 'update City set { people: 7 } where slug > "c5"')
    assert counts(receipt) == (100, 0)
    assert commits(graph) == 1
    assert sum(value == 7 for value in column(graph, "City", "people").values()) == 54


def _without_edge_ids(found: dict[str, list[dict[str, object]]]) -> dict[str, list[str]]:
    return {
        name: sorted(str({**row, "id": ""} if "src" in row else row) for row in each)
        for name, each in found.items()
    }
