"""A query takes the cheaper road: rows looked up by index, or whole tables numbered in memory."""

from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.data.derived import topology
from omnigraph.errors import StorageError
from omnigraph.read import answer, dense_reader, road, sparse_reader
from omnigraph.read.planner import planner
from omnigraph.read.road import Road
from omnigraph.storage.table import Table
from omnigraph.versioning.writes import Overwrite
from tests.engine.asking import made
from tests.pipeline.loads import edge, node, text
from tests.sample import access_of, write

SCHEMA = """
node Person { slug: String @key  name: String  age: I32? @index  bio: String? @index }
node Paper { slug: String @key  vector: Vector(64) }
edge Knows: Person -> Person { since: I32? }
"""
COUNT = 300
POINT = "query q($s: String) { match { $p: Person { slug: $s } } return { $p.name as name } }"
FRIENDS = """query q($s: String) {
  match { $p: Person { slug: $s }  $p knows $f } return { $f.slug as f }
}"""
NAMED = """query q($s: String) {
  match { $p: Person { slug: $s }  $p $k:knows $f } return { $f.slug as f, $k.since as since }
}"""
AGED = "query q($a: I32) { match { $p: Person  $p.age = $a } return { $p.slug as p } }"
ALL = "query q() { match { $p: Person } return { $p.slug as p } }"


def people(first: int, count: int) -> list[str]:
    """Return lines of persons in a ring, each of whom knows the next."""
    numbers = range(first, first + count)
    lines = [node("Person", slug=f"p{n}", name=f"N{n}", age=n % 50, bio="tea") for n in numbers]
    return lines + [edge("Knows", f"p{n}", f"p{n - 1}", since=n) for n in numbers if n]


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """A graph that is large compared with what a look-up is taken to cost."""
    cheap(monkeypatch, 1)
    papers = [node("Paper", slug=f"q{n}", vector=[float(n)] * 64) for n in range(20)]
    return made(tmp_path, SCHEMA, *people(0, COUNT), *papers)


