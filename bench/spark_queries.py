"""Spark queries: what Spark answers for OmniGraph, beside this process and Spark SQL by hand.

Both sessions of Spark are stock ones, each in a process and a JVM of its own.
"""

import argparse
import re
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import geometric_mean

from bench.peers import write_parquet
from bench.questions import NINE, TWO_HOPS, Question
from bench.raw_spark import RawSpark, start_stock
from bench.record import Derived, Timing, measure_in_turn, over, seconds, store, timing
from bench.social import SCHEMA, social_tables
from omnigraph import Graph, init
from omnigraph.errors import BudgetError

PACKAGES = ["numpy", "pyarrow", "pylance", "pyspark"]
# Persons, each of whom follows 24 others on average.
FULL, QUICK = (10_000, 40_000, 100_000), (500, 1_000, 2_000)
FOLLOWS_EACH = 24
# The two ends of each path are compared, so every path is a row: of the largest graph, more rows
# than a query in this process may keep.
OLDER = Question(
    "paths_to_older",
    """query q() {
      match { $a follows $b  $b follows $c  $a.age < $c.age }
      return { count($c) as paths }
    }""",
    sql="""SELECT count(*) FROM follows one JOIN follows two ON two.source = one.target
           JOIN person a ON a.id = one.source JOIN person c ON c.id = two.target
           WHERE a.age < c.age""",
)
OURS, INLINE, PEER = "spark", "inline", "raw_spark"
Asking = Callable[[], list[tuple[object, ...]]]


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.spark_queries", description=__doc__)
    options.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    options.add_argument("--runs", type=int, default=3)
    chosen = options.parse_args()
    sizes = QUICK if chosen.quick else FULL
    spark = start_stock("local[2]")  # the session of whoever asks is used as it is
    findings: dict[str, object] = {"persons": sizes[-1], "follows": FOLLOWS_EACH * sizes[-1]}
    findings["spark_processes"] = "one of its own for each side, with stock flags"
    with RawSpark("local[2]") as peer:
        for persons in sizes:
            with tempfile.TemporaryDirectory() as name:
                graph = _filled(Path(name), peer, persons)
                older = _asking(OLDER, graph, peer)
                findings |= _shown(_measured(f"{OLDER.name}_{persons}", older, min(2, chosen.runs)))
                for question in (*NINE, TWO_HOPS) if persons == sizes[-1] else ():
                    asking = _asking(question, graph, peer)
                    findings |= _shown(_measured(question.name, asking, chosen.runs))
    spark.stop()
    findings |= _shown({f"nine_{OURS}_over_{PEER}": _mean(findings)})
    findings |= _shown({f"nine_{OURS}_over_{PEER}_first": _mean_first(findings)})
    if not chosen.quick:
        print(f"stored in {store('spark_queries', PACKAGES, findings).relative_to(Path.cwd())}")


def _filled(folder: Path, peer: RawSpark, persons: int) -> Graph:
    """Make the graph, and the same as Parquet files that the peer knows as views."""
    tables = social_tables(persons, FOLLOWS_EACH * persons)
    write_parquet(tables, folder)
    peer.open(folder)
    graph = init(folder / "graph", SCHEMA, durable=False)
    graph.load(tables, engine="inline")
    return graph


def _asking(question: Question, graph: Graph, peer: RawSpark) -> dict[str, Asking]:
    """Return the three ways to the answer; those of OmniGraph begin with the same text."""
    sql, params = re.sub(r"\$(\w+)", r":\1", question.sql), dict(question.params)

    def ours(engine: str) -> list[tuple[object, ...]]:
        found = graph.at(engine=engine).query(question.gq, **params)
        return [tuple(row.values()) for row in found.to_dicts()]

    by_hand = partial(peer.ask, sql, params)
    return {INLINE: partial(ours, INLINE), OURS: partial(ours, OURS), PEER: by_hand}


def _measured(name: str, asking: dict[str, Asking], runs: int) -> dict[str, object]:
    """Ask once, compare the answers, and ask again; what this process refuses is left out."""
    findings: dict[str, object] = {}
    answers: dict[str, list[tuple[object, ...]]] = {}

    def ask(way: str) -> None:
        answers[way] = [tuple(map(_plain, row)) for row in asking[way]()]

    for way in asking:
        try:
            findings[f"{name}_{way}_first"] = timing([seconds(partial(ask, way))])
        except BudgetError as refused:
            findings[f"{name}_{way}_refused"] = refused.message
    if any(answer != answers[OURS] for answer in answers.values()):
        raise SystemExit(f"{name} has different answers: {answers}")
    times = measure_in_turn({way: asking[way] for way in answers}, runs=runs)
    findings |= {f"{name}_{way}": found for way, found in times.items()}
    findings[f"{name}_{OURS}_over_{PEER}"] = over(times[OURS], times[PEER])
    if INLINE in times:
        findings[f"{name}_{OURS}_over_{INLINE}"] = over(times[OURS], times[INLINE])
    return findings


def _mean(findings: dict[str, object]) -> float:
    """Return the geometric mean of what Spark takes for the nine questions, over Spark by hand."""
    found = (findings[f"{each.name}_{OURS}_over_{PEER}"] for each in NINE)
    return geometric_mean(each.value for each in found if isinstance(each, Derived))


def _mean_first(findings: dict[str, object]) -> float:
    """Return the same of the first time that each question was asked."""
    return geometric_mean(
        _first(findings, each, OURS) / _first(findings, each, PEER) for each in NINE
    )


def _first(findings: dict[str, object], question: Question, way: str) -> float:
    found = findings[f"{question.name}_{way}_first"]
    assert isinstance(found, Timing)
    return found.median_ms


def _plain(value: object) -> object:
    return round(value, 9) if isinstance(value, float) else value


def _shown(findings: dict[str, object]) -> dict[str, object]:
    for name, found in findings.items():
        print(f"{name:56} {found}", flush=True)
    return findings


if __name__ == "__main__":
    main()
