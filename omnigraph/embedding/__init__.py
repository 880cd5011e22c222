"""Embedding: texts to vectors, by a provider, a local model or a mock, behind one interface."""

from omnigraph.embedding.cache import Cache, cached
from omnigraph.embedding.embedder import Embedder, Task
from omnigraph.embedding.selection import embedder_for

__all__ = ["Cache", "Embedder", "Task", "cached", "embedder_for"]
