"""Plans of thirty shapes: where they start, in which order they go on, and what they expect.

`--update-cases` writes what is really given.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.query.compile import compile_query
from omnigraph.query.params import bind_params
from omnigraph.query.plan import ReadPlan
from omnigraph.query.planning.explain import explain_text
from omnigraph.read.planner.planner import arrange_plan, expect_rows
from tests.languages.casefile import Case, read_cases, update
from tests.sample import access_of

SCHEMA = """
node Person { number: I64 @key  name: String  gender: enum(female, male)
  age: I32 @index  score: F64? }
node City { name: String @key  people: I64 }
node Country { name: String @key }
node Interest { name: String @key  group: String }
edge Follows: Person -> Person { since: I32 }
edge LivesIn: Person -> City
edge Likes: Person -> Interest
edge CityIn: City -> Country
"""
# What the planner knows of a column, it knows from a query that read the column.
WARMING = (
    "$p: Person  $p.name != $p.gender  $p.age > 0  $p.score > 0.0",
    '$c: City  $c.people > 0  $c.name != "a"',
    '$k: Country  $k.name != "a"',
    "$i: Interest  $i.name != $i.group",
    "$p $e:follows $q  $e.since > 0",
    "$p livesIn $c  $c cityIn $k",
    "$p likes $i",
)
CASES = read_cases(Path(__file__).parent / "plans.case")
PERSONS, CITIES, FOLLOWS = 2_000, 40, 20_000


def _tables(random: Random) -> dict[str, pa.Table]:
    """Return persons who follow a few of them much more often than the others."""
    persons, cities = range(PERSONS), [f"City {at}" for at in range(CITIES)]
    likes = [(at, f"Interest {int(20 * random.random() ** 2)}") for at in persons for _ in range(2)]
    pairs = {
        (int(PERSONS * random.random()), int(PERSONS * random.random() ** 3)): 2000 + at % 25
        for at in range(FOLLOWS)
    }

    def edges(*pairs: tuple[object, object]) -> pa.Table:
        return pa.table({"from": [str(a) for a, _ in pairs], "to": [str(b) for _, b in pairs]})

    return {
        "Person": pa.table(
            {
                "number": pa.array(persons, pa.int64()),
                "name": [f"Person {at}" for at in persons],
                "gender": [random.choice(("female", "male")) for _ in persons],
                "age": pa.array([random.randint(18, 70) for _ in persons], pa.int32()),
                "score": [random.random() if at % 4 else None for at in persons],
            }
        ),
        "City": pa.table({"name": cities, "people": [1000 * at for at in range(CITIES)]}),
        "Country": pa.table({"name": ["North", "South", "West"]}),
        "Interest": pa.table(
            {
                "name": [f"Interest {at}" for at in range(20)],
                "group": [f"Group {at % 3}" for at in range(20)],
            }
        ),
        "Follows": edges(*pairs).append_column("since", pa.array(pairs.values(), pa.int32())),
        "LivesIn": edges(*((at, random.choice(cities)) for at in persons)),
        "Likes": edges(*dict.fromkeys(likes)),
        "CityIn": edges(*((name, random.choice(("North", "South", "West"))) for name in cities)),
    }


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """A town whose columns and edges are all in memory."""
    with init(tmp_path_factory.mktemp("town") / "g", SCHEMA, durable=False) as graph:
        graph.load(_tables(Random(7)), engine="inline")
        for body in WARMING:
            name = body.split(maxsplit=1)[0].rstrip(":")
            graph.query(f"query q() {{ match {{ {body} }} return {{ {name} }} }}")
        yield graph


def _plan(graph: Graph, query: str, given: str | None) -> str:
    snapshot, topology = graph.snapshot(), access_of(graph).topology
    plan = compile_query(query, snapshot.catalog)
    assert isinstance(plan, ReadPlan)
    params = None if given is None else bind_params(plan, json.loads(given))
    found = arrange_plan(plan, snapshot, topology, params).plan
    return explain_text(found, expect_rows(found, snapshot, topology, params))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_shape_has_its_plan(graph: Graph, case: Case, request: pytest.FixtureRequest) -> None:
    found = _plan(graph, case.given["query"], case.given.get("params"))

    if request.config.getoption("--update-cases"):
        update(case, found, CASES)
    else:
        assert found == case.expected


def test_there_are_thirty_shapes() -> None:
    assert len(CASES) >= 30
