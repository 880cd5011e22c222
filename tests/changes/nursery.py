"""Nursery: processes that change a graph, one after the other, many at once, or until killed.

`python -m tests.changes.nursery` is the nursery of the crashes with these jobs besides.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from omnigraph.api.graph import open as open_graph
from omnigraph.errors import OmniGraphError
from omnigraph.storage import steps
from tests.changes.town import content
from tests.crashes import nursery
from tests.crashes.crowd import at_once
from tests.crashes.workload import Cut

Order = dict[str, Any]  # {"statements": [...], "operation_id": …, "expect": …}
Answer = dict[str, Any]  # a receipt, or {"error": its code}


def order(*statements: str, **terms: str) -> Order:
    """Return what a process is told to do as one mutation."""
    return {"statements": statements, **terms}


def _carried_out(root: str, wanted: Order, *, durable: bool = False) -> Answer:
    terms = dict(wanted)
    text = f"query it() {{ {' '.join(terms.pop('statements'))} }}"
    try:
        return open_graph(root, durable=durable).branch(**terms).mutate(text).to_json()
    except OmniGraphError as failed:
        return {"error": failed.code}


def run(
    root: str, orders: Sequence[Order], acks: str, cut: int | None, *, durable: bool = False
) -> list[str]:
    """Carry out orders in turn, noting each answer; dies at a durable step if one is given."""
    steps.observer = observer = Cut(cut)
    for each in orders:
        answer = _carried_out(root, each, durable=durable)
        with Path(acks).open("a") as file:
            file.write(json.dumps(answer) + "\n")
            file.flush()
    steps.observer = None
    return observer.trace


def crowd(root: str, orders: Sequence[Order], folder: str) -> list[Answer]:
    """Carry out every order in a process of its own, all of them at the same moment."""
    return at_once([partial(_carried_out, root, each) for each in orders], Path(folder))


def look(root: str) -> dict[str, Any]:
    """Return what a graph holds, as a process sees it that opens it only now."""
    graph = open_graph(root, read_only=True)
    operations = [commit.operation_id for commit in graph.log()]
    return {"content": json.loads(json.dumps(content(graph), default=str)), "log": operations}


JOBS: dict[str, Callable[..., Any]] = {"carry out": run, "crowd": crowd, "look": look}


if __name__ == "__main__":
    nursery.JOBS.update(JOBS)
    nursery.main()
