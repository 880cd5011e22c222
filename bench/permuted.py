"""Permuted: two hundred random questions, each with its patterns in every order.

A question takes about as long however it is written. What an order takes is the least processor
time of some runs, because others can only make it longer; where two orders seem far apart, all are
run again.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod
from pathlib import Path
from random import Random
from statistics import quantiles

from bench.record import DATA_SEED, store
from bench.social import CITIES_PER_STATE, COUNTRIES, INTERESTS, SCHEMA, social_tables
from omnigraph import Graph, init

PACKAGES = ["numpy", "pyarrow", "pylance"]
FULL, QUICK = (100_000, 2_400_000, 200), (5_000, 50_000, 20)
APART = 1.5
_RUNS, _ROUNDS = 5, 6
_MOST_MATCHES = 100_000
_LINKS = {
    "follows": ("Person", "Person"),
    "livesIn": ("Person", "City"),
    "hasInterest": ("Person", "Interest"),
    "cityIn": ("City", "State"),
    "stateIn": ("State", "Country"),
}
_KEYS = {"Person": "id_number"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question by its patterns and conditions, and what it returns."""

    patterns: tuple[str, ...]
    conditions: tuple[str, ...]
    shown: str

    def written(self, random: Random) -> Iterator[str]:
        """Yield the text with the patterns in every order, and the conditions anywhere."""
        for patterns in permutations(self.patterns):
            clauses = list(patterns)
            for each in self.conditions:
                clauses.insert(random.randint(0, len(clauses)), each)
            yield f"query q() {{ match {{ {'  '.join(clauses)} }} {self.shown} }}"


def random_question(random: Random, persons: int, follows: int) -> Asked:
    """Return a question of two to four patterns that are joined, sometimes in a cycle.

    It has no more matches than can be made in some milliseconds.
    """
    sizes = _sizes(persons, follows)
    while True:
        types, patterns = _joined(random)
        tests = {name: _tests(random, name, kind, persons) for name, kind in types.items()}
        matches = prod(sizes[kind] * 0.5 ** len(tests[name]) for name, kind in types.items())
        matches *= prod(sizes[name] / (sizes[a] * sizes[b]) for name, (a, b) in patterns.values())
        person = random.choice([name for name, kind in types.items() if kind == "Person"])
        if matches > _MOST_MATCHES:
            tests[person].append(f"${person}.id_number = {random.randrange(persons)}")
            matches /= persons
        if matches <= _MOST_MATCHES:
            conditions = tuple(test for each in tests.values() for test in each)
            return Asked(tuple(patterns), conditions, _shown(random, types))


def _sizes(persons: int, follows: int) -> dict[str, int]:
    """Return how many nodes and edges there are of each type."""
    states = sum(COUNTRIES.values())
    cities = states * CITIES_PER_STATE
    return {
        "Person": persons,
        "City": cities,
        "State": states,
        "Country": len(COUNTRIES),
        "Interest": len(INTERESTS),
        "follows": follows,
        "livesIn": persons,
        "hasInterest": 3 * persons // 2,
        "cityIn": cities,
        "stateIn": states,
    }


def _joined(random: Random) -> tuple[dict[str, str], dict[str, tuple[str, tuple[str, str]]]]:
    """Return variables with their types, and patterns with their edges, which join them."""
    types = {"a": "Person"}
    patterns: dict[str, tuple[str, tuple[str, str]]] = {}
    count = random.choice((2, 3, 3, 4))
    while len(patterns) < count:
        near = random.choice(list(types))
        name = random.choice([each for each, ends in _LINKS.items() if types[near] in ends])
        source, target = _LINKS[name]
        forward = random.random() < 0.5 if source == target else types[near] == source
        wanted = target if forward else source
        known = [each for each, kind in types.items() if kind == wanted and each != near]
        far = random.choice(known) if known and random.random() < 0.2 else "abcdefg"[len(types)]
        types.setdefault(far, wanted)
        pattern = f"${near} {name} ${far}" if forward else f"${far} {name} ${near}"
        patterns[pattern] = (name, (source, target))
    return types, patterns


