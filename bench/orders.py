"""Orders: questions in three written orders each, beside Ladybug and DuckDB, and all triangles.

A system that plans answers a question equally fast in whatever order it is written. The peers get
every order too: the patterns of Cypher and the tables of SQL are written in the same three ways.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench.peers import fill_duckdb, fill_ladybug, write_parquet
from bench.questions import Question
from bench.record import Timing, measure_in_turn, over, store
from bench.social import SCHEMA, social_tables
from bench.systems import SYSTEMS, System
from omnigraph import init

OURS, PEERS = "omnigraph", ("ladybug", "duckdb")
PACKAGES = ["duckdb", "ladybug", "numpy", "pyarrow", "pylance"]
FULL, QUICK = (100_000, 2_400_000), (5_000, 50_000)
ORDERS = ("as_asked", "turned", "mixed")
# Questions about few nodes look edges up until that has cost as much as reading all of them, which
# is after some twenty of them; what is measured is what comes then.
_WARM_UP, _TRIANGLES_WARM_UP = 15, 1


@dataclass(frozen=True, slots=True)
class Written:
    """A question by its parts, which can be put in any order, in three languages."""

    name: str
    gq: tuple[str, Sequence[str], str]
    cypher: tuple[Sequence[str], str]
    sql: tuple[str, Sequence[str], str]
    params: Mapping[str, object] = field(default_factory=dict)

    def in_order(self, order: str) -> Question:
        """Return the question with its parts in one of the three orders."""
        declared, clauses, shown = self.gq
        patterns, rest = self.cypher
        selected, tables, where = self.sql
        return Question(
            self.name,
            f"query q({declared}) {{ match {{ {'  '.join(_put(clauses, order))} }} {shown} }}",
            f"MATCH {', '.join(_put(patterns, order))} {rest}",
            f"SELECT {selected} FROM {', '.join(_put(tables, order))} WHERE {where}",
            self.params,
        )


def _put(parts: Sequence[str], order: str) -> list[str]:
    """Return parts as they are, from the last to the first, or every other one first."""
    if order == "turned":
        return [*reversed(parts)]
    return [*parts[1::2], *parts[::2]] if order == "mixed" else [*parts]


QUESTIONS = (
    Written(
        "men_of_london_dining",
        (
            "$gender: String, $city: String, $interest: String",
            [
                "$p: Person  $p.gender = $gender",
                "$p livesIn $c  $c.name = $city",
                "$p hasInterest $i  $i.name = $interest",
            ],
            "return { count($p) as n }",
        ),
        (
            ["(p:Person)", "(p)-[:LivesIn]->(c:City)", "(p)-[:HasInterest]->(i:Interest)"],
            "WHERE p.gender = $gender AND c.name = $city AND i.name = $interest RETURN count(p)",
        ),
        (
            "count(*)",
            ["person p", "lives_in l", "city c", "has_interest h", "interest i"],
            """l.source = p.id AND c.id = l.target AND h.source = p.id AND i.id = h.target
               AND p.gender = $gender AND c.name = $city AND i.name = $interest""",
        ),
        {"gender": "male", "city": "London", "interest": "fine dining"},
    ),
    Written(
        "londoners_who_follow_tennis",
        (
            "$city: String, $interest: String",
            [
                "$a follows $b",
                "$b hasInterest $i  $i.name = $interest",
                "$a livesIn $c  $c.name = $city",
            ],
            "return { count($b) as n }",
        ),
        (
            [
                "(a:Person)-[:Follows]->(b:Person)",
                "(b)-[:HasInterest]->(i:Interest)",
                "(a)-[:LivesIn]->(c:City)",
            ],
            "WHERE i.name = $interest AND c.name = $city RETURN count(*)",
        ),
        (
            "count(*)",
            ["follows f", "has_interest h", "interest i", "lives_in l", "city c"],
            """h.source = f.target AND i.id = h.target AND l.source = f.source
               AND c.id = l.target AND i.name = $interest AND c.name = $city""",
        ),
        {"city": "London", "interest": "tennis"},
    ),
    Written(
        "countries_of_young_followers",
        (
            "$seed: I64, $below: I32",
            [
                "$f follows $p  $p.id_number = $seed",
                "$f livesIn $c  $f.age < $below",
                "$c cityIn $s",
                "$s stateIn $k",
            ],
            "return { $k.name as country, count($f) as n } order { n desc, country }",
        ),
        (
            [
                "(f:Person)-[:Follows]->(p:Person)",
                "(f)-[:LivesIn]->(c:City)",
                "(c)-[:CityIn]->(s:State)",
                "(s)-[:StateIn]->(k:Country)",
            ],
            """WHERE p.id = $seed AND f.age < $below
               RETURN k.name AS country, count(f) AS n ORDER BY n DESC, country""",
        ),
        (
            "k.name AS country, count(*) AS n",
            ["follows e", "person f", "lives_in l", "city_in ci", "state_in si", "country k"],
            """e.target = $seed AND f.id = e.source AND f.age < $below AND l.source = f.id
               AND ci.source = l.target AND si.source = ci.target AND k.id = si.target
               GROUP BY k.name ORDER BY n DESC, country""",
        ),
        {"seed": 42, "below": 25},
    ),
    Written(
        "followed_by_both",
        (
            "$one: I64, $other: I64",
            ["$a follows $c", "$b follows $c", "$a.id_number = $one", "$b.id_number = $other"],
            "return { count($c) as n }",
        ),
        (
            ["(a:Person)-[:Follows]->(c:Person)", "(b:Person)-[:Follows]->(c)"],
            "WHERE a.id = $one AND b.id = $other RETURN count(*)",
        ),
        (
            "count(*)",
            ["follows x", "follows y"],
            "x.source = $one AND y.source = $other AND x.target = y.target",
        ),
        {"one": 4242, "other": 777},
    ),
    Written(
        "neighbours_who_follow",
        (
            "$state: String",
            [
                "$a follows $b",
                "$a livesIn $c",
                "$b livesIn $c",
                "$c cityIn $s  $s.name = $state",
            ],
            "return { count($a) as n }",
        ),
        (
            [
                "(a:Person)-[:Follows]->(b:Person)",
                "(a)-[:LivesIn]->(c:City)",
                "(b)-[:LivesIn]->(c)",
                "(c)-[:CityIn]->(s:State)",
            ],
            "WHERE s.name = $state RETURN count(*)",
        ),
        (
            "count(*)",
            ["follows f", "lives_in la", "lives_in lb", "city_in ci", "state s"],
            """la.source = f.source AND lb.source = f.target AND la.target = lb.target
               AND ci.source = la.target AND s.id = ci.target AND s.name = $state""",
        ),
        {"state": "Japan State 7"},
    ),
    Written(
        "triangles_of_one",
        (
            "$seed: I64",
            ["$a follows $b", "$b follows $c", "$c follows $a", "$a.id_number = $seed"],
            "return { count($b) as n }",
        ),
        (
            [
                "(a:Person)-[:Follows]->(b:Person)",
                "(b)-[:Follows]->(c:Person)",
                "(c)-[:Follows]->(a)",
            ],
            "WHERE a.id = $seed RETURN count(*)",
        ),
        (
            "count(*)",
            ["follows x", "follows y", "follows z"],
            """x.source = $seed AND y.source = x.target AND z.source = y.target
               AND z.target = x.source""",
        ),
        {"seed": 42},
    ),
)
TRIANGLES = Written(
    "triangles",
    ("", ["$a follows $b", "$b follows $c", "$c follows $a"], "return { count($a) as n }"),
    (
        [
            "(a:Person)-[:Follows]->(b:Person)",
            "(b)-[:Follows]->(c:Person)",
            "(c)-[:Follows]->(a)",
        ],
        "RETURN count(*)",
    ),
    (
        "count(*)",
        ["follows x", "follows y", "follows z"],
        "y.source = x.target AND z.source = y.target AND z.target = x.source",
    ),
)


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.orders", description=__doc__)
    options.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    options.add_argument("--runs", type=int, default=9)
    chosen = options.parse_args()
    persons, follows = QUICK if chosen.quick else FULL
    findings: dict[str, object] = {"persons": persons, "follows": follows}
    findings["load_average"] = round(os.getloadavg()[0], 1)
    with tempfile.TemporaryDirectory() as name:
        systems = _fill(Path(name), persons, follows)
        for question in QUESTIONS:
            findings |= _shown(_compare(question, systems, chosen.runs, _WARM_UP))
        del systems["ladybug"]  # it does not answer this one in a minute
        findings |= _shown(_compare(TRIANGLES, systems, 3, _TRIANGLES_WARM_UP))
    if not chosen.quick:
        print(f"stored in {store('orders', PACKAGES, findings).relative_to(Path.cwd())}")


def _fill(folder: Path, persons: int, follows: int) -> dict[str, System]:
    tables = social_tables(persons, follows)
    write_parquet(tables, folder)
    init(folder / OURS, SCHEMA, durable=False).load(tables, engine="inline")
    fill_ladybug(folder / "ladybug", folder)
    fill_duckdb(folder / "duckdb", folder)
    return {name: SYSTEMS[name](folder / name) for name in (OURS, *PEERS)}


def _compare(
    written: Written, systems: Mapping[str, System], runs: int, warm_up: int
) -> dict[str, object]:
    """Ask a question in all orders of all systems, turn by turn."""
    asked = {order: written.in_order(order) for order in ORDERS}
    answers = [each.ask(question) for each in systems.values() for question in asked.values()]
    if any(answer != answers[0] for answer in answers):
        sys.exit(f"{written.name} has different answers: {answers}")
    works = {
        f"{order}_{name}": partial(each.ask, question)
        for order, question in asked.items()
        for name, each in systems.items()
    }
    times = measure_in_turn(works, runs=runs, warm_up=warm_up)
    found: dict[str, object] = {f"{written.name}_{way}": each for way, each in times.items()}
    for name in systems:
        own = [times[f"{order}_{name}"] for order in ORDERS]
        found[f"{written.name}_{name}_slowest_over_fastest"] = over(_most(own), _least(own))
    for order in ORDERS:
        best = _least([times[f"{order}_{name}"] for name in systems if name != OURS])
        found[f"{written.name}_{order}_peer_over_ours"] = over(best, times[f"{order}_{OURS}"])
    return found


def _least(times: list[Timing]) -> Timing:
    return min(times, key=lambda each: each.median_ms)


def _most(times: list[Timing]) -> Timing:
    return max(times, key=lambda each: each.median_ms)


def _shown(findings: dict[str, object]) -> dict[str, object]:
    for name, found in findings.items():
        print(f"{name:60} {found}", flush=True)
    return findings


if __name__ == "__main__":
    main()
