"""An answer that is not one unit vector for each text is an error."""

from collections.abc import Callable

import pytest

from omnigraph.embedding import EmbeddingTask
from omnigraph.embedding.http import HttpEmbedder
from omnigraph.errors import EmbeddingError
from tests.embedding.providers import Provider, Reply, Rows


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda rows: rows[:-1], "returned 1 vectors for 2 texts"),
        (lambda rows: [*rows, rows[0]], "returned 3 vectors for 2 texts"),
        (lambda rows: [rows[0], rows[1][:-1]], "a vector of 3 numbers instead of 4"),
        (lambda rows: [row * 2 for row in rows], "a vector of 8 numbers instead of 4"),
        (lambda rows: [rows[0], [0.0] * 4], "zero or not finite"),
        (lambda rows: [rows[0], [float("nan"), 1.0, 1.0, 1.0]], "zero or not finite"),
        (lambda rows: [rows[0], [float("inf"), 1.0, 1.0, 1.0]], "zero or not finite"),
        (lambda rows: [rows[0], [1e200, 1.0, 1.0, 1.0]], "zero or not finite"),
        (lambda rows: [rows[0], [None, 1.0, 1.0, 1.0]], "zero or not finite"),
        (lambda rows: [rows[0], ["a", "b", "c", "d"]], "an answer without vectors"),
        (lambda rows: [rows[0], 7.0], "an answer without vectors"),
    ],
    ids=[
        "one less",
        "one more",
        "ragged",
        "long",
        "zero",
        "nan",
        "infinite",
        "huge",
        "null",
        "words",
        "number",
    ],
)
def test_wrong_vectors_are_refused(
    embedder: HttpEmbedder, provider: Provider, wrong: Callable[[Rows], Rows], message: str
) -> None:
    provider.spoils = wrong

    with pytest.raises(EmbeddingError, match=message) as raised:
        embedder.embed(["Ada", "Grace"], 4, EmbeddingTask.DOCUMENT)
    assert embedder.model in raised.value.message
    assert len(provider.received) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "did not answer with JSON"),
        (b"<html>sign in</html>", "did not answer with JSON"),
        (b"[]", "an answer without vectors"),
        (b"{}", "an answer without vectors"),
        (b'{"data": 3, "embeddings": 3}', "an answer without vectors"),
        (b'{"data": [{"index": 1, "embedding": [1]}], "embeddings": [{}]}', "without vectors"),
    ],
    ids=["nothing", "page", "list", "object", "number", "other index"],
)
def test_other_answers_are_refused(
    embedder: HttpEmbedder, provider: Provider, body: bytes, message: str
) -> None:
    provider.replies.append(Reply(body=body))

    with pytest.raises(EmbeddingError, match=message):
        embedder.embed(["Ada"], 4, EmbeddingTask.DOCUMENT)


def test_a_wrong_dimension_says_which_one_fits(embedder: HttpEmbedder, provider: Provider) -> None:
    provider.spoils = lambda rows: [row[:3] for row in rows]

    with pytest.raises(EmbeddingError) as raised:
        embedder.embed(["Ada"], 4, EmbeddingTask.DOCUMENT)
    assert raised.value.hint is not None
    assert "Vector(3)" in raised.value.hint
