"""Nursery: processes that clean up a graph until they are killed, or create branches meanwhile.

`python -m tests.maintenance.nursery` is the nursery of the crashes with these jobs besides.
"""

import time

from omnigraph.api.graph import open as open_graph
from omnigraph.errors import CommitCleanedError
from omnigraph.storage import steps
from tests.crashes import nursery
from tests.crashes.workload import Cut
from tests.maintenance.tidying import cleaned
from tests.sample import ages

MODULE = "tests.maintenance.nursery"


def clean(root: str, pause: float, cut: int | None) -> list[str]:
    """Clean up, and return the durable steps; the process dies at one of them if it is given."""
    graph = open_graph(root, durable=False)
    time.sleep(pause)
    steps.observer = observer = Cut(cut)
    cleaned(graph, keep=1)
    steps.observer = None
    return observer.trace


def branch(root: str, pause: float, name: str, commit: str) -> bool:
    """Create a branch at a commit; False when the commit has been cleaned up."""
    graph = open_graph(root, durable=False)
    time.sleep(pause)
    try:
        graph.create_branch(name, commit)
    except CommitCleanedError:
        return False
    return True


def look(root: str, branches: list[str], deep: bool) -> dict[str, object]:
    """Return how many people each branch has, and what fsck finds."""
    graph = open_graph(root, durable=False)
    findings = [str(each) for each in graph.fsck().findings] if deep else []
    return {"people": {each: len(ages(graph, each)) for each in branches}, "findings": findings}


nursery.JOBS.update({"clean": clean, "branch": branch, "look": look})

if __name__ == "__main__":
    nursery.main()
