"""Hybrid: search by words and by meaning together, beside LanceDB on the same documents."""

from collections import defaultdict
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.cold import ask_cold
from bench.questions import DIMENSION, HYBRID, Question
from bench.record import DATA_SEED, measure_in_turn, over, timing
from bench.systems import LanceDb, OmniGraph
from omnigraph import init

SCHEMA = f"""
node Doc {{ slug: String @key  text: String @index  vector: Vector({DIMENSION}) @index }}
"""
VOCABULARY, LIMIT = 20_000, 10
CONSTANT = 60
_TOLERANCE = 1e-6
_PROCESSES = 7


def hybrid_search(folder: Path, docs: int, runs: int) -> dict[str, object]:
    """Search both systems in turn, after both gave the same answers."""
    chance = np.random.default_rng(DATA_SEED)
    table = _documents(chance, docs)
    root = folder / "docs"
    init(root, SCHEMA, durable=False).load(table, type="Doc", engine="inline")
    graph = OmniGraph(root)
    peer = _peer(folder / "lancedb", table)
    searches = [_search(chance) for _ in range(10)]
    for search in searches:
        _compare(graph, peer, search, docs)
    ours, theirs = cycle(searches), cycle(searches)
    found = measure_in_turn(
        {
            "hybrid_omnigraph": lambda: graph.ask(next(ours)),
            "hybrid_lancedb": lambda: peer.ask(next(theirs)),
        },
        runs=3 * runs,
        warm_up=10,
    )
    ratio = over(found["hybrid_omnigraph"], found["hybrid_lancedb"])
    cold = {
        f"cold_hybrid_{name}": timing(
            [ask_cold(name, each, HYBRID.name).total_s for _ in range(_PROCESSES)]
        )
        for name, each in (("omnigraph", root), ("lancedb", folder / "lancedb"))
    }
    return {"hybrid_docs": docs, **found, "hybrid_over_lancedb": ratio, **cold}


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


def _search(chance: np.random.Generator) -> Question:
    """Ask for a point and for a frequent, a less frequent and a rare word."""
    words = [chance.integers(*bounds) for bounds in ((20, 100), (100, 1_000), (1_000, 10_000))]
    point = chance.standard_normal(DIMENSION, np.float32)
    params = {"point": point, "words": " ".join(f"word{word}" for word in words)}
    return replace(HYBRID, params=params)


def _peer(root: Path, table: pa.Table) -> LanceDb:
    """Make a table of LanceDB whose text index has the words that ours has."""
    import lancedb
    from lancedb.index import FTS

    made = lancedb.connect(root).create_table("docs", table)
    config = FTS(with_position=True, remove_stop_words=False, max_token_length=None)
    made.create_index("text", config=config)
    made.wait_for_index(["text_idx"])
    return LanceDb(root)


def _compare(graph: OmniGraph, peer: LanceDb, search: Question, docs: int) -> None:
    """Stop when the best ten are not the best by the rankings of LanceDB.

    LanceDB fuses as many rows of each ranking as it gives back, OmniGraph fuses all; so for the
    comparison LanceDB gives all. Rows that tie have any of their ranks.
    """
    point, wanted = search.params["point"], search.params["words"]
    near = peer.table.search(point, vector_column_name="vector").distance_type("cosine")
    near = near.select(["slug", "_distance"]).limit(docs).to_arrow()
    words = peer.table.search(wanted, query_type="fts", fts_columns="text")
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
    for slug, score in (found := graph.ask(search)):
        assert isinstance(slug, str)
        assert isinstance(score, float)
        inside = least[slug] - _TOLERANCE <= score <= most[slug] + _TOLERANCE
        if len(found) != LIMIT or not inside or score < tenth:
            raise SystemExit(f"search for {wanted} differs from LanceDB: {slug} has {score}")
