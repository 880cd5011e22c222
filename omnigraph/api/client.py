"""Client: plain requests to a server, with the errors that a graph at hand would raise."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from urllib.parse import quote, urlsplit
from weakref import finalize

from omnigraph import errors
from omnigraph.api.closing import Closing
from omnigraph.api.operation import ARROW, JSON, LINES, TEXT
from omnigraph.errors import (
    InputError,
    Json,
    OmniGraphError,
    OutcomeUnknownError,
    RemoteError,
    UnreachableError,
    error_from_json,
)
from omnigraph.frozen import dataclass
from omnigraph.span import Source
from omnigraph.telemetry.spans import headers as sent_from

if TYPE_CHECKING:
    import httpx

# A field of a query string; a list is one that is repeated, and None is left out.
Field: TypeAlias = str | int | Sequence[str] | None
_KEY = "idempotency-key"
_SECONDS_TO_CONNECT = 10.0
# What an answer means whose code is not known here, by its status.
_BY_STATUS: Mapping[int, type[OmniGraphError]] = {
    400: errors.InputError,
    401: errors.UnauthorizedError,
    404: errors.NotFoundError,
    405: errors.UnavailableError,
    409: errors.ConflictError,
    413: errors.InputError,
    501: errors.UnavailableError,
}
# What a server answers before it looks at the key of a change: who may not, and too many.
_BEFORE_THE_KEY = (401, 403, 429)
# The line with which a server ends an answer that it cannot complete is no longer.
_LONGEST_LINE = 64 << 10


class Client(Closing):
    """A server and the token for it. Threads can share it; closing it ends its connections.

    Paths begin with `/`; `segment` makes part of one of any name. A request that cannot change
    anything raises UnreachableError or RemoteError when there is no answer. One that can raises
    OutcomeUnknownError once it was sent, because nobody here can tell then whether it was done.
    When a connection breaks, what changes nothing or has a key is sent once more. Requests go
    through a `transport` of one's own, if there is one.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        seconds: float | None = None,
        transport: "httpx.BaseTransport | None" = None,
    ) -> None:
        self.url = _checked(url)
        if token == "":
            raise InputError("the token is empty", hint="leave it out, or give that of the server")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise InputError("the token contains characters that no token has")
        self._token = token
        self._seconds = seconds
        self._connections = self._connected(transport)
        self._closing = finalize(self, self._connections.close)

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def close(self) -> None:
        """End all connections; what is asked for later is refused."""
        self._closing()

    def get(self, path: str, **query: Field) -> Json:
        """Return the document at a path."""
        return _json(self._send("GET", path, query=query, headers={"accept": JSON}))

    def get_text(self, path: str) -> str:
        """Return the text at a path."""
        answer = self._send("GET", path)
        _check_kind(answer.url, answer.media_type, TEXT)
        return answer.content.decode()

    def ask(self, path: str, body: Json, *, source: Source | None = None) -> Json:
        """Return the answer to a POST that changes nothing; errors quote the source."""
        return _json(self._send("POST", path, body=body, source=source))

    def ask_arrow(self, path: str, body: Json, *, source: Source | None = None) -> bytes:
        """Return the answer to a POST that changes nothing, as an Arrow stream."""
        headers = {"accept": ARROW}
        answer = self._send("POST", path, body=body, headers=headers, source=source)
        _check_kind(answer.url, answer.media_type, ARROW)
        return answer.content

    def post(
        self, path: str, body: Json, *, key: str | None = None, source: Source | None = None
    ) -> Json:
        """Send a change; the same key again returns the first answer, and nothing is done again."""
        return _json(
            self._send("POST", path, body=body, headers=_keyed(key), source=source, writes=True)
        )

    def invoke(
        self, path: str, body: Json, *, key: str | None = None
    ) -> "bytes | Mapping[str, Json]":
        """Send what may change something or not; rows come as an Arrow stream, all else as JSON."""
        headers = {"accept": ARROW, **_keyed(key)}
        answer = self._send("POST", path, body=body, headers=headers, writes=True)
        if answer.media_type.startswith(ARROW):
            return answer.content
        return cast(Mapping[str, Json], _json(answer))

    def delete(self, path: str, *, key: str | None = None, **query: Field) -> Json:
        """Remove what a path names."""
        headers = _keyed(key)
        return _json(self._send("DELETE", path, query=query, headers=headers, writes=True))

    def upload(
        self,
        path: str,
        lines: bytes | Iterable[bytes],
        *,
        key: str | None = None,
        writes: bool = True,
        **query: Field,
    ) -> Json:
        """Send JSON lines, which may be a stream; what goes with them is in the query.

        A try that `writes` nothing needs no key.
        """
        headers = {"content-type": LINES, **_keyed(key if writes else None)}
        return _json(
            self._send("POST", path, query=query, content=lines, headers=headers, writes=writes)
        )

    def download(self, path: str, body: Json) -> Iterator[bytes]:
        """Yield the lines that answer a POST that changes nothing, in pieces as they arrive.

        An answer that breaks off raises the error that the server told last, or RemoteError.
        """
        with self._asked(writes=False) as client:
            request = client.build_request("POST", self._at(path), json=body, headers=sent_from())
            answer = client.send(request, stream=True)
            try:
                if not answer.is_success:
                    answer.read()
                    raise error_of(answer.status_code, answer.content, None)
                _check_kind(str(answer.url), _media_type(answer), LINES)
                yield from _pieces(answer)
            finally:
                answer.close()

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Field] | None = None,
        body: Json = None,
        content: bytes | Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        source: Source | None = None,
        writes: bool = False,
    ) -> "_Answer":
        import httpx

        given = {name: value for name, value in (query or {}).items() if value is not None}
        is_repeatable = content is None and (not writes or _KEY in (headers or {}))
        with self._asked(writes=writes) as client:
            request = client.build_request(
                method,
                self._at(path),
                params=given,
                json=body,
                content=content,
                headers={**(headers or {}), **sent_from()},
            )
            try:
                answer = _whole(client, request)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError) as broken:
                # Servers close connections that were idle, perhaps just when one is used again.
                if not is_repeatable:
                    raise
                answer = _whole_again(client, request, broken if writes else None)
        if answer.is_success:
            return answer
        if writes and answer.status >= 500 and _detail(answer.content) is None:
            # A proxy that waited no longer; what the server did meanwhile is not known.
            raise self._unsure(f"status {answer.status}")
        raise error_of(answer.status, answer.content, source)

    @contextmanager
    def _asked(self, *, writes: bool) -> "Iterator[httpx.Client]":
        """Yield the connections, and raise what it means when something goes wrong with them."""
        import httpx

        if not self._closing.alive:
            raise InputError(f"the connection to {self.url} was closed", hint="connect again")
        try:
            yield self._connections
        except UnicodeEncodeError:
            raise InputError("the request contains invalid Unicode") from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as failed:
            hint = "is it running, and is the address right?"
            raise UnreachableError(
                f"no server answers at {self.url}: {failed}", hint=hint
            ) from None
        except (httpx.RequestError, httpx.StreamError) as failed:
            reason = f"{type(failed).__name__} {failed}".strip()
            if writes:
                raise self._unsure(reason) from None
            raise RemoteError(f"{self.url} did not answer: {reason}") from None

    def _unsure(self, reason: str) -> OutcomeUnknownError:
        hint = "look at the branch before repeating it; with an operation id it is safe"
        message = f"{self.url} did not answer, and it may have been done: {reason}"
        return OutcomeUnknownError(message, hint=hint)

    def _at(self, path: str) -> str:
        return self.url + path

    def _connected(self, transport: "httpx.BaseTransport | None") -> "httpx.Client":
        import httpx

        headers = {} if self._token is None else {"authorization": f"Bearer {self._token}"}
        timeout = httpx.Timeout(self._seconds, connect=_SECONDS_TO_CONNECT)
        return httpx.Client(headers=headers, timeout=timeout, transport=transport)


