"""Campaign: everybody attacks one server for some time, and nothing that was acknowledged is lost.

`python -m tests.attack.campaign --seconds 600 --seed 1` prints one line and, after a violation,
all that is known about it; the exit code is then 1.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from tests.attack.actors import Agent, Caretaker, Reader, Writer, ends
from tests.attack.asking import Asker, GivenUpError
from tests.attack.hostile import Flooder, Uploader
from tests.attack.target import Target
from tests.sample import ages, edges, new_graph

WRITERS, AGENTS = 3, 2
LIFE = 5.0
# Within this time after the attack everybody has to have ended what they have begun.
_LONGEST_END = 180.0
_MOST_SHOWN = 10


@dataclass
class Attack:
    """All who act on a target, and the models of those who write."""

    target: Target
    writers: list[Writer]
    agents: list[Agent]
    others: list[Callable[[], None]]
    askers: list[Asker]

    @classmethod
    def on(cls, folder: Path, seed: int) -> "Attack":
        """Return an attack on a new graph."""
        new_graph(folder / "graph", durable=True)
        names = [f"w{n}" for n in range(WRITERS)] + [f"g{n}" for n in range(AGENTS)]
        names += ["reader", "caretaker", "uploader"]
        tokens = {name: f"the-token-of-{name}" for name in names}
        target = Target(folder, tokens, random.Random(f"{seed} target"))
        asker = {name: Asker(target, token) for name, token in tokens.items()}
        chance = {name: random.Random(f"{seed} {name}") for name in [*names, "flooder"]}
        writers = [Writer(asker[name], name, chance[name]) for name in names[:WRITERS]]
        agents = [
            Agent(asker[name], name, chance[name]) for name in names[WRITERS : WRITERS + AGENTS]
        ]
        others = [
            Reader(asker["reader"]).act,
            Caretaker(asker["caretaker"], chance["caretaker"]).act,
            Uploader(target, tokens["uploader"], chance["uploader"]).act,
            Flooder(target, chance["flooder"]).act,
        ]
        return cls(target, writers, agents, others, [*asker.values()])

    @property
    def authors(self) -> list[Writer | Agent]:
        """All who write, each with a model."""
        return [*self.writers, *self.agents]

    def run(self, seconds: float, life: float = LIFE) -> None:
        """Attack for some time, let everybody come to an end, and compare."""
        end = time.monotonic() + seconds
        for author in self.authors:
            author.asker.last = end + _LONGEST_END
        acts = [*(each.act for each in self.authors), *self.others]
        threads = [threading.Thread(target=self._repeat, args=(act, end)) for act in acts]
        living = threading.Thread(target=self._live, args=(seconds, life))
        for each in (living, *threads):
            each.start()
        for each in threads:
            each.join()
        self.target.over.set()
        living.join()
        for asker in self.askers:
            asker.close()
        self.target.check()
        self._compare(open_graph(self.target.folder / "graph"))

    def _live(self, seconds: float, life: float) -> None:
        try:
            self.target.live(seconds, life)
        except Exception as failed:
            self.target.wrong(f"the server could not be started again: {failed!r}")

    def _repeat(self, act: Callable[[], None], end: float) -> None:
        while time.monotonic() < end and not self.target.violations:
            try:
                act()
            except GivenUpError as failed:
                if time.monotonic() > end:
                    self.target.wrong(f"nobody ever answered {failed}")
            except Exception as failed:
                self.target.wrong(f"{act}: {type(failed).__name__}: {failed}")

    def _compare(self, graph: Graph) -> None:
        """Compare the graph with all models together."""
        models = [each.pairs for each in self.authors]
        pairs = {name: age for model in models for name, age in model.items()}
        wanted = {slug: age for name, age in pairs.items() for slug in ends(name).values()}
        found = ages(graph)
        lost = sorted(wanted.items() - found.items())
        extra = sorted(set(found) - set(wanted))
        if lost:
            self.target.wrong(f"acknowledged and lost or changed: {lost[:10]}")
        if extra:
            self.target.wrong(f"never acknowledged and there: {extra[:10]}")
        joined = {(each["a"], each["b"]) for each in map(ends, pairs)}
        if edges(graph) != joined:
            self.target.wrong(f"edges that differ: {sorted(edges(graph) ^ joined)[:10]}")
        left = [each for each in graph.branches() if each != "main"]
        if left and not self.target.violations:  # after one, agents stop where they are
            self.target.wrong(f"branches that were deleted: {left[:10]}")


def report(target: Target, seconds: float, seed: int) -> str:
    """Return one line about an attack."""
    counts = target.counts
    ended = counts["kill"] + counts["freeze"] + counts["cut"]
    return (
        f"attack: {counts['writes']:,} writes and {counts['loops']} loops of agents acknowledged, "
        f"{counts['refused']} refused, {counts['reads']:,} reads, "
        f"{counts['sent again']:,} sent again, {counts['unknown']} unknown; "
        f"{ended} kills, {counts['terminate']} stops, "
        f"{counts['faults']} faults, {counts['hostile']:,} hostile requests, "
        f"{counts['connections']:,} connections, {counts['care']} times cared for; at most "
        f"{target.resident >> 20:,} MiB, {counts['checks']} checks, "
        f"{len(target.violations)} violations, {seconds:.0f} s, seed {seed}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the attack that the command line asks for, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        attack = Attack.on(Path(folder), given.seed)
        attack.run(given.seconds)
    for each in attack.target.violations[:_MOST_SHOWN]:
        sys.stdout.write(f"{each}\n")
    sys.stdout.write(report(attack.target, time.monotonic() - began, given.seed) + "\n")
    return 1 if attack.target.violations else 0


if __name__ == "__main__":
    sys.exit(main())
