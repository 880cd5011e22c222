"""Spark queries: what Spark answers for OmniGraph, beside this process and Spark SQL by hand.

Both sessions of Spark are stock ones, each in a process and a JVM of its own. Every question is
asked once, in all ways, for the time that it takes first; then equally often in each way without a
watch, because Java compiles meanwhile; then with one. If Spark by hand fails, mostly for want of
memory, it is asked again in a new session; the question is not compared if it fails there too, and
never by its first time.
"""

import argparse
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import TypeAlias

from bench.peers import write_parquet
from bench.questions import NINE, TWO_HOPS, Question
from bench.raw_spark import RawSpark, RawSparkError, start_stock
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
# Every way is asked so often, turn by turn, before its time counts.
_WARM_UP = 4
Way: TypeAlias = Callable[[], list[tuple[object, ...]]]


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.spark_queries", description=__doc__)
    options.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    options.add_argument("--runs", type=int, default=3)
    options.add_argument(
        "--only", nargs="+", default=[], help="beginnings of names of questions; nothing is stored"
    )
    chosen = options.parse_args()
    sizes: tuple[int, ...] = QUICK if chosen.quick else FULL
    sizes = sizes[-1:] if chosen.only else sizes
    spark = start_stock("local[2]")  # the session of whoever asks is used as it is
    findings: dict[str, object] = {"persons": sizes[-1], "follows": FOLLOWS_EACH * sizes[-1]}
    findings["spark_processes"] = "one of its own for each side, with stock flags"
    findings["warm_up_runs"] = _WARM_UP
    with RawSpark("local[2]") as peer:
        for persons in sizes:
            with tempfile.TemporaryDirectory() as name:
                graph = _filled(Path(name), peer, persons)
                for question in _questions(persons, sizes[-1], chosen.only):
                    asking = _Asking(question, graph, peer)
                    findings |= _shown(asking.measure(chosen.runs))
    spark.stop()
    findings |= _shown(_means(findings))
    if not chosen.quick and not chosen.only:
        print(f"stored in {store('spark_queries', PACKAGES, findings).relative_to(Path.cwd())}")


def _questions(persons: int, largest: int, only: list[str]) -> list[Question]:
    """Return what is asked of a graph: of the largest one, all or those that are wanted."""
    older = replace(OLDER, name=f"{OLDER.name}_{persons}")
    asked = [older, *NINE, TWO_HOPS] if persons == largest else [older]
    return [each for each in asked if not only or each.name.startswith(tuple(only))]


def _filled(folder: Path, peer: RawSpark, persons: int) -> Graph:
    """Make the graph, and the same as Parquet files that the peer knows as views."""
    tables = social_tables(persons, FOLLOWS_EACH * persons)
    write_parquet(tables, folder)
    peer.open(folder)
    graph = init(folder / "graph", SCHEMA, durable=False)
    graph.load(tables, engine="inline")
    return graph


class _Asking:
    """The three ways to the answer of a question; those of OmniGraph begin with the same text."""

    def __init__(self, question: Question, graph: Graph, peer: RawSpark) -> None:
        self._name, self._peer = question.name, peer
        sql, params = re.sub(r"\$(\w+)", r":\1", question.sql), dict(question.params)

        def ours(engine: str) -> list[tuple[object, ...]]:
            found = graph.at(engine=engine).query(question.gq, **params)
            return [tuple(row.values()) for row in found.to_dicts()]

        self._ways: dict[str, Way] = {INLINE: partial(ours, INLINE), OURS: partial(ours, OURS)}
        self._ways[PEER] = partial(peer.ask, sql, params)

    def measure(self, runs: int) -> dict[str, object]:
        """Return what is found by asking in all ways; Spark by hand may begin anew once."""
        try:
            return self._measure(self._ways, runs, is_new=False)
        except RawSparkError as failed:
            findings: dict[str, object] = {f"{self._name}_{PEER}_restarted": _reason(failed)}
        self._peer.restart()
        try:
            return findings | self._measure(self._ways, runs, is_new=True)
        except RawSparkError as failed:
            findings[f"{self._name}_{PEER}_failed"] = _reason(failed)
        self._peer.restart()
        own = {way: self._ways[way] for way in (INLINE, OURS)}
        return findings | self._measure(own, runs, is_new=True)

    def _measure(self, ways: dict[str, Way], runs: int, *, is_new: bool) -> dict[str, object]:
        """Ask once, compare the answers, and ask again; a new session has no first time."""
        times, findings = self._ask_all(ways)
        if not is_new:
            findings |= {f"{self._name}_{way}_first": timing([each]) for way, each in times.items()}
        return findings | self._compare(times, runs)

    def _ask_all(self, ways: dict[str, Way]) -> tuple[dict[str, float], dict[str, object]]:
        """Return how many seconds each way took, and what this process refuses, if it does."""
        times: dict[str, float] = {}
        refusals: dict[str, object] = {}
        answers: dict[str, list[tuple[object, ...]]] = {}

        def ask(way: str) -> None:
            answers[way] = [tuple(map(_plain, row)) for row in ways[way]()]

        for way in ways:
            try:
                times[way] = seconds(partial(ask, way))
            except BudgetError as refused:
                refusals[f"{self._name}_{way}_refused"] = refused.message
        if any(answer != answers[OURS] for answer in answers.values()):
            raise SystemExit(f"{self._name} has different answers: {answers}")
        return times, refusals

    def _compare(self, asked: Iterable[str], runs: int) -> dict[str, object]:
        """Return how long each way takes, and Spark over the others."""
        ways = {way: self._ways[way] for way in asked}
        times = measure_in_turn(ways, runs=runs, warm_up=_WARM_UP)
        findings: dict[str, object] = {f"{self._name}_{way}": each for way, each in times.items()}
        for other in (PEER, INLINE):
            if other in times:
                ratio = over(times[OURS], times[other])
                findings[f"{self._name}_{OURS}_over_{other}"] = ratio
        return findings


def _reason(failed: RawSparkError) -> str:
    return str(failed).strip().partition("\n")[0]


def _means(findings: dict[str, object]) -> dict[str, object]:
    """Return the geometric means of what Spark takes for the nine questions, over Spark by hand.

    The second is of the first time that each question was asked.
    """
    name = f"nine_{OURS}_over_{PEER}"
    warm = [findings.get(f"{each.name}_{OURS}_over_{PEER}") for each in NINE]
    ratios = [each.value for each in warm if isinstance(each, Derived)]
    firsts = [[findings.get(f"{each.name}_{way}_first") for way in (OURS, PEER)] for each in NINE]
    first = [
        one.median_ms / other.median_ms
        for one, other in firsts
        if isinstance(one, Timing) and isinstance(other, Timing)
    ]
    found: dict[str, object] = {}
    for key, values in ((name, ratios), (f"{name}_first", first)):
        if values:
            found |= {key: geometric_mean(values), f"{key}_questions": len(values)}
    return found


def _plain(value: object) -> object:
    return round(value, 9) if isinstance(value, float) else value


def _shown(findings: dict[str, object]) -> dict[str, object]:
    for name, found in findings.items():
        print(f"{name:56} {found}", flush=True)
    return findings


if __name__ == "__main__":
    main()
