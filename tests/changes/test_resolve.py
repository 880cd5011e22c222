"""Two nodes that mean the same become one, with the edges of both, as one commit."""

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.api.graph import Graph
from omnigraph.errors import (
    Code,
    HeadMovedError,
    InputError,
    OperationReusedError,
    RowNotFoundError,
    ViolationsError,
)
from omnigraph.write.counts import RowCounts
from tests.changes.meanwhile import meanwhile
from tests.changes.town import column, commits, content, do, rows
from tests.templates import copied_graph, fresh_graph

SCHEMA = """
node Person {
  slug: String @key
  name: String
  age: I32?
  email: String? @unique
  known_as: [String]?
  photo: Blob?
  bio: String?
  meaning: Vector(4)? @embed("bio")
}
node City { slug: String @key }
node Note { text: String }
edge Knows: Person -> Person { since: I32?  why: String? }
edge Lives: Person -> City @card(0..1) { since: I32? }
edge Wrote: Person -> Note { stars: I32?  place: String?  @key(src, dst) }
edge Leads: Person -> City { @unique(dst) }
edge Rates: Person -> Person { about: String?  stars: I32?  @unique(src, dst, about) }
edge Plays: Person -> City {
  year: I32  role: String?  @key(src, dst, year) @unique(src, dst, role)
}
"""
PEOPLE = [
    {"slug": "ana", "name": "Ana", "email": "ana@x"},
    {"slug": "ana-r", "name": "Ana Reis", "age": 37},
    {"slug": "bob", "name": "Bob"},
]


def made(root: Path) -> Graph:
    graph = fresh_graph(root, SCHEMA)
    graph.load(PEOPLE, type="Person")
    graph.load([{"slug": "ulm"}, {"slug": "rom"}], type="City")
    graph.load([{"id": "n1", "text": "one"}, {"id": "n2", "text": "two"}], type="Note")
    return graph


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "mock")
    return copied_graph(tmp_path / "town", made)


def link(graph: Graph, name: str, *edges: tuple[str, str, dict[str, Any]]) -> None:
    graph.load([{"from": src, "to": dst, **values} for src, dst, values in edges], type=name)


def person(graph: Graph, row_id: str) -> dict[str, Any]:
    return next(row for row in rows(graph, "Person") if row["id"] == row_id)


def edges(graph: Graph, name: str, *properties: str) -> list[tuple[Any, ...]]:
    names = ("src", "dst", *properties)
    return sorted((tuple(row[each] for each in names) for row in rows(graph, name)), key=repr)


def resolve(graph: Graph, **how: Any) -> og.Resolved:
    return graph.branch().resolve("Person", **{"into": "ana", "duplicate": "ana-r", **how})


def test_the_node_that_stays_has_the_edges_and_the_missing_values_of_the_other(town: Graph) -> None:
    link(town, "Knows", ("ana-r", "bob", {"since": 1}), ("bob", "ana-r", {}), ("ana", "bob", {}))
    link(town, "Leads", ("ana-r", "ulm", {}))
    before, ids = commits(town), set(column(town, "Knows", "id"))
    done = resolve(town)
    assert commits(town) == before + 1
    assert list(column(town, "Person", "id")) == ["ana", "bob"]
    found = person(town, "ana")
    assert (found["name"], found["age"], found["email"]) == ("Ana", 37, "ana@x")
    assert edges(town, "Knows", "since") == [
        ("ana", "bob", 1),
        ("ana", "bob", None),
        ("bob", "ana", None),
    ]
    assert set(column(town, "Knows", "id")) == ids
    assert edges(town, "Leads") == [("ana", "ulm")]
    assert (done.properties, done.repointed, done.folded) == (("age",), 3, 0)
    assert done.counts == RowCounts(updated=4, deleted=1)
    assert done.commit is not None
    assert done.commit.message == "resolve Person 'ana-r' into 'ana'"
    assert done.commit.affected == (2, 3)


def test_edges_between_the_two_and_loops_become_loops(town: Graph) -> None:
    ends = [("ana", "ana-r"), ("ana-r", "ana"), ("ana-r", "ana-r"), ("ana", "ana")]
    link(town, "Knows", *((src, dst, {}) for src, dst in ends))
    assert resolve(town).repointed == 3
    assert edges(town, "Knows") == [("ana", "ana")] * 4


