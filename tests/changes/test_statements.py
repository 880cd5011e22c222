"""Each statement changes the rows that it names and no others, and a query is one commit."""

import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import ExpressionError, InputError, ParamsError, QueryError, ReadOnlyError
from omnigraph.versioning.ulid import is_ulid
from omnigraph.write.counts import RowCounts
from tests.changes.statements import city, link, person
from tests.changes.town import (
    column,
    commits,
    content,
    counts,
    do,
    ends,
    refused,
    rows,
    violations,
)


def test_an_insert_makes_a_row_with_its_defaults(graph: Graph) -> None:
    receipt = do(graph, 'insert Person { slug: "ada", name: "Ada", tags: ["a", "b"] }')

    assert rows(graph, "Person") == [
        {
            "id": "ada",
            "slug": "ada",
            "name": "Ada",
            "age": None,
            "email": None,
            "kind": "guest",
            "seen": None,
            "tags": ["a", "b"],
        }
    ]
    assert counts(receipt) == (1, 0)
    assert receipt.commit == graph.snapshot().commit
    assert (receipt.branch, receipt.query_name) == ("main", "it")


def test_an_insert_of_a_key_that_is_there_keeps_what_it_does_not_name(settled: Graph) -> None:
    do(settled, 'update Person set { kind: "staff" } where slug = "ada"')
    receipt = do(settled, 'insert Person { slug: "ada", name: "Countess" }')

    (ada,) = (row for row in rows(settled, "Person") if row["id"] == "ada")
    values = (ada["name"], ada["age"], ada["email"], ada["kind"])
    assert values == ("Countess", 36, "ada@x", "staff")
    assert counts(receipt) == (1, 0)
    assert receipt.counts == RowCounts(updated=1)
    assert ("ada", "bob") in ends(settled, "Knows"), "its edges stay"


def test_an_insert_of_null_clears_a_value_of_the_row_that_is_there(settled: Graph) -> None:
    text = """query it($age: I32?) {
        insert Person { slug: "ada", name: "Ada", age: $age } }"""
    receipt = settled.mutate(text, age=None)

    (ada,) = (row for row in rows(settled, "Person") if row["id"] == "ada")
    assert (ada["age"], ada["email"]) == (None, "ada@x")
    assert receipt.counts == RowCounts(updated=1)


def test_a_later_insert_keeps_what_an_earlier_one_of_the_same_query_set(graph: Graph) -> None:
    receipt = do(
        graph,
        'insert Person { slug: "dan", name: "Dan", age: 3 }',
        'insert Person { slug: "dan", name: "Daniel" }',
    )
    (dan,) = rows(graph, "Person")
    assert (dan["name"], dan["age"]) == ("Daniel", 3)
    assert receipt.counts == RowCounts(inserted=1)


def test_a_receipt_counts_what_is_new_what_changes_and_what_stays(settled: Graph) -> None:
    receipt = do(
        settled,
        'insert Person { slug: "dan", name: "Dan" }',
        'insert Person { slug: "ada", name: "Countess" }',
        'update Person set { age: 36 } where slug = "ada"',
        'insert Person { slug: "bob", name: "Bob" }',
    )
    assert receipt.counts == RowCounts(inserted=1, updated=1, unchanged=1)


def test_a_receipt_counts_what_a_delete_takes_with_it(settled: Graph) -> None:
    edges = len(rows(settled, "Knows"))
    receipt = do(settled, 'delete Person where slug = "ada"')
    gone = 1 + edges - len(rows(settled, "Knows"))
    assert receipt.counts is not None
    assert receipt.counts.deleted >= gone > 1


def test_replace_writes_the_whole_row(settled: Graph) -> None:
    receipt = do(settled, 'replace Person { slug: "ada", name: "Countess" }')

    (ada,) = (row for row in rows(settled, "Person") if row["id"] == "ada")
    assert (ada["name"], ada["age"], ada["email"], ada["kind"]) == ("Countess", None, None, "guest")
    assert counts(receipt) == (1, 0)
    assert len(rows(settled, "Person")) == 3
    assert ("ada", "bob") in ends(settled, "Knows"), "its edges stay"


