"""The name of the model, or else the environment, says who embeds."""

import pytest

from omnigraph.embedding import embedder_for
from omnigraph.embedding.http import HttpEmbedder
from omnigraph.errors import EmbeddingError

KEYS = {"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"}
OPENAI, GEMINI = "api.openai.com", "generativelanguage.googleapis.com"


@pytest.mark.parametrize(
    ("model", "host", "canonical"),
    [
        ("gemini-embedding-2-preview", GEMINI, "gemini-embedding-2-preview"),
        ("gemini-embedding-001", GEMINI, "gemini-embedding-001"),
        ("text-embedding-3-large", OPENAI, "text-embedding-3-large"),
        ("openai:text-embedding-3-large", OPENAI, "text-embedding-3-large"),
        ("openai:nomic-embed-text", OPENAI, "openai:nomic-embed-text"),
        ("openai:gemini-embedding-001", OPENAI, "openai:gemini-embedding-001"),
    ],
)
def test_the_name_decides_the_provider(model: str, host: str, canonical: str) -> None:
    embedder = embedder_for(model, KEYS)
    assert isinstance(embedder, HttpEmbedder)
    assert (embedder.service.host, embedder.model) == (host, canonical)
    assert embedder_for(embedder.model, KEYS) == embedder


@pytest.mark.parametrize(
    ("environment", "model"),
    [
        ({"GEMINI_API_KEY": "k"}, "gemini-embedding-2-preview"),
        (KEYS, "gemini-embedding-2-preview"),
        ({"OPENAI_API_KEY": "k"}, "text-embedding-3-small"),
        ({"OPENAI_API_KEY": "k", "GEMINI_API_KEY": " "}, "text-embedding-3-small"),
        ({"OPENAI_API_KEY": "k", "NANOGRAPH_EMBED_MODEL": "bge-m3"}, "openai:bge-m3"),
        ({**KEYS, "OMNIGRAPH_EMBED_MODEL": "text-embedding-3-large"}, "text-embedding-3-large"),
        ({"OMNIGRAPH_EMBED_MODEL": "mock"}, "mock"),
    ],
)
def test_without_a_name_the_environment_decides(environment: dict[str, str], model: str) -> None:
    assert embedder_for(None, environment).model == model


def test_the_name_goes_before_the_environment() -> None:
    assert embedder_for("mock", {**KEYS, "OMNIGRAPH_EMBED_MODEL": "gemini-x"}).model == "mock"


@pytest.mark.parametrize("name", ["NANOGRAPH_EMBEDDINGS_MOCK", "OMNIGRAPH_EMBEDDINGS_MOCK"])
@pytest.mark.parametrize("model", [None, "gemini-embedding-001", "local", "nobody"])
def test_a_mock_variable_replaces_every_model(name: str, model: str | None) -> None:
    for yes in ("1", "true", "YES", "on"):
        assert embedder_for(model, {name: yes}).model == "mock"
    for no in ("", "0", "False", "no", "off"):
        assert embedder_for("gemini-x", {**KEYS, name: no}).model == "gemini-x"


@pytest.mark.parametrize("model", ["embedding-3", "openai:", "openai", "Mock", "mock:x"])
def test_an_unknown_model_is_an_error_that_names_the_possible_ones(model: str) -> None:
    with pytest.raises(EmbeddingError, match=f"unknown embedding model '{model}'") as raised:
        embedder_for(model, KEYS)
    for kind in ("gemini-NAME", "text-embedding-NAME", "openai:NAME", "local:NAME", "mock"):
        assert kind in str(raised.value.hint)


def test_without_any_choice_the_error_names_the_variables() -> None:
    with pytest.raises(EmbeddingError) as raised:
        embedder_for(None, {})
    for name in ("OMNIGRAPH_EMBED_MODEL", "GEMINI_API_KEY", "OPENAI_API_KEY"):
        assert name in raised.value.message


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("gemini-embedding-001", "GEMINI_API_KEY"),
        ("text-embedding-3-small", "OPENAI_API_KEY"),
        ("openai:bge-m3", "OPENAI_API_KEY"),
    ],
)
def test_a_missing_key_is_an_error_that_names_its_variable(model: str, variable: str) -> None:
    with pytest.raises(EmbeddingError, match=f"{variable} is not set"):
        embedder_for(model, {})


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        ("openai:m", "NANOGRAPH_EMBED_TIMEOUT_MS", "0"),
        ("openai:m", "NANOGRAPH_EMBED_TIMEOUT_MS", "30s"),
        ("openai:m", "NANOGRAPH_EMBED_RETRY_ATTEMPTS", "-1"),
        ("openai:m", "NANOGRAPH_EMBED_RETRY_BACKOFF_MS", "9" * 5000),
        ("openai:m", "OPENAI_BASE_URL", "api.openai.com"),
        ("openai:m", "OPENAI_BASE_URL", "ftp://api.openai.com"),
        ("openai:m", "OPENAI_BASE_URL", "http://["),
        ("gemini-m", "OMNIGRAPH_EMBED_TIMEOUT_MS", "1.5"),
        ("gemini-m", "OMNIGRAPH_EMBED_RETRY_ATTEMPTS", "0"),
        ("gemini-m", "OMNIGRAPH_GEMINI_BASE_URL", "https://"),
        ("gemini-m", "OMNIGRAPH_EMBEDDINGS_MOCK", "perhaps"),
    ],
    ids=lambda value: value[:40],
)
def test_a_wrong_setting_is_an_error_that_names_its_variable(
    model: str, name: str, value: str
) -> None:
    with pytest.raises(EmbeddingError, match=name):
        embedder_for(model, {**KEYS, name: value})