def test_edges_that_a_key_would_make_twins_become_one(town: Graph) -> None:
    link(
        town,
        "Wrote",
        ("ana", "n1", {"stars": 1}),
        ("ana-r", "n1", {"stars": 2, "place": "ulm"}),
        ("ana-r", "n2", {"stars": 3}),
        ("bob", "n1", {"stars": 4}),
    )
    done = resolve(town)
    assert (done.repointed, done.folded) == (1, 1)
    assert edges(town, "Wrote", "stars", "place") == [
        ("ana", "n1", 1, "ulm"),
        ("ana", "n2", 3, None),
        ("bob", "n1", 4, None),
    ]
    # The ids are those of the keys, so that the same edges are found by them again.
    again = [{"from": "ana", "to": "n2", "stars": 5}, {"from": "ana", "to": "n1", "stars": 5}]
    assert town.load(again, type="Wrote", mode="merge").counts == RowCounts(updated=2)


def test_a_single_edge_that_both_have_to_the_same_place_becomes_one(town: Graph) -> None:
    link(town, "Lives", ("ana", "ulm", {}), ("ana-r", "ulm", {"since": 1999}))
    kept = next(row["id"] for row in rows(town, "Lives") if row["src"] == "ana")
    assert resolve(town).folded == 1
    assert edges(town, "Lives", "id", "since") == [("ana", "ulm", kept, 1999)]


def test_edges_of_unique_values_become_one_only_where_all_are_the_same(town: Graph) -> None:
    link(
        town,
        "Rates",
        ("ana", "bob", {"about": "tea", "stars": 1}),
        ("ana-r", "bob", {"about": "tea", "stars": 2}),
        ("ana-r", "bob", {"about": "pie", "stars": 3}),
        ("ana-r", "bob", {"stars": 4}),
        ("ana", "ana-r", {"about": "tea"}),
        ("ana-r", "ana", {"about": "tea", "stars": 5}),
        ("ana-r", "ana-r", {"about": "tea", "stars": 6}),
    )
    done = resolve(town)
    assert (done.repointed, done.folded) == (3, 3)
    found = edges(town, "Rates", "about", "stars")
    assert found[1:] == [
        ("ana", "bob", "pie", 3),
        ("ana", "bob", "tea", 1),
        ("ana", "bob", None, 4),
    ]
    assert found[0][:3] == ("ana", "ana", "tea")
    assert found[0][3] in (5, 6)


def test_values_are_taken_by_rule(town: Graph) -> None:
    town.create_branch("all")
    link(town, "Wrote", ("ana", "n1", {"stars": 1, "place": "rom"}), ("ana-r", "n1", {"stars": 2}))
    assert resolve(town, properties={"name": "from"}).properties == ("name", "age")
    assert person(town, "ana")["name"] == "Ana Reis"
    assert edges(town, "Wrote", "stars", "place") == [("ana", "n1", 1, "rom")]

    branch = town.branch("all")
    branch.load([{"from": "ana", "to": "n1", "stars": 1, "place": "rom"}], type="Wrote")
    branch.load([{"from": "ana-r", "to": "n1", "stars": 2}], type="Wrote")
    done = branch.resolve("Person", into="ana", duplicate="ana-r", take="from")
    assert done.properties == ("name", "age")
    found = rows(town, "Person", "all")[0]
    assert (found["slug"], found["name"], found["email"]) == ("ana", "Ana Reis", "ana@x")
    assert [(row["stars"], row["place"]) for row in rows(town, "Wrote", "all")] == [(2, "rom")]


def test_unique_values_of_the_other_node_are_free_to_be_taken(town: Graph) -> None:
    do(town, 'update Person set { email: "reis@x" } where slug = "ana-r"')
    resolve(town, properties={"email": "from"})
    assert person(town, "ana")["email"] == "reis@x"


def test_a_vector_goes_with_its_text(town: Graph) -> None:
    do(town, 'update Person set { bio: "digs wells" } where slug = "ana-r"')
    vector = person(town, "ana-r")["meaning"]
    assert vector is not None
    assert resolve(town).properties == ("age", "bio", "meaning")
    assert person(town, "ana")["meaning"] == vector


def test_a_blob_is_taken_whole(town: Graph) -> None:
    town.load([{"slug": "ana-r", "photo": b"hello"}], type="Person", mode="merge")
    resolve(town)
    blob = town.branch().blob("Person", "ana", "photo")
    assert blob is not None
    assert blob.read() == b"hello"


def test_both_ids_are_remembered_as_aliases(town: Graph) -> None:
    town.load([{"slug": "a.r.", "name": "A. R.", "known_as": ["ar", "ana"]}], type="Person")
    resolve(town, aliases="known_as")
    assert person(town, "ana")["known_as"] == ["ana", "ana-r"]
    resolve(town, duplicate="a.r.", aliases="known_as")
    assert person(town, "ana")["known_as"] == ["ana", "ana-r", "ar", "a.r."]


def test_a_revert_brings_both_back_with_their_edges(town: Graph) -> None:
    link(town, "Knows", ("ana-r", "bob", {}), ("ana", "ana-r", {}), ("ana", "bob", {}))
    link(town, "Wrote", ("ana", "n1", {"stars": 1}), ("ana-r", "n1", {"place": "ulm"}))
    before = content(town)
    done = resolve(town, aliases="known_as")
    assert content(town) != before
    assert done.commit is not None
    town.branch().revert(done.commit.id)
    assert content(town) == before