def test_a_key_of_several_properties_is_one_key(graph: Graph) -> None:
    do(graph, 'insert Seat { line: 1, number: 2, label: "a" }')
    do(
        graph,
        "replace Seat { line: 1, number: 2 }",
        'insert Seat { line: 12, number: 0, label: "b" }',
    )
    assert column(graph, "Seat", "label") == {"[1,2]": None, "[12,0]": "b"}


def test_an_insert_without_a_key_is_a_new_row_every_time(graph: Graph) -> None:
    do(graph, 'insert Note { text: "same" }', 'insert Note { text: "same" }')
    do(graph, 'insert Note { text: "same" }')

    ids = [row["id"] for row in rows(graph, "Note")]
    assert len(set(ids)) == 3
    assert all(map(is_ulid, ids))


def test_a_row_without_a_key_can_be_given_an_id_by_which_it_is_replaced(graph: Graph) -> None:
    do(graph, 'insert Note { id: "n1", text: "first", stars: 1.5 }')
    do(graph, 'replace Note { id: "n1", text: "second" }')
    assert rows(graph, "Note") == [{"id": "n1", "text": "second", "stars": None}]


def test_an_edge_is_inserted_between_ids_and_two_of_them_are_two_edges(settled: Graph) -> None:
    first = do(settled, link("Knows", "bob", "cy", since='date("2024-02-29")'))
    do(settled, link("Knows", "bob", "cy"))

    assert counts(first) == (0, 1)
    assert ends(settled, "Knows").count(("bob", "cy")) == 2
    assert date(2024, 2, 29) in column(settled, "Knows", "since").values()


def test_the_same_edge_with_a_key_is_one_edge(settled: Graph) -> None:
    do(settled, 'insert Note { id: "n", text: "t" }')
    early, late = 'datetime("2024-01-01T00:00:00Z")', 'datetime("2024-01-01T12:34:56.789Z")'
    do(settled, link("Wrote", "ada", "n", at=early))
    receipt = do(settled, link("Wrote", "ada", "n", at=late), link("Wrote", "bob", "n"))

    assert counts(receipt) == (0, 2)
    assert column(settled, "Wrote", "at") == {
        '["ada","n"]': datetime(2024, 1, 1, 12, 34, 56, 789_000, UTC),
        '["bob","n"]': None,
    }


def test_an_update_sets_some_properties_of_all_rows_that_meet_its_condition(
    settled: Graph,
) -> None:
    receipt = do(settled, 'update Person set { kind: "staff", age: 40 } where age > 10')

    assert counts(receipt) == (2, 0)
    assert column(settled, "Person", "kind") == {"ada": "staff", "bob": "staff", "cy": "guest"}
    assert column(settled, "Person", "age") == {"ada": 40, "bob": 40, "cy": None}
    assert column(settled, "Person", "email")["ada"] == "ada@x"


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ('slug = "ada"', "ada"),
        ('id = "ada"', "ada"),
        ('slug != "ada"', "bob cy"),
        ("age > 20", "ada"),
        ("age >= 20", "ada bob"),
        ("not (age >= 20)", ""),
        ("age is null", "cy"),
        ("age is not null", "ada bob"),
        ("age = 20 or age is null", "bob cy"),
        ('(age > 30 and name starts_with "A") or slug = "cy"', "ada cy"),
        ('age in [20, 36] and not slug = "bob"', "ada"),
        ('email contains "@"', "ada"),
        ('email != "nobody@x"', "ada"),
        ('tags contains "a"', ""),
        ('kind = "guest"', "ada bob cy"),
        ("seen < now()", ""),
        ('slug = "nobody"', ""),
    ],
)
def test_a_condition_chooses_rows_and_null_meets_none_of_them(
    settled: Graph, where: str, found: str
) -> None:
    receipt = do(settled, f'update Person set {{ name: "chosen" }} where {where}')

    names = column(settled, "Person", "name")
    assert [slug for slug, name in names.items() if name == "chosen"] == found.split()
    assert counts(receipt) == (len(found.split()), 0)


