"""What a schema drops is hidden, not lost: it can be restored until a cleanup removes it."""

from threading import Event

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    CancelledError,
    DataLossError,
    QueryError,
    SchemaError,
    ViolationsError,
)
from omnigraph.storage.indexes import IndexKind, IndexSpec, covered_fragments
from tests.evolution.town import PEOPLE, SCHEMA, edited, files, rows

PERSON = "node:Person"
NO_AGE = edited(("  age: I32? @index\n", ""))
NO_CITY = edited(
    ("node City { name: String @key }\n", ""),
    ("edge Lives: Person -> City @card(0..1) { since: I32? }\n", ""),
)
NO_RULES = edited(
    ("age: I32? @index", "age: I32?"),
    ("mail: String? @unique", "mail: String?"),
    ("  @range(score, 0.0..9.0)\n", ""),
    ('  @check(mail, ".+@.+")\n', ""),
)


def dropped(graph: Graph, schema: str, branch: str = "main") -> None:
    assert graph.apply_schema(schema, branch, allow_data_loss=True).applied


def change(graph: Graph, text: str, branch: str = "main") -> None:
    graph.branch(branch).mutate(f"query q() {{ {text} }}")


def effects(graph: Graph, schema: str) -> list[tuple[str, str]]:
    return [(str(each.step), each.effect) for each in graph.plan_schema(schema).steps]


@pytest.mark.parametrize("schema", [NO_AGE, NO_CITY, NO_RULES])
def test_a_drop_is_refused_unless_it_is_allowed(graph: Graph, schema: str) -> None:
    before = graph.snapshot().commit
    plan = graph.plan_schema(schema)

    with pytest.raises(DataLossError, match="--allow-data-loss") as refused:
        graph.apply_schema(schema)

    assert refused.value.drops == plan.drops
    assert plan.supported
    assert plan.to_json()["drops_data"] is True
    assert graph.snapshot().commit == before


def test_a_cancelled_plan_does_not_count_the_values_that_go_or_come_back(graph: Graph) -> None:
    cancelled = Event()
    cancelled.set()

    with pytest.raises(CancelledError):
        graph.plan_schema(NO_AGE, cancelled=cancelled)
    dropped(graph, NO_AGE)
    with pytest.raises(CancelledError):
        graph.plan_schema(SCHEMA, cancelled=cancelled)


def test_dropped_rules_no_longer_hold_and_can_be_added_again(graph: Graph) -> None:
    before = files(graph)
    dropped(graph, NO_RULES)

    assert files(graph) == before
    spec = IndexSpec("age", IndexKind.BTREE)
    assert covered_fragments(graph.snapshot().table(PERSON).dataset, spec) is None
    change(graph, 'insert Person { name: "x", mail: "p01@x", score: 99.0 }')
    with pytest.raises(ViolationsError) as refused:
        graph.apply_schema(SCHEMA)
    assert {each.field for each in refused.value.violations} == {"mail", "score"}
    change(graph, 'delete Person where name = "x"')
    assert graph.apply_schema(SCHEMA).applied
    with pytest.raises(ViolationsError):
        change(graph, 'insert Person { name: "x", mail: "p01@x" }')


def test_a_changed_rule_is_dropped_and_added(graph: Graph) -> None:
    wider = edited(("0.0..9.0", "0.0..10.0"))

    assert [step for step, _ in effects(graph, wider)] == [
        "drop @range(score, 0.0..9.0) of Person",
        "add @range(score, 0.0..10.0) to Person",
    ]
    dropped(graph, wider)
    change(graph, 'insert Person { name: "x", score: 9.5 }')


def test_a_dropped_property_is_hidden_without_writing_a_row(graph: Graph) -> None:
    first, before = graph.snapshot().commit.id, files(graph)
    graph.create_tag("then", first)
    assert effects(graph, NO_AGE) == [
        ("drop property Person.age", f"hides {PEOPLE} values until a cleanup removes them"),
        ("drop @index(age) of Person", "no row is read or written"),
    ]

    dropped(graph, NO_AGE)

    assert files(graph) == before
    for reader in (graph, open_graph(graph.uri, read_only=True)):
        assert "age" not in rows(reader, PERSON)[0]
        with pytest.raises(QueryError, match="age"):
            reader.query("query q() { match { $p: Person } return { $p.age } }")
        for place in (first, "then"):
            assert [row["age"] for row in rows(reader, PERSON, place)] == list(range(PEOPLE))
    change(graph, 'insert Person { name: "x", mood: "glad" }')
    change(graph, 'update Person set { mood: "sad" } where name = "p01"')
    assert {row["mood"] for row in rows(graph, PERSON)} == {"glad", "sad"}


