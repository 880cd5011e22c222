"""Ledger: accounts that pay each other, at any size and with any history, and what is asked of it.

The same rows are in OmniGraph, in a plain table of Lance with an index of the numbers, and in
DuckDB. Every work gives the seconds that it took, so that what only prepares it is not counted.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

from bench.record import DATA_SEED, seconds
from omnigraph import Graph, init
from omnigraph.read.road import Road

SCHEMA = """
node Account { number: I64 @key  group: I32  owner: String  balance: F64  about: String @index }
edge Pays: Account -> Account
"""
POINT = """query q($number: I64) {
  match { $a: Account { number: $number } } return { $a.owner as owner }
}"""
TWO_HOPS = """query q($number: I64) {
  match { $a: Account { number: $number }  $a pays $b  $b pays $c }
  return { count(distinct $c) as reached }
}"""
FILTERED = "query q() { match { $a: Account  $a.balance > 0.5 } return { count($a) as many } }"
GROUPED = """query q() {
  match { $a: Account }
  return { $a.group as group, avg($a.balance) as mean } order { group }
}"""
WORDS = """query q($words: String) {
  match { $a: Account }
  return { $a.number as number, bm25($a.about, $words) as score } order { score desc } limit 10
}"""
INSERT = """query q($number: I64) {
  insert Account { number: $number group: 1 owner: "somebody" balance: 0.5 about: "word1 word2" }
}"""
UPDATE = """query q($number: I64, $owner: String) {
  update Account set { owner: $owner } where number = $number
}"""
PEER_FILTERED = "SELECT count(*) FROM account WHERE balance > 0.5"
PEER_GROUPED = 'SELECT "group", avg(balance) FROM account GROUP BY "group" ORDER BY "group"'
# What a new process takes to open the data and to give one row of it; asking an empty graph first
# imports all that is needed, which would hide how the rest grows.
COLD = """
import sys, time, omnigraph, lance
system, empty, root, number, query = sys.argv[1:]
omnigraph.open(empty).query(query, number=int(number)).to_dicts()
begun = time.perf_counter()
if system == "omnigraph":
    found = omnigraph.open(root).query(query, number=int(number)).to_dicts()
else:
    found = lance.dataset(root).to_table(["owner"], filter=f"number = {number}").to_pylist()
