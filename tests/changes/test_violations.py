"""What breaks a rule is told, all of it at once, and then nothing has changed."""

import json
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.errors import Code, OmniGraphError, ViolationsError
from tests.changes.town import (
    city,
    column,
    commits,
    content,
    do,
    link,
    person,
    refused,
    rows,
    violations,
)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            person("ada", age="151"),
            "error[V9]: Person.age of 'ada': 151 is outside 0..150",
        ),
        (
            'update Person set { age: -1 } where slug = "bob"',
            "error[V9]: Person.age of 'bob': -1 is outside 0..150",
        ),
        (
            person("dan", email='"dan"'),
            "error[V10]: Person.email of 'dan': 'dan' does not match @",
        ),
        (
            person("dan", email='"ada@x"'),
            "error[V13]: Person.email of 'dan': 'ada@x' is that of 'ada' already",
        ),
        (
            'update Person set { email: "ada@x" } where slug = "cy"',
            "error[V13]: Person.email of 'cy': 'ada@x' is that of 'ada' already",
        ),
        (
            link("Lives", "ada", "rom"),
            "error[V15]: Lives of 'ada': 2 Lives leave the Person; there must be at most 1",
        ),
    ],
)
def test_a_broken_rule_is_told_with_type_row_and_property(
    settled: Graph, statement: str, told: str
) -> None:
    before, version = content(settled), commits(settled)
    assert refused(settled, statement) == [told]
    assert (content(settled), commits(settled)) == (before, version)


@pytest.mark.parametrize(
    ("edge", "source", "target", "field", "reason"),
    [
        ("Knows", "nobody", "ada", "from", "there is no Person 'nobody'"),
        ("Knows", "ada", "nobody", "to", "there is no Person 'nobody'"),
        ("Lives", "ada", "ada", "to", "there is no City 'ada'"),
        ("Lives", "ulm", "ulm", "from", "there is no Person 'ulm'"),
        ("Knows", "", "ada", "from", "there is no Person ''"),
    ],
)
def test_an_edge_needs_both_its_ends_and_of_the_right_type(
    settled: Graph, edge: str, source: str, target: str, field: str, reason: str
) -> None:
    found = violations(settled, link(edge, source, target))
    told = [(each.code, each.type, each.field, each.reason) for each in found]
    assert (Code.MISSING_ENDPOINT, edge, field, reason) in told
    assert {each.code for each in found} <= {Code.MISSING_ENDPOINT, Code.CARDINALITY}


def test_everything_that_is_wrong_is_told_at_once(settled: Graph) -> None:
    before = content(settled)
    found = violations(
        settled,
        person("dan", age="200", email='"ada@x"'),
        person("eve", age="-1", email='"no at sign"'),
        link("Knows", "dan", "nobody"),
        link("Twinned", "rom", "rom"),
        'update Person set { email: "ada@x" } where slug = "bob"',
    )
    assert {(each.code, each.type, each.field) for each in found} == {
        (Code.VALUE_RANGE, "Person", "age"),
        (Code.VALUE_CHECK, "Person", "email"),
        (Code.UNIQUE_VALUE, "Person", "email"),
        (Code.MISSING_ENDPOINT, "Knows", "to"),
        (Code.UNIQUE_VALUE, "Twinned", "to"),
    }
    assert sorted(str(each.id) for each in found if each.type == "Person") == [
        "bob",
        "dan",
        "dan",
        "eve",
        "eve",
    ]
    assert len(found) == 7
    assert content(settled) == before


def test_the_list_of_what_is_wrong_is_bounded_and_its_count_is_whole(graph: Graph) -> None:
    with pytest.raises(ViolationsError) as caught:
        do(graph, *(person(f"p{number}", age="999") for number in range(150)))
    assert (len(caught.value.violations), caught.value.total) == (100, 150)
    assert commits(graph) == 0


def test_only_the_final_image_is_checked(graph: Graph) -> None:
    do(
        graph,
        person("ada", age="999"),
        link("Knows", "ada", "bob"),
        link("Lives", "ada", "ulm"),
        person("bob", email='"same@x"'),
        person("ada", age="99", email='"same@x"'),
        'update Person set { email: "other@x" } where slug = "bob"',
        city("ulm"),
    )
    assert column(graph, "Person", "age") == {"ada": 99, "bob": None}