def test_a_dropped_property_comes_back_with_its_values(graph: Graph) -> None:
    dropped(graph, NO_AGE)
    change(graph, 'insert Person { name: "x" }')
    change(graph, 'update Person set { mood: "sad" } where name = "p01"')
    change(graph, 'delete Person where name = "p02"')
    assert effects(graph, SCHEMA)[0] == (
        "restore property Person.age: I32?",
        f"shows {PEOPLE - 1} values again and writes one column of {PEOPLE} rows",
    )

    assert graph.apply_schema(SCHEMA).applied

    found = {row["id"]: row["age"] for row in rows(graph, PERSON)}
    kept = {f"p{number:02}": number for number in range(PEOPLE) if number != 2}
    assert found == {**kept, "x": None}
    assert graph.plan_schema(SCHEMA).steps == ()
    asked = graph.query("query q() { match { $p: Person { age: 7 } } return { $p.name as n } }")
    assert asked.to_dicts() == [{"n": "p07"}]
    change(graph, 'insert Person { name: "y", age: 70 }')


def test_a_property_of_another_type_is_new_and_the_old_values_stay_hidden(graph: Graph) -> None:
    text = edited(("age: I32? @index", "age: String?"))
    dropped(graph, NO_AGE)

    graph.apply_schema(text)
    change(graph, 'update Person set { age: "old" } where name = "p01"')

    assert {row["age"] for row in rows(graph, PERSON)} == {None, "old"}
    dropped(graph, NO_AGE)
    graph.apply_schema(SCHEMA)
    assert [row["age"] for row in rows(graph, PERSON)] == list(range(PEOPLE))
    dropped(graph, NO_AGE)
    graph.apply_schema(text)
    assert {row["age"] for row in rows(graph, PERSON)} == {None, "old"}


def test_a_required_property_comes_back_only_where_every_row_has_a_value(graph: Graph) -> None:
    sized = edited(
        ("node City { name: String @key }", "node City { name: String @key  size: I32 }")
    )
    graph.apply_schema(sized.replace("size: I32 ", "size: I32 @default(3) "))
    dropped(graph, SCHEMA)
    dropped(graph, sized.replace("size: I32 ", "size: I32 @default(4) "))
    assert {row["size"] for row in rows(graph, "node:City")} == {3}
    dropped(graph, SCHEMA)
    change(graph, 'insert City { name: "jena" }')

    with pytest.raises(ViolationsError) as refused:
        graph.apply_schema(sized)
    assert [each.id for each in refused.value.violations] == ["jena"]
    change(graph, 'delete City where name = "jena"')
    graph.apply_schema(sized)
    assert {row["size"] for row in rows(graph, "node:City")} == {3}


def test_dropped_types_come_back_with_their_rows(graph: Graph) -> None:
    before = {key: rows(graph, key) for key in ("node:City", "edge:Lives")}
    first = graph.snapshot().commit.id
    assert effects(graph, NO_CITY) == [
        ("drop node City", "hides 2 rows until a cleanup removes them"),
        ("drop edge Lives", f"hides {PEOPLE - 1} rows until a cleanup removes them"),
    ]
    dropped(graph, NO_CITY)

    for reader in (graph, open_graph(graph.uri, read_only=True)):
        assert "City" not in reader.catalog.nodes
        assert {*reader.snapshot().commit.tables} == {PERSON, "edge:Knows"}
        assert rows(reader, "node:City", first) == before["node:City"]
    assert effects(graph, SCHEMA) == [
        ("restore node City", "shows 2 rows again"),
        ("restore edge Lives", f"shows {PEOPLE - 1} rows again"),
    ]
    assert graph.apply_schema(SCHEMA).applied
    assert {key: rows(graph, key) for key in before} == before
    change(graph, 'insert City { name: "jena" }')
    assert len(rows(graph, "node:City")) == 3


def test_edges_come_back_without_those_whose_nodes_are_gone(graph: Graph) -> None:
    no_edge = edited(("edge Lives: Person -> City @card(0..1) { since: I32? }\n", ""))
    dropped(graph, no_edge)
    change(graph, 'delete City where name = "ulm"')

    assert effects(graph, SCHEMA) == [("restore edge Lives", "shows 5 rows again")]
    graph.apply_schema(SCHEMA)

    assert {row["dst"] for row in rows(graph, "edge:Lives")} == {"bonn"}
    assert len(rows(graph, "edge:Lives")) == 5


