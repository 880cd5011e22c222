"""Embedding: texts to vectors, by a provider, a local model or a mock, behind one interface.

embedder   what everything that makes vectors of texts promises, and the checks behind it
selection  which embedder the name of a model and the environment stand for
mock       vectors from a hash of the text; needs no network and is the same everywhere
local      a real model from an installed package; no text leaves the machine
http       embeds through a provider's HTTP interface: batches, retries, and what may go wrong
openai     the embeddings interface of OpenAI, which many other servers speak too
gemini     the embeddings interface of the Gemini API
cache      keeps the vectors that were paid for, by the content they were made of
"""

from omnigraph.embedding.cache import VectorCache, with_cache
from omnigraph.embedding.embedder import Embedder, EmbeddingTask
from omnigraph.embedding.selection import embedder_for

__all__ = ["Embedder", "EmbeddingTask", "VectorCache", "embedder_for", "with_cache"]
