"""Rules between rows hold on the graph as a load would leave it, on every road to them."""

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import Code
from omnigraph.write.load import checks, keys, lookups
from tests.pipeline.loads import broken, edge, engine, node, refused, rows, text, written

__all__ = ["engine"]


COLLIDING = "colliding buckets"


@pytest.fixture(
    params=[
        "whole tables",
        "lookups by index",
        "many buckets",
        pytest.param(COLLIDING, marks=pytest.mark.long),
    ]
)
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Check rules between rows on each of the roads that a load can take to them."""
    monkeypatch.setattr(checks, "_FEW_VALUES", 0)
    if request.param == "lookups by index":
        monkeypatch.setattr(lookups, "_SCAN_SECONDS", 1.0)
    elif request.param != "whole tables":
        monkeypatch.setattr(checks, "_ROWS_PER_BUCKET", 1)
    if request.param == COLLIDING:
        monkeypatch.setattr(keys, "hash_rows", lambda batch: np.zeros(len(batch), np.uint64))
    return str(request.param)


RULES = """
node Person {
  slug: String @key
  email: String? @unique
  country: String?
  badge: I64?
  @unique(country, badge)
}
node City { name: String @key }
node Note { text: String }
edge Knows: Person -> Person { since: Date?  @key(src, dst) }
edge Lives: Person -> City @card(0..1)
edge Speaks: Person -> City @card(1..2)
edge Owns: Person -> City { @unique(dst) }
edge About: Note -> Person
"""


def some(slug: str, **more: object) -> list[str]:
    """Return the lines of a person with the edge that each needs."""
    return [node("Person", slug=slug, **more), edge("Speaks", slug, "oslo", id=f"{slug} speaks")]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a graph of people and cities once, to be copied."""
    made = init(tmp_path_factory.mktemp("template") / "towns", RULES, durable=False)
    cities = [node("City", name=name) for name in ("oslo", "rome", "bern")]
    people = [
        *some("ann", email="ann@x", country="no", badge=1),
        *some("bob", email=None, country="no", badge=None),
    ]
    others = [
        edge("Knows", "ann", "bob"),
        edge("Lives", "ann", "oslo"),
        edge("Owns", "ann", "oslo"),
        node("Note", id="n1", text="x"),
    ]
    made.load(text(*cities, *people, *others), engine="inline")
    return Path(made.uri)


@pytest.fixture
def towns(template: Path, tmp_path: Path, road: str) -> Graph:
    return copied(template, tmp_path)


def copied(template: Path, folder: Path) -> Graph:
    return open_graph(shutil.copytree(template, folder / "towns"), durable=False)


