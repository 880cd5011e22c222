"""Campaign: cleanups that are killed beside the creation of branches.

`python -m tests.maintenance.campaign --rounds 1000 --seed 1` prints one line and, after a
violation, all that is known about it; the exit code is then 1. A round writes some commits, and
then cleans up in one process, which dies at a durable step or at any moment, while another creates
a branch at one of these commits. An acknowledged branch has all its rows; one is refused only when
the cleanup had come as far as its mark.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.versioning.writes import Append
from tests.crashes.nursery import Nursery
from tests.maintenance.nursery import MODULE
from tests.sample import PERSON, new_graph, people, write

COMMITS = 4
LONGEST = 0.15
# The steps of a cleanup before its mark: begun, versions buried, heads checked.
UNMARKED = 3
STEPS = 8
MOST_BRANCHES = 6
DEEP_EVERY = 20
# So many rounds share a graph, whose history would make each of them slower.
ROUNDS_EACH = 100
MOST_SHOWN = 10


@dataclass(slots=True)
class Tally:
    """What happened, and what must never happen."""

    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)


@dataclass
class Rounds:
    """The rounds of one graph; `branches` is how many people each has to have."""

    root: str
    chance: random.Random
    cleaning: Nursery
    branching: Nursery
    tally: Tally
    branches: dict[str, int] = field(default_factory=dict)

    def run(self, count: int) -> None:
        """Do some rounds; ends at a violation."""
        graph = new_graph(self.root)
        for number in range(count):
            commits = self._grown(graph, number)
            self._round(number, self.chance.choice(sorted(commits.items())))
            self._look(deep=number % DEEP_EVERY == DEEP_EVERY - 1 or number == count - 1)
            if self.tally.violations:
                return
            graph = self._fewer()

    def _grown(self, graph: Graph, number: int) -> dict[str, int]:
        """Write some commits, and return how many people each has."""
        made = (
            write(graph, {PERSON: (Append(people({f"p{number}-{each}": each})),)})
            for each in range(COMMITS)
        )
        return {each.id: each.tables[PERSON].row_count for each in made}

    def _round(self, number: int, at: tuple[str, int]) -> None:
        commit, count = at
        name, is_step = f"b{number}", self.chance.random() < 0.6
        cut = self.chance.randint(1, STEPS) if is_step else None
        pauses = [self.chance.uniform(0, LONGEST) for _ in range(2)]
        cleaner = self.cleaning.start("clean", root=self.root, pause=pauses[0], cut=cut)
        brancher = self.branching.start(
            "branch", root=self.root, pause=pauses[1], name=name, commit=commit
        )
        moment = None if is_step else self.chance.uniform(0.05, 3 * LONGEST)
        ended = self.cleaning.end(cleaner, kill_after=moment)
        created = self.branching.end(brancher)
        self.tally.counts["kills"] += ended.was_killed
        if not ended.was_killed and "raised" in ended.answer:
            self._wrong(number, f"the cleanup raised {ended.answer['raised']}")
        if created.was_killed or "raised" in created.answer:
            self._wrong(number, f"creating the branch ended with {created}")
        elif created.answer["value"]:
            self.tally.counts["branches"] += 1
            self.branches[name] = count
        else:
            self.tally.counts["refused"] += 1
            if cut is not None and cut <= UNMARKED:
                self._wrong(number, f"refused, but the cleanup died at its step {cut}")

    def _look(self, *, deep: bool) -> None:
        names = [*self.branches, "main"]
        found = self.branching.answer("look", root=self.root, branches=names, deep=deep)
        self.tally.counts["checks"] += deep
        wrong = {
            name: (found["people"][name], count)
            for name, count in self.branches.items()
            if found["people"][name] != count
        }
        if wrong or found["findings"]:
            self._wrong(len(self.branches), f"found and wanted: {wrong}, {found['findings'][:5]}")

    def _fewer(self) -> Graph:
        """Delete the oldest branches, so that cleanups have something to do."""
        graph = open_graph(self.root, durable=False)
        for name in list(self.branches)[:-MOST_BRANCHES]:
            graph.delete_branch(name)
            del self.branches[name]
        return graph

    def _wrong(self, number: int, what: str) -> None:
        self.tally.violations.append(f"{self.root} round {number}: {what}")


def campaign(folder: Path, rounds: int, seed: int) -> Tally:
    """Do so many rounds on one graph after the other."""
    tally = Tally()
    with Nursery(MODULE) as cleaning, Nursery(MODULE) as branching:
        for first in range(0, rounds, ROUNDS_EACH):
            chance = random.Random(f"{seed} {first}")
            root = str(folder / f"graph{first}")
            Rounds(root, chance, cleaning, branching, tally).run(min(ROUNDS_EACH, rounds - first))
            tally.counts["rounds"] += min(ROUNDS_EACH, rounds - first)
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign that the command line asks for, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    began, memory = time.monotonic(), Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        tally = campaign(Path(folder), given.rounds, given.seed)
    counts = tally.counts
    for each in tally.violations[:MOST_SHOWN]:
        sys.stdout.write(f"{each}\n")
    sys.stdout.write(
        f"cleanups: {counts['rounds']:,} rounds, {counts['kills']:,} cleanups killed beside the "
        f"creation of branches, {counts['branches']:,} created, {counts['refused']:,} refused, "
        f"{counts['checks']} checks, {len(tally.violations)} violations, "
        f"{time.monotonic() - began:.0f} s, seed {given.seed}\n"
    )
    return 1 if tally.violations else 0


if __name__ == "__main__":
    sys.exit(main())