taken = time.perf_counter() - begun
assert len(found) == 1, found
print(taken)
"""
DELTA, EDGES, GROUPS, VOCABULARY, COMMITS_SHOWN = 50, 3, 100, 20_000, 20
_STRIDE = 7_919
_MOST_ASKED = 5_000

Works = dict[str, Callable[[], float]]


@dataclass(slots=True)
class Ledger:
    """Accounts in OmniGraph and in its peers; `marks` never gives a number twice."""

    root: Path
    rows: int
    graph: Graph
    table: str
    duckdb: Any
    marks: Iterator[int] = field(default_factory=lambda: count(1))

    def check(self) -> None:
        """Stop when DuckDB answers otherwise."""
        (ours,) = self.graph.query(FILTERED).to_dicts()[0].values()
        ((theirs,),) = self.duckdb.execute(PEER_FILTERED).fetchall()
        means = self.graph.query(GROUPED).table["mean"].to_numpy()
        peer = np.array([mean for _, mean in self.duckdb.execute(PEER_GROUPED).fetchall()])
        if ours != theirs or not np.allclose(means, peer):
            raise SystemExit(f"{self.root}: OmniGraph counts {ours}, DuckDB {theirs}")

    def early(self) -> Works:
        """Return what reads before enough was asked that edges are worth keeping in memory."""
        ask = partial(self.graph.query, TWO_HOPS)
        return {"early_two_hops": lambda: seconds(lambda: ask(number=self._some()))}

    def warm(self) -> Works:
        """Return what reads, in a process that has read before and keeps what it reads."""
        self._settle()
        ask = self.graph.query
        works: dict[str, Callable[[], object]] = {
            "point_read": lambda: ask(POINT, number=self._some()),
            "point_read_lance": lambda: self._lance_row(dataset, self._some()),
            "two_hops": lambda: ask(TWO_HOPS, number=self._some()),
            "filtered_count": lambda: ask(FILTERED),
            "filtered_count_duckdb": lambda: self.duckdb.execute(PEER_FILTERED).fetchall(),
            "aggregation": lambda: ask(GROUPED),
            "aggregation_duckdb": lambda: self.duckdb.execute(PEER_GROUPED).fetchall(),
            "text_search": lambda: ask(WORDS, words=self._words()),
            "head_read": self.graph.snapshot,
            "log": lambda: list(self.graph.log(limit=COMMITS_SHOWN)),
        }
        dataset = lance.dataset(self.table)
        return {name: partial(seconds, work) for name, work in works.items()}

    def cold(self) -> Works:
        """Return what a new process does."""
        ours, peer = str(self.root / "graph"), self.table
        return {
            "open": partial(self._in_a_process, "omnigraph", ours),
            "open_lance": partial(self._in_a_process, "lance", peer),
        }

    def changing(self) -> Works:
        """Return what writes; branches come last, because merging them brings the most rows."""
        return {
            "insert": lambda: seconds(partial(self.graph.mutate, INSERT, number=self._new())),
            "insert_lance": self._lance_insert,
            "create_branch": self._create_branch,
            "diff": lambda: self._branched(self._diff),
            "merge": lambda: self._branched(self.graph.merge),
        }

    def _settle(self) -> None:
        """Ask until all that two hops need is in memory, which comes later the more there is."""
        for _ in range(_MOST_ASKED):
            if self.graph.profile(TWO_HOPS, number=self._some()).road is Road.ADJACENCY:
                return
        raise SystemExit(f"{self.root}: {_MOST_ASKED} questions were answered by look-ups")

    def _some(self) -> int:
        return next(self.marks) * _STRIDE % self.rows

    def _new(self) -> int:
        return self.rows + next(self.marks)

    def _words(self) -> str:
        """Return a frequent and a rare word."""
        mark = next(self.marks)
        return f"word{mark % 100} word{1_000 + mark * _STRIDE % 10_000}"

    @staticmethod
    def _lance_row(dataset: lance.LanceDataset, number: int) -> None:
        found = dataset.to_table(["owner"], filter=f"number = {number}")
        assert found.num_rows == 1

    def _lance_insert(self) -> float:
        row = _accounts([self._new()])
        return seconds(lambda: lance.write_dataset(row, self.table, mode="append"))

    def _in_a_process(self, system: str, root: str) -> float:
        empty = str(self.root / "empty")
        command = [sys.executable, "-c", COLD, system, empty, root, str(self._some()), POINT]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{system} cannot read in a new process:\n{done.stderr}")
        return float(done.stdout)

    def _create_branch(self) -> float:
        name = f"new/{next(self.marks)}"
        taken = seconds(partial(self.graph.create_branch, name))
        self.graph.delete_branch(name)
        return taken

    def _branched(self, work: Callable[[str], object]) -> float:
        """Change rows on a branch and others on main, and time a work with the branch."""
        name = f"side/{next(self.marks)}"
        self.graph.create_branch(name)
        for branch, first in ((name, 0), ("main", self.rows // 2)):
            changed = _accounts(range(first, first + DELTA), owner=f"owner {next(self.marks)}")
            self.graph.load(changed, branch=branch, type="Account", mode="merge", engine="inline")
        taken = seconds(partial(work, name))
        self.graph.delete_branch(name)
        return taken

    def _diff(self, branch: str) -> int:
        return sum(1 for _ in self.graph.diff("main", branch))


def make_ledger(root: Path, rows: int, commits: int) -> Ledger:
    """Fill OmniGraph and the peers, and then write so many single rows, each in a commit.

    OmniGraph changes rows, Lance gains them: it has nothing that would put small pieces together
    by itself, and replacing rows would take it far longer still.
    """
    import duckdb

    accounts, peer = _accounts(range(rows)), str(root / "peer.lance")
    init(root / "empty", SCHEMA, durable=False)
    graph = make_graph(root / "graph", rows)
    dataset = lance.write_dataset(accounts, peer)
    dataset.create_scalar_index("number", "BTREE")
    for number in range(commits):
        graph.mutate(UPDATE, number=number % rows, owner=f"owner {number}")
        dataset = lance.write_dataset(_accounts([rows + number]), dataset, mode="append")
    connection = duckdb.connect(str(root / "duckdb"))
    connection.execute("CREATE TABLE account AS FROM accounts")
    made = Ledger(root, rows, graph, peer, connection)
    made.check()
    return made


def make_graph(root: Path, rows: int) -> Graph:
    """Make a graph of so many accounts."""
    graph = init(root, SCHEMA, durable=False)
    graph.load({"Account": _accounts(range(rows)), "Pays": _pays(rows)}, engine="inline")
    return graph


def _accounts(numbers: "range | list[int]", owner: str = "nobody") -> pa.Table:
    """Return accounts whose balance and words follow from their numbers."""
    chance, many = np.random.default_rng((DATA_SEED, numbers[0])), len(numbers)
    shares = 1 / (np.arange(VOCABULARY) + 10)
    words = iter(chance.choice(VOCABULARY, many * 6, p=shares / shares.sum()).tolist())
    columns = {
        "number": pa.array(numbers, pa.int64()),
        "group": pa.array(np.asarray(numbers) % GROUPS, pa.int32()),
        "owner": [owner] * many,
        "balance": chance.random(many),
        "about": [" ".join(f"word{word}" for word in islice(words, 6)) for _ in range(many)],
    }
    return pa.table(columns)


def _pays(rows: int) -> pa.Table:
    ends = np.random.default_rng(DATA_SEED).integers(0, rows, (2, EDGES * rows)).astype(str)
    return pa.table({"from": ends[0], "to": ends[1]})
