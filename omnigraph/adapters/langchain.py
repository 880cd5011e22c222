"""Langchain: a vector store, a retriever and a chat history for LangChain, over public handles."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import time_ns
from typing import Any, Self
from uuid import uuid4

import numpy as np

from omnigraph.adapters.documents import Documents, Found, Layout, Mode
from omnigraph.adapters.extras import missing_extra
from omnigraph.api.branch import Branch
from omnigraph.api.view import View
from omnigraph.errors import InputError, UnavailableError
from omnigraph.read.neighbors import NodeCard

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
    from pydantic import ConfigDict
except ImportError:
    raise missing_extra("langchain", "langchain-core") from None

CHAT_SCHEMA = """
node Message {
  slug: String @key
  session: String @index
  at: I64
  content: String
}
"""


def document_schema(dimensions: int, type_name: str = "Document") -> str:
    """Return the schema of a type of documents, to be part of that of a graph.

    Properties that are added to it hold the metadata of the same names, and can be filtered by.
    """
    return f"""
node {type_name} {{
  slug: String @key
  text: String @index
  vector: Vector({int(dimensions)})?
  metadata: String?
}}
"""


class OmniGraphVectorStore(VectorStore):
    """Nodes of one type as the documents of LangChain; each change is one commit of a branch.

    Without an `embedding` the graph makes the vectors itself, of a property with `@embed`. A view
    of a commit can be searched, and not changed.
    """

    def __init__(
        self, view: View, embedding: Embeddings | None = None, *, layout: Layout | None = None
    ) -> None:
        self._documents = Documents.of(view, layout or Layout())
        self._embedding = embedding
        if embedding is None and not self._documents.embeds:
            hint = "pass an embedding, or write @embed in the schema"
            raise InputError("nobody makes the vectors of the documents", hint=hint)

    @property
    def embeddings(self) -> Embeddings | None:
        """What makes vectors; None when the graph does."""
        return self._embedding

    @property
    def view(self) -> View:
        """The branch or commit that is read."""
        return self._documents.view

    @property
    def layout(self) -> Layout:
        """The type of the documents, and which properties hold their parts."""
        return self._documents.layout

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[Any, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,  # noqa: ANN401 - as LangChain has it
    ) -> Self:
        """Return a store with some texts; `view` and `layout` say where they are stored."""
        view = kwargs.get("view")
        if view is None:
            raise InputError("no branch to store texts on", hint="pass view=graph.branch()")
        store = cls(view, embedding, layout=kwargs.get("layout"))
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[Any, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,  # noqa: ANN401, ARG002 - as LangChain has it
    ) -> list[str]:
        """Store texts as one commit and return their ids; an id that is there is replaced."""
        contents = list(texts)
        chosen = [each or str(uuid4()) for each in ids or [""] * len(contents)]
        about: Sequence[Mapping[str, Any]] = metadatas or [{}] * len(contents)
        if not len(contents) == len(chosen) == len(about):
            raise InputError("there are not as many ids or metadatas as texts")
        vectors = None if self._embedding is None else self._embedding.embed_documents(contents)
        self._documents.put(chosen, contents, about, vectors)
        return chosen

    def delete(
        self,
        ids: list[str] | None = None,
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> bool | None:
        """Delete documents with their edges, as one commit; without ids, all of them."""
        self._documents.delete(ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents by their ids, without those that are not there."""
        return [_document(each) for each in self._documents.get(ids)]

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the word of LangChain
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> list[Document]:
        """Return the documents nearest in meaning; a filter names properties and their values."""
        return [_document(each) for each in self.find(query, k, filter, mode="vector")]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: Mapping[str, Any] | None = None,  # noqa: A002
    ) -> list[tuple[Document, float]]:
        """Return the documents nearest in meaning with their cosine distances, least first."""
        found = self.find(query, k, filter, mode="vector")
        return [(_document(each), float(each.score or 0.0)) for each in found]

    def similarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        filter: Mapping[str, Any] | None = None,  # noqa: A002
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> list[Document]:
        """Return the documents nearest to a vector."""
        found = self._documents.search("", embedding, limit=k, where=filter)
        return [_document(each) for each in found]

    def hybrid_search(
        self,
        query: str,
        k: int = 4,
        filter: Mapping[str, Any] | None = None,  # noqa: A002
    ) -> list[Document]:
        """Return the best documents by meaning and words together, fused by their ranks."""
        return [_document(each) for each in self.find(query, k, filter, mode="hybrid")]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Mapping[str, Any] | None = None,  # noqa: A002
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> list[Document]:
        """Return documents that are near in meaning and differ from each other."""
        if self._embedding is None:
            message = "the vector of a question is needed here, which the graph keeps to itself"
            raise UnavailableError(message, hint="pass an embedding")
        vector = self._embedding.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(
            vector, k, fetch_k, lambda_mult, filter=filter
        )

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Mapping[str, Any] | None = None,  # noqa: A002
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> list[Document]:
        """Return documents that are near to a vector and differ from each other."""
        found = self._documents.search(
            "", embedding, limit=fetch_k, where=filter, with_vectors=True
        )
        vectors = [each.vector or [] for each in found]
        chosen = maximal_marginal_relevance(np.array(embedding), vectors, lambda_mult, k)
        return [_document(found[place]) for place in chosen]

    def find(
        self, query: str, k: int, where: Mapping[str, Any] | None, *, mode: Mode
    ) -> list[Found]:
        """Return the best documents by meaning, by words, or by the ranks of both."""
        vector = None
        if self._embedding is not None and mode != "words":
            vector = self._embedding.embed_query(query)
        return self._documents.search(query, vector, limit=k, where=where, mode=mode)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return self._cosine_relevance_score_fn


