"""Writers: what other processes and threads do to a town while its schema changes."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import ConflictError, ViolationsError

INSERT = "query q($n: String, $a: I32) { insert Person { name: $n, age: $a } }"
Answer = TypeVar("Answer")
LINE = '{{"type": "Person", "data": {{"name": "{}", "age": {}}}}}'


@dataclass(slots=True)
class Tally:
    """The names that were acknowledged, and how often something else was faster or forbidden."""

    names: list[str] = field(default_factory=list)
    lost: int = 0
    refused: int = 0


def write(root: str, worker: int, stop: str, age: int = 1) -> Tally:
    """Insert and load people until a file is there; any error but a lost race ends it."""
    return write_to(open_graph(root, durable=False), worker, stop, age)


def write_to(graph: Graph, worker: int, stop: str, age: int = 1, pause: float = 0.0) -> Tally:
    """Insert and load people into an opened graph until a file is there."""
    tally, number = Tally(), 0
    while not Path(stop).exists():
        number += 1
        name = f"w{worker}-{number}"
        try:
            if number % 4:
                graph.mutate(INSERT, n=name, a=age)
            else:
                graph.load(LINE.format(name, age), engine="inline")
            tally.names.append(name)
        except ConflictError:
            tally.lost += 1
        except ViolationsError:
            tally.refused += 1
        time.sleep(pause)
    return tally


def insisted(do: Callable[[], Answer]) -> Answer:
    """Do something as often as it takes for nobody else to be faster."""
    until = time.monotonic() + 60
    while True:
        try:
            return do()
        except ConflictError:
            assert time.monotonic() < until, "others are always faster"


def apply(root: str, schema: str) -> bool:
    """Apply a schema in a process of its own; tells whether it was this one that did."""
    return open_graph(root, durable=False).apply_schema(schema).applied