def test_a_key_twice_in_one_file_is_told_with_the_line_of_the_first(
    towns: Graph, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.jsonl", *some("eve"), "", node("Person", slug="eve"))

    assert broken(towns, path, engine="inline") == [
        "error[V11]: a.jsonl:4: Person.id: 'eve' is given already in a.jsonl:1"
    ]


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_key_twice_in_two_files_is_told_in_any_mode(
    towns: Graph, tmp_path: Path, mode: str
) -> None:
    first = written(tmp_path / "a.jsonl", node("City", name="oslo"), node("City", name="rome"))
    second = written(tmp_path / "b.jsonl", "", node("City", name="bern"), node("City", name="rome"))
    if mode == "append":
        towns = init(tmp_path / "empty", RULES, durable=False)

    assert broken(towns, [first, second], mode=mode, engine="inline") == [
        "error[V11]: b.jsonl:3: City.id: 'rome' is given already in a.jsonl:2"
    ]


def test_a_key_many_times_is_told_at_every_line_but_the_first(towns: Graph) -> None:
    lines = [node("City", name="lima")] * 4

    assert [each.line for each in refused(towns, text(*lines), engine="inline").violations] == [
        2,
        3,
        4,
    ]


def test_a_key_that_exists_and_stands_twice_is_told_as_both(towns: Graph) -> None:
    assert broken(towns, text(*[node("City", name="oslo")] * 2), engine="inline") == [
        "error[V12]: <text>:1: City.id: City 'oslo' exists already",
        "error[V11]: <text>:2: City.id: 'oslo' is given already in <text>:1",
    ]


def test_the_id_of_a_row_without_a_key_is_held_to_the_same(towns: Graph) -> None:
    notes = [node("Note", id=name, text="x") for name in ("n1", "n2", "n2")]

    assert broken(towns, text(*notes), engine="inline") == [
        "error[V12]: <text>:1: Note.id: Note 'n1' exists already",
        "error[V11]: <text>:3: Note.id: 'n2' is given already in <text>:2",
    ]


def test_an_edge_with_a_key_of_its_ends_is_one_edge(towns: Graph) -> None:
    lines = [edge("Knows", "ann", "bob"), *[edge("Knows", "bob", "ann")] * 2]

    assert broken(towns, text(*lines), engine="inline") == [
        """error[V12]: <text>:1: Knows.id: Knows '["ann","bob"]' exists already""",
        """error[V11]: <text>:3: Knows.id: '["bob","ann"]' is given already in <text>:2""",
    ]
    towns.load(edge("Knows", "ann", "bob", since="2024-01-31"), mode="merge", engine="inline")
    assert [str(row["since"]) for row in rows(towns, "edge:Knows")] == ["2024-01-31"]


def test_a_unique_value_twice_in_the_data_is_told_at_the_second(towns: Graph) -> None:
    lines = [*some("eve", email="e@x"), *some("fay", email="f@x"), *some("gil", email="e@x")]

    assert broken(towns, text(*lines), engine="inline") == [
        "error[V13]: <text>:5: Person.email: 'e@x' is given already in <text>:1"
    ]


def test_a_unique_value_that_the_graph_has_is_refused(towns: Graph) -> None:
    assert broken(towns, text(*some("eve", email="ann@x")), engine="inline") == [
        "error[V13]: <text>:1: Person.email: another Person has 'ann@x' already"
    ]


def test_a_unique_value_goes_with_the_row_that_is_replaced(towns: Graph) -> None:
    lines = [node("Person", slug="ann"), *some("eve", email="ann@x", country="no", badge=1)]

    towns.load(text(*lines), mode="replace", engine="inline")

    emails = {row["id"]: row["email"] for row in rows(towns, "node:Person")}
    assert emails == {"ann": None, "bob": None, "eve": "ann@x"}


def test_several_properties_are_unique_together(towns: Graph) -> None:
    lines = [
        *some("eve", country="no", badge=1),
        *some("fay", country="se", badge=1),
        *some("gil", country="se", badge=1),
        *some("hal", country="no", badge=2),
    ]

    assert broken(towns, text(*lines), engine="inline") == [
        "error[V13]: <text>:1: Person.country,badge: another Person has 'no, 1' already",
        "error[V13]: <text>:5: Person.country,badge: 'se, 1' is given already in <text>:3",
    ]


def test_null_is_never_a_second_of_the_same(towns: Graph) -> None:
    lines = [
        *some("eve", country="no"),
        *some("fay", country="no", badge=None),
        *some("gil", badge=1),
        *some("hal", email=None, badge=1),
    ]

    towns.load(text(*lines), engine="inline")

    assert len(rows(towns, "node:Person")) == 6


def test_an_end_of_an_edge_may_be_unique(towns: Graph) -> None:
    lines = [
        edge("Owns", "bob", "oslo"),
        edge("Owns", "bob", "rome"),
        edge("Owns", "ann", "rome"),
    ]

    assert broken(towns, text(*lines), engine="inline") == [
        "error[V13]: <text>:1: Owns.to: another Owns has 'oslo' already",
        "error[V13]: <text>:3: Owns.to: 'rome' is given already in <text>:2",
    ]


def test_both_ends_of_an_edge_must_be_there(towns: Graph) -> None:
    lines = [
        edge("Knows", "nobody", "ann"),
        edge("Knows", "ann", "nobody"),
        edge("Lives", "bob", "ann"),
        edge("About", "n2", "ann"),
        edge("About", "n1", "ann"),
    ]

    assert broken(towns, text(*lines), engine="inline") == [
        "error[V14]: <text>:1: Knows.from: there is no Person 'nobody'",
        "error[V14]: <text>:2: Knows.to: there is no Person 'nobody'",
        "error[V14]: <text>:3: Lives.to: there is no City 'ann'",
        "error[V14]: <text>:4: About.from: there is no Note 'n2'",
    ]


def test_every_line_that_needs_a_missing_node_is_told(towns: Graph, tmp_path: Path) -> None:
    first = written(tmp_path / "a.jsonl", *[edge("About", "n1", "eve")] * 2)
    second = written(tmp_path / "b.jsonl", edge("About", "n1", "ann"), edge("About", "n1", "eve"))

    found = refused(towns, [first, second], engine="inline").violations

    assert [(each.file, each.line) for each in found] == [
        (str(first), 1),
        (str(first), 2),
        (str(second), 2),
    ]


def test_an_overwrite_that_takes_nodes_from_edges_of_the_graph_is_refused(towns: Graph) -> None:
    found = broken(towns, text(node("City", name="rome")), mode="overwrite", engine="inline")

    assert sorted(found) == [
        f"error[V14]: {name}.to: there is no City 'oslo' any more, and edges of the graph need it"
        for name in ("Lives", "Owns", "Speaks")
    ]


def test_an_overwrite_with_the_nodes_that_edges_need_is_taken(towns: Graph) -> None:
    cities = [node("City", name=name) for name in ("oslo", "lima")]

    towns.load(text(*cities), mode="overwrite", engine="inline")

    assert [row["id"] for row in rows(towns, "node:City")] == ["lima", "oslo"]


def test_an_overwrite_of_edges_is_held_to_the_nodes_that_stay(towns: Graph) -> None:
    found = broken(towns, edge("Lives", "ann", "lima"), mode="overwrite", engine="inline")

    assert found == ["error[V14]: <text>:1: Lives.to: there is no City 'lima'"]


def test_too_many_edges_are_told_with_those_of_the_graph_and_without(towns: Graph) -> None:
    lines = [
        edge("Lives", "ann", "rome"),
        edge("Lives", "bob", "rome"),
        edge("Lives", "bob", "bern"),
        edge("Speaks", "bob", "rome"),
        edge("Speaks", "bob", "bern"),
        edge("Speaks", "ann", "bern"),
    ]

    assert broken(towns, text(*lines), engine="inline") == [
        "error[V15]: <text>:1: Lives of 'ann': 2 Lives leave the Person; there must be at most 1",
        "error[V15]: <text>:3: Lives of 'bob': 2 Lives leave the Person; there must be at most 1",
        "error[V15]: <text>:5: Speaks of 'bob': 3 Speaks leave the Person; there must be at most 2",
    ]


def test_nodes_without_any_of_the_edges_they_need_are_told(towns: Graph) -> None:
    lines = [node("Person", slug="eve"), *some("fay"), node("Person", slug="gil")]

    found = refused(towns, text(*lines), engine="inline").violations

    assert [(each.code, each.type, each.id, each.line) for each in found] == [
        (Code.CARDINALITY, "Speaks", "eve", 1),
        (Code.CARDINALITY, "Speaks", "gil", 4),
    ]
    assert {each.reason for each in found} == {
        "0 Speaks leave the Person; there must be at least 1"
    }


def test_an_overwrite_of_edges_that_leaves_a_node_too_few_is_refused(towns: Graph) -> None:
    found = broken(towns, edge("Speaks", "ann", "rome"), mode="overwrite", engine="inline")

    assert found == [
        "error[V15]: Speaks of 'bob': 0 Speaks leave the Person; there must be at least 1"
    ]


def test_an_edge_that_is_replaced_counts_once(towns: Graph) -> None:
    lines = [edge("Speaks", "ann", "rome", id="ann speaks"), edge("Speaks", "ann", "bern")]

    towns.load(text(*lines), mode="merge", engine="inline")

    spoken = {row["dst"] for row in rows(towns, "edge:Speaks") if row["src"] == "ann"}
    assert spoken == {"rome", "bern"}


def test_sound_rows_are_all_admitted(towns: Graph) -> None:
    people = [f"p{number}" for number in range(50)]
    lines = [line for n, slug in enumerate(people) for line in some(slug, email=f"{n}@x")]
    lines += [edge("Knows", one, other) for one in people[:10] for other in people]

    towns.load(text(*lines), engine="inline")

    assert len(rows(towns, "edge:Knows")) == 501


def test_spark_tells_the_same_of_rules_between_rows(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    towns = copied(template, tmp_path)
    monkeypatch.setattr(checks, "_FEW_VALUES", 0)
    monkeypatch.setattr(checks, "_ROWS_PER_BUCKET", 4)
    lines = [
        *some("eve", email="ann@x", country="no", badge=1),
        *some("eve"),
        node("Person", slug="fay"),
        edge("Knows", "ann", "bob"),
        edge("Knows", "ann", "nobody"),
        edge("Lives", "ann", "rome"),
        edge("Owns", "bob", "oslo"),
        node("City", name="oslo"),
    ]
    path = written(tmp_path / "lines.jsonl", *lines)
    report = tmp_path / "report.jsonl"

    error = refused(towns, path, engine=engine, shown=4, report=report)

    assert error.total == 10
    assert len(error.violations) == 4
    reported = [json.loads(line) for line in report.read_text().splitlines()]
    assert [each.to_json() for each in error.violations] == reported[:4]
    assert sorted((each["line"], each["code"], each["type"]) for each in reported) == [
        (1, "V13", "Person"),
        (1, "V13", "Person"),
        (3, "V11", "Person"),
        (4, "V11", "Speaks"),
        (5, "V15", "Speaks"),
        (6, "V12", "Knows"),
        (7, "V14", "Knows"),
        (8, "V15", "Lives"),
        (9, "V13", "Owns"),
        (10, "V12", "City"),
    ]


@pytest.mark.parametrize("rows_per_bucket", [1, 1_000_000])
@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("String", "é" * 200, "e" * 200),
        ("Bool", True, False),
        ("I32", -1, 1),
        ("U64", 2**64 - 1, 2**63),
        ("F32", 0.1, 0.2),
        ("F64", 1e300, -1e300),
        ("Date", "2024-01-31", "2024-02-01"),
        ("enum(a, b)", "a", "b"),
    ],
)
def test_unique_values_of_any_type_meet(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows_per_bucket: int,
    kind: str,
    one: object,
    other: object,
) -> None:
    monkeypatch.setattr(checks, "_ROWS_PER_BUCKET", rows_per_bucket)
    graph = init(
        tmp_path / "graph", f"node T {{ k: String @key  v: {kind} @unique }}", durable=False
    )
    graph.load(node("T", k="a", v=one), engine="inline")

    graph.load(node("T", k="b", v=other), engine="inline")
    twice = text(node("T", k="c", v=one), node("T", k="d", v=other))

    assert [
        (each.code, each.line) for each in refused(graph, twice, engine="inline").violations
    ] == [
        (Code.UNIQUE_VALUE, 1),
        (Code.UNIQUE_VALUE, 2),
    ]


