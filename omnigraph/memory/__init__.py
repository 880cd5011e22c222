"""Memory: facts with sources that are true for a time, over the public handles of a graph.

shape     which types of a schema hold facts, entities and sources
new_fact  what is to be remembered
queries   the reads of a memory
names     entities and sources by any of their names, and ids for new ones
change    what is written to remember a fact, as one mutation
facts     facts as they are recalled, and what remembering one did
memory    facts are remembered, recalled and ended, and contradictions found
"""

from omnigraph.memory.facts import Contradiction, Fact, Recalled, Remembered
from omnigraph.memory.memory import Memory
from omnigraph.memory.shape import MemoryShape

__all__ = ["Contradiction", "Fact", "Memory", "MemoryShape", "Recalled", "Remembered"]
