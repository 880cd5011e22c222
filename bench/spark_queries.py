"""Spark queries: the questions of the social graph on Spark, beside those in this process."""

import argparse
import tempfile
from functools import partial
from pathlib import Path

from bench.questions import NINE, TWO_HOPS
from bench.record import measure_in_turn, store
from bench.social import SCHEMA, social_tables
from omnigraph import SparkSettings, init
from omnigraph.pipeline.session import session, stop

PACKAGES = ["numpy", "pyarrow", "pylance", "pyspark"]


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    options.add_argument("--runs", type=int, default=3)
    chosen = options.parse_args()
    persons, follows = (5_000, 50_000) if chosen.quick else (100_000, 2_400_000)
    session(SparkSettings(master="local[2]"))
    with tempfile.TemporaryDirectory() as name:
        findings = _measured(Path(name), persons, follows, chosen.runs)
    stop()
    if not chosen.quick:
        print(f"stored in {store('spark_queries', PACKAGES, findings).relative_to(Path.cwd())}")


def _measured(folder: Path, persons: int, follows: int, runs: int) -> dict[str, object]:
    graph = init(folder / "g", SCHEMA, durable=False)
    graph.load(social_tables(persons, follows), engine="inline")
    views = {engine: graph.at(engine=engine) for engine in ("inline", "spark")}
    findings: dict[str, object] = {"persons": persons, "follows": follows}
    for question in (*NINE, TWO_HOPS):
        tables = [each.query(question.gq, **question.params).table for each in views.values()]
        assert tables[0].equals(tables[1]), f"the answers to {question.name} differ"
        asking = {
            engine: partial(view.query, question.gq, **question.params)
            for engine, view in views.items()
        }
        for engine, found in measure_in_turn(asking, runs=runs).items():
            findings[f"{question.name}_{engine}"] = found
            print(f"{question.name:32} {engine:8} {found}")
    return findings


if __name__ == "__main__":
    main()