def test_a_dry_run_tells_the_same_and_writes_nothing(town: Graph) -> None:
    link(town, "Wrote", ("ana", "n1", {"stars": 1}), ("ana-r", "n1", {"place": "ulm"}))
    do(town, 'update Person set { bio: "digs wells" } where slug = "ana-r"')
    before, held = commits(town), content(town)
    tried = resolve(town, dry_run=True)
    assert (commits(town), tried.commit, content(town)) == (before, None, held)
    done = resolve(town)
    named = ("properties", "repointed", "folded", "counts")
    assert [getattr(tried, each) for each in named] == [getattr(done, each) for each in named]


def test_edges_that_no_rule_lets_be_folded_are_refused_by_the_rule(town: Graph) -> None:
    link(town, "Lives", ("ana", "ulm", {}), ("ana-r", "rom", {}))
    before = content(town)
    for tried in (True, False):
        with pytest.raises(ViolationsError) as caught:
            resolve(town, dry_run=tried)
        assert [each.code for each in caught.value.violations] == [Code.CARDINALITY]
    assert content(town) == before


def test_an_edge_that_would_be_one_with_two_that_stand_is_refused_and_none_is_lost(
    town: Graph,
) -> None:
    link(
        town,
        "Plays",
        ("ana", "ulm", {"year": 1, "role": "king"}),
        ("ana", "ulm", {"year": 2, "role": "fool"}),
        ("ana-r", "ulm", {"year": 2, "role": "king"}),
    )
    before = content(town)

    with pytest.raises(InputError, match="with 2 edges Plays from 'ana' to 'ulm'"):
        resolve(town)

    assert content(town) == before


@pytest.mark.parametrize(
    ("how", "error", "told"),
    [
        ({"duplicate": "ana"}, InputError, "both ids name the same"),
        ({"duplicate": "nobody"}, RowNotFoundError, "no Person 'nobody'"),
        ({"into": "ulm"}, RowNotFoundError, "no Person 'ulm'"),
        ({"properties": {"slug": "from"}}, InputError, "key of Person"),
        ({"properties": {"nmae": "from"}}, InputError, "no property 'nmae'"),
        ({"properties": {"meaning": "from"}}, InputError, "goes with the text"),
        ({"properties": {"name": "theirs"}}, InputError, "theirs"),
        ({"take": "ours"}, InputError, "ours"),
        ({"aliases": "name"}, InputError, r"aliases are \[String\]"),
        ({"aliases": "nicks"}, InputError, "no property 'nicks'"),
        ({"aliases": "known_as", "properties": {"known_as": "from"}}, InputError, "of both"),
    ],
)
def test_what_cannot_be_resolved_is_refused_and_nothing_changes(
    town: Graph, how: dict[str, Any], error: type[Exception], told: str
) -> None:
    before = commits(town)
    with pytest.raises(error, match=told):
        resolve(town, **how)
    assert commits(town) == before


def test_only_nodes_of_a_type_that_is_there_are_resolved(town: Graph) -> None:
    for name, told in (("Knows", "a type of edges"), ("Persn", "no type 'Persn'")):
        with pytest.raises(InputError, match=told):
            town.branch().resolve(name, into="ana", duplicate="ana-r")


def test_it_is_done_once_for_an_operation_id_and_only_where_the_branch_is_expected(
    town: Graph,
) -> None:
    link(town, "Knows", ("ana-r", "bob", {}))
    head = town.snapshot().commit.id
    do(town, 'insert Note { text: "meanwhile" }')
    for tried in (True, False):
        late = town.branch(expect=head)
        with pytest.raises(HeadMovedError):
            late.resolve("Person", into="ana", duplicate="ana-r", dry_run=tried)
    once = town.branch(operation_id="same", actor="eve", message="the same person")
    first = once.resolve("Person", into="ana", duplicate="ana-r")
    assert first.commit is not None
    assert (first.commit.message, first.actor) == ("the same person", "eve")
    assert once.resolve("Person", into="ana", duplicate="ana-r") == first
    with pytest.raises(OperationReusedError):
        once.resolve("Person", into="ana", duplicate="bob")


def test_an_edge_that_comes_meanwhile_is_repointed_too(town: Graph) -> None:
    link(town, "Knows", ("bob", "ana", {}))

    def come() -> None:
        link(town, "Knows", ("ana-r", "bob", {"since": 7}))

    with meanwhile(come):
        resolve(town)
    assert edges(town, "Knows", "since") == [("ana", "bob", 7), ("bob", "ana", None)]
