"""Operations: every request that a graph takes, as values, one module for each family.

commits      the history of a branch
read         queries, rows, schemas and single values of a branch or commit
explore      nodes that a text means, and the nodes around one
editing      what an editor asks about a text: its problems, and what may come next
algorithms   something of nodes computed, to see it or as a property of them
write        mutations and loads
queries      stored queries: which there are, what one takes, and to run it
schemas      plans to give a branch other types, and their application
branches     branches, tags, merges and reverts
reviews      where branches stand before they are merged, and what was said about them
changes      what differs between two commits, what each commit changed, and who set a value
runs         changes made aside, published at once or given up
rights       what a policy lets the actor do
maintenance  indexes, files and the health of a graph
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.api.operations import (
        algorithms,
        branches,
        changes,
        commits,
        editing,
        explore,
        maintenance,
        queries,
        read,
        reviews,
        rights,
        runs,
        schemas,
        write,
    )

__all__ = [
    "algorithms",
    "branches",
    "changes",
    "commits",
    "editing",
    "explore",
    "maintenance",
    "queries",
    "read",
    "reviews",
    "rights",
    "runs",
    "schemas",
    "write",
]


def __getattr__(name: str) -> ModuleType:
    """Import a family on first use: a process that reads loads nothing of merges or backups."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
