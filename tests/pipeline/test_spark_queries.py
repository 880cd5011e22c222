"""Queries on Spark give the rows of the engine, in its order, to the last bit."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Event, Timer
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from omnigraph.api.graph import Graph
from omnigraph.cli.main import omnigraph
from omnigraph.data.result import ResultStream
from omnigraph.errors import (
    BudgetError,
    CancelledError,
    ExpressionError,
    InputError,
    ResultOverflowError,
)
from omnigraph.read import execution
from omnigraph.read.execution import Budget
from omnigraph.read.spark import opening, ordering, query
from omnigraph.read.spark.walks import held_hops
from omnigraph.spark import choice
from tests.engine.asking import made
from tests.engine.trial import by_tasks, try_queries
from tests.engine.worlds import random_world
from tests.pipeline.drivers import Driver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORLDS = 2
QUERIES = 14

SCHEMA = """
interface Named { name: String? }
node Person implements Named {
    slug: String @key
    age: I32?
    aGE: I64?
    height: F64?
    weight: F32?
    wealth: U64?
    seen: DateTime?
    born: Date?
    tags: [String]?
    bio: String? @index
    place: Vector(3)?
}
node Firm implements Named { slug: String @key  size: U64 }
edge Knows: Person -> Person { since: I32? }
edge WorksAt: Person -> Firm
"""


@pytest.fixture(scope="module")
def graph(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Sixty persons in three firms, who know some of each other; Spark runs."""
    assert spark is not None
    return made(tmp_path_factory.mktemp("queries"), SCHEMA, *_lines(Random(5), 60))


def _lines(random: Random, count: int) -> Iterator[str]:
    words = ("graph", "lake", "stone", "river", "lane", "storm")
    for number in range(3):
        data = {"slug": f"f{number}", "name": f"Firm {number}", "size": 2**64 - 1 - number}
        yield json.dumps({"type": "Firm", "data": data})
    for number in range(count):
        data = {
            "slug": f"p{number:02}",
            "name": random.choice(["Ana", "Bo", "Chie", None]),
            "age": random.choice([None, *range(20, 30)]),
            "aGE": number,
            "height": random.uniform(-1e10, 1e10) * 10 ** random.randint(-20, 20),
            "weight": random.uniform(0, 100),
            "wealth": random.choice([0, 2**53, 2**53 + 1, 2**63, 2**64 - 1]),
            "seen": f"20{number % 30:02}-01-31T12:00:00.{number:03}Z",
            "born": f"19{number % 30 + 60:02}-02-28",
            "tags": random.sample(words, 2),
            "bio": " ".join(random.choices(words, k=5)),
            "place": [random.uniform(-1, 1) for _ in range(3)],
        }
        yield json.dumps({"type": "Person", "data": data})
    for number in range(count * 4):
        one, other = (f"p{random.randrange(count):02}" for _ in range(2))
        data = {"since": number % 7} if number % 3 else {}
        yield json.dumps({"edge": "Knows", "from": one, "to": other, "data": data})
    for number in range(count):
        yield json.dumps({"edge": "WorksAt", "from": f"p{number:02}", "to": f"f{number % 3}"})


def _same(graph: Graph, body: str, params: str = "", **given: object) -> int:
    """Ask both engines, which give the same table; gives how many rows it has."""
    text = f"query q({params}) {{ {body} }}"
    expected = graph.at().query(text, **given).table
    found = graph.at(engine="spark").query(text, **given).table
    assert found.schema == expected.schema
    assert found.combine_chunks().equals(expected.combine_chunks())
    return int(found.num_rows)


@pytest.mark.parametrize("seed", range(WORLDS))
def test_random_queries_on_spark_give_the_rows_of_the_oracle(
    spark: "SparkSession", tmp_path: Path, seed: int
) -> None:
    assert spark is not None
    random = Random(900 + seed)
    world = random_world(random)

    tally = try_queries(world, world.graph(tmp_path / "g").at(engine="spark"), random, QUERIES)

    assert tally.run == QUERIES


