"""Raw: bytes on a socket, for requests that no client library would send."""

import json
import socket
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from tests.server.serving import TOKENS

AUTHORIZED = f"Authorization: Bearer {TOKENS['owner']}\r\n".encode()


@dataclass(frozen=True, slots=True)
class Reply:
    """All that a server sent until it closed the connection, or nothing came for a while."""

    data: bytes
    is_closed: bool

    @property
    def statuses(self) -> list[int]:
        """The status of every answer."""
        return [int(each[:3]) for each in self.data.split(b"HTTP/1.1 ")[1:]]

    @property
    def document(self) -> dict[str, Any]:
        """The JSON of the only answer."""
        found: dict[str, Any] = json.loads(self.data.partition(b"\r\n\r\n")[2])
        return found


def connect(address: str) -> socket.socket:
    """Open a connection."""
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def exchange(address: str, *parts: bytes, seconds: float = 10.0) -> Reply:
    """Send bytes, and give what comes back until the server closes or is silent for so long."""
    with closing(connect(address)) as found:
        return talk(found, parts, seconds)


def talk(found: socket.socket, parts: Iterable[bytes], seconds: float = 10.0) -> Reply:
    """Send bytes on an open connection, and give what comes back."""
    with suppress(BrokenPipeError, ConnectionResetError):
        for part in parts:
            found.sendall(part)
    found.settimeout(seconds)
    data = b""
    try:
        while piece := found.recv(65_536):
            data += piece
    except TimeoutError:
        return Reply(data, is_closed=False)
    except ConnectionResetError:
        pass
    return Reply(data, is_closed=True)


def post(path: str, *headers: bytes, body: bytes = b"", host: bytes = b"localhost") -> bytes:
    """Return the bytes of a POST with the owner's token."""
    head = b"".join(each + b"\r\n" for each in headers)
    return b"POST %s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n%s" % (
        path.encode(),
        host,
        AUTHORIZED,
        head,
        body,
    )
