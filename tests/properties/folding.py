"""Folding: one table under many small commits beside a dict, and how many pieces it is in."""

from collections import Counter
from pathlib import Path
from random import Random

import pyarrow as pa

from omnigraph.api.graph import Graph
from omnigraph.storage.table import Table
from omnigraph.versioning.writes import Append, DeleteRows, TableWrite, Upsert
from tests.properties.persons import WORDS, Person, check_reads, rows_of
from tests.sample import PERSON, new_graph, write

# A table of less than 1,024 rows has fragments in the two lowest levels: four in each, and one
# that a fold has just lifted out of the lower one.
MOST_FRAGMENTS = 4 + 4 + 1
# Each segment covers a living fragment, but for the one that keeps an index declared.
MOST_SEGMENTS = MOST_FRAGMENTS + 1
# Sixteen small fragments, the commit just added, and one of 1,024 rows for each 1,024 written.
MOST_MANIFEST_FRAGMENTS = 16 + 1 + 2

MOST_BRANCHES = 4
MOST_ROWS = 400
AGES = 20


class Fuzz:
    """A graph with one table that is changed at random, and what each branch must hold."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = Random(seed)
        self.graph = new_graph(folder / f"fold-{seed}")
        self.branches: dict[str, dict[str, Person]] = {"main": {}}
        self.minted = 0

    def run(self, commits: int, every: int) -> None:
        """Make commits, and after every few of them compare all branches with the model."""
        for number in range(1, commits + 1):
            self.change()
            if number % every == 0:
                self.check()

    def change(self) -> None:
        """Make one random commit, and sometimes a branch or one less."""
        if self.random.random() < 0.05:
            self._branch()
        branch = self.random.choice(sorted(self.branches))
        rows = self.branches[branch]
        verb = self.random.choices([self._append, self._upsert, self._delete], [5, 6, 3])[0]
        write(self.graph, {PERSON: (verb(rows),)}, branch)

    def check(self) -> None:
        """Compare every branch with the model, through the scan and every index."""
        for branch, rows in self.branches.items():
            snapshot = self.graph.snapshot(branch)
            table = snapshot.table(PERSON)
            assert snapshot.state(PERSON).row_count == len(rows)
            ids = [*self._some(rows, 2), f"k{self.random.randrange(9_999)}"]
            age = self.random.randrange(AGES)
            first, second = self.random.choices(WORDS, k=2)
            check_reads(table, rows, ids, age, (first, second))
            check_pieces(table)
        check_manifest(self.graph)

    def _append(self, rows: dict[str, Person]) -> TableWrite:
        if len(rows) > MOST_ROWS:
            return self._delete(rows)
        new = self._made(self._minted(self.random.randint(1, 5)))
        rows.update(new)
        return Append(rows_of(new))

    def _upsert(self, rows: dict[str, Person]) -> TableWrite:
        new = self._made(self._some(rows, 5) + self._minted(self.random.randint(0, 2)))
        rows.update(new)
        return Upsert(rows_of(new))

    def _delete(self, rows: dict[str, Person]) -> TableWrite:
        most = len(rows) if self.random.random() < 0.03 else 5
        gone = self._some(rows, most)
        for each in gone:
            del rows[each]
        return DeleteRows(pa.array(gone, pa.utf8()))

    def _branch(self) -> None:
        others = [name for name in self.branches if name != "main"]
        if len(others) + 1 == MOST_BRANCHES:
            gone = self.random.choice(others)
            self.graph.delete_branch(gone)
            del self.branches[gone]
            return
        source, name = self.random.choice(sorted(self.branches)), self._minted(1)[0]
        self.graph.create_branch(name, source)
        self.branches[name] = dict(self.branches[source])

    def _minted(self, number: int) -> list[str]:
        self.minted += number
        return [f"k{self.minted - each}" for each in range(number)]

    def _some(self, rows: dict[str, Person], most: int) -> list[str]:
        return self.random.sample(sorted(rows), min(len(rows), most))

    def _made(self, ids: list[str]) -> dict[str, Person]:
        return {each: some_person(self.random) for each in ids}


def some_person(random: Random) -> Person:
    """Return a person of three random words, and of no known age now and then."""
    age = None if random.random() < 0.1 else random.randrange(AGES)
    return Person(" ".join(random.choices(WORDS, k=3)), age)


def check_pieces(table: Table) -> None:
    """Fail unless a small table is in few fragments, and each of its indexes in few segments."""
    assert len(table.dataset.get_fragments()) <= MOST_FRAGMENTS
    segments = Counter(
        index.name for index in table.dataset.describe_indices() for _ in index.segments
    )
    # A BTREE begins when there are rows enough; the tokenizer of a text is pinned from the start.
    assert {"name_inverted"} <= set(segments)
    assert set(segments) <= {"id_btree", "slug_btree", "age_btree", "name_inverted"}
    assert max(segments.values()) <= MOST_SEGMENTS


def check_manifest(graph: Graph) -> None:
    """Fail unless the manifest is in few fragments, and each of its indexes in few segments."""
    newest = graph.repository.manifest.newest().dataset
    assert len(newest.get_fragments()) <= MOST_MANIFEST_FRAGMENTS
    for index in newest.describe_indices():
        assert len(index.segments) <= MOST_MANIFEST_FRAGMENTS
