"""Library: a graph of documents with words, numbers and vectors, and questions about them."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from omnigraph.api.graph import Graph
from tests.templates import fresh_graph

DIMENSION = 16
SCHEMA = f"""
node Doc {{
  slug: String @key
  text: String @index
  year: I32 @index
  place: Vector({DIMENSION})? @index
}}
"""
WORDS = ("river", "stone", "winter", "garden", "harbour", "copper", "letter", "window")

NEAREST = f"""
query near($wanted: Vector({DIMENSION}), $count: I32) {{
  match {{ $d: Doc }} return {{ $d.slug as slug, nearest($d.place, $wanted) as far }}
  order {{ nearest($d.place, $wanted) }} limit $count
}}
query near_in($wanted: Vector({DIMENSION}), $year: I32) {{
  match {{ $d: Doc {{ year: $year }} }} return {{ $d.slug as slug }}
  order {{ nearest($d.place, $wanted) }} limit 5
}}
query all_near($wanted: Vector({DIMENSION})) {{
  match {{ $d: Doc }} return {{ $d.slug as slug }}
  order {{ nearest($d.place, $wanted) }} limit 99999
}}
"""
QUESTIONS = """
query of_year($year: I32) { match { $d: Doc { year: $year } } return { $d.slug as slug } }
query with_word($word: String) {
  match { $d: Doc  search($d.text, $word) } return { $d.slug as slug }
}
query with_like($word: String) {
  match { $d: Doc  fuzzy($d.text, $word) } return { $d.slug as slug }
}
query ranked($word: String) {
  match { $d: Doc } return { $d.slug as slug } order { bm25($d.text, $word) desc } limit 7
}
"""


def new_library(root: Path) -> Graph:
    return fresh_graph(root, SCHEMA)


def vectors(count: int, seed: int) -> "np.ndarray":
    """Return vectors of length one that lie around a few centres."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(12, DIMENSION))
    found = centres[random.integers(0, len(centres), count)]
    found = found + 0.4 * random.normal(size=(count, DIMENSION))
    unit: np.ndarray = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
    return unit


def documents(first: int, count: int, *, missing: int = 0) -> pa.Table:
    """Return documents of consecutive numbers; the vector of each `missing`-th is null."""
    numbers = range(first, first + count)
    found = vectors(count, first)
    places = [
        None if missing and number % missing == 0 else found[at].tolist()
        for at, number in enumerate(numbers)
    ]
    return pa.table(
        {
            "slug": [f"d{number:05}" for number in numbers],
            "text": [f"{WORDS[n % 8]} {WORDS[n * 5 % 7]} and {WORDS[n // 9 % 8]}" for n in numbers],
            "year": pa.array([1900 + number % 40 for number in numbers], pa.int32()),
            "place": pa.array(places, pa.list_(pa.float32(), DIMENSION)),
        }
    )


def answers(graph: Graph, target: str = "main") -> dict[str, list[str]]:
    """Ask about years and words, and give the documents that are found."""
    view = graph.at(target)
    found = {f"year {year}": view.query(QUESTIONS, "of_year", year=year) for year in (1900, 1917)}
    for word in ("winter", "letters", "absent"):
        found[f"word {word}"] = view.query(QUESTIONS, "with_word", word=word)
        found[f"ranked {word}"] = view.query(QUESTIONS, "ranked", word=word)
    found["like wintr"] = view.query(QUESTIONS, "with_like", word="wintr")
    return {name: [str(row["slug"]) for row in rows] for name, rows in found.items()}


def nearest(graph: Graph, wanted: "np.ndarray", count: int = 10) -> list[str]:
    """Return the documents that are nearest to a vector."""
    rows = graph.query(NEAREST, "near", wanted=wanted.tolist(), count=count)
    return [str(row["slug"]) for row in rows]


def truly_nearest(graph: Graph, wanted: "np.ndarray", count: int = 10) -> list[str]:
    """Return the same from all vectors, computed here."""
    rows = graph.snapshot().table("node:Doc").scan(["id", "place"]).to_pylist()
    known = [(row["id"], np.asarray(row["place"])) for row in rows if row["place"] is not None]
    far = [(1 - float(place @ wanted) / np.linalg.norm(wanted), name) for name, place in known]
    return [name for _, name in sorted(far)[:count]]