def test_rows_loaded_and_rows_inserted_are_held_to_the_same_rules(settled: Graph) -> None:
    for data, statement in (
        ({"slug": "x", "name": "X", "age": 151}, person("x", age="151")),
        ({"slug": "x", "name": "X", "email": "no"}, person("x", email='"no"')),
        ({"slug": "x", "name": "X", "email": "ada@x"}, person("x", email='"ada@x"')),
    ):
        line = json.dumps({"type": "Person", "data": data})
        with pytest.raises(ViolationsError) as loading:
            settled.load(line, engine="inline")
        (loaded,), (changed,) = loading.value.violations, violations(settled, statement)
        assert (loaded.code, loaded.type, loaded.field) == (
            changed.code,
            changed.type,
            changed.field,
        )


# Unique


def test_two_unique_values_can_be_swapped_in_one_query(settled: Graph) -> None:
    do(settled, 'update Person set { email: "bob@x" } where slug = "bob"')
    do(
        settled,
        'update Person set { email: "bob@x" } where slug = "ada"',
        'update Person set { email: "ada@x" } where slug = "bob"',
    )
    assert column(settled, "Person", "email") == {"ada": "bob@x", "bob": "ada@x", "cy": None}


def test_a_unique_value_that_became_free_can_be_taken(settled: Graph) -> None:
    do(
        settled,
        person("dan", email='"ada@x"'),
        'update Person set { email: "new@x" } where slug = "ada"',
    )
    do(settled, 'delete Person where slug = "dan"')
    do(settled, person("eve", email='"ada@x"'))
    assert column(settled, "Person", "email")["eve"] == "ada@x"


def test_one_unique_value_for_many_rows_is_told_for_all_but_one(settled: Graph) -> None:
    found = refused(settled, 'update Person set { email: "all@x" } where slug != ""')
    assert len(found) == 2
    assert all("error[V13]: Person.email" in each for each in found)


def test_null_is_never_a_second_of_the_same(graph: Graph) -> None:
    do(graph, person("ada"), person("bob"))
    do(graph, person("cy"))
    assert column(graph, "Person", "email") == {"ada": None, "bob": None, "cy": None}


UNIQUE = {
    "String": ('"a"', '"A"'),
    "U64": ("18446744073709551615", "18446744073709551614"),
    "I64": ("9007199254740993", "9007199254740992"),
    "U32": ("4294967295", "0"),
    "F64": ("0.1", "0.30000000000000004"),
    "F32": ("0.1", "0.2"),
    "Date": ('date("2024-02-29")', 'date("2024-03-01")'),
    "DateTime": ('datetime("2024-01-01T10:00:00Z")', 'datetime("2024-01-01T10:00:00.001Z")'),
    "Bool": ("true", "false"),
    "enum(blue, red)": ('"red"', '"blue"'),
}


@pytest.mark.parametrize("kind", UNIQUE)
def test_values_of_every_comparable_type_are_unique_in_the_draft_and_beyond(
    tmp_path: Path, kind: str
) -> None:
    graph = init(tmp_path / "g", f"node T {{ k: String @key  v: {kind}? @unique }}", durable=False)
    one, other = UNIQUE[kind]

    def with_value(key: str, value: str) -> str:
        return f'insert T {{ k: "{key}", v: {value} }}'

    assert [each[:9] for each in refused(graph, with_value("a", one), with_value("b", one))] == [
        "error[V13"
    ]
    do(graph, with_value("a", one), with_value("b", other))
    found = violations(graph, with_value("c", one), with_value("d", other))
    assert [(each.code, each.id, each.field) for each in found] == [
        (Code.UNIQUE_VALUE, "c", "v"),
        (Code.UNIQUE_VALUE, "d", "v"),
    ]
    do(
        graph,
        f'update T set {{ v: {other} }} where k = "a"',
        f'update T set {{ v: {one} }} where k = "b"',
    )
    assert refused(graph, with_value("c", one)) != []


