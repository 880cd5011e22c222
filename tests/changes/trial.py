"""Trial: runs random programs on a graph and on its model, and compares them after every query."""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import QueryError, ViolationsError
from omnigraph.storage import steps
from omnigraph.write.receipt import Receipt
from tests.changes.meanwhile import READY, STAGED, Interruptions
from tests.changes.model import Broken, Left, State, after, comparable, empty
from tests.changes.programs import FIRST, SCHEMA, Query, Row, random_query, rendered
from tests.changes.town import rows

QUERIES = 4


@dataclass(slots=True)
class Tally:
    """How many queries did something, did nothing, were refused, were wrong, were overtaken."""

    counts: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return ", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()))


@contextmanager
def template() -> Iterator[Path]:
    """Make the graph that programs start from; to copy it costs less than to make it."""
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        text = rendered(FIRST)
        init(Path(folder, "first"), SCHEMA, durable=False).mutate(text.whole(), **text.params)
        yield Path(folder, "first")


def run_program(start: Path, random: Random, tally: Tally, queries: int = QUERIES) -> None:
    """Run queries on a new graph; raises AssertionError where it differs from its model."""
    with tempfile.TemporaryDirectory(dir=start.parent) as folder:
        shutil.copytree(start, Path(folder, "g"))
        trial = _Trial(open_graph(Path(folder, "g"), durable=False), random, tally)
        for number in range(queries):
            trial.step(f"op-{number}")
        trial.check_history()


@dataclass(slots=True)
class _Trial:
    graph: Graph
    random: Random
    tally: Tally
    model: State = field(default_factory=lambda: after(empty(), FIRST).state)
    states: dict[str, State] = field(default_factory=dict)
    tables: dict[tuple[str, int], dict[str, Row]] = field(default_factory=dict)

    def step(self, operation: str) -> None:
        """Run one query, perhaps overtaken by another one, and compare."""
        if self.random.random() < 0.15:
            self.graph = open_graph(self.graph.uri, durable=False)
        query = random_query(self.random)
        if self.random.random() < 0.12:
            self._overtaken(query, operation)
        else:
            expected = after(self.model, query)
            self._compare(query, expected, self._run(self.graph, query, operation))
            if self.random.random() < 0.1 and expected.affected != (0, 0):
                self._again(query, operation)

    def check_history(self) -> None:
        """Every commit still holds what it held when it was made."""
        self.tables.clear()
        for commit, state in self.states.items():
            assert comparable(self._seen(commit)) == comparable(state)

    def _overtaken(self, query: Query, operation: str) -> None:
        """Let another query be published while this one is being made."""
        other, outcomes = random_query(self.random), list[Receipt | Broken | str]()
        handle = open_graph(self.graph.uri, durable=False)
        step = self.random.choice((STAGED, READY))
        action = lambda: outcomes.append(self._run(handle, other, f"{operation}-other"))  # noqa: E731
        steps.observer = Interruptions(step, [action])
        try:
            outcome = self._run(self.graph, query, operation)
        finally:
            steps.observer = None
        if outcomes:
            self.tally.counts["overtaken"] += 1
            first = after(self.model, other)
            self._judge(other, first, outcomes[0])
            self.model = first.state
        self._compare(query, after(self.model, query), outcome)

    def _again(self, query: Query, operation: str) -> None:
        version = self.graph.snapshot().version
        receipt = self._run(self.graph, query, operation)
        assert isinstance(receipt, Receipt)
        assert receipt.commit == self.graph.snapshot().commit
        assert self.graph.snapshot().version == version
        self.tally.counts["sent again"] += 1

    def _run(self, graph: Graph, query: Query, operation: str) -> "Receipt | Broken | str":
        text = rendered(query)
        try:
            return graph.branch(operation_id=operation).mutate(text.whole(), **text.params)
        except ViolationsError as refused:
            found = refused.violations
            return Counter((str(each.code), str(each.type), each.field) for each in found)
        except QueryError as wrong:
            return wrong.code

    def _compare(self, query: Query, expected: Left, outcome: "Receipt | Broken | str") -> None:
        self._judge(query, expected, outcome)
        self.model = expected.state
        assert comparable(self._seen()) == comparable(self.model), rendered(query).whole()
        self.states[self.graph.snapshot().commit.id] = self.model

    def _seen(self, target: str = "main") -> State:
        """Read a graph as the model has it; a version of a table that was read stays as it is."""
        found: State = {}
        for (key, state), name in zip(
            self.graph.snapshot(target).commit.tables.items(), empty(), strict=True
        ):
            if (key, state.version) not in self.tables:
                self.tables[key, state.version] = _read(self.graph, name, target)
            found[name] = self.tables[key, state.version]
        return found

    def _judge(self, query: Query, expected: Left, outcome: "Receipt | Broken | str") -> None:
        """Compare what a query answered with what the model says."""
        told = f"{rendered(query).whole()} {rendered(query).params}"
        if query.is_wrong:
            self.tally.counts["wrong"] += 1
            assert isinstance(outcome, str), told
        elif expected.broken:
            self.tally.counts["refused"] += 1
            assert outcome == expected.broken, told
        else:
            assert isinstance(outcome, Receipt), f"{told}: {outcome}"
            affected = (outcome.affected_nodes, outcome.affected_edges)
            assert affected == expected.affected, told
            assert (outcome.commit is None) == (affected == (0, 0)), told
            self.tally.counts["done" if outcome.commit else "nothing to do"] += 1


def _read(graph: Graph, name: str, target: str) -> dict[str, Row]:
    """Read the rows of a type as the model has them."""
    return {
        row["id"]: {
            column: value.isoformat() if column == "since" and value else value
            for column, value in row.items()
            if column != "id"
        }
        for row in rows(graph, name, target)
    }
