"""A changed schema goes together with interfaces, embeddings, edges, optimize, cleanup and fsck."""

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import UnsupportedMigrationError, ViolationsError
from tests.evolution.town import PEOPLE, edited, rows

SCORE = "score: F64?"
LIVES = "{ since: I32? }"
SEARCH = 'query q() { match { $p: Person  search($p.life, "word3") } return { $p.name as n } }'


def steps(graph: Graph, schema: str) -> list[str]:
    return [str(each.step) for each in graph.apply_schema(schema).plan.steps]


@pytest.fixture(autouse=True)
def mock_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "mock")


def test_a_graph_is_sound_optimized_and_cleaned_after_changes_of_its_schema(graph: Graph) -> None:
    renamed = edited(("bio: String?", 'life: String? @rename_from("bio")'))
    ranked = renamed.replace(SCORE, f"{SCORE}\n  rank: I32 @default(3)")
    again = ranked.replace('@rename_from("bio") @index', "@index  bio: String? @index")
    for schema in (renamed, ranked, again):
        graph.apply_schema(schema)
        graph.mutate("query q() { update Person set { age: 50 } where age > 9 }")
    assert graph.fsck().findings == ()
    before = rows(graph, "node:Person")

    graph.optimize()
    graph.cleanup(keep=1, grace="0s", confirm=True)

    assert graph.fsck().findings == ()
    assert rows(graph, "node:Person") == before
    assert graph.query(SEARCH).to_dicts() == [{"n": "p03"}]
    assert steps(graph, f"{graph.schema}node Dog {{ name: String @key }}\n") == ["add node Dog"]


def test_a_vector_follows_the_text_that_it_is_made_from_under_its_new_name(graph: Graph) -> None:
    embedded = edited((SCORE, f'{SCORE}\n  vec: Vector(8)? @embed("bio")'))
    renamed = embedded.replace("bio: String?", 'life: String? @rename_from("bio")')
    assert steps(graph, embedded) == ["add property Person.vec: Vector(8)?"]

    assert steps(graph, renamed.replace('@embed("bio")', '@embed("life")')) == [
        "rename property Person.bio to life"
    ]
    graph.mutate('query q() { insert Person { name: "new", life: "hello" } }')

    assert [row["id"] for row in rows(graph, "node:Person") if row["vec"]] == ["new"]
    with pytest.raises(UnsupportedMigrationError, match="the @embed of a property cannot change"):
        graph.apply_schema(renamed.replace('@embed("bio")', '@embed("mail")'))


def test_a_property_can_move_into_an_interface_and_be_renamed_there(graph: Graph) -> None:
    named = "interface Named { title: String? }"
    moved = edited(
        (named, f"{named}\ninterface Aged {{ age: I32? @index }}"),
        ("implements Named", "implements Named, Aged"),
        ("  age: I32? @index\n", ""),
    )

    assert steps(graph, moved) == ["add interface Aged", "update the metadata of node Person"]
    assert steps(graph, moved.replace("age: I32?", 'years: I32? @rename_from("age")')) == [
        "rename property Aged.age to years",
        "rename property Person.age to years",
    ]
    assert [row["years"] for row in rows(graph, "node:Person")] == list(range(PEOPLE))


def test_edges_get_rules_and_indexes(graph: Graph) -> None:
    ruled = edited((LIVES, "{ since: I32? @index @unique(src) @index(dst) }"))
    assert len(steps(graph, ruled)) == 3

    with pytest.raises(ViolationsError, match=r"Lives\.to .* is that of another Lives already"):
        graph.apply_schema(ruled.replace("@unique(src)", "@unique(src) @unique(dst)"))
    with pytest.raises(ViolationsError):
        graph.mutate('query q() { insert Lives { from: "p01", to: "ulm" } }')


def test_blobs_get_their_default(graph: Graph) -> None:
    graph.apply_schema(edited((SCORE, f'{SCORE}\n  pic: Blob @default("base64:AAAA")')))
    graph.mutate('query q() { insert Person { name: "new" } }')

    assert len({row["pic"] for row in rows(graph, "node:Person")}) == 1