def test_tasks_read_large_tables_through_the_data_source(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_tasks(monkeypatch)
    monkeypatch.setattr(opening, "_SLICE_ROWS", 1_000)  # which makes several slices

    assert _same(
        graph,
        """match { $p knows $q  $q worksAt $f  $p.seen < $q.seen  not { $q knows $p } }
        return { $p, $q.wealth as w, $f.size as s }""",
    )


@pytest.mark.parametrize(
    "returned",
    [
        "$p.name as n, sum($q.height) as s, avg($q.weight) as a, count($q) as c",
        "sum($q.height) as s, avg($q.height) as a, sum(distinct $q.weight) as d",
        "$p.age as g, avg($p.wealth) as a, min($q.height) as l, max($q.seen) as m",
        "$f, sum($p.aGE) as s, count(distinct $q.name) as n, max($q.born) as b",
    ],
)
def test_aggregates_are_equal_to_the_last_bit(graph: Graph, returned: str) -> None:
    assert _same(graph, f"match {{ $p knows $q  $p worksAt $f }} return {{ {returned} }}")


@pytest.mark.parametrize("value", [2.0**53, 2.0**63, 2.0**64, 1e300, -0.5])
@pytest.mark.parametrize("test", ["$p.wealth <= $v", "$p.wealth != $v and not ($p.age > $v)"])
def test_numbers_of_different_types_are_compared_exactly(
    graph: Graph, value: float, test: str
) -> None:
    _same(graph, f"match {{ $p: Person  {test} }} return {{ $p.slug as s }}", "$v: F64", v=value)


def test_names_may_differ_in_the_case_of_letters_only(graph: Graph) -> None:
    assert _same(
        graph,
        """match { $aa knows $aA  $aa.aGE < $aA.age }
        return { $aa.age as x, $aA.aGE as xX, $aA as xx }""",
    )


@pytest.mark.parametrize(
    "body",
    [
        'match { $p: Person  search($p.bio, "stone lake") } return { $p.slug as s }',
        'match { $p: Person  not (fuzzy($p.bio, "stome", 1)) } return { $p.slug as s }',
        'match { $p knows $q  match_text($q.bio, "lake stone") } return { $p.slug as s }',
        """match { $p knows $q } return { $q.bio as bio, count($p) as n }
        having { search($q.bio, "stone lake") }""",
        """match { $p: Person } return { $p.slug as s, search($p.bio, "lake") as found }
        order { search($p.bio, "stone") desc } limit 9""",
        """match { $p: Person } return { $p.slug as s, bm25($p.bio, "river") as b }
        order { bm25($p.bio, "river") desc } limit 7""",
        """match { $p knows $q } return { $q.slug as s, nearest($q.place, [1.0, 0.5, 0.0]) as d }
        order { nearest($q.place, [1.0, 0.5, 0.0]) } limit 20""",
        """match { $p worksAt $f } return { $p.slug as s, $f.slug as t }
        order { rrf(bm25($p.bio, "storm lane"), nearest($p.place, [0.0, 0.0, 1.0])) desc }
        limit 50""",
    ],
)
def test_searches_and_rankings_run_in_tasks(graph: Graph, body: str) -> None:
    assert _same(graph, body)


@pytest.mark.parametrize("most_edges", [0, held_hops.MOST_EDGES])
@pytest.mark.parametrize("hops", ["{0,2}", "{1,}", "{2,3}", "{0,}", "{3}"])
def test_walks_reach_what_the_engine_reaches(
    graph: Graph, hops: str, most_edges: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_hops, "MOST_EDGES", most_edges)
    assert _same(
        graph,
        f"match {{ $p knows{hops} $q  $p.age = 25 }} return {{ $p.slug as p, count($q) as n }}",
    )


def test_a_ring_is_walked_by_one_job(spark: "SparkSession", tmp_path: Path) -> None:
    assert spark is not None
    schema = "node Stop { slug: String @key }\nedge Next: Stop -> Stop"
    stops = [{"type": "Stop", "data": {"slug": f"s{n}"}} for n in range(200)]
    edges = [{"edge": "Next", "from": f"s{n}", "to": f"s{(n + 1) % 200}"} for n in range(200)]
    ring = made(tmp_path, schema, *map(json.dumps, [*stops, *edges]))

    for hops in ("{1,20}", "{1,}", "{0,}", "{150,}"):
        assert _same(ring, f"match {{ $a next{hops} $b }} return {{ $a.slug as a, $b.slug as b }}")


@pytest.mark.parametrize(
    "body",
    [
        "match { $p knows $q } return { $q.slug as q, count($p) as n } order { n desc, q }",
        "match { $q: Person  optional { $q worksAt $f } }"
        " return { $q.slug as q, $f.slug as f, count($f) as n }",
        "match { $p knows $q } return { $p.slug as p, $q.name as q, count($q) as n }",
    ],
)
def test_rows_whose_keys_tell_them_apart_are_counted_as_the_engine_counts(
    graph: Graph, body: str
) -> None:
    assert _same(graph, body)


def test_what_nothing_reads_is_counted_and_never_made(graph: Graph) -> None:
    pattern = " ".join(f"$p{number}: Person" for number in range(9))

    found = graph.at(engine="spark").query(
        f"query q() {{ match {{ {pattern} }} return {{ count($p0) as n }} }}"
    )

    assert found.to_dicts() == [{"n": 60**9}]


@pytest.mark.parametrize(
    ("pattern", "returned", "message"),
    [
        ("$f: Firm", "sum($f.size) as s", "a sum does not fit I64"),
        (
            " ".join(f"$p{number}: Person" for number in range(11)),
            "count($p0) as n",
            "more often than I64 can count",
        ),
    ],
)
def test_a_number_that_does_not_fit_is_an_error(
    graph: Graph, pattern: str, returned: str, message: str
) -> None:
    text = f"query q() {{ match {{ {pattern} }} return {{ {returned} }} }}"

    with pytest.raises(ResultOverflowError, match=message):
        graph.at(engine="spark").query(text)


@pytest.mark.parametrize("tail", ["skip 5", "limit 30", "skip 3 limit 40", "limit 0", "skip 9999"])
def test_a_long_result_is_cut_as_it_comes(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, tail: str
) -> None:
    monkeypatch.setattr(ordering, "_MOST_GATHERED", 0)

    _same(graph, f"match {{ $p knows $q }} return {{ $p.slug as p, $q.slug as q }} {tail}")


@pytest.mark.parametrize("tail", ["limit 0", "skip 2 limit 0"])
def test_a_limit_of_no_rows_hides_nothing_that_has_no_value(graph: Graph, tail: str) -> None:
    fails = "$f: Firm  1 / ($f.size - $f.size) = 1"
    text = f"query q() {{ match {{ {fails} }} return {{ $f.slug }} {tail} }}"

    for engine in ("inline", "spark"):
        with pytest.raises(ExpressionError):
            graph.at(engine=engine).query(text)


def test_a_stream_gives_the_rows_in_batches_and_can_be_left(graph: Graph) -> None:
    text = "query q() { match { $p: Person  $q: Person } return { $p.slug as p, $q.slug as q } }"

    found = graph.at(engine="spark").stream(text)
    first = next(iter(found))
    found.batches.close()  # type: ignore[attr-defined]  # it is a generator

    assert found.columns == ["p", "q"]
    assert first.slice(0, 2).to_pylist() == [{"p": "p00", "q": "p00"}, {"p": "p00", "q": "p01"}]


def test_rows_of_an_old_commit_are_read_there(graph: Graph) -> None:
    old = graph.snapshot().commit.id
    graph.load('{"type": "Firm", "data": {"slug": "late", "size": 1}}', engine="inline")
    text = "query q() { match { $f: Firm } return { count($f) as n } }"

    counts = [graph.at(place, engine="spark").query(text).to_dicts() for place in (old, "main")]

    assert counts == [[{"n": 3}], [{"n": 4}]]


def test_auto_moves_to_spark_what_is_too_large_for_this_process(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "query q() { match { $p: Person  $q: Person } return { $p.slug as p, $q.slug as q } }"
    moved: list[str] = []
    on_spark = query.read_on_spark

    def noted(*given: Any) -> ResultStream:
        moved.append("spark")
        return on_spark(*given)

    monkeypatch.setattr(query, "read_on_spark", noted)

    assert len(graph.at(engine="auto").query(text)) == 3600
    assert moved == []
    with monkeypatch.context() as patch:
        patch.setattr(choice, "MOST_ROWS_HERE", 10)
        assert len(graph.at(engine="auto").query(text)) == 3600
    for limit in ({"rows": 1000}, {"bytes": 10_000}):
        with monkeypatch.context() as patch:
            patch.setattr(execution, "USUAL_BUDGET", Budget(**limit))
            assert len(graph.at(engine="auto").query(text)) == 3600
    assert moved == ["spark"] * 3
    with pytest.raises(BudgetError):
        graph.at(engine="auto", budget=Budget(rows=1000)).query(text)


def test_the_command_moves_to_spark_by_itself(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "MOST_ROWS_HERE", 10)
    text = "query q() { match { $p: Person } return { $p.slug as p } limit 1 }"

    done = CliRunner().invoke(omnigraph, ["read", graph.uri, "-e", text, "--format", "jsonl"])

    head, row = done.stdout.splitlines()
    assert json.loads(head)["row_count"] is None, "only Spark begins to print before it knows"
    assert json.loads(row) == {"p": "p00"}


def test_an_engine_that_does_not_exist_is_refused(graph: Graph) -> None:
    with pytest.raises(InputError, match="invalid engine 'sparc'"):
        graph.at(engine="sparc")


def test_a_query_on_spark_ends_when_it_is_cancelled_or_takes_too_long(graph: Graph) -> None:
    many = " ".join(f"$p{number}: Person" for number in range(5))
    text = f"query q() {{ match {{ {many} }} return {{ $p0, $p1, $p2, $p3, $p4 }} }}"
    cancelled = Event()
    Timer(1.0, cancelled.set).start()

    with pytest.raises(CancelledError):
        graph.at(engine="spark", cancelled=cancelled).query(text)
    with pytest.raises(BudgetError, match="longer than 1 s"):
        graph.at(engine="spark", budget=Budget(seconds=1)).query(text)


@pytest.mark.parametrize("format_", ["csv", "jsonl", "json", "arrow", "table"])
def test_the_command_shows_the_rows_of_both_engines_alike(graph: Graph, format_: str) -> None:
    text = (
        "query q() { match { $p knows $q } return { $p.slug as p, $q.wealth as w, $q.seen as t } }"
    )

    outputs = []
    for engine in ("spark", "inline"):
        given = ["read", graph.uri, "-e", text, "--format", format_, "--engine", engine]
        done = CliRunner().invoke(omnigraph, given)
        assert done.exit_code == 0, done.stderr
        outputs.append(done.stdout_bytes)

    if format_ == "arrow":
        tables = [pa.ipc.open_stream(each).read_all().combine_chunks() for each in outputs]
        assert tables[0].equals(tables[1])
    elif format_ == "jsonl":
        heads, rows = zip(*(each.split(b"\n", 1) for each in outputs), strict=True)
        assert [json.loads(head)["row_count"] is None for head in heads] == [True, False]
        assert rows[0] == rows[1]
    else:
        assert outputs[0] == outputs[1]


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_an_empty_result_still_has_its_head(graph: Graph, format_: str) -> None:
    text = 'query q() { match { $p: Person { slug: "nobody" } } return { $p.slug as p } }'
    given = ["read", graph.uri, "-e", text, "--format", format_, "--engine", "spark"]

    done = CliRunner().invoke(omnigraph, given)

    assert done.stdout.count("\n") == 1
    assert "p" in done.stdout


@pytest.mark.parametrize(
    ("field", "items"),
    [
        ("age", list(range(22, 8_192 + 22))),
        ("height", [number / 4 for number in range(600)]),
        ("wealth", [2**53 + 1, *(float(number) for number in range(600)), 2**64 - 1]),
        ("slug", [f"p{number:02}" for number in range(20, 820)]),
    ],
    ids=["whole", "floats", "mixed", "text"],
)
def test_a_long_list_is_asked_of_spark_as_of_the_engine(
    graph: Graph, field: str, items: list[object]
) -> None:
    text = (
        f"query q() {{ match {{ $p: Person  $p.{field} in {json.dumps(items)} }} return {{ $p }} }}"
    )
    spark, inline = (graph.at(engine=each).query(text).table for each in ("spark", "inline"))
    assert spark.equals(inline)


@pytest.mark.parametrize(
    "condition",
    [
        f"$p.age + 1 in {list(range(22, 622))}",
        f"$p.age + 1 in {[number + 0.0 for number in range(22, 322)]}",
        'lower($p.slug) in ["p21", "it\'s", "back\\\\slash", "`tick`"]',
        " or ".join(f"$p.age = {number}" for number in range(22, 422)),
        " ".join(f"$p.age != {number}" for number in range(22, 122)),
    ],
    ids=["computed", "computed floats", "computed text", "or", "and"],
)
def test_many_values_are_compared_with_what_is_computed(graph: Graph, condition: str) -> None:
    text = f"query q() {{ match {{ $p: Person  {condition} }} return {{ $p }} }}"
    spark, inline = (graph.at(engine=each).query(text).table for each in ("spark", "inline"))
    assert spark.equals(inline)
    assert len(inline)


@pytest.mark.parametrize(
    ("address", "more", "told"),
    [
        ("g", ["--explain"], "--engine spark is for rows"),
        ("http://127.0.0.1:1", [], "a server runs queries itself"),
    ],
)
def test_where_spark_cannot_run_it_is_refused(address: str, more: list[str], told: str) -> None:
    given = ["read", address, "-e", "query q() {}", "--engine", "spark", *more]

    done = CliRunner().invoke(omnigraph, given)

    assert done.exit_code == 2
    assert told in done.stderr


THINGS = 560
MAKE = """
from omnigraph.api.graph import init

graph = init(os.environ["GRAPH"], "node Thing {{ slug: String @key }}", durable=False)
line = '{{"type": "Thing", "data": {{"slug": "%s"}}}}\\n'
graph.load("".join(line % (f"{{n:05}}" + "x" * 395) for n in range({things})), engine="inline")
view = graph.at(engine="spark")
"""
LARGE = """
import resource
conf = {
    "spark.driver.memory": "256m",
    "spark.testing.memory": str(256 << 20),  # else Spark insists on more
    "spark.testing.reservedMemory": str(100 << 20),
}
spark = session(SparkSettings("local[2]", conf=conf))
pairs = "match { $a: Thing  $b: Thing } return distinct { $a.slug as a, $b.slug as b }"
before, rows_read, size, last, ordered = None, 0, 0, ("", ""), True
for batch in view.stream("query q() { %s }" % pairs):
    read = list(zip(batch["a"].to_pylist(), batch["b"].to_pylist()))
    ordered = ordered and last < read[0] and read == sorted(read)
    before = before or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows_read, size, last = rows_read + len(read), size + batch.nbytes, read[-1]
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
say(rows=rows_read, size=size >> 20, ordered=ordered, grown=grown >> 10)

text = "query q() { match { $a: Thing  $b: Thing  $c: Thing } return { $a, $b, $c } }"
threading.Timer(3.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    view.query(text)
except KeyboardInterrupt:
    say(interrupted=True)
ends = time.monotonic() + 60
while spark.sparkContext.statusTracker().getActiveJobsIds() and time.monotonic() < ends:
    time.sleep(0.1)
say(rows=rows(spark))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What a process says that reads more than it has memory for, and is then interrupted."""
    return _told(MAKE.format(things=THINGS) + LARGE, tmp_path_factory.mktemp("large"), 3)


def test_a_workload_larger_than_the_memory_comes_in_order(told: list[dict[str, Any]]) -> None:
    assert (told[0]["rows"], told[0]["ordered"]) == (THINGS**2, True)
    assert told[0]["size"] > 230  # MiB; of the 256 of the JVM, 94 are for rows
    assert told[0]["grown"] < 100


def test_ctrl_c_ends_a_query_and_its_jobs(told: list[dict[str, Any]]) -> None:
    assert told[1:] == [{"interrupted": True}, {"rows": [0, 1, 2, 3]}]


def test_queries_run_through_spark_connect(connect_server: str, tmp_path: Path) -> None:
    script = f"""
session(SparkSettings(remote={connect_server!r}))
text = "query q() {{ match {{ $a: Thing  $b: Thing }} return {{ $a.slug as a, count($b) as n }} }}"
tables = [graph.at(engine=each).query(text).table for each in ("spark", "inline")]
say(rows=len(tables[0]), same=tables[0].equals(tables[1]))
"""
    told = _told(MAKE.format(things=30) + script, tmp_path, 1)
    assert told == [{"rows": 30, "same": True}]


def _told(script: str, folder: Path, lines: int) -> list[dict[str, Any]]:
    driver = Driver(script, folder, {**os.environ, "GRAPH": str(folder / "g")})
    try:
        return [driver.heard() for _ in range(lines)]
    finally:
        driver.close()
