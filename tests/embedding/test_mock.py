"""The mock gives the same vectors everywhere and always."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from omnigraph.embedding import EmbeddingTask, embedder_for
from omnigraph.embedding.mock import MockEmbedder
from omnigraph.errors import EmbeddingError
from omnigraph.schema.identity import fnv1a64

MOCK = MockEmbedder()
GOLDEN = [-0.548410595, -0.313618921, 0.520655467, -0.574288148]


def by_hand(text: str, dimension: int) -> list[float]:
    """Return the vector of a text, computed one number at a time."""
    state, numbers = fnv1a64(text), []
    for _ in range(dimension):
        state ^= state << 13 & 2**64 - 1
        state ^= state >> 7
        state ^= state << 17 & 2**64 - 1
        numbers.append(state / (2**64 - 1) * 2 - 1)
    length = sum(number**2 for number in numbers) ** 0.5
    return [number / length for number in numbers]


def test_the_vector_of_a_text_never_changes() -> None:
    (vector,) = MOCK.embed(["Ada Lovelace"], 4, EmbeddingTask.DOCUMENT).tolist()
    assert vector == pytest.approx(GOLDEN, abs=1e-7)


@pytest.mark.parametrize("text", ["a", "Zoë", "漢字", "a longer text\nof two lines"])
def test_the_vectors_are_those_of_the_definition(text: str) -> None:
    (vector,) = MOCK.embed([text], 64, EmbeddingTask.DOCUMENT)
    assert np.allclose(vector, by_hand(text, 64), atol=1e-6)


def test_another_process_gives_the_same_bytes() -> None:
    code = (
        "import os, sys; from omnigraph.embedding import EmbeddingTask, embedder_for\n"
        "mock = embedder_for('mock', {})\n"
        "sys.stdout.write(mock.embed(['Ada', 'Grace'], 32, EmbeddingTask.QUERY).tobytes().hex())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == MOCK.embed(["Ada", "Grace"], 32, EmbeddingTask.QUERY).tobytes().hex()


def test_documents_and_queries_of_one_text_are_alike_and_texts_differ() -> None:
    document, other = MOCK.embed(["Ada", "Grace"], 128, EmbeddingTask.DOCUMENT)
    (query,) = MOCK.embed(["Ada"], 128, EmbeddingTask.QUERY)
    assert np.array_equal(document, query)
    assert abs(float(document @ other)) < 0.5


def test_the_vectors_are_float32_of_length_one() -> None:
    vectors = MOCK.embed([str(number) for number in range(100)], 384, EmbeddingTask.DOCUMENT)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert MOCK.embed([], 3, EmbeddingTask.QUERY).shape == (0, 3)


def test_the_mock_refuses_empty_texts_as_everyone_does() -> None:
    with pytest.raises(EmbeddingError, match="text 2 of 2 is empty"):
        MOCK.embed(["Ada", ""], 3, EmbeddingTask.DOCUMENT)


def test_the_mock_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(embedder_for("mock", {}))) == MOCK