def test_a_value_can_be_made_null_by_a_parameter_that_is(settled: Graph) -> None:
    text = 'query it($age: I32?) { update Person set { age: $age } where slug = "ada" }'
    settled.mutate(text)
    assert column(settled, "Person", "age")["ada"] is None


def test_a_condition_with_a_null_parameter_chooses_nothing(settled: Graph) -> None:
    text = "query it($age: I32?) { delete Person where age != $age or age = $age }"
    assert settled.mutate(text).commit is None


def test_edges_are_updated_by_their_ends_and_properties(settled: Graph) -> None:
    receipt = do(
        settled, 'update Knows set { weight: 2.0 } where from = "ada" or (to = "cy" and src = dst)'
    )
    weights = {(row["src"], row["dst"]): row["weight"] for row in rows(settled, "Knows")}
    assert counts(receipt) == (0, 2)
    assert weights == {("ada", "bob"): 2.0, ("bob", "ada"): None, ("cy", "cy"): 2.0}


def test_edges_are_deleted_by_any_condition(settled: Graph) -> None:
    receipt = do(settled, "delete Knows where weight is null and src != dst")
    assert counts(receipt) == (0, 1)
    assert ends(settled, "Knows") == [("ada", "bob"), ("cy", "cy")]


def test_one_edge_is_deleted_by_its_id(settled: Graph) -> None:
    do(settled, link("Knows", "ada", "bob"))
    chosen = next(row["id"] for row in rows(settled, "Knows") if row["src"] == "ada")
    receipt = do(settled, "delete Knows where id = $id", id=chosen)
    assert counts(receipt) == (0, 1)
    assert ends(settled, "Knows").count(("ada", "bob")) == 1


def test_a_deleted_node_takes_its_edges_of_all_types_and_both_ends_with_it(
    settled: Graph,
) -> None:
    do(settled, 'insert Note { id: "n", text: "t" }', link("Wrote", "ada", "n"))
    do(settled, link("Knows", "ada", "ada"), link("Knows", "ada", "bob"))

    receipt = do(settled, 'delete Person where slug = "ada"')

    assert counts(receipt) == (1, 6), "two to bob, one from bob, a loop, a home and a note"
    assert ends(settled, "Knows") == [("cy", "cy")]
    assert rows(settled, "Lives") == rows(settled, "Wrote") == []
    assert len(rows(settled, "Note")) == 1, "the other end stays"


def test_a_loop_goes_once_with_its_node(settled: Graph) -> None:
    assert counts(do(settled, 'delete Person where slug = "cy"')) == (1, 1)


def test_all_nodes_can_be_deleted_at_once(settled: Graph) -> None:
    receipt = do(settled, 'delete Person where slug != ""', 'delete City where slug != ""')
    assert counts(receipt) == (5, 5)
    assert not any(content(settled).values())
    do(settled, person("ada"))
    assert len(rows(settled, "Person")) == 1


def test_now_is_one_instant_in_all_statements_of_a_query(graph: Graph) -> None:
    before = datetime.now(UTC)
    do(
        graph,
        *(person(f"p{number}", seen="now()") for number in range(20)),
        'update Person set { seen: now() } where slug = "p1" and seen = now()',
    )
    instants = set(column(graph, "Person", "seen").values())
    assert len(instants) == 1
    assert before - timedelta(milliseconds=1) <= instants.pop() <= datetime.now(UTC)

    time.sleep(0.002)
    do(graph, 'update Person set { seen: now() } where slug = "p1" and seen < now()')
    assert len(set(column(graph, "Person", "seen").values())) == 2


