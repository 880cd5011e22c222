"""The providers get the requests that they understand, and their answers become unit vectors."""

import pickle

import numpy as np
import pytest

from omnigraph.embedding import EmbeddingTask
from omnigraph.embedding.embedder import MOST_TEXTS
from omnigraph.embedding.http import HttpEmbedder
from omnigraph.errors import EmbeddingError
from tests.embedding.conftest import Asking
from tests.embedding.providers import GEMINI_END, KEY, OPENAI_PATH, Provider, Reply, raw_vector


def test_openai_gets_model_texts_dimension_and_key(asking: Asking, provider: Provider) -> None:
    asking.embedder("text-embedding-3-large").embed(["Ada", "Grace"], 8, EmbeddingTask.DOCUMENT)

    (request,) = provider.received
    assert request.path == OPENAI_PATH
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "text-embedding-3-large",
        "input": ["Ada", "Grace"],
        "dimensions": 8,
    }


def test_the_model_of_openai_that_has_one_dimension_is_told_none(
    asking: Asking, provider: Provider
) -> None:
    provider.only = 8
    asking.embedder("text-embedding-ada-002").embed(["Ada"], 8, EmbeddingTask.DOCUMENT)

    assert [each.body for each in provider.received] == [
        {"model": "text-embedding-ada-002", "input": ["Ada"]}
    ]


def test_a_model_that_refuses_to_be_told_a_dimension_is_told_none_from_then_on(
    asking: Asking, provider: Provider
) -> None:
    provider.only = 8
    texts = [f"text {number}" for number in range(MOST_TEXTS + 1)]

    assert asking.embedder("openai:bge-m3").embed(texts, 8, EmbeddingTask.QUERY).shape == (97, 8)
    query = asking.embedder("openai:bge-m3").pausing(lambda _: None)
    query.embed(["Ada"], 8, EmbeddingTask.QUERY)

    told = [each.body.get("dimensions") for each in provider.received]
    assert told == [8, None, None, None]


def test_a_model_that_has_another_dimension_only_says_which(
    asking: Asking, provider: Provider
) -> None:
    provider.only = 8
    embedder = asking.embedder("openai:bge-m3")

    with pytest.raises(EmbeddingError, match="a vector of 8 numbers instead of 4"):
        embedder.embed(["Ada"], 4, EmbeddingTask.QUERY)
    provider.only = None
    assert embedder.embed(["Ada"], 4, EmbeddingTask.QUERY).shape == (1, 4)


@pytest.mark.parametrize(
    "refusal",
    [
        Reply(400, b'{"object": "error", "message": "dimensions is currently not supported"}'),
        Reply(422, b'{"detail": [{"type": "extra_forbidden", "loc": ["body", "dimensions"]}]}'),
    ],
    ids=["top", "field"],
)
def test_a_dimension_can_be_refused_in_several_ways(
    asking: Asking, provider: Provider, refusal: Reply
) -> None:
    provider.only = 8
    provider.replies.append(refusal)

    assert asking.embedder("openai:m").embed(["Ada"], 8, EmbeddingTask.QUERY).shape == (1, 8)
    assert [each.body.get("dimensions") for each in provider.received] == [8, None]


def test_gemini_gets_each_text_as_a_request_with_task_and_dimension(
    asking: Asking, provider: Provider
) -> None:
    asking.embedder("gemini-embedding-001").embed(["Ada", "Grace"], 8, EmbeddingTask.DOCUMENT)

    (request,) = provider.received
    assert request.path == f"/v1beta/models/gemini-embedding-001{GEMINI_END}"
    assert request.headers["x-goog-api-key"] == KEY
    assert request.body["requests"] == [
        {
            "model": "models/gemini-embedding-001",
            "content": {"parts": [{"text": text}]},
            "taskType": "RETRIEVAL_DOCUMENT",
            "outputDimensionality": 8,
        }
        for text in ("Ada", "Grace")
    ]


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (EmbeddingTask.DOCUMENT, "title: none | text: Ada"),
        (EmbeddingTask.QUERY, "task: search result | query: Ada"),
    ],
    ids=str,
)
def test_the_second_generation_of_gemini_is_told_the_task_in_the_text(
    asking: Asking, provider: Provider, task: EmbeddingTask, told: str
) -> None:
    asking.embedder("gemini-embedding-2-preview").embed(["Ada"], 8, task)

    assert provider.received[0].texts == [told]
    assert provider.received[0].body["requests"][0]["taskType"] == task


def test_queries_and_documents_are_told_apart_by_gemini_only(asking: Asking) -> None:
    gemini, openai = asking.embedder("gemini-embedding-001"), asking.embedder("openai:other")

    for embedder, alike in ((gemini, False), (openai, True)):
        document, query = (embedder.embed(["Ada"], 8, task) for task in EmbeddingTask)
        assert np.allclose(document, query) == alike


def test_vectors_come_in_the_order_of_the_texts_with_length_one(embedder: HttpEmbedder) -> None:
    texts = ["Ada", "Grace", "Ada", "Barbara"]
    vectors = embedder.embed(texts, 16, EmbeddingTask.QUERY)

    task = "none" if embedder.model.startswith("text") else "RETRIEVAL_QUERY"
    raw = np.array([raw_vector(text, 16, task) for text in texts])
    assert vectors.dtype == np.float32
    assert vectors.shape == (4, 16)
    assert np.allclose(vectors, raw / np.linalg.norm(raw, axis=1, keepdims=True), atol=1e-6)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_many_texts_go_in_batches(embedder: HttpEmbedder, provider: Provider) -> None:
    texts = [f"text {number}" for number in range(2 * MOST_TEXTS + 1)]
    vectors = embedder.embed(texts, 4, EmbeddingTask.DOCUMENT)

    assert [len(request.texts) for request in provider.received] == [96, 96, 1]
    assert [text for request in provider.received for text in request.texts] == texts
    assert vectors.shape == (193, 4)


def test_long_texts_go_in_smaller_batches(embedder: HttpEmbedder, provider: Provider) -> None:
    embedder.embed(["é" * 50_000, "b" * 150_000, "c", "d" * 300_000], 4, EmbeddingTask.DOCUMENT)

    assert [len(request.texts) for request in provider.received] == [2, 1, 1]


def test_no_texts_are_no_request(embedder: HttpEmbedder, provider: Provider) -> None:
    assert embedder.embed([], 4, EmbeddingTask.QUERY).shape == (0, 4)
    assert provider.received == []


@pytest.mark.parametrize("text", ["", " \n\t", "\u2003"])
def test_an_empty_text_is_refused_before_anything_is_paid(
    embedder: HttpEmbedder, provider: Provider, text: str
) -> None:
    with pytest.raises(EmbeddingError, match="text 98 of 98 is empty"):
        embedder.embed([*map(str, range(97)), text], 4, EmbeddingTask.DOCUMENT)
    assert provider.received == []


def test_half_a_character_is_refused(embedder: HttpEmbedder) -> None:
    with pytest.raises(EmbeddingError, match="text 1 of 1 is not valid Unicode"):
        embedder.embed(["\ud800"], 4, EmbeddingTask.DOCUMENT)


def test_an_embedder_survives_pickling_also_after_use(embedder: HttpEmbedder) -> None:
    before = embedder.embed(["Ada"], 4, EmbeddingTask.QUERY)
    revived = pickle.loads(pickle.dumps(embedder))

    assert revived.model == embedder.model
    assert np.array_equal(revived.embed(["Ada"], 4, EmbeddingTask.QUERY), before)
