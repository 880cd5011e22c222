"""Queries: the reads of a memory."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from omnigraph.api.view import View
from omnigraph.memory.shape import MemoryShape

Row: TypeAlias = Mapping[str, Any]

# Of several rankings, a fact gets 1 / (DAMPING + its rank) for each; so does `rrf` of the language.
DAMPING = 60
_TRUE = "$f.valid_from <= $on ($f.valid_to is null or $f.valid_to > $on)"
# An id is looked up by itself: many may have it as their name, more than are read of those.
ENTITY = """query entity($name: String) {
  match { $e: Entity $e.id = $name }
  return { $e.id as id, $e.name as name, $e.aliases as aliases }
}"""
NAMED = """query named($name: String) {
  match { $e: Entity (lower($e.name) = lower($name) or $e.aliases contains $name) }
  return { $e.id as id, $e.name as name, $e.aliases as aliases } order { id } limit 20
}"""
SOURCE = """query source($name: String) {
  match { $s: Source $s.id = $name } return { $s.id as id }
}"""
TITLED = """query titled($name: String) {
  match { $s: Source $s.title = $name } return { $s.id as id } order { id } limit 20
}"""
TIMES = """query times($ids: [String]) {
  match { $f: Fact $f.id in $ids }
  return { $f.id as id, $f.valid_from as since, $f.valid_to as until }
}"""
# A ranking cannot stand beside an aggregate, so this is a read of its own, of the facts that were
# found. A limit on the rows of one read of both would cut facts that have many of them.
LINKS = """query links($ids: [String]) {
  match { $f: Fact $f.id in $ids optional { $f about $e } optional { $f saidIn $s } }
  return { $f.id as id, collect(distinct $e.name order { $e.name }) as about,
    collect(distinct $s.title order { $s.title }) as sources }
}"""


def rows_of(view: View, text: str, /, **params: object) -> list[Row]:
    """Return the rows of a read."""
    return list(view.query(text, params))


def same(shape: MemoryShape) -> str:
    """Return the read of facts with a text that are true on a day."""
    claim = ", $f.attribute as attribute, $f.value as value" if shape.has_claims else ""
    return f"""query same($text: String, $on: Date) {{
  match {{ $f: Fact $f.text = $text {_TRUE} $f about $e $f saidIn $s }}
  return {{ $f.id as id, $f.valid_from as since{claim}, collect(distinct $e.id) as about,
    collect(distinct $s.id) as sources }}
  order {{ id }}
}}"""


def taken(type_name: str) -> str:
    """Return the read of those ids that a type has already."""
    return (
        f"query taken($ids: [String]) {{ match {{ $n: {type_name} $n.id in $ids }}"
        " return { $n.id as id } }"
    )


def recall(shape: MemoryShape, *, searched: str | None, is_limited: bool, most: int) -> str:
    """Return the read of facts that are true on a day, one row for each.

    `searched` is how they are ranked: by words, or by words and meaning; without it the newest
    come first. With `is_limited` they are about some entities.
    """
    scope = "exists { $f about $x  $x.id in $ids }" if is_limited else ""
    declared = "$on: Date" + (", $ids: [String]" if is_limited else "")
    declared += "" if searched is None else ", $question: String"
    claim = ", $f.attribute as attribute, $f.value as value" if shape.has_claims else ""
    score = "" if searched is None else f", {searched} as score"
    order = "since desc" if searched is None else "score desc, since desc"
    return f"""query recall({declared}) {{
  match {{ $f: Fact {_TRUE} {scope} }}
  return {{ $f.id as id, $f.text as text, $f.valid_from as since,
    $f.valid_to as until{claim}{score} }}
  order {{ {order}, id }}
  limit {most}
}}"""


def ranking(shape: MemoryShape, *, by_meaning: bool) -> str:
    """Return how facts are ranked for a question."""
    words = "bm25($f.text, $question)"
    if not by_meaning or shape.vector is None:
        return words
    return f"rrf({words}, nearest($f.{shape.vector}, $question), {DAMPING})"


AGAINST = """query against(
  $ids: [String], $attribute: String, $value: String, $fact: String, $since: Date, $until: Date?
) {
  match { $f about $e  $e.id in $ids  $f.id != $fact
    $f.attribute = $attribute  $f.value != $value
    ($f.valid_to is null or ($f.valid_to > $since and $f.valid_to > $f.valid_from))
    ($until is null or $f.valid_from < $until) }
  return { $e.name as entity, $f.id as id, $f.text as text, $f.value as value,
    $f.valid_from as since, $f.valid_to as until }
  order { entity, id }
}"""


def contradictions(most: int) -> str:
    """Return the read of all pairs of facts that cannot both be true."""

    def columns(variable: str) -> str:
        named = {"id": "id", "text": "text", "value": "value"}
        named |= {"since": "valid_from", "until": "valid_to"}
        return ", ".join(f"${variable}.{of} as {variable}_{name}" for name, of in named.items())

    return f"""query contradictions() {{
  match {{ $a about $e  $b about $e
    $a.attribute = $b.attribute  $a.value != $b.value  $a.id < $b.id
    ($a.valid_to is null or ($a.valid_to > $b.valid_from and $a.valid_to > $a.valid_from))
    ($b.valid_to is null or ($b.valid_to > $a.valid_from and $b.valid_to > $b.valid_from)) }}
  return {{ $e.name as entity, $a.attribute as attribute, {columns("a")}, {columns("b")} }}
  order {{ entity, attribute, a_id, b_id }}
  limit {most}
}}"""
