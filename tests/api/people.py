"""People: a small graph with every kind of value, and queries for it."""

from pathlib import Path

from omnigraph.api.graph import Graph
from tests.templates import fresh_graph

SCHEMA = """
node Person {
  slug: String @key
  name: String
  age: I32?
  born: Date?
  seen: DateTime?
  tags: [String]?
  place: Vector(3)?
  photo: Blob?
  count: U64?
}
node Team { slug: String @key  title: String? }
edge Knows: Person -> Person { since: Date?  weight: F64? }
edge MemberOf: Person -> Team
"""

ROWS = """\
{"type": "Person", "data": {"slug": "ana", "name": "Ana <b>", "age": 37, "born": "1988-02-29", \
"seen": "2024-01-31T12:00:00.250Z", "tags": ["a", "b"], "place": [0.1, 0.2, 0.3], \
"photo": "base64:aGVsbG8=", "count": 18446744073709551615}}
{"type": "Person", "data": {"slug": "bo", "name": "Bo", "age": 41}}
{"type": "Person", "data": {"slug": "cy", "name": "Cy"}}
{"type": "Team", "data": {"slug": "ana", "title": "A team that is called like a person"}}
{"edge": "Knows", "from": "ana", "to": "bo", "data": {"since": "2020-05-01", "weight": 0.5}}
{"edge": "Knows", "from": "bo", "to": "cy"}
{"edge": "MemberOf", "from": "bo", "to": "ana"}
"""

QUERIES = """
query all() {
  match { $p: Person }
  return { $p.slug as slug, $p.name as name, $p.age as age, $p.born as born, $p.seen as seen,
           $p.tags as tags, $p.place as place, $p.count as count }
  order { slug asc }
}
query ages() { match { $p: Person } return { $p.slug as slug, $p.age as age } order { slug asc } }
query person($slug: String) { match { $p: Person { slug: $slug } } return { $p.name as name } }
query whole($slug: String) { match { $p: Person { slug: $slug } } return { $p } }
query friends() {
  match { $p: Person  $p knows $f }
  return { $p.slug as slug, $f.slug as friend, $f.age as age }
  order { slug asc }
}
query add($slug: String, $age: I32?) { insert Person { slug: $slug  name: $slug  age: $age } }
query birthday($slug: String, $age: I32) { update Person set { age: $age } where slug = $slug }
query remove($slug: String) { delete Person where slug = $slug }
"""


def people(root: Path) -> Graph:
    """Return a new graph with a few people."""
    return fresh_graph(root, SCHEMA, ROWS)