@given(
    values=st.lists(st.tuples(st.text(max_size=6), st.none() | st.integers(-2, 2)), max_size=30),
    buckets=st.integers(1, 9),
    start=st.integers(0, 30),
)
def test_every_row_goes_to_one_bucket_and_equal_rows_to_the_same(
    values: list[tuple[str, int | None]], buckets: int, start: int
) -> None:
    columns = [
        pa.array([a for a, _ in values], pa.utf8()),
        pa.array([b for _, b in values], pa.int64()),
    ]
    batch = pa.record_batch(columns, names=["a", "b"]).slice(start).drop_null()

    parts = [(number, part.to_pylist()) for number, part in keys.split_into_buckets(batch, buckets)]

    assert all(0 <= number < buckets for number, _ in parts)
    spread = [(repr(row), number) for number, part in parts for row in part]
    assert Counter(row for row, _ in spread) == Counter(map(repr, batch.to_pylist()))
    assert len(dict(spread)) == len(set(spread))


def test_unique_times_of_one_day_are_told_apart(tmp_path: Path) -> None:
    schema = "node T { k: String @key  s: String  at: DateTime @unique  @unique(s, at) }"
    graph = init(tmp_path / "graph", schema, durable=False)
    hours = [10, 11, 10, 11, 12]
    lines = [
        node("T", k=str(number), s="s", at=f"2024-01-01T{hour}:00:00Z")
        for number, hour in enumerate(hours)
    ]

    found = refused(graph, text(*lines), engine="inline").violations

    assert [(each.line, each.field) for each in found] == [
        (3, "at"),
        (3, "s,at"),
        (4, "at"),
        (4, "s,at"),
    ]
    assert all("10:00" in each.reason for each in found[:2])
    assert all("11:00" in each.reason for each in found[2:])


def test_not_a_number_is_never_a_second_of_the_same(tmp_path: Path) -> None:
    graph = init(tmp_path / "graph", "node T { k: String @key  v: F64? @unique }", durable=False)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"k": ["a", "b"], "v": [float("nan")] * 2}), path)

    graph.load(path, type="T", engine="inline")

    assert [row["id"] for row in rows(graph, "node:T")] == ["a", "b"]
