"""The key goes to the provider and nowhere else."""

import logging
import traceback

import pytest

from omnigraph.embedding import EmbeddingTask, embedder_for
from omnigraph.embedding.http import HttpEmbedder
from omnigraph.errors import EmbeddingError
from tests.embedding.conftest import Asking
from tests.embedding.providers import KEY, Provider, Reply, failed


def test_an_embedder_does_not_show_its_key(embedder: HttpEmbedder) -> None:
    assert KEY not in repr(embedder)
    assert KEY not in str(embedder)


@pytest.mark.parametrize(
    "reply",
    [
        failed(401, f"Incorrect API key provided: {KEY}."),
        failed(500, f"cannot check {KEY}"),
        Reply(429, f"<html>{KEY}</html>".encode()),
        failed(400, "x" * 290 + KEY),
    ],
    ids=["refused", "broken", "page", "cut"],
)
def test_a_provider_that_repeats_the_key_does_not_leak_it(
    embedder: HttpEmbedder, provider: Provider, reply: Reply
) -> None:
    provider.replies += [reply] * 4

    with pytest.raises(EmbeddingError) as raised:
        embedder.embed(["Ada"], 4, EmbeddingTask.QUERY)
    shown = "".join(traceback.format_exception(raised.value))
    assert KEY[:8] not in shown
    assert KEY[:8] not in raised.value.render()


def test_nothing_is_logged_with_the_key(
    embedder: HttpEmbedder, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    provider.replies += [failed(503, "later")]
    with caplog.at_level(logging.DEBUG):
        embedder.embed(["Ada"], 4, EmbeddingTask.QUERY)

    assert "127.0.0.1" in caplog.text
    assert KEY not in caplog.text


def test_the_password_of_a_base_url_is_not_shown(asking: Asking, provider: Provider) -> None:
    url = provider.url.replace("http://", "http://user:hunter2@") + "/v1"
    embedder = asking.embedder("openai:m", OPENAI_BASE_URL=url)
    provider.replies += [failed(400, "no")]

    with pytest.raises(EmbeddingError) as raised:
        embedder.embed(["Ada"], 4, EmbeddingTask.QUERY)
    assert "hunter2" not in repr(embedder) + raised.value.render()


@pytest.mark.parametrize("key", ["sk-very\nsecret", "sk-verysécret"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(EmbeddingError, match="OPENAI_API_KEY contains characters") as raised:
        embedder_for("text-embedding-3-small", {"OPENAI_API_KEY": key})
    assert "sk-very" not in raised.value.render()


def test_a_line_end_after_the_key_does_no_harm(asking: Asking) -> None:
    embedder = asking.embedder("openai:m", OPENAI_API_KEY=f"{KEY}\n")
    assert embedder.embed(["Ada"], 4, EmbeddingTask.QUERY).shape == (1, 4)
