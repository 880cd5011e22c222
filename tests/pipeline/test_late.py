"""What only a result shows of nodes is read on Spark for the rows that a limit keeps."""

from typing import TYPE_CHECKING

import pytest

from omnigraph.api.graph import Graph
from omnigraph.read.spark import lowering
from omnigraph.read.spark.late import LatePlan, plan_late
from tests.engine.asking import made
from tests.engine.trial import by_tasks
from tests.pipeline.loads import node

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Person { number: I64 @key  name: String  age: I32?  weight: F64 }
node Pet { name: String @key  kind: String }
node Desk { floor: I32  row: I32  @key(floor, row)  colour: String }
edge Knows: Person -> Person
edge Has: Person -> Pet
edge Sits: Person -> Desk
"""
# In the order of the numbers, of the ids and of the names, people come one after another otherwise.
PEOPLE = [(100, "eve"), (20, "bob"), (3, "ana"), (7, "bob"), (-1, "dan"), (45, "ana")]
LATE = [
    "match { $f knows $p } return { $p.number as n, $p.name as name, count($f) as c }"
    " order { c desc, n } limit 3",
    "match { $f knows $p } return { $p.number as n, $p.name as name, count($f) as c }"
    " order { c desc } limit 3",
    "match { $f knows $p } return { $p.name as name, $p.number as n, count($f) as c }"
    " order { n } skip 1 limit 2",
    "match { $f knows $p } return { $p as p, count($f) as c } order { c desc } limit 3",
    "match { $f knows $p } return { $p as p, $p.name as name, avg($f.age) as a }"
    " order { a desc } limit 4",
    "match { $f knows $p  $p has $t } return { $p.number as n, $p.name as name, $t.kind as kind,"
    " $t.name as pet, count($f) as c } order { c, pet } limit 4",
    "match { $a knows $b } return { $a.name as a, $b.name as b } order { $b.number desc } limit 5",
    "match { $a knows $b } return { $a as a, $b.age as b } order { $b.number * 2 } skip 2 limit 5",
    "match { $a knows {1,2} $b } return { $b.name as b } order { $a.number } limit 5",
    "match { $a knows $b } return { $b.name as b } limit 4",
    "match { $a knows $b  $_ has $t } return { $b.name as b, $t.name as t } limit 7",
    "match { $f knows $p } return { $p.number as n, $p.name as name, count($f) as c }"
    " having { c > 1 } order { n desc } limit 2",
    "match { $a knows $b } return { $b.name as b, 10 / $b.age as ratio } order { $b.number }"
    " limit 1",
]
EARLY = [
    "match { $f knows $p } return { $p.name as name, $p.number as n, count($f) as c }"
    " order { c desc } limit 3",
    "match { $f knows $p } return { $p.number as n, $p.name as name, count($f) as c }"
    " order { name desc, n } limit 3",
    "match { $f knows $p } return { $p.number as n, $p.weight as w, count($f) as c }"
    " order { n } limit 3",
    "match { $f knows $p } return { $p.number as n, $p.name as name, count($f) as c }"
    " having { name > 'b' } order { n } limit 3",
    "match { $f knows $p } return { $p.name as name, count($f) as c } order { c } limit 3",
    "match { $f knows $p  $p.age > 20 } return { $p.name as name } order { $p.number } limit 3",
    "match { $p sits $d } return { $d.floor as f, $d.row as r, $d.colour as c, count($p) as n }"
    " order { n } limit 3",
    "match { $f knows $p } return { $p.number as n, $p.name as name, count($f) as c }",
    "match { $p: Person  optional { $p knows $q } } return { $q.name as q } limit 4",
    "match { $p: Person } return { $p.name as name } order { $p.number } limit 3",
    "match { $a knows $b } return distinct { $b.name as b } order { b } limit 2",
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Six people of few names who know each other, with pets and desks."""
    lines = [
        node("Person", number=number, name=name, age=20 + at, weight=-0.0 if at % 2 else 0.0)
        for at, (number, name) in enumerate(PEOPLE)
    ]
    lines += [node("Pet", name=name, kind=kind) for name, kind in (("rex", "dog"), ("tom", "cat"))]
    lines += [node("Desk", floor=floor, row=2, colour="red") for floor in (1, 10, 9)]
    numbers = [number for number, _ in PEOPLE]
    pairs: list[tuple[str, int, object]] = []
    pairs += [("Knows", one, other) for one in numbers for other in numbers if one % 4 < other % 5]
    pairs += [("Has", one, "rex" if one % 2 else "tom") for one in numbers[:4]]
    pairs += [("Sits", one, f"[{(1, 10, 9)[at % 3]},2]") for at, one in enumerate(numbers)]
    lines += [f'{{"edge": "{name}", "from": "{a}", "to": "{b}"}}' for name, a, b in pairs]
    return made(tmp_path_factory.mktemp("late"), SCHEMA, *lines)


@pytest.mark.parametrize(
    ("body", "is_late"),
    [*((body, True) for body in LATE), *((body, False) for body in EARLY)],
)
def test_what_is_read_late_is_what_is_read_early(
    graph: Graph,
    spark: "SparkSession",
    monkeypatch: pytest.MonkeyPatch,
    body: str,
    is_late: bool,
) -> None:
    assert spark is not None
    by_tasks(monkeypatch)
    plans: list[LatePlan] = []

    def noted(*given: object) -> LatePlan:
        plans.append(plan_late(*given))  # type: ignore[arg-type]
        return plans[-1]

    monkeypatch.setattr(lowering, "plan_late", noted)
    text = f"query q() {{ {body} }}".replace("'", '"')

    found = [graph.at(engine=each).query(text).table for each in ("inline", "spark")]

    assert found[1].equals(found[0])
    assert [bool(each.late) for each in plans] == [is_late]
