"""The adapters for LangChain pass its own suites, and find what is connected."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests
from langchain_tests.integration_tests.vectorstores import (
    EMBEDDING_SIZE,
    VectorStoreIntegrationTests,
)

from omnigraph import open as open_graph
from omnigraph.adapters.documents import Layout
from omnigraph.adapters.langchain import (
    CHAT_SCHEMA,
    OmniGraphChatHistory,
    OmniGraphRetriever,
    OmniGraphVectorStore,
    document_schema,
)
from omnigraph.api.graph import Graph, connect, init
from omnigraph.errors import InputError, UnavailableError
from tests.parity.serving import serving
from tests.templates import fresh_graph

SCHEMA = """
node Document {
  slug: String @key
  text: String @index
  vector: Vector(2)?
  metadata: String?
  year: I32?
  tags: [String]?
  kind: enum(note, paper)?
}
node Person { slug: String @key  name: String }
edge Cites: Document -> Document
edge Wrote: Person -> Document
"""


class Directions(Embeddings):
    """Vectors by the first letter of a text: a text with `a` lies one way, with `b` the other."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(each) for each in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.1] if text.startswith("a") else [0.1, 1.0]


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with fresh_graph(tmp_path / "g", SCHEMA + CHAT_SCHEMA) as found:
        yield found


@pytest.fixture
def store(graph: Graph) -> OmniGraphVectorStore:
    found = OmniGraphVectorStore(graph.branch(), Directions())
    found.add_texts(
        ["apples grow on trees", "bees like trees", "ants walk"],
        [
            {"year": 2020, "tags": ["fruit", "wood"], "shelf": 3},
            {"year": 2021, "kind": "paper"},
            {"year": None, "nested": {"a": [1, 2]}},
        ],
        ids=["apple", "bee", "ant"],
    )
    graph.load([{"slug": "eva", "name": "Eva"}], type="Person")
    graph.load([{"from": "apple", "to": "bee"}], type="Cites")
    graph.load([{"from": "eva", "to": "apple"}], type="Wrote")
    return found


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[VectorStore]:
        with fresh_graph(tmp_path / "g", document_schema(EMBEDDING_SIZE)) as graph:
            yield OmniGraphVectorStore(graph.branch(), self.get_embeddings())


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _store(self, store: OmniGraphVectorStore) -> None:
        self.store = store

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return OmniGraphRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"store": self.store}

    @property
    def retriever_query_example(self) -> str:
        return "trees"


def test_metadata_comes_back_as_it_was_given(store: OmniGraphVectorStore) -> None:
    apple, bee, ant = store.get_by_ids(["apple", "bee", "ant"])
    assert apple.metadata == {"year": 2020, "tags": ["fruit", "wood"], "shelf": 3}
    assert bee.metadata == {"year": 2021, "kind": "paper"}
    assert ant.metadata == {"year": None, "nested": {"a": [1, 2]}}


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"year": 2020}, ["apple"]),
        ({"year": [2020, 2021]}, ["apple", "bee"]),
        ({"year": None}, ["ant"]),
        ({"tags": "fruit"}, ["apple"]),
        ({"kind": "paper", "year": 2021}, ["bee"]),
        ({"kind": ["paper", "note"]}, ["bee"]),
        ({"slug": ["ant", "bee"]}, ["ant", "bee"]),
        ({"year": 1}, []),
    ],
)
def test_a_filter_names_properties(
    store: OmniGraphVectorStore, where: dict[str, Any], found: list[str]
) -> None:
    assert sorted(str(each.id) for each in store.similarity_search("a", filter=where)) == sorted(
        found
    )


def test_a_filter_by_other_metadata_is_refused_with_a_way_out(store: OmniGraphVectorStore) -> None:
    with pytest.raises(InputError, match="no property 'shelf' to filter by") as refused:
        store.similarity_search("a", filter={"shelf": 3})
    assert "declare it" in (refused.value.hint or "")
    with pytest.raises(InputError, match="no property 'yaer'"):
        store.similarity_search("a", filter={"yaer": 3})


def test_each_change_is_one_commit_and_old_commits_can_be_searched(
    graph: Graph, store: OmniGraphVectorStore
) -> None:
    before = graph.branch().commit
    store.delete(["apple", "nobody"])
    assert graph.branch().commit.version == before.version + 1
    old = OmniGraphVectorStore(graph.at(before.id), Directions())
    assert [each.id for each in old.similarity_search("a", k=1)] == ["ant"]
    assert len(old.similarity_search("a", k=9)) == 3
    with pytest.raises(InputError, match="a commit never changes"):
        old.add_texts(["new"])
    store.delete()
    assert store.similarity_search("a") == []


def test_distances_and_relevance(store: OmniGraphVectorStore) -> None:
    scored = store.similarity_search_with_score("a", k=3)
    assert [each.id for each, _ in scored] == ["ant", "apple", "bee"]
    assert scored[0][1] == pytest.approx(0.0, abs=1e-6)
    relevant = store.similarity_search_with_relevance_scores("a", k=1)
    assert relevant[0][1] == pytest.approx(1.0, abs=1e-6)


def test_results_that_differ(store: OmniGraphVectorStore) -> None:
    found = store.max_marginal_relevance_search("a", k=2, lambda_mult=0.0)
    assert {each.id for each in found} == {"ant", "bee"}


