"""A new property of any type is null, or its default, in the rows there are."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.errors import ViolationsError
from tests.evolution.town import PEOPLE, edited, files, rows

SCORE = "score: F64?"
# Each type with a default as it is written, as queries give it, and another value.
DEFAULTS = [
    ("String", '"x \\" é"', 'x " é', '"y"', "y"),
    ("enum(red, blue)", '"red"', "red", '"blue"', "blue"),
    ("Bool", "true", True, "false", False),
    ("I32", "-2147483648", -(2**31), "7", 7),
    ("I64", "9007199254740993", 2**53 + 1, "7", 7),
    ("U32", "4294967295", 2**32 - 1, "7", 7),
    ("U64", "18446744073709551615", 2**64 - 1, "7", 7),
    ("F32", "0.5", 0.5, "1.5", 1.5),
    ("F64", "0.1", 0.1, "1.5", 1.5),
    ("Date", '"2024-02-29"', date(2024, 2, 29), 'date("2000-01-01")', date(2000, 1, 1)),
    (
        "DateTime",
        '"2024-01-02T03:04:05.678Z"',
        datetime(2024, 1, 2, 3, 4, 5, 678_000, UTC),
        'datetime("2000-01-01T00:00:00Z")',
        datetime(2000, 1, 1, tzinfo=UTC),
    ),
]
NULLABLE = [
    *(kind for kind, *_ in DEFAULTS),
    *(f"[{kind}]" for kind, *_ in DEFAULTS if not kind.startswith("enum")),
    "Vector(4)",
    "Blob",
]
VALUES = "query q() { match { $p: Person } return { $p.name as name, $p.extra as extra } }"


def values(graph: Graph) -> dict[str, object]:
    return {str(row["name"]): row["extra"] for row in graph.query(VALUES)}


@pytest.mark.parametrize(("kind", "written", "default", "other", "value"), DEFAULTS)
def test_a_required_property_has_its_default_in_the_rows_there_are_and_in_new_ones(
    graph: Graph, kind: str, written: str, default: object, other: str, value: object
) -> None:
    graph.query(VALUES.replace("$p.extra", "$p.age"))

    done = graph.apply_schema(edited((SCORE, f"{SCORE}\n  extra: {kind} @default({written})")))

    assert [step.rows_written for step in done.plan.steps] == [PEOPLE]
    assert values(graph) == {f"p{number:02}": default for number in range(PEOPLE)}
    graph.mutate(f"""query q() {{
      insert Person {{ name: "new" }}
      insert Person {{ name: "x", extra: {other} }}
      update Person set {{ extra: {other} }} where name = "p03"
    }}""")
    found = values(graph)
    assert (found["new"], found["x"], found["p03"], found["p04"]) == (
        default,
        value,
        value,
        default,
    )


@pytest.mark.parametrize("kind", NULLABLE)
def test_a_nullable_property_of_any_type_is_null_and_writes_no_row(graph: Graph, kind: str) -> None:
    before = files(graph)

    graph.apply_schema(edited((SCORE, f"{SCORE}\n  extra: {kind}?")))

    assert files(graph) == before
    assert {row["extra"] for row in rows(graph, "node:Person")} == {None}
    graph.mutate('query q() { insert Person { name: "new" } }')
    assert len(rows(graph, "node:Person")) == PEOPLE + 1


def test_a_default_of_a_nullable_property_is_not_for_the_rows_there_are(graph: Graph) -> None:
    before = files(graph)

    graph.apply_schema(edited((SCORE, f"{SCORE}\n  extra: I32? @default(5)")))

    assert (set(values(graph).values()), files(graph)) == ({None}, before)


def test_edges_get_properties_too(graph: Graph) -> None:
    graph.query("query q() { match { $p: Person $p $l:lives $c } return { $l.since } }")

    graph.apply_schema(
        edited(("{ since: I32? }", '{ since: I32?  note: String @default("old")  until: Date? }'))
    )
    graph.mutate(
        'query q() { insert City { name: "jena" } '
        'insert Lives { from: "p11", to: "jena", note: "fresh", until: date("2030-01-01") } }'
    )

    found = graph.query("""query q() {
      match { $p: Person $p $l:lives $c }
      return { $p.name as p, $l.since as since, $l.note as note, $l.until as until }
    }""")
    by_name = {row["p"]: (row["since"], row["note"], row["until"]) for row in found}
    assert by_name["p11"] == (None, "fresh", date(2030, 1, 1))
    assert by_name["p03"] == (3, "old", None)
    assert len(by_name) == PEOPLE


def test_a_property_of_an_interface_reaches_every_node_that_implements_it(graph: Graph) -> None:
    with_city = edited(("node City {", "node City implements Named {"))
    graph.apply_schema(with_city)

    graph.apply_schema(
        with_city.replace("title: String?", "title: String?  level: I32 @default(3)")
    )

    assert {row["level"] for key in ("node:Person", "node:City") for row in rows(graph, key)} == {3}
    assert {row["title"] for row in rows(graph, "node:City")} == {None}


def test_columns_of_every_kind_keep_their_values_while_others_are_added(
    tmp_path: Path,
) -> None:
    """Lance numbers the items of lists too, so what comes behind them could be mixed."""
    columns = "tags: [String]?  vec: Vector(2)?  pic: Blob?  days: [Date]?"
    schema = f"node T {{ name: String @key  {columns}  last: I32? }}\n"
    graph = init(tmp_path / "g", schema, durable=False)
    graph.load(
        '{"type": "T", "data": {"name": "a", "tags": ["x", "y"], "vec": [0.6, 0.8], '
        '"pic": "base64:AAAA", "days": ["2024-01-01"], "last": 9}}',
        engine="inline",
    )
    (before,) = rows(graph, "node:T")
    more = "more: [I32]?  next: Vector(3)?"
    wider = schema.replace("last: I32?", f"last: I32?  {more}")
    renamed = wider.replace("tags: [String]?", 'marks: [String]? @rename_from("tags")')

    graph.apply_schema(wider)
    graph.mutate('query q() { insert T { name: "b", more: [1, 2], last: 1 } }')
    graph.apply_schema(renamed.replace("last: I32?", "last: I32?  end: U64 @default(4)"))

    first, second = rows(graph, "node:T")
    tags = before.pop("tags")
    assert first == {**before, "marks": tags, "more": None, "next": None, "end": 4}
    assert (second["more"], second["last"], second["marks"], second["end"]) == ([1, 2], 1, None, 4)


def test_a_table_of_many_fragments_and_deleted_rows_gets_a_column(graph: Graph) -> None:
    for number in range(20, 32):
        graph.mutate(f'query q() {{ insert Person {{ name: "p{number}", age: {number} }} }}')
    graph.mutate("query q() { delete Person where age < 3 }")
    graph.mutate("query q() { update Person set { age: 99 } where age > 28 }")
    before = {str(row["id"]): row["age"] for row in rows(graph, "node:Person")}

    graph.apply_schema(edited((SCORE, f"{SCORE}\n  extra: I32 @default(5)\n  nick: String?")))

    after = rows(graph, "node:Person")
    assert {str(row["id"]): row["age"] for row in after} == before
    assert {row["extra"] for row in after} == {5}
    graph.mutate("query q() { update Person set { extra: 6 } where age = 99 }")
    assert sum(row["extra"] == 6 for row in rows(graph, "node:Person")) == 3


def test_required_properties_of_an_empty_table_are_added(tmp_path: Path) -> None:
    schema = "node T { name: String @key }\n"
    graph = init(tmp_path / "g", schema, durable=False)

    graph.apply_schema(schema.replace("}", " a: I32 @default(1)  b: String?  @unique(a) }"))
    graph.mutate('query q() { insert T { name: "x" } }')

    assert rows(graph, "node:T") == [{"id": "x", "name": "x", "a": 1, "b": None}]
    with pytest.raises(ViolationsError):
        graph.mutate('query q() { insert T { name: "y" } }')


def test_properties_added_one_after_the_other_stay_apart(graph: Graph) -> None:
    schema = SCORE
    for number in range(6):
        kind = f"I32 @default({number})" if number % 2 else "I32?"
        schema += f"\n  extra{number}: {kind}"
        graph.apply_schema(edited((SCORE, schema)))
        setting = f'set {{ extra{number}: 70{number} }} where name = "p0{number}"'
        graph.mutate(f"query q() {{ update Person {setting} }}")

    by_name = {row["id"]: row for row in rows(graph, "node:Person")}
    for number in range(6):
        usual = number if number % 2 else None
        held = {name: row[f"extra{number}"] for name, row in by_name.items()}
        assert held == dict.fromkeys(held, usual) | {f"p0{number}": 700 + number}


def test_what_two_branches_add_under_one_number_is_not_mixed(graph: Graph) -> None:
    """Both columns have the same number and type in the files of one table."""
    graph.create_branch("draft")
    graph.apply_schema(edited((SCORE, f"{SCORE}\n  extra: I32 @default(1)")))
    graph.apply_schema(edited((SCORE, f"{SCORE}\n  extra: I32 @default(2)")), "draft")
    graph.create_branch("third", graph.snapshot().commit.parent or "")
    graph.apply_schema(edited((SCORE, f"{SCORE}\n  extra: I32?")), "third")

    for _ in range(2):
        for branch, expected in (("main", 1), ("draft", 2), ("third", None)):
            found = {row["extra"] for row in graph.at(branch).query(VALUES)}
            assert found == {expected}
    graph.branch("third").mutate('query q() { update Person set { extra: 8 } where name = "p01" }')
    graph.branch("main").mutate('query q() { update Person set { extra: 9 } where name = "p02" }')
    for branch, held in (("main", {1, 9}), ("draft", {2}), ("third", {None, 8})):
        assert {row["extra"] for row in graph.at(branch).query(VALUES)} == held
