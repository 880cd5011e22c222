"""Queries: the engine beside Ladybug, DuckDB and LanceDB, on the same data in the same run."""

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import geometric_mean

from bench.cold import ask_cold
from bench.hybrid import hybrid_search
from bench.lookup import count_pictures, point_reads
from bench.peers import fill_duckdb, fill_ladybug, write_parquet
from bench.questions import HOPS, NINE, PATHS, SEED, TWO_HOPS, Question
from bench.record import Derived, measure, over, seconds, store, timing
from bench.social import SCHEMA, social_tables
from bench.systems import SYSTEMS, Answer, DuckDb, OmniGraph, System
from omnigraph import init

OURS, PEERS = "omnigraph", ("ladybug", "duckdb")
PACKAGES = ["duckdb", "ladybug", "lancedb", "numpy", "pyarrow", "pylance"]
COLD = (TWO_HOPS, PATHS, NINE[0], NINE[3], NINE[4])
LEAST_RUNS = 7
_ASIDE = "aside"


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything there is."""

    persons: int
    follows: int
    accounts: int
    docs: int
    pictures: int


FULL = Sizes(100_000, 2_400_000, 1_000_000, 100_000, 100_000)
QUICK = Sizes(5_000, 50_000, 20_000, 5_000, 2_000)


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    options.add_argument("--runs", type=int, default=11)
    chosen = options.parse_args()
    sizes, runs = QUICK if chosen.quick else FULL, max(LEAST_RUNS, chosen.runs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        social = _Social(folder, runs)
        findings: dict[str, object] = {"persons": sizes.persons, "follows": sizes.follows}
        findings |= _shown(social.fill(sizes))
        findings |= _shown(social.cold())
        findings |= _shown(social.nine())
        findings |= _shown(social.hops())
        findings |= _shown(social.after_commit())
        findings |= _shown(point_reads(folder, sizes.accounts, runs))
        findings |= _shown(hybrid_search(folder, sizes.docs, runs))
        findings |= _shown(count_pictures(folder, sizes.pictures))
    if not chosen.quick:
        print(f"stored in {store('queries', PACKAGES, findings).relative_to(Path.cwd())}")


@dataclass(slots=True)
class _Social:
    folder: Path
    runs: int
    systems: dict[str, System] = field(default_factory=dict)

    def fill(self, sizes: Sizes) -> dict[str, object]:
        """Fill every system with the same graph; nothing is read from it yet."""
        tables = social_tables(sizes.persons, sizes.follows)
        write_parquet(tables, self.folder)
        ours = init(self.folder / OURS, SCHEMA, durable=False)
        return {
            "fill_omnigraph_s": seconds(lambda: ours.load(tables, engine="inline")),
            "fill_ladybug_s": seconds(lambda: fill_ladybug(self.folder / "ladybug", self.folder)),
            "fill_duckdb_s": seconds(lambda: fill_duckdb(self.folder / "duckdb", self.folder)),
        }

    def cold(self) -> dict[str, object]:
        """Ask new processes: the first on a graph that was never read, and later ones."""
        found: dict[str, object] = {}
        for question in COLD:
            name = f"cold_{question.name}"
            first, later, answers = [], [], []
            for _ in range(LEAST_RUNS):
                root = self._copy()
                one, two = (ask_cold(OURS, root, question.name) for _ in range(2))
                first.append(one.total_s)
                later.append(two.total_s)
                answers += [one.answer, two.answer]
            found[f"{name}_first_process"] = timing(first)
            found[f"{name}_later_process"] = timing(later)
            for peer in PEERS:
                root = self.folder / peer
                asked = [ask_cold(peer, root, question.name) for _ in range(LEAST_RUNS)]
                found[f"{name}_{peer}"] = timing([each.total_s for each in asked])
                answers += [each.answer for each in asked]
            if any(answer != answers[0] for answer in answers):
                sys.exit(f"{question.name} has different answers in new processes: {answers}")
        return found

    def nine(self) -> dict[str, object]:
        """Ask the nine questions of every system in turn."""
        self.systems = {name: SYSTEMS[name](self.folder / name) for name in (OURS, *PEERS)}
        found = self._compared(NINE)
        ratios = [found[f"{each.name}_peer_over_ours"] for each in NINE]
        mean = geometric_mean(each.value for each in ratios if isinstance(each, Derived))
        return found | {"nine_geometric_mean": mean}

    def hops(self) -> dict[str, object]:
        """Ask for all persons within one to four hops of one."""
        return self._compared((TWO_HOPS, *HOPS))

    def after_commit(self) -> dict[str, object]:
        """Read warm, each time right after a commit of one edge, and after one of another branch.

        The last has nothing new to read, and says what it takes that the processor did something
        else meanwhile.
        """
        ours, peer = OmniGraph(self._copy()), self.systems["duckdb"]
        assert isinstance(peer, DuckDb)
        strangers = _strangers(peer, 2 * self.runs)
        ours.graph.create_branch(_ASIDE)
        found: dict[str, object] = {}
        for question in (TWO_HOPS, PATHS):
            warm = measure(partial(ours.ask, question), runs=self.runs, warm_up=3)
            commits, reads, elsewhere = [], [], []
            for _ in range(self.runs):
                number = strangers.pop()
                commits.append(seconds(partial(_follow, ours, number)))
                reads.append(seconds(partial(ours.ask, question)))
                _follow(ours, number, _ASIDE)
                elsewhere.append(seconds(partial(ours.ask, question)))
                peer.connection.execute(
                    "INSERT INTO follows VALUES ($seed, $number)", SEED | {"number": number}
                )
            _check(question, {OURS: ours.ask(question), "duckdb": peer.ask(question)})
            name, after = f"after_commit_{question.name}", timing(reads)
            beside = timing(elsewhere)
            found |= {
                f"{name}_warm": warm,
                f"{name}_next": after,
                f"{name}_elsewhere": beside,
                f"{name}_commit": timing(commits),
            }
            found[f"{name}_over_warm"] = over(after, warm)
            found[f"{name}_over_elsewhere"] = over(after, beside)
        return found

    def _compared(self, questions: tuple[Question, ...]) -> dict[str, object]:
        found: dict[str, object] = {}
        for question in questions:
            _check(question, {name: each.ask(question) for name, each in self.systems.items()})
            works = {name: partial(each.ask, question) for name, each in self.systems.items()}
            times = {
                name: measure(work, runs=self.runs, warm_up=20) for name, work in works.items()
            }
            found |= {f"{question.name}_{name}": each for name, each in times.items()}
            best = min((times[name] for name in PEERS), key=lambda each: each.median_ms)
            found[f"{question.name}_peer_over_ours"] = over(best, times[OURS])
        return found

    def _copy(self) -> Path:
        """Return a copy of the filled graph; until the nine questions, nobody has read from it."""
        root = self.folder / "copied"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.folder / OURS, root)
        return root


def _follow(ours: OmniGraph, number: int, branch: str = "main") -> None:
    edge = {"edge": "Follows", "from": str(SEED["seed"]), "to": str(number)}
    ours.graph.load(json.dumps(edge), branch=branch, engine="inline")


def _strangers(peer: DuckDb, count: int) -> list[int]:
    """Return persons whom the seed does not follow."""
    found = peer.connection.execute(
        """SELECT id FROM person WHERE id <> $seed
           AND id NOT IN (SELECT target FROM follows WHERE source = $seed)
           ORDER BY hash(id) LIMIT $count""",
        SEED | {"count": count},
    )
    return [number for (number,) in found.fetchall()]


def _check(question: Question, answers: dict[str, Answer]) -> None:
    """Stop when the systems do not say the same."""
    rounded = {name: [tuple(map(_plain, row)) for row in rows] for name, rows in answers.items()}
    if any(rows != rounded[OURS] for rows in rounded.values()):
        shown = "\n".join(f"  {name}: {rows}" for name, rows in answers.items())
        sys.exit(f"{question.name} has different answers:\n{shown}")


def _plain(value: object) -> object:
    return round(value, 9) if isinstance(value, float) else value


def _shown(findings: dict[str, object]) -> dict[str, object]:
    for name, found in findings.items():
        print(f"{name:52} {round(found, 3) if isinstance(found, float) else found}", flush=True)
    return findings


if __name__ == "__main__":
    main()
