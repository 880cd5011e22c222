"""Incoming: what a client sends: its token, its query string, and its body, within limits."""

import asyncio
import hashlib
import tempfile
from collections.abc import Sequence
from functools import cache
from typing import IO, Any
from urllib.parse import parse_qsl

import msgspec
from starlette.datastructures import Headers
from starlette.types import Receive

from omnigraph.api.operation import JSON, LINES, SentFields
from omnigraph.server.refusal import Refusal
from omnigraph.server.routes.route import Route

_MOST_FIELDS = 100
_IN_MEMORY = 1 << 20
_LONGEST_KEY = 200


class Gone(Exception):
    """The client has closed the connection."""


class Incoming:
    """The body of one request, read once, within a number of bytes and until a point in time."""

    def __init__(self, receive: Receive, most_bytes: int, seconds: float) -> None:
        self._receive = receive
        self._most = most_bytes
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._size = 0
        self._is_over = False
        self.digest = hashlib.sha256()

    async def whole(self) -> bytes:
        """Read all of it."""
        parts = bytearray()
        while part := await self._part():
            parts += part
        return bytes(parts)

    async def laid_down(self) -> IO[bytes]:
        """Read all of it into a file that is gone when it is closed."""
        file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by the caller
        try:
            while part := await self._part():
                file.write(part)
        except BaseException:
            file.close()
            raise
        file.seek(0)
        return file

    async def _part(self) -> bytes:
        """Return the next bytes; none at the end."""
        while not self._is_over:
            try:
                async with asyncio.timeout_at(self._deadline):
                    message = await self._receive()
            except TimeoutError:
                raise Refusal(408, "timeout", "the body did not come in time") from None
            if message["type"] == "http.disconnect":
                raise Gone
            part: bytes = message.get("body", b"")
            self._size += len(part)
            if self._size > self._most:
                raise too_large(self._most)
            self.digest.update(part)
            self._is_over = not message.get("more_body", False)
            if part:
                return part
        return b""


def too_large(most: int) -> Refusal:
    """Return the refusal of a body that is over the limit."""
    return Refusal(413, "too_large", f"the body is larger than {most:,} bytes")


def bearer_of(headers: Headers) -> bytes | None:
    """Return the token of a request, if it has exactly one."""
    found = headers.getlist("authorization")
    if len(found) != 1:
        return None
    scheme, _, token = found[0].partition(" ")
    return token.strip().encode("latin-1") if scheme.lower() == "bearer" else None


def key_of(headers: Headers) -> str | None:
    """Return the Idempotency-Key of a request, if it has one."""
    found = headers.getlist("idempotency-key")
    if not found:
        return None
    key = found[0]
    if len(found) > 1 or not 0 < len(key) <= _LONGEST_KEY or not _is_plain(key):
        raise Refusal(
            400,
            "bad_request",
            f"an Idempotency-Key is one of 1 to {_LONGEST_KEY} visible ASCII characters",
        )
    return key


def declared_size(headers: Headers) -> int | None:
    """Return the size that a body is said to have; None when it comes in chunks."""
    found = headers.get("content-length")
    return None if found is None else int(found)


def has_body(headers: Headers) -> bool:
    """Return whether a body comes with the headers."""
    return "transfer-encoding" in headers or bool(declared_size(headers))


def sends_lines(headers: Headers, route: Route) -> bool:
    """Return whether the body is JSON lines and not JSON; raises when it is neither."""
    kind = headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if kind == JSON:
        return False
    if kind == LINES and route.lines is not None:
        return True
    taken = JSON if route.lines is None else f"{JSON} or {LINES}"
    raise Refusal(415, "unsupported_media_type", f"the body has to be {taken}")


def wanted_media(headers: Headers, route: Route) -> str:
    """Return the first media type that a client accepts and the route has, else the usual one."""
    has = (route.media_type, *route.also)
    for each in headers.get("accept", "").split(","):
        kind = each.partition(";")[0].strip().lower()
        if kind in has:
            return kind
    return route.media_type


def conditions(headers: Headers) -> dict[str, str]:
    """Return the headers that ask for a part of the bytes, or for none when they are known."""
    names = ("range", "if-range", "if-none-match")
    return {name: headers[name] for name in names if name in headers}


def takes_gzip(headers: Headers) -> bool:
    """Return whether a client reads answers that are compressed with gzip."""
    for each in headers.get("accept-encoding", "").split(","):
        coding, _, weight = each.partition(";")
        if coding.strip().lower() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def decoded(data: bytes, kind: type[SentFields]) -> SentFields:
    """Return what a body says; raises a Refusal that names the field and the reason."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as wrong:
        raise Refusal(400, "bad_request", f"the body is wrong: {wrong}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refusal(400, "bad_request", "the body is not JSON") from None


def asked(query_string: bytes, kind: type[SentFields]) -> SentFields:
    """Return what a query string says; raises a Refusal that names the field and the reason."""
    try:
        pairs = parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
        return msgspec.convert(_fields(pairs, _lists(kind)), kind, strict=False)
    except msgspec.ValidationError as wrong:
        raise Refusal(400, "bad_request", f"the query string is wrong: {wrong}") from None
    except ValueError:
        raise Refusal(400, "bad_request", "the query string cannot be read") from None


def _fields(pairs: Sequence[tuple[str, str]], lists: frozenset[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in lists:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise Refusal(400, "bad_request", "the query string names a field twice")
        else:
            found[name] = value
    return found


@cache
def _lists(kind: type[SentFields]) -> frozenset[str]:
    """Return the fields that can be repeated."""
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)
    return frozenset(each.encode_name for each in info.fields if _is_list(each.type))


def _is_list(kind: msgspec.inspect.Type) -> bool:
    match kind:
        case msgspec.inspect.ListType():
            return True
        case msgspec.inspect.UnionType(types):
            return any(_is_list(each) for each in types)
        case _:
            return False


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text