def test_parameters_are_bound_before_anything_is_read(graph: Graph) -> None:
    text = "query add($slug: String) { insert City { slug: $slug } }"
    for wrong in ({}, {"slug": 5}, {"slug": None}, {"slug": "a", "other": 1}):
        with pytest.raises(ParamsError):
            graph.mutate(text, **wrong)
    graph.mutate(text, slug="quo\"te' \n\\ \u2028 é")
    assert list(column(graph, "City", "slug").values()) == ["quo\"te' \n\\ \u2028 é"]


def test_a_query_is_one_commit_on_the_branch_it_names(graph: Graph) -> None:
    do(graph, person("ada"))
    graph.create_branch("draft")
    writer = graph.branch("draft", actor="eve", message="two at once")
    receipt = do(writer, person("bob"), city("ulm"), link("Lives", "bob", "ulm"))

    assert receipt.commit is not None
    (newest,) = graph.log("draft", limit=1)
    assert newest == receipt.commit
    assert (newest.actor, newest.message, newest.affected) == ("eve", "two at once", (2, 1))
    assert newest.version == 2
    assert len(rows(graph, "Person")) == 1
    assert len(rows(graph, "Person", "draft")) == 2


def test_a_query_that_mixes_deleting_with_anything_else_is_refused_with_advice(
    graph: Graph,
) -> None:
    for other in (person("ada"), 'update Person set { age: 1 } where slug = "ada"'):
        with pytest.raises(QueryError) as caught:
            do(graph, other, 'delete Person where slug = "bob"')
        assert caught.value.code == "D2"
        assert caught.value.hint is not None
        assert caught.value.hint.startswith("split it")
    assert commits(graph) == 0


def test_a_read_is_no_mutation(graph: Graph) -> None:
    with pytest.raises(InputError, match="is a read"):
        graph.mutate("query it() { match { $p: Person } return { $p.name } }")


def test_a_graph_opened_for_reading_is_not_changed(settled: Graph) -> None:
    reader = open_graph(settled.uri, read_only=True)
    for statement in (person("dan"), 'delete Person where slug = "nobody"'):
        with pytest.raises(ReadOnlyError):
            do(reader, statement)


def test_queries_see_a_change_at_once_through_every_road(settled: Graph) -> None:
    friends = """query of($slug: String) {
        match { $p: Person { slug: $slug }  $p knows $f }
        return { $f.slug as slug } order { $f.slug } }"""

    def known(slug: str) -> list[object]:
        return [row["slug"] for row in settled.query(friends, slug=slug).to_dicts()]

    assert known("ada") == ["bob"]
    do(settled, person("dan"), link("Knows", "ada", "dan"), link("Knows", "dan", "cy"))
    assert (known("ada"), known("dan")) == (["bob", "dan"], ["cy"])
    do(settled, 'delete Person where slug = "bob"')
    assert (known("ada"), known("bob")) == (["dan"], [])
    do(settled, 'delete Knows where from = "ada"')
    assert known("ada") == []


def test_an_insert_that_does_not_set_a_nullable_property_stores_its_default(tmp_path: Path) -> None:
    graph = init(
        tmp_path / "tasks",
        'node Task { name: String @key  due: Date? @default("2030-01-01") }',
        durable=False,
    )

    do(graph, 'insert Task { name: "a" }')
    graph.mutate('query it($d: Date?) { insert Task { name: "b", due: $d } }', d=None)

    found = graph.query(
        "query q() { match { $t: Task } return { $t.name as name, $t.due as due } }"
    )
    assert [(row["name"], row["due"]) for row in found] == [("a", date(2030, 1, 1)), ("b", None)]


def test_both_ends_of_a_range_belong_to_it_also_where_32_bits_do_not_hold_them(
    tmp_path: Path,
) -> None:
    schema = "node Mix { name: String @key  part: F32  @range(part, 0.1..0.7) }"
    graph = init(tmp_path / "mixes", schema, durable=False)

    do(graph, 'insert Mix { name: "a", part: 0.1 }', 'insert Mix { name: "b", part: 0.7 }')

    (told,) = refused(graph, 'insert Mix { name: "c", part: 0.70001 }')
    assert "outside 0.1..0.7" in told