def test_a_type_that_is_declared_otherwise_is_a_new_one(graph: Graph) -> None:
    dropped(graph, NO_CITY)
    other = NO_CITY + "node City { code: I32 @key }\n"

    graph.apply_schema(other)

    assert graph.catalog.nodes["City"].identity == "node:City#2"
    assert rows(graph, "node:City#2") == []
    dropped(graph, NO_CITY)
    graph.apply_schema(SCHEMA)
    assert len(rows(graph, "node:City")) == 2


def test_a_type_comes_back_with_other_properties(graph: Graph) -> None:
    dropped(graph, NO_CITY)
    lives = "edge Lives: Person -> City @card(0..1) { until: I32? }\n"
    changed = f"{NO_CITY}node City {{ name: String @key  size: I32? }}\n{lives}"

    assert effects(graph, changed) == [
        ("restore node City", "shows 2 rows again"),
        ("add property City.size: I32?", "no row is read or written"),
        ("restore edge Lives", f"shows {PEOPLE - 1} rows again"),
        ("drop property Lives.since", f"hides {PEOPLE - 1} values until a cleanup removes them"),
        ("add property Lives.until: I32?", "no row is read or written"),
    ]
    dropped(graph, changed)
    assert rows(graph, "edge:Lives")[0]["until"] is None
    assert {row["size"] for row in rows(graph, "node:City")} == {None}
    dropped(graph, SCHEMA)
    assert {row["since"] for row in rows(graph, "edge:Lives")} == {*range(PEOPLE - 1)}


def test_a_cleanup_takes_what_was_dropped(graph: Graph) -> None:
    dropped(graph, edited(("  age: I32? @index\n", ""), schema=NO_CITY))
    graph.cleanup(keep=1, grace="0s", confirm=True)

    assert effects(graph, SCHEMA)[:3] == [
        ("restore property Person.age: I32?", "shows 0 values again"),
        ("add @index(age) to Person", f"indexes {PEOPLE} rows"),
        ("restore node City", "shows 0 rows again"),
    ]
    graph.apply_schema(SCHEMA)
    assert {row["age"] for row in rows(graph, PERSON)} == {None}
    assert rows(graph, "node:City") == []
    assert graph.fsck().is_sound


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (edited(("node City { name: String @key }\n", "")), "unknown node type 'City'"),
        (edited(("mail: String? @unique", "")), "no property 'mail'"),
        (edited(("interface Named { title: String? }\n", "")), "unknown interface 'Named'"),
    ],
)
def test_what_others_still_name_cannot_be_dropped(graph: Graph, schema: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        graph.apply_schema(schema, allow_data_loss=True)


def test_an_interface_goes_with_the_properties_that_only_it_declares(graph: Graph) -> None:
    bare = edited(("interface Named { title: String? }\n", ""), (" implements Named", ""))
    change(graph, 'update Person set { title: "Dr" } where name = "p01"')

    assert [step for step, _ in effects(graph, bare)] == [
        "drop property Person.title",
        "drop interface Named of Person",
        "drop interface Named",
    ]
    dropped(graph, bare)
    assert "title" not in rows(graph, PERSON)[0]
    graph.apply_schema(SCHEMA)
    assert {row["title"] for row in rows(graph, PERSON)} == {None, "Dr"}


def test_a_name_is_free_once_it_is_dropped(graph: Graph) -> None:
    renamed = NO_AGE.replace("score: F64?", 'age: F64? @rename_from("score")')
    renamed = renamed.replace("@range(score", "@range(age")
    with pytest.raises(SchemaError, match="'age' already exists"):
        graph.apply_schema(renamed, allow_data_loss=True)
    dropped(graph, NO_AGE)

    graph.apply_schema(renamed)

    assert [row["age"] for row in rows(graph, PERSON)] == [each / 2 for each in range(PEOPLE)]
    bare = NO_AGE.replace("  score: F64?\n", "").replace("  @range(score, 0.0..9.0)\n", "")
    dropped(graph, bare)
    graph.apply_schema(bare.replace("bio:", "age: I32?\n  bio:"))
    assert [row["age"] for row in rows(graph, PERSON)] == list(range(PEOPLE))
