"""Http: embeds through a provider's HTTP interface, in batches and with retries."""

import atexit
import math
import os
import random
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from email.utils import mktime_tz, parsedate_tz
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from omnigraph.embedding.embedder import (
    EmbeddingTask,
    Vectors,
    batches,
    check_texts,
    stack_vectors,
    unit_vectors,
)
from omnigraph.errors import EmbeddingError, Json
from omnigraph.frozen import dataclass

if TYPE_CHECKING:
    import httpx

_LONGEST_BACKOFF = 30.0
_LONGEST_PAUSE = 120.0
_LONGEST_REASON = 300
_RETRY_INFO = re.compile(r'"retryDelay":\s*"(\d+(?:\.\d+)?)s"')
# How servers say that a model has vectors of its own dimension only.
_OWN_DIMENSION = re.compile("dimensions|matryoshka", re.IGNORECASE)

# Embedders with the one dimension of their models, which refuse requests that name it.
_unnamed: set[tuple["HttpEmbedder", int]] = set()


class Wire(Protocol):
    """The request format of one provider, and where its answer has the vectors."""

    @property
    def model(self) -> str:
        """The name that selects this provider and model."""

    @property
    def path(self) -> str:
        """The path after the base URL."""

    def body(self, texts: Sequence[str], dimension: int | None, task: EmbeddingTask) -> Json:
        """Return the request body for one batch; without a dimension the model decides."""

    def rows(self, answer: Any) -> list[list[float]]:  # noqa: ANN401 - whatever the provider sent
        """Return the vectors of an answer in the order of the texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Address, key, timeout and retries of a provider; times are in seconds."""

    url: str = field(repr=False)
    key: str = field(repr=False)
    key_header: tuple[str, str] = field(repr=False)
    key_variable: str
    timeout: float
    attempts: int
    backoff: float
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False, compare=False)

    @property
    def host(self) -> str:
        """The host alone: a URL may hold a password."""
        return urlsplit(self.url).hostname or ""

    def post(self, path: str, body: Json) -> object:
        """Post a request and return the JSON of the answer; retry failures that may pass."""
        attempt = 1
        while True:
            try:
                return self._post_once(path, body)
            except _TransientError as failure:
                self.sleep(self._pause(attempt, failure))
            attempt += 1

    def _post_once(self, path: str, body: Json) -> object:
        import httpx

        try:
            answer = _client(os.getpid()).post(
                self.url + path, headers=[self.key_header], json=body, timeout=self.timeout
            )
        except httpx.TimeoutException:
            raise _TransientError(f"no answer within {self.timeout:g} s") from None
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise _TransientError(f"{type(error).__name__}: {self._clean(str(error))}") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = f"{type(error).__name__}: {self._clean(str(error))}"
            raise EmbeddingError(f"the request to {self.host} failed: {reason}") from None
        return self._read(answer)

    def _read(self, answer: "httpx.Response") -> object:
        if answer.is_success:
            return self._json(answer)
        reason = f"HTTP {answer.status_code}: {self._clean(_reason(answer))}"
        if answer.status_code == 429 or answer.is_server_error:
            raise _TransientError(reason, _requested_pause(answer))
        if answer.status_code in (400, 422) and _OWN_DIMENSION.search(_reason(answer)):
            raise _DimensionRefusedError(f"{self.host} rejected the request: {reason}")
        hint = f"check {self.key_variable}" if answer.status_code in (401, 403) else None
        raise EmbeddingError(f"{self.host} rejected the request: {reason}", hint=hint)

    def _json(self, answer: "httpx.Response") -> object:
        try:
            found: object = answer.json()
        except (ValueError, RecursionError):
            raise EmbeddingError(f"{self.host} did not answer with JSON") from None
        return found

    def _pause(self, attempt: int, failure: "_TransientError") -> float:
        """Return the seconds until the next attempt; raise EmbeddingError after the last one."""
        asked = f", asking to wait {failure.pause:.0f} s" if failure.pause else ""
        if attempt == self.attempts or (failure.pause or 0) > _LONGEST_PAUSE:
            raise EmbeddingError(
                f"{self.host} returned no vectors in {_times(attempt)}; the last failed with "
                f"{failure.reason}{asked}",
                hint="try again later",
            ) from None
        backoff = min(math.ldexp(self.backoff, min(attempt - 1, 99)), _LONGEST_BACKOFF)
        wanted = backoff if failure.pause is None else failure.pause
        return wanted + backoff * random.uniform(0, 0.5)  # noqa: S311 - jitter needs no secrecy

    def _clean(self, reason: str) -> str:
        """Return a reason on one line, shortened, and without the key."""
        text = " ".join(reason.replace(self.key, "…").split())
        return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"


