"""Memory: facts with sources that are true for a time, over the public handles of a graph.

shape     which types of a schema hold facts, entities and sources
new_fact  what is to be remembered
queries   the reads of a memory
names     entities and sources by any of their names, and ids for new ones
change    what is written to remember a fact, as one mutation
facts     facts as they are recalled, and what remembering one did
memory    facts are remembered, recalled and ended, and contradictions found
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph.memory.facts import Contradiction, Fact, Recalled, Remembered
    from omnigraph.memory.memory import Memory
    from omnigraph.memory.shape import MemoryShape

# Imported where they are first used: who only asks for the shape of a schema needs no graph.
_HOMES = {
    "Memory": "omnigraph.memory.memory",
    "MemoryShape": "omnigraph.memory.shape",
    **dict.fromkeys(("Contradiction", "Fact", "Recalled", "Remembered"), "omnigraph.memory.facts"),
}

__all__ = ["Contradiction", "Fact", "Memory", "MemoryShape", "Recalled", "Remembered"]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'omnigraph.memory' has no attribute {name!r}")
    return getattr(import_module(home), name)