def test_hybrid_search_takes_words_and_meaning_together(store: OmniGraphVectorStore) -> None:
    assert [each.id for each in store.hybrid_search("apples", k=1)] == ["apple"]
    by_words = OmniGraphRetriever(store=store, mode="words").invoke("trees")
    assert sorted(str(each.id) for each in by_words) == ["apple", "bee"]


def test_a_retriever_follows_edges_and_names_them(store: OmniGraphVectorStore) -> None:
    retriever = OmniGraphRetriever(store=store, k=1, expand=("Cites", "Wrote"))
    found = retriever.invoke("apples")
    assert [each.id for each in found] == ["apple", "bee", "eva"]
    bee, eva = found[1:]
    assert bee.page_content == "bees like trees"
    assert (bee.metadata["edge"], bee.metadata["of"]) == ("Cites", "apple")
    assert (eva.page_content, eva.metadata["type"]) == ("Eva", "Person")
    assert [each.id for each in retriever.invoke("apples", k=2, filter={"year": 2020})] == [
        "apple",
        "bee",
        "eva",
    ]


def test_a_graph_of_a_server_is_searched_alike(tmp_path: Path) -> None:
    init(tmp_path / "g", SCHEMA + CHAT_SCHEMA, durable=False).close()
    with serving(tmp_path / "g") as url, connect(url) as graph:
        store = OmniGraphVectorStore(graph.branch(), Directions())
        store.add_texts(["apple", "bee"], [{"year": 1}, {"shelf": 2}], ids=["apple", "bee"])
        graph.load([{"from": "apple", "to": "bee"}], type="Cites")
        assert [each.id for each in store.similarity_search("a", filter={"year": [1, 2]})] == [
            "apple"
        ]
        found = OmniGraphRetriever(store=store, k=1, expand=("Cites",)).invoke("apple")
        assert [each.id for each in found] == ["apple", "bee"]
        about = {"type": "Document", "edge": "Cites", "of": "apple"}
        assert found[1].metadata == {"shelf": 2, **about}
        store.delete(["apple"])
        assert [each.metadata for each in store.get_by_ids(["apple", "bee"])] == [{"shelf": 2}]
        history = OmniGraphChatHistory(graph.branch(), "s")
        history.add_user_message("hello")
        assert [each.content for each in history.messages] == ["hello"]


def test_any_number_of_long_ids_is_asked_for_and_deleted_in_a_server(tmp_path: Path) -> None:
    quoted = 'quoted" ' * 16
    ids = [f"{quoted}{number}" for number in range(8_000)]
    init(tmp_path / "g", SCHEMA, durable=False).close()
    with serving(tmp_path / "g") as url, connect(url) as graph:
        store = OmniGraphVectorStore(graph.branch(), Directions())
        store.add_texts(["apple", "bee", "x" * 9], ids=[ids[0], ids[-1], long := "l" * 600_000])
        assert len(store.get_by_ids([*ids, long])) == 3
        store.delete([*ids, long])
        assert store.get_by_ids([*ids, long]) == []


def test_a_graph_that_embeds_needs_no_embedding(tmp_path: Path) -> None:
    schema = document_schema(8).replace("Vector(8)?", 'Vector(8)? @embed("text")')
    with init(tmp_path / "g", schema, durable=False) as graph:
        graph.close()
    with open_graph(tmp_path / "g", environment={"OMNIGRAPH_EMBED_MODEL": "mock"}) as graph:
        store = OmniGraphVectorStore(graph.branch())
        store.add_documents([Document(page_content="one"), Document(page_content="two")])
        assert [each.page_content for each in store.similarity_search("one", k=1)] == ["one"]
        with pytest.raises(UnavailableError, match="the vector of a question"):
            store.max_marginal_relevance_search("one")


def test_what_a_layout_names_has_to_be_there(graph: Graph) -> None:
    main = graph.branch()
    for layout, match in [
        (Layout(type="Documnt"), "no type 'Documnt'"),
        (Layout(type="Cites"), "documents are nodes"),
        (Layout(text="txt"), "no property 'txt'"),
        (Layout(key="text"), "not the key"),
        (Layout(vector="year"), "not a Vector"),
    ]:
        with pytest.raises(InputError, match=match):
            OmniGraphVectorStore(main, Directions(), layout=layout)
    with pytest.raises(InputError, match="nobody makes the vectors"):
        OmniGraphVectorStore(main)


def test_a_chat_is_remembered_in_order_and_cleared(graph: Graph) -> None:
    history = OmniGraphChatHistory(graph.branch(), "s1")
    history.add_messages([HumanMessage("hello"), AIMessage("hi", id="m1")])
    history.add_user_message("how are you?")
    other = OmniGraphChatHistory(graph.branch(), "s2")
    other.add_ai_message("somewhere else")
    said = OmniGraphChatHistory(graph.branch(), "s1").messages
    assert [each.content for each in said] == ["hello", "hi", "how are you?"]
    assert (type(said[1]), said[1].id) == (AIMessage, "m1")
    history.clear()
    assert (history.messages, len(other.messages)) == ([], 1)
    with pytest.raises(InputError, match="no type 'Chat'"):
        OmniGraphChatHistory(graph.branch(), "s1", type_name="Chat")


def test_a_missing_package_is_named_with_the_line_that_installs_it() -> None:
    code = "import sys; sys.modules['langchain_core'] = None; import omnigraph.adapters.langchain"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'omnigraph[langchain]'" in done.stderr
