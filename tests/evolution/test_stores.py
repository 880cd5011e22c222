"""A schema changes on an object store as it does on a disk."""

import pytest

from omnigraph.api.graph import init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import HeadMovedError, SchemaEditedError
from omnigraph.storage.store import store_at
from tests.stores import Lane

FIRST = "node Person { name: String @key  age: I32? @index }\nedge Knows: Person -> Person\n"
SECOND = """
node Human @rename_from("Person") {
  name: String @key
  years: I32? @rename_from("age") @index
  rank: I32 @default(3)
  nick: String? @index
}
edge Knows: Human -> Human
node Firm { name: String @key }
"""


@pytest.mark.parametrize("lane", ["seaweedfs"], indirect=True)
def test_a_schema_is_applied_on_an_object_store(lane: Lane) -> None:
    graph = init(lane.root, FIRST)
    graph.mutate('query q() { insert Person { name: "ann", age: 5 } }')
    first = graph.snapshot().commit.id
    graph.create_branch("draft")

    assert graph.apply_schema(SECOND).applied
    graph.mutate('query q() { insert Human { name: "bob", nick: "b" } insert Firm { name: "f" } }')

    for reader in (graph, open_graph(lane.root)):
        found = reader.query("""query q() {
          match { $h: Human } return { $h.name as n, $h.years as y, $h.rank as r } order { n }
        }""")
        assert found.to_dicts() == [{"n": "ann", "y": 5, "r": 3}, {"n": "bob", "y": None, "r": 3}]
        old = "query q() { match { $p: Person } return { $p.age as a } }"
        assert reader.at(first).query(old).to_dicts() == [{"a": 5}]
        assert reader.at("draft").query(old).to_dicts() == [{"a": 5}]
    with pytest.raises(HeadMovedError):
        graph.branch(expect=first).apply_schema(FIRST)
    objects = store_at(lane.root).objects
    assert objects.read("_schema.pg") == SECOND.encode()
    objects.write("_schema.pg", FIRST.replace("age", "aged").encode())
    with pytest.raises(SchemaEditedError):
        open_graph(lane.root)
