"""Typescript: the client for TypeScript as it is built, in a real Node against a real server."""

from pathlib import Path

from tests.clients.node import served

_SCHEMA = """
node Person { slug: String @key  name: String }
node Counter { slug: String @key  total: U64  signed: I64?  history: [I64]? }
edge Knows: Person -> Person
"""
_QUERIES = """
query counters($least: U64) {
  match { $c: Counter  $c.total >= $least }
  return { $c.slug as slug, $c.total as total }
  order { $c.slug }
}
query add_counter($slug: String, $total: U64) { insert Counter { slug: $slug total: $total } }
"""


def test_a_graph_is_read_changed_merged_and_watched_from_node(tmp_path: Path) -> None:
    with served(tmp_path, _SCHEMA, _QUERIES) as node:
        node.test("values", "live")