def segment(name: str) -> str:
    """Return a name as one segment of a path, whatever characters it has."""
    return quote(name, safe="")


def _checked(url: str) -> str:
    if not isinstance(url, str):
        raise InputError(f"the address of a server is a str, not a {type(url).__name__}")
    parts = urlsplit(url)
    hint = "it looks like http://127.0.0.1:8080 or https://graph.example.org"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"'{url}' is not the address of a server", hint=hint)
    if parts.username is not None or parts.password is not None:
        raise InputError("the address of a server holds no password", hint="give a token")
    if parts.query or parts.fragment:
        raise InputError(f"the address '{url}' has a query or a fragment", hint=hint)
    return url.rstrip("/")


def _keyed(key: str | None) -> dict[str, str]:
    if key is None:
        return {}
    if not isinstance(key, str):
        raise InputError(f"an operation id is a str, not a {type(key).__name__}")
    if not (key.isascii() and key.isprintable() and " " not in key):
        hint = "a server takes visible ASCII characters alone"
        raise InputError(f"'{key}' cannot be an operation id there", hint=hint)
    return {_KEY: key}


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer that came whole."""

    url: str
    status: int
    media_type: str
    content: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


def _whole(client: "httpx.Client", request: "httpx.Request") -> _Answer:
    """Send a request and return all of its answer."""
    answer = client.send(request, stream=True)
    try:
        content = b"".join(_pieces(answer))
    finally:
        answer.close()
    return _Answer(str(answer.url), answer.status_code, _media_type(answer), content)


def _whole_again(
    client: "httpx.Client", request: "httpx.Request", broken: "httpx.TransportError | None"
) -> _Answer:
    """Send a request once more and return all of its answer.

    A change may have been done by the time before, which was `broken` off. That is raised again
    where nobody is there now, or the answer says nothing of it.
    """
    import httpx

    try:
        answer = _whole(client, request)
    except (httpx.ConnectError, httpx.ConnectTimeout):
        if broken is None:
            raise
        raise broken from None
    if broken is not None and not _tells_of_change(answer):
        raise broken
    return answer


def _tells_of_change(answer: _Answer) -> bool:
    """Whether a server looked for what was done under a key before it gave an answer."""
    if not answer.is_success:
        is_late = answer.status not in _BEFORE_THE_KEY and answer.status < 500
        return is_late and _detail(answer.content) is not None
    return answer.media_type.startswith(ARROW) or _is_json(answer.content)


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True


def _pieces(answer: "httpx.Response") -> Iterator[bytes]:
    """Yield an answer piece by piece; raises the error that the last line of a cut one tells of."""
    import httpx

    tail = b""
    try:
        for piece in answer.iter_bytes():
            tail += piece
            if len(tail) > _LONGEST_LINE:
                yield tail[:-_LONGEST_LINE]
                tail = tail[-_LONGEST_LINE:]
    except (httpx.RemoteProtocolError, httpx.ReadError):
        before, _, line = tail.rpartition(b'\n{"error":')
        last = b'{"error":' + line
        if _detail(last) is None:
            raise
        yield before
        raise error_of(500, last, None) from None
    yield tail


def _json(answer: _Answer) -> Json:
    try:
        found: Json = json.loads(answer.content)
    except (ValueError, RecursionError):
        raise _not_ours(answer.url, answer.media_type) from None
    return found


def _media_type(answer: "httpx.Response") -> str:
    found: str = answer.headers.get("content-type", "nothing")
    return found


def _check_kind(url: str, media_type: str, wanted: str) -> None:
    """Raise RemoteError for an answer of another media type than was asked for."""
    if not media_type.startswith(wanted):
        raise _not_ours(url, media_type)


def _not_ours(url: str, media_type: str) -> RemoteError:
    hint = "is that an omnigraph-server?"
    return RemoteError(f"{url} answered with {media_type}, which was not asked for", hint=hint)


def error_of(status: int, body: bytes, source: Source | None) -> OmniGraphError:
    """Return the error that an answer tells of; its problems are in the source."""
    found = _detail(body)
    if found is None:
        return RemoteError(f"the server answered with status {status}")
    try:
        error = error_from_json(found, source) or _error_by_status(status, found)
        json.dumps([error.render(), error.to_json()])  # its parts may be such as nobody can show
    except (LookupError, TypeError, ValueError, AttributeError):
        return _error_by_status(status, {"error": found["error"]})
    return error


def _error_by_status(status: int, found: dict[str, Any]) -> OmniGraphError:
    error = _BY_STATUS.get(status, RemoteError).from_json(found)
    if isinstance(found.get("code"), str):
        error.code = found["code"]
    return error


def _detail(body: bytes) -> dict[str, Any] | None:
    """Return all that an answer tells of an error; None when it is no such answer."""
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not _tells(found):
        return None
    told: dict[str, Any] = found["detail"] if _tells(found.get("detail")) else found
    return told


def _tells(found: object) -> bool:
    """Whether an object has the message of an error."""
    message = found.get("error") if isinstance(found, dict) else None
    return isinstance(message, str) and bool(message)
