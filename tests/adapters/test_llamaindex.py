"""The adapters for LlamaIndex: its own indexes and retrievers work on a graph."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import PropertyGraphIndex, StorageContext, VectorStoreIndex
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.embeddings import BaseEmbedding, MockEmbedding
from llama_index.core.graph_stores.types import (
    KG_NODES_KEY,
    KG_RELATIONS_KEY,
    ChunkNode,
    EntityNode,
    Relation,
)
from llama_index.core.indices.property_graph import (
    TextToCypherRetriever,
    VectorContextRetriever,
)
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.schema import TransformComponent as Transform
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from omnigraph.adapters.llamaindex import (
    OmniGraphPropertyGraphStore,
    OmniGraphVectorStore,
    document_schema,
    graph_schema,
)
from omnigraph.api.graph import Graph, connect, init
from omnigraph.errors import InputError, OmniGraphError, UnavailableError
from tests.parity.serving import serving
from tests.templates import fresh_graph

DOCUMENTS = """
node Document {
  slug: String @key
  text: String @index
  vector: Vector(2)?
  ref_doc_id: String? @index
  metadata: String?
  year: I32?
  tags: [String]?
  title: String?
}
"""
METADATA: dict[str, dict[str, Any]] = {
    "apple": {"year": 2020, "tags": ["fruit", "wood"], "title": "Apples and Trees", "shelf": 3},
    "bee": {"year": 2021, "title": "bees"},
    "ant": {"tags": [], "title": ""},
}
TEXTS = {"apple": "apples grow on trees", "bee": "bees like trees", "ant": "ants walk"}
VECTORS = {"apple": [1.0, 0.1], "bee": [0.1, 1.0], "ant": [0.9, 0.3]}
OP = FilterOperator


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with fresh_graph(tmp_path / "g", DOCUMENTS + graph_schema(2)) as found:
        yield found


@pytest.fixture
def vectors(graph: Graph) -> OmniGraphVectorStore:
    return _filled(graph)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OmniGraphVectorStore]:
    """Return a store that tests share, and none of them changes."""
    with init(tmp_path_factory.mktemp("library") / "g", DOCUMENTS, durable=False) as graph:
        yield _filled(graph)


def _filled(graph: Graph) -> OmniGraphVectorStore:
    store = OmniGraphVectorStore(graph.branch())
    store.add(
        [
            TextNode(
                id_=name,
                text=text,
                metadata=METADATA[name],
                embedding=VECTORS[name],
                relationships={
                    NodeRelationship.SOURCE: RelatedNodeInfo(node_id="b" if name == "bee" else "a")
                },
            )
            for name, text in TEXTS.items()
        ]
    )
    return store


@pytest.fixture
def store(graph: Graph) -> OmniGraphPropertyGraphStore:
    return _people(graph)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OmniGraphPropertyGraphStore]:
    """Return a store that tests share, and none of them changes."""
    with init(tmp_path_factory.mktemp("people") / "g", graph_schema(2), durable=False) as graph:
        yield _people(graph)


def _people(graph: Graph) -> OmniGraphPropertyGraphStore:
    found = OmniGraphPropertyGraphStore(graph.branch())
    found.upsert_nodes(
        [
            EntityNode(name="Ana", label="person", properties={"age": 31}, embedding=[1.0, 0.0]),
            EntityNode(name="Mill", label="company", embedding=[0.0, 1.0]),
            EntityNode(name="Bo", label="person", properties={"triplet_source_id": "c1"}),
            ChunkNode(id_="c1", text="Ana works for the mill", embedding=[1.0, 0.0]),
        ]
    )
    found.upsert_relations(
        [
            Relation(label="WORKS_FOR", source_id="Ana", target_id="Mill", properties={"at": 7}),
            Relation(label="KNOWS", source_id="Bo", target_id="Ana"),
            Relation(label="OWNS", source_id="Mill", target_id="Dam"),
        ]
    )
    return found


def _shown(triplets: Sequence[Any]) -> list[tuple[str, str, str]]:
    return [(source.id, relation.label, target.id) for source, relation, target in triplets]


def test_nodes_come_back_as_they_were_given(people: OmniGraphPropertyGraphStore) -> None:
    ana, chunk = people.get(ids=["c1", "Ana", "nobody"])
    assert ana == EntityNode(name="Ana", label="person", properties={"age": 31})
    assert chunk == ChunkNode(id_="c1", text="Ana works for the mill")
    assert [each.id for each in people.get(properties={"triplet_source_id": "c1"})] == ["Bo"]
    assert [each.id for each in people.get()] == ["Ana", "Bo", "Dam", "Mill", "c1"]


def test_an_end_that_is_not_there_becomes_an_entity(people: OmniGraphPropertyGraphStore) -> None:
    assert people.get(ids=["Dam"]) == [EntityNode(name="Dam")]


def test_a_node_that_is_stored_again_keeps_its_vector_and_loses_old_properties(
    store: OmniGraphPropertyGraphStore,
) -> None:
    store.upsert_nodes([EntityNode(name="Ana", label="owner", properties={"city": "Oslo"})])
    found, [score] = store.vector_query(VectorStoreQuery([1.0, 0.0], similarity_top_k=1))
    assert found == [EntityNode(name="Ana", label="owner", properties={"city": "Oslo"})]
    assert score == pytest.approx(1.0)


def test_relations_are_found_by_their_ends_their_names_and_values(
    people: OmniGraphPropertyGraphStore,
) -> None:
    works, knows, owns = (
        ("Ana", "WORKS_FOR", "Mill"),
        ("Bo", "KNOWS", "Ana"),
        ("Mill", "OWNS", "Dam"),
    )
    assert _shown(people.get_triplets(entity_names=["Ana"])) == [works, knows]
    assert _shown(people.get_triplets(ids=["Mill"], relation_names=["OWNS"])) == [owns]
    assert _shown(people.get_triplets(properties={"triplet_source_id": "c1"})) == [knows]
    assert people.get_triplets() == []
    [(_, relation, _)] = people.get_triplets(relation_names=["WORKS_FOR"])
    assert relation.properties == {"at": 7}


def test_relations_around_nodes_come_nearest_first(people: OmniGraphPropertyGraphStore) -> None:
    start = people.get(ids=["Bo"])
    knows, works, owns = (
        ("Bo", "KNOWS", "Ana"),
        ("Ana", "WORKS_FOR", "Mill"),
        ("Mill", "OWNS", "Dam"),
    )
    assert _shown(people.get_rel_map(start, depth=1)) == [knows]
    assert _shown(people.get_rel_map(start, depth=2)) == [knows, works]
    assert _shown(people.get_rel_map(start, depth=9)) == [knows, works, owns]
    assert _shown(people.get_rel_map(start, depth=9, limit=2)) == [knows, works]
    assert _shown(people.get_rel_map(start, depth=9, ignore_rels=["WORKS_FOR"])) == [knows]


def test_a_relation_is_one_however_often_it_is_stored(store: OmniGraphPropertyGraphStore) -> None:
    again = Relation(label="KNOWS", source_id="Bo", target_id="Ana", properties={"since": 2020})
    store.upsert_relations([again, again])
    [(_, relation, _)] = store.get_triplets(relation_names=["KNOWS"])
    assert relation.properties == {"since": 2020}


def test_deleting_takes_relations_with_nodes_and_no_nodes_with_relations(
    store: OmniGraphPropertyGraphStore,
) -> None:
    store.delete(relation_names=["KNOWS"])
    assert [each.id for each in store.get()] == ["Ana", "Bo", "Dam", "Mill", "c1"]
    store.delete(entity_names=["Ana"], properties={"triplet_source_id": "c1"})
    assert [each.id for each in store.get()] == ["Dam", "Mill", "c1"]
    assert _shown(store.get_triplets(ids=["Mill"])) == [("Mill", "OWNS", "Dam")]


def test_entities_and_no_chunks_are_found_by_vectors_and_filters(
    people: OmniGraphPropertyGraphStore,
) -> None:
    found, scores = people.vector_query(VectorStoreQuery([1.0, 0.0], similarity_top_k=5))
    assert [each.id for each in found] == ["Ana", "Mill"]
    assert scores == pytest.approx([1.0, 0.0])
    companies = MetadataFilters(filters=[MetadataFilter(key="label", value="company")])
    query = VectorStoreQuery([1.0, 0.0], similarity_top_k=5, filters=companies)
    assert [each.id for each in people.vector_query(query)[0]] == ["Mill"]


def test_a_structured_query_is_a_read_of_the_graph(people: OmniGraphPropertyGraphStore) -> None:
    query = """query who($label: String) {
      match { $a: GraphNode  $a $r:graphRelation $b  $r.label = $label }
      return { $a.text as who, $b.text as whom }
    }"""
    assert people.structured_query(query, {"label": "KNOWS"}) == [{"who": "Bo", "whom": "Ana"}]
    with pytest.raises(InputError, match="is a mutation"):
        people.structured_query("query q() { delete GraphNode where slug is not null }")
    with pytest.raises(OmniGraphError):
        people.structured_query("MATCH (n) RETURN n")


def test_what_cannot_be_done_is_refused(graph: Graph, store: OmniGraphPropertyGraphStore) -> None:
    with pytest.raises(InputError, match="no property 'age' to filter by"):
        store.get(properties={"age": 31})
    with pytest.raises(UnavailableError, match="by their vectors alone"):
        store.vector_query(VectorStoreQuery(query_str="x", mode=VectorStoreQueryMode.TEXT_SEARCH))
    with pytest.raises(InputError, match="properties are JSON"):
        store.upsert_nodes([EntityNode(name="x", properties={"bad": object()})])
    past = OmniGraphPropertyGraphStore(graph.at(graph.branch().commit.id))
    with pytest.raises(InputError, match="a commit never changes"):
        past.upsert_nodes([EntityNode(name="x")])
    assert [each.id for each in past.get(ids=["Ana"])] == ["Ana"]


def test_a_graph_without_the_types_is_refused_with_a_way_out(tmp_path: Path) -> None:
    with (
        init(tmp_path / "other", document_schema(2), durable=False) as other,
        pytest.raises(InputError, match="no types 'GraphNode'") as refused,
    ):
        OmniGraphPropertyGraphStore(other.branch())
    assert "graph_schema" in (refused.value.hint or "")


class _Facts(Transform):
    """Finds what a text says without a model: `subject VERB object`."""

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        for node in nodes:
            subject, verb, target = node.get_content().split()
            ends = [EntityNode(name=each, label="word") for each in (subject, target)]
            node.metadata[KG_NODES_KEY] = ends
            node.metadata[KG_RELATIONS_KEY] = [
                Relation(label=verb, source_id=subject, target_id=target)
            ]
        return nodes


class _Same(CustomLLM):
    """A model that always says the same."""

    said: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        assert "GraphRelation: GraphNode -> GraphNode" in prompt
        return CompletionResponse(text=self.said)

    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        raise NotImplementedError


def _index(store: OmniGraphPropertyGraphStore) -> PropertyGraphIndex:
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="book")}
    texts = {"n1": "ana KNOWS bo", "n2": "bo OWNS mill"}
    return PropertyGraphIndex(
        nodes=[TextNode(id_=n, text=text, relationships=source) for n, text in texts.items()],
        property_graph_store=store,
        kg_extractors=[_Facts()],
        embed_model=MockEmbedding(embed_dim=2),
        llm=MockLLM(),
        use_async=False,
    )


def test_a_property_graph_index_is_built_searched_and_shrunk(graph: Graph) -> None:
    store = OmniGraphPropertyGraphStore(graph.branch())
    index = _index(store)
    assert [each.id for each in store.get()] == ["ana", "bo", "mill", "n1", "n2"]
    retriever = VectorContextRetriever(
        store, embed_model=MockEmbedding(embed_dim=2), include_text=False, path_depth=1
    )
    found = {each.text for each in index.as_retriever([retriever]).retrieve("who?")}
    assert found == {"ana -> KNOWS -> bo", "bo -> OWNS -> mill"}
    [chunk] = store.get_llama_nodes(["n1"])
    assert (chunk.get_content(), chunk.ref_doc_id) == ("ana KNOWS bo", "book")
    index.delete_nodes(["n2"])
    assert [each.id for each in store.get()] == ["ana", "bo", "mill", "n1"]
    store.delete_llama_nodes(["n1"])  # with what was found in it alone
    assert [each.id for each in store.get()] == ["bo", "mill"]
    store.delete_llama_nodes(ref_doc_ids=["book"])


def test_a_model_asks_in_the_language_of_the_graph(graph: Graph) -> None:
    store = OmniGraphPropertyGraphStore(graph.branch())
    _index(store)
    said = """query q() { match { $a: GraphNode  $a $r:graphRelation $b }
      return { $a.text as who, $r.label as does } order { $a.text } }"""
    retriever = TextToCypherRetriever(store, llm=_Same(said=said))
    [answer] = retriever.retrieve("who does what?")
    assert "'who': 'ana'" in answer.text
    assert "'does': 'OWNS'" in answer.text


def test_nodes_of_a_vector_store_come_back_as_they_were_given(
    library: OmniGraphVectorStore,
) -> None:
    [apple] = library.get_nodes(["apple"])
    assert isinstance(apple, TextNode)
    assert (apple.id_, apple.text, apple.ref_doc_id) == ("apple", TEXTS["apple"], "a")
    assert apple.metadata == METADATA["apple"]
    assert [each.node_id for each in library.get_nodes()] == ["ant", "apple", "bee"]


@pytest.mark.parametrize("condition", list(FilterCondition))
@pytest.mark.parametrize(
    "filters",
    [
        [MetadataFilter(key="year", value=2020)],
        [MetadataFilter(key="year", value=2020, operator=OP.NE)],
        [MetadataFilter(key="year", value=2020, operator=OP.GT)],
        [MetadataFilter(key="year", value=[2019, 2021], operator=OP.IN)],
        [MetadataFilter(key="year", value=[2019, 2021], operator=OP.NIN)],
        [MetadataFilter(key="tags", value="fruit", operator=OP.CONTAINS)],
        [MetadataFilter(key="tags", value=["stone", "wood"], operator=OP.ANY)],
        [MetadataFilter(key="tags", value=["fruit", "stone"], operator=OP.ALL)],
        [MetadataFilter(key="tags", value=None, operator=OP.IS_EMPTY)],
        [MetadataFilter(key="title", value=None, operator=OP.IS_EMPTY)],
        [MetadataFilter(key="title", value="and", operator=OP.TEXT_MATCH)],
        [MetadataFilter(key="title", value="TREES", operator=OP.TEXT_MATCH_INSENSITIVE)],
        [
            MetadataFilter(key="year", value=2021, operator=OP.GTE),
            MetadataFilter(key="tags", value="wood", operator=OP.CONTAINS),
        ],
        [],
    ],
    ids=lambda filters: "-".join(f"{each.key}{each.operator.value}" for each in filters) or "none",
)
def test_filters_mean_what_they_mean_to_llama_index(
    library: OmniGraphVectorStore, filters: list[Any], condition: FilterCondition
) -> None:
    given = MetadataFilters(filters=filters, condition=condition)
    matches = build_metadata_filter_fn(METADATA.__getitem__, given)
    expected = sorted(name for name in METADATA if matches(name))
    assert [each.node_id for each in library.get_nodes(filters=given)] == expected
    query = VectorStoreQuery([1.0, 0.0], similarity_top_k=9, filters=given)
    assert sorted(library.query(query).ids or []) == expected


def test_filters_can_be_nested(library: OmniGraphVectorStore) -> None:
    inner = MetadataFilters(
        filters=[
            MetadataFilter(key="year", value=2021),
            MetadataFilter(key="tags", value=None, operator=OP.IS_EMPTY),
        ],
        condition=FilterCondition.AND,
    )
    outer = MetadataFilters(
        filters=[inner, MetadataFilter(key="tags", value="fruit", operator=OP.CONTAINS)],
        condition=FilterCondition.OR,
    )
    assert [each.node_id for each in library.get_nodes(filters=outer)] == ["apple", "bee"]


def test_nodes_are_found_by_meaning_by_words_by_both_and_varied(
    library: OmniGraphVectorStore,
) -> None:
    def ask(mode: VectorStoreQueryMode, **more: Any) -> list[str]:
        query = VectorStoreQuery([1.0, 0.0], 2, query_str="trees", mode=mode, **more)
        return library.query(query).ids or []

    assert ask(VectorStoreQueryMode.DEFAULT) == ["apple", "ant"]
    assert sorted(ask(VectorStoreQueryMode.TEXT_SEARCH)) == ["apple", "bee"]
    assert ask(VectorStoreQueryMode.HYBRID)[0] == "apple"
    assert ask(VectorStoreQueryMode.MMR, mmr_threshold=0.1) == ["apple", "bee"]
    assert ask(VectorStoreQueryMode.DEFAULT, node_ids=["bee"]) == ["bee"]
    assert ask(VectorStoreQueryMode.DEFAULT, doc_ids=["b"]) == ["bee"]
    found = library.query(VectorStoreQuery([1.0, 0.1], 1))
    assert found.similarities == pytest.approx([1.0])
    with pytest.raises(UnavailableError, match="no search by svm"):
        ask(VectorStoreQueryMode.SVM)
    with pytest.raises(UnavailableError, match="no weights"):
        ask(VectorStoreQueryMode.HYBRID, alpha=0.5)


@pytest.mark.parametrize(
    ("key", "operator", "value", "message"),
    [
        ("shelf", OP.EQ, 3, "no property 'shelf' to filter by"),
        ("tags", OP.EQ, "fruit", "'tags' is a list"),
        ("year", OP.CONTAINS, 2, "'year' is I32"),
        ("year", OP.IN, 2020, "takes a list of values"),
        ("year", OP.EQ, None, "has no value"),
    ],
)
def test_a_filter_that_cannot_be_run_is_refused(
    library: OmniGraphVectorStore, key: str, operator: OP, value: Any, message: str
) -> None:
    given = MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)])
    with pytest.raises(InputError, match=message):
        library.get_nodes(filters=given)


def test_nodes_are_deleted_by_document_by_id_and_by_filter(vectors: OmniGraphVectorStore) -> None:
    vectors.delete("b")
    assert [each.node_id for each in vectors.get_nodes()] == ["ant", "apple"]
    vectors.delete_nodes(filters=MetadataFilters(filters=[MetadataFilter(key="year", value=2020)]))
    vectors.delete_nodes()
    assert [each.node_id for each in vectors.get_nodes()] == ["ant"]
    vectors.clear()
    assert vectors.get_nodes() == []


class _Letters(BaseEmbedding):
    """Vectors by the first letter of a text: with `a` one way, with others the other."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [1.0, 0.1] if text.startswith("a") else [0.1, 1.0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def test_a_vector_store_index_works_on_the_graph_of_a_server(graph: Graph) -> None:
    with serving(Path(graph.uri)) as url, connect(url) as remote:
        branch = remote.create_branch("agent/notes")
        index = VectorStoreIndex(
            [TextNode(id_=name, text=text) for name, text in TEXTS.items()],
            storage_context=StorageContext.from_defaults(vector_store=OmniGraphVectorStore(branch)),
            embed_model=_Letters(),
        )
        found = index.as_retriever(similarity_top_k=1).retrieve("bees")
        assert [each.node_id for each in found] == ["bee"]
        assert OmniGraphVectorStore(remote.branch()).get_nodes() == []


def test_a_missing_package_is_named_with_the_line_that_installs_it() -> None:
    code = "import sys; sys.modules['llama_index'] = None; import omnigraph.adapters.llamaindex"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'omnigraph[llamaindex]'" in done.stderr
