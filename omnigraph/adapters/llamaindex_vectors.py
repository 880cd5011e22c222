"""Llamaindex vectors: nodes of LlamaIndex with vectors, as documents of a graph."""

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.adapters.documents import Documents, Filters, Found, Layout, Mode
from omnigraph.adapters.extras import missing_extra
from omnigraph.adapters.llamaindex_filters import add_filters
from omnigraph.api.view import View
from omnigraph.errors import InputError, UnavailableError

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
    from llama_index.core.schema import BaseNode, MetadataMode
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
except ImportError:
    raise missing_extra("llamaindex", "llama-index-core") from None

_MODES: Mapping[VectorStoreQueryMode, Mode] = {
    VectorStoreQueryMode.DEFAULT: "vector",
    VectorStoreQueryMode.MMR: "vector",
    VectorStoreQueryMode.TEXT_SEARCH: "words",
    VectorStoreQueryMode.HYBRID: "hybrid",
}
# So many times more are looked at for a choice of nodes that differ.
_CANDIDATES = 4
_SOURCE = "ref_doc_id"


def document_schema(dimensions: int, type_name: str = "Document") -> str:
    """Return the schema of a type of documents, to be part of that of a graph.

    Properties that are added to it hold the metadata of the same names, and can be filtered by.
    """
    return f"""
node {type_name} {{
  slug: String @key
  text: String @index
  vector: Vector({int(dimensions)})?
  {_SOURCE}: String? @index
  metadata: String?
}}
"""


class OmniGraphVectorStore(BasePydanticVectorStore):
    """Nodes of one type as the nodes of LlamaIndex; each change is one commit of a branch.

    A view of a commit can be searched, and not changed.
    """

    stores_text: bool = True
    _documents: Documents = PrivateAttr()

    def __init__(self, view: View, *, layout: Layout | None = None) -> None:
        super().__init__(stores_text=True)
        self._documents = Documents.of(view, layout or Layout())

    @classmethod
    def class_name(cls) -> str:
        """The name by which LlamaIndex knows the store."""
        return "OmniGraphVectorStore"

    @property
    def client(self) -> View:
        """The branch or commit that is read."""
        return self._documents.view

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:  # noqa: ANN401, ARG002
        """Store nodes as one commit and return their ids; a node that is there is replaced."""
        self._documents.put(
            [each.node_id for each in nodes],
            [each.get_content(metadata_mode=MetadataMode.NONE) for each in nodes],
            [node_to_metadata_dict(each, remove_text=True) for each in nodes],
            [each.get_embedding() for each in nodes],
        )
        return [each.node_id for each in nodes]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:  # noqa: ANN401, ARG002
        """Delete the nodes of a document with their edges, as one commit."""
        filters = self._documents.all()
        self._documents.filtered(_SOURCE)
        filters.add(f"$d.{_SOURCE} =", "String", ref_doc_id)
        self._drop(filters)

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,  # noqa: ANN401, ARG002
    ) -> None:
        """Delete nodes by their ids, by filters, or by both; without any, none."""
        if node_ids is not None or filters is not None:
            self._drop(self._chosen(node_ids, None, filters))

    def clear(self) -> None:
        """Delete all nodes, as one commit; the history keeps them."""
        self._documents.delete(None)

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return nodes by their ids, by filters, or by both; without any, all."""
        found = self._documents.select(self._chosen(node_ids, None, filters))
        return [_node(each) for each in found]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:  # noqa: ANN401, ARG002
        """Return the best nodes by meaning, by words or by both, with their similarities."""
        mode = _MODES.get(query.mode)
        if mode is None:
            hint = f"use one of {', '.join(each.value for each in _MODES)}"
            raise UnavailableError(f"no search by {query.mode.value}", hint=hint)
        if query.alpha is not None:
            hint = "leave `alpha` out: meaning and words are fused by their ranks"
            raise UnavailableError("a hybrid search has no weights", hint=hint)
        found = self._search(query, mode)
        return VectorStoreQueryResult(
            nodes=[_node(each) for each, _ in found],
            similarities=[score for _, score in found],
            ids=[each.id for each, _ in found],
        )

    def _search(self, query: VectorStoreQuery, mode: Mode) -> list[tuple[Found, float]]:
        if mode != "words" and query.query_embedding is None:
            raise InputError("the query has no vector", hint="give it `query_embedding`")
        if mode != "vector" and query.query_str is None:
            raise InputError("the query has no words", hint="give it `query_str`")
        chooses = query.mode == VectorStoreQueryMode.MMR
        found = self._documents.search(
            query.query_str or "",
            query.query_embedding,
            limit=query.similarity_top_k * (_CANDIDATES if chooses else 1),
            # Retrievers send an empty list for nodes that are not restricted.
            where=self._chosen(query.node_ids or None, query.doc_ids or None, query.filters),
            mode=mode,
            with_vectors=chooses,
        )
        if chooses:
            return _varied(query, found)
        return [(each, similarity(each, mode)) for each in found]

    def _chosen(
        self,
        node_ids: Sequence[str] | None,
        doc_ids: Sequence[str] | None,
        given: MetadataFilters | None,
    ) -> Filters:
        filters = self._documents.all()
        if node_ids is not None:
            filters.add(f"$d.{self._documents.layout.key} in", "[String]", list(node_ids))
        if doc_ids is not None:
            self._documents.filtered(_SOURCE)
            filters.add(f"$d.{_SOURCE} in", "[String]", list(doc_ids))
        add_filters(filters, given, self._documents)
        return filters

    def _drop(self, filters: Filters) -> None:
        self._documents.delete([each.id for each in self._documents.select(filters)])


def similarity(found: Found, mode: Mode) -> float:
    """Return how well a document fits, greatest first; distances become cosine similarities."""
    score = float(found.score or 0.0)
    return 1.0 - score if mode == "vector" else score


def _varied(query: VectorStoreQuery, found: Sequence[Found]) -> list[tuple[Found, float]]:
    """Return documents that are near and differ from each other."""
    scores, places = get_top_k_mmr_embeddings(
        query.query_embedding or [],
        [each.vector or [] for each in found],
        similarity_top_k=query.similarity_top_k,
        mmr_threshold=query.mmr_threshold,
    )
    return [(found[place], score) for place, score in zip(places, scores, strict=True)]


def _node(found: Found) -> BaseNode:
    node: BaseNode = metadata_dict_to_node(found.metadata, text=found.text)
    return node