@dataclass(frozen=True, slots=True)
class HttpEmbedder:
    """Embeds through a provider, one request after the other."""

    wire: Wire
    service: Service

    @property
    def model(self) -> str:
        return self.wire.model

    def pausing(self, sleep: Callable[[float], None]) -> "HttpEmbedder":
        """Return this embedder with another way to wait between two attempts, which may raise."""
        return replace(self, service=replace(self.service, sleep=sleep))

    def embed(self, texts: Sequence[str], dimension: int, task: EmbeddingTask) -> Vectors:
        """Return the vectors of the texts; raise EmbeddingError if a batch fails for good."""
        parts = [self._batch(each, dimension, task) for each in batches(check_texts(texts))]
        return stack_vectors(parts, dimension)

    def _batch(self, texts: list[str], dimension: int, task: EmbeddingTask) -> Vectors:
        """Return the vectors of one request; a model that refuses the dimension is told none."""
        shape = len(texts), dimension
        if (self, dimension) not in _unnamed:
            with suppress(_DimensionRefusedError):
                return self._ask(self.wire.body(texts, dimension, task), shape)
        vectors = self._ask(self.wire.body(texts, None, task), shape)
        _unnamed.add((self, dimension))
        return vectors

    def _ask(self, body: Json, shape: tuple[int, int]) -> Vectors:
        answer = self.service.post(self.wire.path, body)
        try:
            return unit_vectors(self.wire.rows(answer), shape, self.model)
        except (LookupError, TypeError, ValueError, OverflowError):
            raise EmbeddingError(f"{self.model} returned an answer without vectors") from None


class _DimensionRefusedError(EmbeddingError):
    """A request was refused that names the dimension."""


class _TransientError(Exception):
    """A failure that may pass; `pause` is how many seconds the provider asks to wait."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pause = pause


@cache
def _client(process: int) -> "httpx.Client":  # noqa: ARG001 - connections do not survive a fork
    import httpx

    client = httpx.Client()
    atexit.register(client.close)
    return client


def _requested_pause(answer: "httpx.Response") -> float | None:
    """Return the seconds of `Retry-After` (a number or a date) or of Google's `retryDelay`."""
    asked = answer.headers.get("Retry-After", "")
    if asked.isdecimal():
        return float(asked)
    until = _moment(asked)
    if until is not None:
        return max(0.0, until - time.time())
    found = _RETRY_INFO.search(answer.text)
    return float(found[1]) if found else None


def _moment(date: str) -> float | None:
    """Return when a date is; None for what is none, or one that no clock will show."""
    try:
        parts = parsedate_tz(date)
        return None if parts is None else mktime_tz(parts)
    except (ValueError, OverflowError):
        return None


def _reason(answer: "httpx.Response") -> str:
    """Return the message of an error answer, or its whole text."""
    try:
        return str(answer.json()["error"]["message"])
    except (LookupError, TypeError, ValueError, RecursionError):
        return answer.text


def _times(count: int) -> str:
    return "1 attempt" if count == 1 else f"{count} attempts"