def cheap(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Let a look-up cost as much as numbering so many rows."""
    monkeypatch.setattr(road, "LOOKUP_ROWS", rows)
    monkeypatch.setattr(answer, "LOOKUP_ROWS", rows)


def table(graph: Graph, key: str) -> Table:
    return graph.snapshot().table(key)


def numbered(graph: Graph, key: str = "node:Person") -> bool:
    """Tell whether the rows of a type were numbered."""
    return access_of(graph).topology.has_numbering(table(graph, key))


def unexpected(*_: object, **__: object) -> None:
    """Fail, because this should not be called."""
    pytest.fail("a whole table was read")


def nothing_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_sort_rows", "_read_whole_column", "_read_ends", "build_adjacency"):
        monkeypatch.setattr(topology, name, unexpected)


def test_a_point_read_of_a_large_graph_goes_by_index(graph: Graph) -> None:
    profile = graph.profile(POINT, s="p7")

    assert profile.result.to_dicts() == [{"name": "N7"}]
    assert profile.road is Road.INDEX
    assert not numbered(graph)


def test_a_point_read_of_a_small_graph_numbers_it(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap(monkeypatch, 1_500)

    profile = graph.profile(POINT, s="p7")

    assert profile.result.to_dicts() == [{"name": "N7"}]
    assert profile.road is Road.ADJACENCY
    assert numbered(graph)


def test_rows_of_an_indexed_value_are_looked_up(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(road, "_NARROWED_ROWS", 10)

    profile = graph.profile(AGED, a=49)

    assert profile.road is Road.INDEX
    assert {row["p"] for row in profile.result} == {f"p{n}" for n in range(49, COUNT, 50)}


def test_explain_names_the_road_and_runs_nothing(graph: Graph) -> None:
    by_index, whole = graph.explain(FRIENDS), graph.explain(ALL)

    assert (by_index.choice.road, whole.choice.road) == (Road.INDEX, Road.ADJACENCY)
    assert str(by_index).splitlines()[-1] == (
        "  Road        index: about 2 look-ups, not 599 rows to read"
    )
    assert str(whole).splitlines()[-1] == "  Road        adjacency: 300 rows to read first"
    assert not numbered(graph)


def test_what_is_in_memory_is_not_to_be_read_first(graph: Graph) -> None:
    graph.query(ALL)

    assert str(graph.explain(ALL)).splitlines()[-1] == "  Road        adjacency"
    assert graph.explain(POINT).choice.road is Road.ADJACENCY
    assert graph.profile(POINT, s="p3").road is Road.ADJACENCY


def test_what_was_decided_for_a_query_holds_after_a_small_commit(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap(monkeypatch, 1_500)
    graph.query(FRIENDS, s="p5")
    graph.query(FRIENDS, s="p5")
    graph.load(text(edge("Knows", "p5", "p9")))

    monkeypatch.setattr(road, "compare_roads", unexpected)
    monkeypatch.setattr(planner, "_find_alike", unexpected)

    assert {row["f"] for row in graph.query(FRIENDS, s="p5")} == {"p4", "p9"}


def test_what_was_decided_is_decided_anew_when_memory_was_freed(graph: Graph) -> None:
    graph.query(ALL)
    roads = [graph.profile(POINT, s="p3").road for _ in range(2)]
    access_of(graph).topology.cache.clear()

    assert roads == [Road.ADJACENCY] * 2
    assert graph.profile(POINT, s="p3").road is Road.INDEX


def test_repeated_look_ups_along_edges_become_adjacency_before_they_cost_twice_as_much(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap(monkeypatch, 20)
    roads, expected = [], [{"f": "p4"}]
    for _ in range(30):
        profile = graph.profile(FRIENDS, s="p5")
        roads.append(profile.road)
        assert profile.result.to_dicts() == expected

    looked_up = roads.count(Road.INDEX)
    assert roads == [Road.INDEX] * looked_up + [Road.ADJACENCY] * (30 - looked_up)
    # Each costs 2 look-ups of 20 rows, and 599 rows would have been numbered at once.
    assert looked_up == 599 // 40


def test_look_ups_on_one_view_count_for_all(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch, 250)
    first = graph.profile(FRIENDS, s="p5").road
    graph.create_branch("draft")

    assert (first, graph.at("draft").profile(NAMED, s="p5").road) == (Road.INDEX, Road.INDEX)
    assert graph.profile(FRIENDS, s="p5").road is Road.ADJACENCY


def test_a_point_read_does_not_read_the_stored_numbers_of_all_rows(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topology, "_LEAST_STORED", 0)
    graph.query(ALL)
    later = open_graph(graph.uri)
    monkeypatch.setattr(topology, "_sort_rows", unexpected)

    roads = [later.profile(POINT, s=f"p{n}").road for n in range(6)]

    assert numbered(later), "in a file"
    assert (roads[0], roads[-1]) == (Road.INDEX, Road.ADJACENCY)


def test_point_reads_number_a_graph_once_they_have_cost_as_much(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap(monkeypatch, 20)

    roads = [graph.profile(POINT, s=f"p{n}").road for n in range(40)]

    assert roads.index(Road.ADJACENCY) == COUNT // 20 - 1
    assert set(roads[COUNT // 20 :]) == {Road.ADJACENCY}
    assert numbered(graph)


def test_point_reads_alone_never_number_what_takes_much_memory(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap(monkeypatch, 20)
    monkeypatch.setattr(access_of(graph).topology.cache, "most_bytes", 256 * COUNT - 1)

    roads = {graph.profile(POINT, s=f"p{n}").road for n in range(40)}

    assert roads == {Road.INDEX}
    assert not numbered(graph)


def test_a_query_that_needs_more_rows_than_expected_falls_back(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse_reader, "MOST_ROWS", 6)
    monkeypatch.setattr(road, "_NARROWED_ROWS", 1)

    profile = graph.profile(AGED, a=7)

    assert graph.explain(AGED).choice.road is Road.ADJACENCY, "it is numbered now"
    assert profile.road is Road.ADJACENCY
    assert len(profile.result) == 6


def test_a_null_where_an_index_was_expected_falls_back(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(road, "_NARROWED_ROWS", 1)
    query = AGED.replace("I32", "I32?")

    assert graph.explain(query).choice.road is Road.INDEX
    profile = graph.profile(query, a=None)

    assert (profile.road, len(profile.result)) == (Road.ADJACENCY, 0)


def test_texts_are_searched_in_whole_tables(graph: Graph) -> None:
    found = '$p: Person { slug: "p1" }  search($p.bio, "tea")'

    choice = graph.explain(f"query q() {{ match {{ {found} }} return {{ $p.slug }} }}").choice

    assert (choice.road, choice.lookups) == (Road.ADJACENCY, None)


def test_a_table_that_takes_no_conditions_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap(monkeypatch, 1)
    lines = [node("P", slug=f"p{n}", days=["2024-01-31"], nums=[n]) for n in range(50)]
    graph = made(tmp_path, "node P { slug: String @key  days: [Date]  nums: [U32] }", *lines)
    query = 'query q() { match { $p: P { slug: "p7" } } return { $p.nums as nums } }'

    profile = graph.profile(query)

    assert (profile.road, profile.result.to_dicts()) == (Road.ADJACENCY, [{"nums": [7]}])


def test_after_a_small_load_the_next_read_makes_nothing_anew(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for query in (FRIENDS, NAMED):
        for _ in range(2):
            cheap(monkeypatch, 10_000)
            graph.query(query, s="p5")
    graph.query(POINT, s="p5")
    nothing_is_made_anew(monkeypatch)

    graph.load(text(*people(COUNT, 3)), engine="inline")

    assert graph.query(FRIENDS, s=f"p{COUNT}").to_dicts() == [{"f": f"p{COUNT - 1}"}]
    assert graph.query(NAMED, s=f"p{COUNT}").to_dicts() == [{"f": f"p{COUNT - 1}", "since": COUNT}]
    assert graph.query(POINT, s=f"p{COUNT + 1}").to_dicts() == [{"name": f"N{COUNT + 1}"}]
    assert len(graph.query(ALL)) == COUNT + 3


def test_after_a_small_load_the_next_read_reads_nothing(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap(monkeypatch, 10_000)
    graph.query(FRIENDS, s="p5")

    graph.load(text(*people(COUNT, 3)), engine="inline")

    profile = graph.profile(FRIENDS, s=f"p{COUNT}")
    assert (profile.road, sum(cost.bytes_read for cost in profile.costs)) == (Road.ADJACENCY, 0)


def test_what_another_process_wrote_is_read_and_no_more(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap(monkeypatch, 10_000)
    graph.query(FRIENDS, s="p5")
    whole = graph.profile(ALL)
    open_graph(graph.uri).load(text(*people(COUNT, 3)), engine="inline")
    nothing_is_made_anew(monkeypatch)

    profile = graph.profile(FRIENDS, s=f"p{COUNT}")

    assert profile.result.to_dicts() == [{"f": f"p{COUNT - 1}"}]
    assert 0 < sum(cost.bytes_read for cost in profile.costs) < 1_000
    assert len(whole.result) == COUNT


def test_a_load_that_was_committed_is_no_error_when_memory_cannot_be_brought_up_to_date(
    graph: Graph,
) -> None:
    def fail(*_: object) -> None:
        raise StorageError("the disk failed")

    graph.query(ALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topology, "rows_at", fail)
        loaded = graph.load(text(*people(COUNT, 3)), engine="inline")

    assert loaded.nodes == {"Person": 3}
    assert len(graph.query(ALL)) == COUNT + 3


def test_edges_are_read_anew_when_those_of_the_version_in_memory_are_there_no_more(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap(monkeypatch, 10_000)
    graph.query(FRIENDS, s="p5")
    before = table(graph, "edge:Knows")
    rest = before.scan().slice(0, COUNT - 10)
    write(graph, {"edge:Knows": (Overwrite(rest),)})

    for file in before.files() - table(graph, "edge:Knows").files():
        if "/data/" in file:
            Path(graph.uri, file).unlink()

    assert graph.query(FRIENDS, s="p5").to_dicts() == [{"f": "p4"}]
    assert graph.query(FRIENDS, s=f"p{COUNT - 1}").to_dicts() == []


def test_a_count_of_a_type_with_vectors_reads_nothing(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing_is_made_anew(monkeypatch)

    profile = graph.profile("query q() { match { $p: Paper } return { count($p) as n } }")

    assert profile.result.to_dicts() == [{"n": 20}]
    assert [cost.bytes_read for cost in profile.costs] == [0] * len(profile.costs)
    assert not numbered(graph, "node:Paper")


def test_a_vector_is_not_read_when_nothing_asks_for_it(graph: Graph) -> None:
    profile = graph.profile("query q() { match { $p: Paper } return { $p.slug as s } limit 3 }")

    assert len(profile.result) == 3
    assert sum(cost.bytes_read for cost in profile.costs) < 20 * 64 * 4


def test_few_rows_of_a_column_are_read_alone(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_reader, "_LEAST_WHOLE", 10)
    monkeypatch.setattr(dense_reader, "_READ_ROWS", 40)
    query = "query q() { match { $p: Person } return { $p.name as n } order { $p.slug } limit 2 }"

    def reads() -> int:
        return sum(cost.bytes_read for cost in graph.profile(query).costs)

    graph.query(ALL)
    graph.query("query q() { match { $p: Person } return { $p.slug as s } order { $p.slug } }")
    singly = reads()
    later = [reads() for _ in range(12)]

    assert graph.query(query).to_dicts() == [{"n": "N0"}, {"n": "N1"}]
    assert 0 < singly < 100, "two names were read"
    assert later[-1] == 0, "asked for often, the column is in memory"
