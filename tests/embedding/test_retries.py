"""What may pass is tried again, with pauses; what cannot pass fails at once."""

from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate
from time import time

import pytest

from omnigraph.embedding import EmbeddingTask
from omnigraph.embedding.http import HttpEmbedder
from omnigraph.errors import EmbeddingError
from tests.embedding.conftest import Asking
from tests.embedding.providers import Provider, Reply, failed

DEAD = Reply(status=None)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_or_broken_provider_is_asked_again(
    embedder: HttpEmbedder, asking: Asking, provider: Provider, status: int
) -> None:
    provider.replies += [failed(status, "later")] * 3

    assert embedder.embed(["Ada"], 4, EmbeddingTask.QUERY).shape == (1, 4)
    assert len(provider.received) == 4
    assert len(asking.pauses) == 3


def test_the_pauses_double_and_differ_by_chance(
    embedder: HttpEmbedder, asking: Asking, provider: Provider
) -> None:
    provider.replies += [failed(503, "later")] * 3
    embedder.embed(["Ada"], 4, EmbeddingTask.QUERY)

    for pause, least in zip(asking.pauses, [0.2, 0.4, 0.8], strict=True):
        assert least <= pause <= 1.5 * least


def test_pauses_stay_bounded_however_many_attempts(asking: Asking, provider: Provider) -> None:
    provider.replies += [failed(503, "later")] * 12
    embedder = asking.embedder("openai:m", NANOGRAPH_EMBED_RETRY_ATTEMPTS="13")
    embedder.embed(["Ada"], 4, EmbeddingTask.QUERY)

    assert max(asking.pauses) <= 45


@pytest.mark.parametrize(
    ("reply", "least", "most"),
    [
        (lambda: failed(429, "later", retry_after="7"), 7, 7.2),
        (lambda: failed(503, "later", retry_after=formatdate(time() + 60, usegmt=True)), 55, 61),
        (lambda: failed(429, "later", retry_after=formatdate(time() - 60, usegmt=True)), 0, 0.2),
        (lambda: failed(429, "later", retry_after="soon"), 0.2, 0.4),
        (lambda: failed(429, "later", retry_after="Mon, 01 Jan 99999 00:00:00 GMT"), 0.2, 0.4),
        (lambda: Reply(429, b'{"error": {"details": [{"retryDelay": "34.5s"}]}}'), 34.5, 34.7),
    ],
    ids=["seconds", "date", "past date", "nonsense", "impossible date", "retry info of Google"],
)
def test_a_provider_that_names_a_pause_gets_it(
    embedder: HttpEmbedder,
    asking: Asking,
    provider: Provider,
    reply: Callable[[], Reply],
    least: float,
    most: float,
) -> None:
    provider.replies.append(reply())
    embedder.embed(["Ada"], 4, EmbeddingTask.QUERY)

    (pause,) = asking.pauses
    assert least <= pause <= most


def test_a_pause_of_an_hour_is_not_waited_for(
    embedder: HttpEmbedder, asking: Asking, provider: Provider
) -> None:
    provider.replies.append(failed(429, "quota", retry_after="3600"))

    with pytest.raises(EmbeddingError, match=r"in 1 attempt; .* 429: quota, asking to wait 3600 s"):
        embedder.embed(["Ada"], 4, EmbeddingTask.QUERY)
    assert asking.pauses == []


def test_a_connection_that_breaks_is_made_again(embedder: HttpEmbedder, provider: Provider) -> None:
    provider.replies += [DEAD, DEAD]

    embedder.embed(["Ada"], 4, EmbeddingTask.QUERY)

    assert len(provider.received) == 3


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("text-embedding-3-small", "NANOGRAPH_EMBED_TIMEOUT_MS"),
        ("gemini-embedding-001", "OMNIGRAPH_EMBED_TIMEOUT_MS"),
    ],
)
def test_a_provider_that_does_not_answer_in_time_is_asked_again(
    asking: Asking, provider: Provider, model: str, variable: str
) -> None:
    provider.replies += [Reply(seconds=0.6)]

    asking.embedder(model, **{variable: "200"}).embed(["Ada"], 4, EmbeddingTask.QUERY)

    assert len(provider.received) == 2
    assert len(asking.pauses) == 1


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (failed(503, "overloaded"), "HTTP 503: overloaded"),
        (Reply(500, b"<html>oops</html>"), "HTTP 500: <html>oops</html>"),
        (DEAD, "RemoteProtocolError: Server disconnected"),
    ],
    ids=["message", "page", "dead"],
)
def test_the_last_failure_says_what_happened_and_how_often(
    embedder: HttpEmbedder, provider: Provider, reply: Reply, reason: str
) -> None:
    provider.replies += [reply] * 4

    with pytest.raises(EmbeddingError) as raised:
        embedder.embed(["Ada"], 4, EmbeddingTask.QUERY)
    assert "127.0.0.1 returned no vectors in 4 attempts" in raised.value.message
    assert reason in raised.value.message
    assert len(provider.received) == 4


@pytest.mark.parametrize(
    ("model", "prefix"), [("openai:m", "NANOGRAPH_EMBED"), ("gemini-m", "OMNIGRAPH_EMBED")]
)
def test_the_environment_says_how_often_and_how_patiently(
    asking: Asking, provider: Provider, model: str, prefix: str
) -> None:
    more = {f"{prefix}_RETRY_ATTEMPTS": "2", f"{prefix}_RETRY_BACKOFF_MS": "1000"}
    provider.replies += [failed(503, "later")] * 2

    with pytest.raises(EmbeddingError, match="2 attempts"):
        asking.embedder(model, **more).embed(["Ada"], 4, EmbeddingTask.QUERY)
    assert [round(pause) for pause in asking.pauses] in ([1], [2])


def test_nobody_there_is_an_error_with_the_count(asking: Asking, provider: Provider) -> None:
    embedder = asking.embedder("openai:m")
    nowhere = replace(embedder.service, url="http://127.0.0.1:9/v1")

    with pytest.raises(EmbeddingError, match="in 4 attempts; the last failed with ConnectError"):
        replace(embedder, service=nowhere).embed(["Ada"], 4, EmbeddingTask.QUERY)


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 422])
def test_what_the_provider_refuses_is_not_asked_again(
    embedder: HttpEmbedder, provider: Provider, status: int
) -> None:
    provider.replies.append(failed(status, "because of that"))

    with pytest.raises(EmbeddingError, match=f"HTTP {status}: because of that"):
        embedder.embed(["Ada"], 4, EmbeddingTask.QUERY)
    assert len(provider.received) == 1


def test_a_refused_key_names_its_variable(asking: Asking, provider: Provider) -> None:
    provider.replies += [failed(401, "wrong key"), failed(403, "wrong key")]

    for model, variable in (("openai:m", "OPENAI_API_KEY"), ("gemini-m", "GEMINI_API_KEY")):
        with pytest.raises(EmbeddingError) as raised:
            asking.embedder(model).embed(["Ada"], 4, EmbeddingTask.QUERY)
        assert raised.value.hint == f"check {variable}"


def test_a_long_reason_is_cut(embedder: HttpEmbedder, provider: Provider) -> None:
    provider.replies.append(failed(400, "long \n" * 10_000))

    with pytest.raises(EmbeddingError) as raised:
        embedder.embed(["Ada"], 4, EmbeddingTask.QUERY)
    assert len(raised.value.message) < 400
    assert "\n" not in raised.value.message