def test_both_zeros_are_the_same_value_and_not_a_number_is_none(tmp_path: Path) -> None:
    graph = init(tmp_path / "g", "node T { k: String @key  v: F64? @unique }", durable=False)
    text = "query it($k: String, $v: F64) { insert T { k: $k, v: $v } }"
    graph.mutate(text, k="a", v=0.0)
    with pytest.raises(ViolationsError, match=r"is that of 'a' already"):
        graph.mutate(text, k="b", v=-0.0)
    line = json.dumps({"type": "T", "data": {"k": "c", "v": -0.0}})
    with pytest.raises(ViolationsError):
        graph.load(line, engine="inline")


def test_several_properties_are_unique_together_and_a_null_exempts_them(tmp_path: Path) -> None:
    schema = "node T { k: String @key  a: String?  b: I32?  @unique(a, b) }"
    graph = init(tmp_path / "g", schema, durable=False)
    do(graph, 'insert T { k: "1", a: "x", b: 1 }', 'insert T { k: "2", a: "x", b: 2 }')
    do(graph, 'insert T { k: "3", a: "x" }', 'insert T { k: "4", a: "x" }')
    do(graph, 'insert T { k: "5", b: 1 }', 'insert T { k: "6", b: 1 }')
    (found,) = violations(graph, 'update T set { b: 2 } where k = "1"')
    assert (found.id, found.field, found.reason) == ("1", "a,b", "'x, 2' is that of '2' already")


def test_an_end_of_an_edge_can_be_unique(settled: Graph) -> None:
    (found,) = violations(settled, link("Twinned", "rom", "rom"))
    assert (found.code, found.field) == (Code.UNIQUE_VALUE, "to")
    do(settled, 'delete Twinned where from = "ulm"')
    do(settled, link("Twinned", "rom", "rom"))


# Cardinality

BOUND = """
node Team { slug: String @key  motto: String? }
node Player { slug: String @key }
edge Led: Team -> Player @card(1..2)
"""


def team(slug: str) -> str:
    return f'insert Team {{ slug: "{slug}" }}'


def player(slug: str) -> str:
    return f'insert Player {{ slug: "{slug}" }}'


@pytest.fixture
def league(tmp_path: Path) -> Graph:
    graph = init(tmp_path / "league", BOUND, durable=False)
    do(
        graph,
        team("red"),
        player("ann"),
        player("ben"),
        player("cleo"),
        link("Led", "red", "ann"),
    )
    return graph


def few(slug: str) -> str:
    return f"error[V15]: Led of '{slug}': 0 Led leave the Team; there must be at least 1"


def many(slug: str, count: int) -> str:
    return f"error[V15]: Led of '{slug}': {count} Led leave the Team; there must be at most 2"


def test_a_new_node_has_at_least_as_many_edges_as_it_must(league: Graph) -> None:
    assert refused(league, team("blue")) == [few("blue")]
    do(league, team("blue"), link("Led", "blue", "ann"))


def test_a_node_keeps_as_many_edges_as_it_must(league: Graph) -> None:
    assert refused(league, 'delete Led where from = "red"') == [few("red")]
    do(league, link("Led", "red", "ben"))
    do(league, 'delete Led where to = "ann"')
    assert refused(league, 'delete Player where slug = "ben"') == [few("red")]
    do(league, 'delete Player where slug = "ben"', 'delete Team where slug = "red"')
    assert rows(league, "Led") == []


def test_a_node_has_at_most_as_many_edges_as_it_may(league: Graph) -> None:
    assert refused(league, link("Led", "red", "ben"), link("Led", "red", "cleo")) == [
        many("red", 3)
    ]
    do(league, link("Led", "red", "ben"))
    assert refused(league, link("Led", "red", "cleo")) == [many("red", 3)]


def test_an_upsert_of_a_node_keeps_its_edges_and_their_count(league: Graph) -> None:
    do(league, 'insert Team { slug: "red", motto: "again" }')
    assert column(league, "Team", "motto") == {"red": "again"}


