"""Nursery: processes that merge a graph, many at once, or until they are killed.

`python -m tests.merging.nursery` is the nursery of the crashes with these jobs besides.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from omnigraph.api.graph import open as open_graph
from omnigraph.errors import HeadMovedError, OmniGraphError
from omnigraph.merge.bulk import make_task_merger
from omnigraph.merge.merge import merge as run_merge
from omnigraph.merge.options import MergeOptions
from omnigraph.storage import steps
from omnigraph.storage.finding.delta import Extent
from tests.crashes import nursery
from tests.crashes.crowd import at_once
from tests.crashes.workload import Cut

MODULE = "tests.merging.nursery"
# Merges even the fewest rows as if they were too many to be held in memory.
IN_PARTS = replace(
    make_task_merger({"engine": "inline"}), most_held=Extent(-1, -1), bucket=Extent(4, 1 << 20)
)
_MOST_ATTEMPTS = 50

Answer = dict[str, Any]  # {"outcome", "commit"}, or {"error": its code}


def merge(
    root: str, source: str, into: str, cut: int | None = None, in_parts: bool = False
) -> list[str]:
    """Merge, and give the durable steps; the process dies at one of them if it is given."""
    steps.observer = observer = Cut(cut)
    graph = open_graph(root)
    how = MergeOptions(bulk=IN_PARTS if in_parts else None)
    run_merge(graph.repository, source, into, how)
    steps.observer = None
    return observer.trace


def merge_in_turn(root: str, sources: Sequence[str], into: str, acks: str) -> None:
    """Merge one after the other, noting each when it was answered."""
    graph = open_graph(root)
    for source in sources:
        graph.merge(source, into)
        with Path(acks).open("a") as file:
            file.write(f"{source}\n")
            file.flush()


def crowd(root: str, sources: Sequence[str], into: str, folder: str) -> list[Answer]:
    """Merge every branch in a process of its own, all of them at the same moment."""
    return at_once([partial(_merged, root, source, into) for source in sources], Path(folder))


def _merged(root: str, source: str, into: str) -> Answer:
    """Merge; when the branch moved too often meanwhile, as often as it takes."""
    graph = open_graph(root, durable=False)
    for _ in range(_MOST_ATTEMPTS):
        try:
            done = graph.merge(source, into, actor=source)
        except HeadMovedError:
            continue
        except OmniGraphError as failed:
            return {"error": failed.code}
        return {"outcome": str(done.outcome), "commit": done.commit and done.commit.id}
    return {"error": "moved too often"}


JOBS: dict[str, Callable[..., Any]] = {
    "merge": merge,
    "merge in turn": merge_in_turn,
    "merge in a crowd": crowd,
}

if __name__ == "__main__":
    nursery.JOBS.update(JOBS)
    nursery.main()