class OmniGraphRetriever(BaseRetriever):
    """Finds documents by meaning and words, and what they are connected with.

    `expand` names types of edges: the nodes at their other ends follow the documents that were
    found, at most `neighbors` for each document and edge type, each once.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    store: OmniGraphVectorStore
    k: int = 4
    mode: Mode = "hybrid"
    filter: dict[str, Any] | None = None
    expand: tuple[str, ...] = ()
    neighbors: int = 5

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - as LangChain has it
        k: int | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> list[Document]:
        where = self.filter if filter is None else filter
        found = self.store.find(query, self.k if k is None else k, where, mode=self.mode)
        return [*map(_document, found), *self._around(found)]

    def _around(self, found: Sequence[Found]) -> list[Document]:
        """Return the nodes that edges connect with some documents, and that are none of these."""
        layout = self.store.layout
        seen = {(layout.type, each.id) for each in found}
        around: list[tuple[NodeCard, dict[str, Any]]] = []
        for document in found:
            for edge in self.expand:
                page = self.store.view.neighbors(
                    layout.type, document.id, edge=edge, limit=self.neighbors
                )
                for each in page:
                    place = (each.node.type, each.node.id)
                    if place not in seen:
                        seen.add(place)
                        about = {"type": each.node.type, "edge": edge, "of": document.id}
                        around.append((each.node, about))
        ids = [node.id for node, _ in around if node.type == layout.type]
        own = {each.id: each for each in self.store.get_by_ids(ids)}
        return [_neighbor(node, layout, about, own) for node, about in around]


class OmniGraphChatHistory(BaseChatMessageHistory):
    """The messages of one session, as nodes of a type such as that of `CHAT_SCHEMA`."""

    def __init__(self, branch: Branch, session: str, *, type_name: str = "Message") -> None:
        self._branch = branch
        self._session = session
        if type_name not in branch.catalog.nodes:
            hint = "CHAT_SCHEMA of this module declares it"
            raise InputError(f"no type '{type_name}' of nodes", hint=hint)
        self._type = type_name

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages of the session, oldest first."""
        query = (
            f"query said($session: String) {{ match {{ $m: {self._type} {{ session: $session }} }} "
            "return { $m.content as content } order { $m.at asc, $m.slug asc } }"
        )
        found = self._branch.query(query, session=self._session)
        return messages_from_dict([json.loads(str(row["content"])) for row in found])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages, as one commit."""
        now = time_ns()
        rows = [
            {
                "slug": str(uuid4()),
                "session": self._session,
                "at": now + place,
                "content": json.dumps(message_to_dict(each), ensure_ascii=False),
            }
            for place, each in enumerate(messages)
        ]
        if rows:
            self._branch.load(rows, type=self._type)

    def clear(self) -> None:
        """Delete all messages of the session, as one commit; the history keeps them."""
        drop = f"query drop($session: String) {{ delete {self._type} where session = $session }}"
        self._branch.mutate(drop, session=self._session)


def _document(found: Found) -> Document:
    return Document(id=found.id, page_content=found.text, metadata=found.metadata)


def _neighbor(
    node: NodeCard, layout: Layout, about: Mapping[str, Any], own: Mapping[str | None, Document]
) -> Document:
    """Return a document, or a node of another type as one: its text or label, and properties."""
    if node.type == layout.type and node.id in own:
        document = own[node.id]
        metadata = {**document.metadata, **about}
        return Document(id=node.id, page_content=document.page_content, metadata=metadata)
    rest = dict(node.properties)
    text = rest.pop(layout.text, None)
    content = text if isinstance(text, str) else node.label
    return Document(id=node.id, page_content=content, metadata={**rest, **about})