def test_of_a_source_that_is_missing_only_that_is_told(league: Graph) -> None:
    lines = refused(league, *(link("Led", "nobody", "ann") for _ in range(3)))
    assert [each[:9] for each in lines] == ["error[V14"] * 3


# Values that only turn out to be wrong when they are given


def test_a_blob_that_is_no_blob_is_told_with_everything_else(tmp_path: Path) -> None:
    schema = "node T { k: String @key  b: Blob?  n: I32?  @range(n, 0..) }"
    graph = init(tmp_path / "g", schema, durable=False)
    text = """query it($b: String, $c: String) {
        insert T { k: "a", b: $b }
        insert T { k: "b", n: -1 }
        insert T { k: "c", b: $c }
        insert T { k: "d", b: "base64:AAEC" } }"""
    with pytest.raises(ViolationsError) as caught:
        graph.mutate(text, b="no blob", c="base64:!")
    found = [(each.code, each.type, each.field, each.id) for each in caught.value.violations]
    assert sorted(found) == [
        (Code.VALUE_TYPE, "T", "b", "a"),
        (Code.VALUE_TYPE, "T", "b", "c"),
        (Code.VALUE_RANGE, "T", "n", "b"),
    ]
    assert commits(graph) == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("schema", ["k: F64 @key", 'k: F64  s: String @default("s")  @key(s, k)'])
def test_a_number_in_a_key_is_finite(tmp_path: Path, value: float, schema: str) -> None:
    graph = init(tmp_path / "g", f"node T {{ {schema} }}", durable=False)
    (found,) = violations(graph, "insert T { k: $v }", v=value)
    assert (found.code, found.type, found.field) == (Code.VALUE_TYPE, "T", "k")
    assert (found.reason, found.id) == ("a key cannot hold NaN or infinity", None)


def test_not_a_number_is_outside_every_range(tmp_path: Path) -> None:
    schema = "node T { k: String @key  n: F64?  @range(n, ..10) }"
    graph = init(tmp_path / "g", schema, durable=False)
    assert refused(graph, 'insert T { k: "a", n: $n }', n=float("nan")) == [
        "error[V9]: T.n of 'a': nan is outside ..10"
    ]


def test_a_required_value_that_does_not_fit_is_told_once(tmp_path: Path) -> None:
    graph = init(tmp_path / "g", "node T { k: String @key  b: Blob }", durable=False)
    do(graph, 'insert T { k: "a", b: "base64:" }', 'insert T { k: "b", b: "base64:AA==" }')
    found = violations(graph, 'update T set { b: $b } where k != ""', b="no blob")
    assert [(each.code, each.id) for each in found] == [
        (Code.VALUE_TYPE, "a"),
        (Code.VALUE_TYPE, "b"),
    ]
    assert column(graph, "T", "b") == {"a": b"base64:", "b": b"base64:AA=="}


def test_a_list_does_not_lose_an_item_that_is_null(graph: Graph) -> None:
    text = """query it($tag: String?) {
        insert Person { slug: "ada", name: "Ada", tags: ["a", $tag, "b"] } }"""
    with pytest.raises(OmniGraphError) as caught:
        graph.mutate(text)
    assert caught.value.code == "T7"
    assert commits(graph) == 0


def test_a_list_does_not_lose_an_item_that_is_computed(tmp_path: Path) -> None:
    graph = init(tmp_path / "g", "node T { k: String @key  ats: [DateTime]? }", durable=False)
    with pytest.raises(
        OmniGraphError, match="expected a literal or a parameter as an item of the list"
    ):
        do(graph, 'insert T { k: "a", ats: [datetime("2024-01-01T00:00:00Z"), now()] }')
    assert commits(graph) == 0


def test_a_parameter_that_an_enum_does_not_have_is_told(settled: Graph) -> None:
    before = content(settled)
    (found,) = violations(settled, 'update Person set { kind: $k } where slug = "ada"', k="boss")
    assert (found.code, found.type, found.field, found.id) == (
        Code.VALUE_ENUM,
        "Person",
        "kind",
        "ada",
    )
    assert "is not one of guest, staff" in found.reason
    assert content(settled) == before