def test_an_update_computes_from_the_row_as_it_was(settled: Graph) -> None:
    sets = 'age: age + 1, name: upper(name), email: lower(name) + "@x"'
    do(settled, f'update Person set {{ {sets} }} where slug = "ada"')

    (ada,) = (row for row in rows(settled, "Person") if row["id"] == "ada")
    assert (ada["age"], ada["name"], ada["email"]) == (37, "ADA", "ada@x")


def test_a_computed_value_that_the_row_cannot_hold_changes_nothing(settled: Graph) -> None:
    before = rows(settled, "Person")
    told = refused(settled, "update Person set { age: age * 100000000 } where age is not null")
    assert any("does not fit I32" in each for each in told)
    with pytest.raises(ExpressionError, match="age / \\(age - age\\): a number is divided by zero"):
        do(settled, 'update Person set { age: age / (age - age) } where slug = "ada"')
    with pytest.raises(QueryError):
        do(settled, 'update Person set { age: name } where slug = "ada"')
    assert rows(settled, "Person") == before


def test_an_insert_computes_from_its_parameters(graph: Graph) -> None:
    made = 'insert Person { slug: lower($x), name: trim($x) + "!", age: 1 + 2 }'
    text = f"query it($x: String) {{ {made} }}"
    graph.mutate(text, x="EVE")

    (eve,) = rows(graph, "Person")
    assert (eve["id"], eve["name"], eve["age"]) == ("eve", "EVE!", 3)


def test_a_condition_of_a_delete_computes(settled: Graph) -> None:
    do(settled, "delete Person where length(slug) * 2 = 6 and age + 0 > 0")
    assert all(row["age"] is None for row in rows(settled, "Person"))


def test_a_match_inserts_an_edge_for_each_different_pair(settled: Graph) -> None:
    before = sorted(ends(settled, "Knows"))
    receipt = do(settled, "match { $a knows $b  $c: Person } insert Knows { from: $b, to: $a }")

    assert sorted(ends(settled, "Knows")) == sorted([*before, *((b, a) for a, b in set(before))])
    assert counts(receipt) == (0, len(set(before)))


def test_a_match_sets_rows_from_what_is_beside_them(settled: Graph) -> None:
    receipt = do(
        settled,
        'match { $p: Person { slug: "bob" }  $q: Person { slug: "ada" } }'
        ' set $p { age: $q.age + 1, name: name + "!" }',
    )

    assert counts(receipt) == (1, 0)
    (bob,) = (row for row in rows(settled, "Person") if row["id"] == "bob")
    (ada,) = (row for row in rows(settled, "Person") if row["id"] == "ada")
    assert isinstance(ada["age"], int)
    assert (bob["age"], bob["name"]) == (ada["age"] + 1, "Bob!")


def test_matches_that_disagree_about_a_row_change_nothing(settled: Graph) -> None:
    before = content(settled)
    text = "match { $p: Person  $q: Person } set $p { name: $q.slug }"

    assert {(each.code, each.type) for each in violations(settled, text)} == {("V11", "Person")}
    assert content(settled) == before


def test_a_change_without_matches_makes_no_commit(settled: Graph) -> None:
    made = commits(settled)
    receipt = do(settled, 'match { $p: Person { slug: "nobody" } } set $p { age: 3 }')

    assert (receipt.commit, commits(settled)) == (None, made)


def test_a_match_copies_lists_each_different_row_once(settled: Graph) -> None:
    do(settled, 'update Person set { tags: ["a", "b"] } where slug = "ada"')
    do(
        settled,
        'match { $p: Person { slug: "ada" }  $q: Person  $q.slug != "ada" }'
        " set $q { tags: $p.tags }",
    )

    assert {tuple(row["tags"]) for row in rows(settled, "Person")} == {("a", "b")}