def _tests(random: Random, name: str, kind: str, persons: int) -> list[str]:
    """Return the conditions on a variable: none, one or two."""
    age = random.randint(18, 60)
    ways: dict[str, list[str]] = {
        "Person": [
            f'${name}.gender = "{random.choice(("female", "male"))}"',
            f"${name}.age >= {age}",
            f"${name}.age < {age + random.randint(2, 20)}",
            f"${name}.is_married = {random.choice(('true', 'false'))}",
            f"${name}.id_number < {random.randrange(persons)}",
        ],
        "City": [f"${name}.population > {random.randrange(9_000_000)}", f'${name}.name = "London"'],
        "State": [f'${name}.name = "Japan State {random.randrange(47)}"'],
        "Country": [f'${name}.name = "{random.choice(list(COUNTRIES))}"'],
        "Interest": [f'${name}.name = "{random.choice(INTERESTS)}"'],
    }
    return random.sample(ways[kind], min(random.choice((0, 1, 1, 2)), len(ways[kind])))


def _shown(random: Random, types: dict[str, str]) -> str:
    """Return what is asked of the matches: how many, how many of each, which, or all of them."""
    keys = [f"${name}.{_KEYS.get(kind, 'name')}" for name, kind in types.items()]
    one = random.choice(keys)
    person = random.choice([name for name, kind in types.items() if kind == "Person"])
    every = ", ".join(f"{key} as k{at}" for at, key in enumerate(keys))
    order = ", ".join(f"k{at}" for at in range(len(keys)))
    return random.choice(
        (
            f"return {{ count(${random.choice(list(types))}) as n }}",
            f"return {{ count(distinct ${random.choice(list(types))}) as n }}",
            f"return {{ {one} as k, count(${person}) as n }} order {{ n desc, k }} limit 5",
            f"return {{ {one} as k, avg(${person}.age) as n }} order {{ n, k }} limit 5",
            f"return distinct {{ {one} as k }} order {{ k }} limit 20",
            f"return {{ {every} }} order {{ {order} }} limit 20",
        )
    )


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.permuted", description=__doc__)
    options.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    options.add_argument("--shown", type=float, default=APART, help="show orders this far apart")
    chosen = options.parse_args()
    persons, follows, count = QUICK if chosen.quick else FULL
    random = Random(DATA_SEED)
    load = round(os.getloadavg()[0], 1)
    with tempfile.TemporaryDirectory() as name, _fill(Path(name), persons, follows) as graph:
        spreads, orders = [], 0
        for _ in range(count):
            texts = list(random_question(random, persons, follows).written(random))
            times = _least_times(graph, texts)
            spreads.append(max(times) / min(times))
            orders += len(texts)
            if spreads[-1] > chosen.shown:
                slow, fast = (texts[times.index(each(times))] for each in (max, min))
                print(f"{spreads[-1]:.2f}× of {min(times) * 1e3:.2f} ms\n  {slow}\n  {fast}")
    cuts = quantiles(spreads, n=100, method="inclusive")
    findings: dict[str, object] = {
        "persons": persons,
        "follows": follows,
        "load_average": load,
        "questions": count,
        "orders": orders,
        "slowest_over_fastest_p50": cuts[49],
        "slowest_over_fastest_p90": cuts[89],
        "slowest_over_fastest_p99": cuts[98],
        "slowest_over_fastest_most": max(spreads),
        "questions_apart": sum(each > APART for each in spreads),
    }
    for name, found in findings.items():
        print(f"{name:32} {found}")
    if not chosen.quick:
        print(f"stored in {store('permuted', PACKAGES, findings).relative_to(Path.cwd())}")


def _fill(folder: Path, persons: int, follows: int) -> Graph:
    graph = init(folder / "g", SCHEMA, durable=False)
    graph.load(social_tables(persons, follows), engine="inline")
    return graph


def _least_times(graph: Graph, texts: Sequence[str]) -> list[float]:
    """Return the least time of each text, in seconds; all have to give the same rows."""
    answers = [graph.query(text).to_dicts() for text in texts]
    if any(answer != answers[0] for answer in answers):
        sys.exit(f"not the same rows in every order: {texts[0]}")
    least = [float("inf")] * len(texts)
    for _ in range(_ROUNDS):
        for _ in range(_RUNS):
            least = list(map(min, least, (_ask(graph, text) for text in texts)))
        if max(least) <= APART * min(least):
            break
    return least


def _ask(graph: Graph, text: str) -> float:
    """Return how many seconds of processor time an answer takes."""
    begun = time.process_time()
    graph.query(text).to_dicts()
    return time.process_time() - begun


if __name__ == "__main__":
    main()
