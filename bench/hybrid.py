"""Hybrid: search by words and by meaning together, beside LanceDB on the same documents."""

import os
from collections import defaultdict
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.record import Timing, measure_in_turn
from omnigraph import Graph, init

SCHEMA = """
node Doc { slug: String @key  text: String @index  vector: Vector(128) @index }
"""
HYBRID = """query q($point: Vector(128), $words: String) {
  match { $d: Doc }
  return { $d.slug as slug, rrf(nearest($d.vector, $point), bm25($d.text, $words)) as score }
  order { score desc } limit 10
}"""
DIMENSION, VOCABULARY, LIMIT = 128, 20_000, 10
CONSTANT = 60
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Search:
    """What one search asks for."""

    point: "np.ndarray"
    words: str


def hybrid_search(folder: Path, docs: int, runs: int) -> dict[str, object]:
    """Search both systems in turn, after both gave the same answers."""
    chance = np.random.default_rng(7)
    table = _documents(chance, docs)
    graph = init(folder / "docs", SCHEMA, durable=False)
    graph.load(table, type="Doc", engine="inline")
    peer = _peer(folder / "lancedb", table)
    searches = [_search(chance) for _ in range(10)]
    for search in searches:
        _compare(graph, peer, search, docs)
    ours, theirs = cycle(searches), cycle(searches)
    found = measure_in_turn(
        {
            "hybrid_omnigraph": lambda: _hybrid(graph, next(ours)),
            "hybrid_lancedb": lambda: _peer_hybrid(peer, next(theirs), LIMIT),
        },
        runs=3 * runs,
        warm_up=10,
    )
    return {"hybrid_docs": docs, **found, "hybrid_over_lancedb": _ratio(found)}


def _ratio(found: dict[str, Timing]) -> float:
    return found["hybrid_omnigraph"].median_ms / found["hybrid_lancedb"].median_ms


def _documents(chance: np.random.Generator, docs: int) -> pa.Table:
    """Make texts of 20 to 60 words, some of which are far more frequent than others."""
    lengths = chance.integers(20, 60, docs)
    shares = 1 / (np.arange(VOCABULARY) + 10)
    chosen = chance.choice(VOCABULARY, lengths.sum(), p=shares / shares.sum())
    words = np.char.add("word", np.arange(VOCABULARY).astype(str))[chosen]
    texts = [" ".join(each) for each in np.split(words, np.cumsum(lengths)[:-1])]
    values = chance.standard_normal(docs * DIMENSION, np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values), DIMENSION)
    slugs = [f"doc-{at:06d}" for at in range(docs)]
    return pa.table({"slug": slugs, "text": texts, "vector": vectors})


def _search(chance: np.random.Generator) -> Search:
    """Ask for a point and for a frequent, a less frequent and a rare word."""
    words = [chance.integers(*bounds) for bounds in ((20, 100), (100, 1_000), (1_000, 10_000))]
    point = chance.standard_normal(DIMENSION, np.float32)
    return Search(point, " ".join(f"word{word}" for word in words))


def _peer(root: Path, table: pa.Table) -> Any:
    """Make a table of LanceDB whose text index has the words that ours has."""
    # LanceDB warns at every hybrid search that some day it will project otherwise.
    os.environ.setdefault("LANCEDB_LOG", "error")
    import lancedb
    from lancedb.index import FTS

    made = lancedb.connect(root).create_table("docs", table)
    config = FTS(with_position=True, remove_stop_words=False, max_token_length=None)
    made.create_index("text", config=config)
    made.wait_for_index(["text_idx"])
    return made


def _hybrid(graph: Graph, search: Search) -> list[dict[str, Any]]:
    return list(graph.query(HYBRID, point=search.point, words=search.words))


def _peer_hybrid(peer: Any, search: Search, limit: int) -> list[dict[str, Any]]:
    from lancedb.rerankers import RRFReranker

    asked = peer.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
    asked = asked.vector(search.point).text(search.words).distance_type("cosine")
    found: list[dict[str, Any]] = (
        asked.rerank(RRFReranker()).limit(limit).select(["slug"]).to_list()
    )
    return found


def _compare(graph: Graph, peer: Any, search: Search, docs: int) -> None:
    """Stop when the best ten are not the best by the rankings of LanceDB.

    LanceDB fuses as many rows of each ranking as it gives back, OmniGraph fuses all; so for the
    comparison LanceDB gives all. Rows that tie have any of their ranks.
    """
    near = peer.search(search.point, vector_column_name="vector").distance_type("cosine")
    near = near.select(["slug", "_distance"]).limit(docs).to_arrow()
    words = peer.search(search.words, query_type="fts", fts_columns="text")
    words = words.select(["slug", "_score"]).limit(docs).to_arrow()
    least: dict[str, float] = defaultdict(float)
    most: dict[str, float] = defaultdict(float)
    for slugs, values in (
        (near["slug"], near["_distance"].to_numpy()),
        (words["slug"], -words["_score"].to_numpy()),
    ):
        best = np.searchsorted(np.sort(values), values - _TOLERANCE) + 1
        worst = np.searchsorted(np.sort(values), values + _TOLERANCE)
        for slug, low, high in zip(slugs.to_pylist(), worst, best, strict=True):
            least[slug] += 1 / (CONSTANT + low)
            most[slug] += 1 / (CONSTANT + high)
    tenth = sorted(least.values())[-LIMIT] - _TOLERANCE
    for row in (found := _hybrid(graph, search)):
        slug, score = row["slug"], row["score"]
        inside = least[slug] - _TOLERANCE <= score <= most[slug] + _TOLERANCE
        if len(found) != LIMIT or not inside or score < tenth:
            raise SystemExit(f"search for {search.words} differs from LanceDB: {slug} has {score}")
