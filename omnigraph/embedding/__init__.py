"""Embedding: texts to vectors by a provider, a local model or a mock, behind one interface.

embedder   the interface that turns texts into vectors, and the checks that all share
selection  the embedder that a model name and the environment select
cache      stores vectors by the content of their texts, so that none is paid for twice
asked      the vectors of texts that queries search with, kept by this process
http       embeds through a provider's HTTP interface, in batches and with retries
openai     the embeddings interface of OpenAI, which many other servers offer too
gemini     the embeddings interface of the Gemini API
local      a real model from an installed package; no text leaves the machine
mock       vectors from a hash of the text; needs no network and is the same everywhere
"""

from omnigraph.embedding.asked import query_vector
from omnigraph.embedding.cache import VectorCache, with_cache
from omnigraph.embedding.embedder import Embedder, EmbeddingTask
from omnigraph.embedding.selection import embedder_for

__all__ = ["Embedder", "EmbeddingTask", "VectorCache", "embedder_for", "query_vector", "with_cache"]
