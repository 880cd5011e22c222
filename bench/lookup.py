"""Lookup: one row of a million by its key, and counting rows that hold long vectors."""

from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.cold import ask_cold
from bench.questions import COUNT, POINT
from bench.record import DATA_SEED, measure, timing
from omnigraph import Graph, init
from omnigraph import open as open_graph

ACCOUNTS = """
node Account { number: I64 @key  owner: String  balance: F64  active: Bool }
"""
PICTURES = """
node Picture { slug: String @key  vector: Vector(1024) }
"""
DIMENSION = 1024
_STRIDE = 7_919
_PROCESSES = 7


def point_reads(folder: Path, rows: int, runs: int) -> dict[str, object]:
    """Read rows by key: the first in a process, and many in a warm one."""
    root = folder / "accounts"
    numbers = np.arange(rows)
    table = {
        "number": numbers,
        "owner": [f"Owner {number}" for number in numbers],
        "balance": numbers * 0.25,
        "active": numbers % 2 == 0,
    }
    init(root, ACCOUNTS, durable=False).load(pa.table(table), type="Account", engine="inline")
    first = ask_cold("omnigraph", root, POINT.name)
    later = [ask_cold("omnigraph", root, POINT.name) for _ in range(_PROCESSES)]
    graph, places = open_graph(root, durable=False), count(1)
    warm = measure(
        lambda: _checked(graph, next(places) * _STRIDE % rows), runs=20 * runs, warm_up=20
    )
    return {
        "point_read_rows": rows,
        "point_read_warm": warm,
        "point_read_first_process_answer_ms": first.answer_s * 1000,
        "point_read_first_process_total_ms": first.total_s * 1000,
        "point_read_later_process_answer": timing([each.answer_s for each in later]),
        "point_read_later_process_total": timing([each.total_s for each in later]),
    }


def _checked(graph: Graph, number: int) -> None:
    found = graph.query(POINT.gq, number=number).to_dicts()
    wanted = {"number": number, "owner": f"Owner {number}", "balance": number * 0.25}
    if found != [wanted | {"active": number % 2 == 0}]:
        raise SystemExit(f"account {number} is read as {found}")


def count_pictures(folder: Path, rows: int) -> dict[str, object]:
    """Count rows with long vectors in new processes; the vectors should not be read for it."""
    root = folder / "pictures"
    values = np.random.default_rng(DATA_SEED).random(rows * DIMENSION, np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values), DIMENSION)
    table = pa.table({"slug": [f"picture-{at}" for at in range(rows)], "vector": vectors})
    init(root, PICTURES, durable=False).load(table, type="Picture", engine="inline")
    found = [ask_cold("omnigraph", root, COUNT.name) for _ in range(_PROCESSES)]
    if any(each.answer != [[rows]] for each in found):
        raise SystemExit(f"{rows} pictures are counted as {found[0].answer}")
    return {
        "count_rows": rows,
        "count_vectors_mb": rows * DIMENSION * 4 / 1e6,
        "count_total": timing([each.total_s for each in found]),
        "count_answer": timing([each.answer_s for each in found]),
        "count_peak_mb": max(each.peak_mb for each in found),
        "count_read_mb": max(each.read_mb for each in found),
    }
