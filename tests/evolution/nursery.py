"""Nursery: processes that apply a schema until they are killed.

`python -m tests.evolution.nursery` is the nursery of the crashes with these jobs besides.
"""

from omnigraph.api.graph import open as open_graph
from omnigraph.storage import steps
from tests.crashes import nursery
from tests.crashes.workload import Cut

MODULE = "tests.evolution.nursery"


def apply_schema(root: str, schema: str, cut: int | None = None) -> list[str]:
    """Apply a schema, and give the durable steps; the process dies at one of them if given."""
    steps.observer = observer = Cut(cut)
    open_graph(root).apply_schema(schema, allow_data_loss=True)
    steps.observer = None
    return observer.trace


def apply_in_turn(root: str, schemas: list[str], acks: str) -> None:
    """Apply schemas one after the other, noting each when it was answered."""
    graph = open_graph(root)
    for number, schema in enumerate(schemas):
        graph.apply_schema(schema)
        with open(acks, "a") as file:  # noqa: PTH123
            file.write(f"{number}\n")
            file.flush()


if __name__ == "__main__":
    nursery.JOBS.update({"apply schema": apply_schema, "apply in turn": apply_in_turn})
    nursery.main()
