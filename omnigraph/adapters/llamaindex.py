"""Llamaindex: a property graph store and a vector store for LlamaIndex."""

from omnigraph.adapters.documents import Layout
from omnigraph.adapters.llamaindex_graph import OmniGraphPropertyGraphStore, graph_schema
from omnigraph.adapters.llamaindex_vectors import OmniGraphVectorStore, document_schema

__all__ = [
    "Layout",
    "OmniGraphPropertyGraphStore",
    "OmniGraphVectorStore",
    "document_schema",
    "graph_schema",
]
