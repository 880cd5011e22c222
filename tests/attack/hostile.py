"""Hostile: uploads, queries and connections that nobody should send."""

import gzip
import json
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import httpx

from tests.attack.target import Target

# Everything that a hostile upload would add has this in its name, and none of it ever is added.
MARK = "hostile"
_LINES = "application/x-ndjson"
_MIB = 1 << 20
# Answers to what is wrong or too much; never the server's own failure.
_ALLOWED = frozenset((400, 401, 403, 404, 405, 408, 409, 413, 415, 429, 431, 503))
# These change nothing; the first of them is cut when it gets too large.
_MAY_BE_DONE = ("a large answer", "a large schema")
_PRODUCT = """query big() {
  match { $a: Person  $b: Person  $c: Person  $d: Person }
  return { $a.slug as a, $b.slug as b, $c.slug as c, $d.slug as d }
}"""


def _person(number: int) -> bytes:
    slug = f"{MARK}-{number}"
    return json.dumps({"type": "Person", "data": {"slug": slug, "name": slug}}).encode() + b"\n"


def _uploads() -> dict[str, Callable[[], bytes | Iterator[bytes]]]:
    """Return the bodies of uploads; none of them is as a whole what may be loaded."""
    many = b"".join(map(_person, range(2_000)))
    return {
        "millions of lines": lambda: b"{\n" * _MIB,
        "a bad last line": lambda: many + b'{"type": "Person", "data": {}}\n',
        "an edge to nobody": lambda: many + b'{"edge": "Knows", "from": "nobody", "to": "none"}\n',
        "the same twice": lambda: many + _person(0),
        "a long line": lambda: b'{"type": "Person", "data": {"slug": "' + b"x" * (8 * _MIB),
        "nulls": lambda: b"\0" * _MIB,
        "utf-16": lambda: many.decode().encode("utf-16"),
        "no characters": lambda: many + b"\xff\xfe\xfd\n",
        "a bomb": lambda: gzip.compress(b"\n" * (64 * _MIB)),
        "nesting": lambda: b'{"type": "Person", "data": ' + b"[" * 100_000,
        "too much": lambda: iter([many * 20] * 20),
        "blank lines": lambda: b"\n" * (4 * _MIB) + b"{",
    }


def _requests() -> dict[str, tuple[str, str, object]]:
    """Return requests that cost much or are wrong."""
    types = "\n".join(f"node T{n} {{ id{n}: String @key }}" for n in range(5_000))
    deep = "(" * 500
    return {
        "a large answer": ("POST", "/read", {"query_source": _PRODUCT}),
        "a large schema": ("POST", "/schema/plan", {"schema_source": types}),
        "a deep query": ("POST", "/read", {"query_source": f"query q() {{ match {{ {deep}"}),
        "surrogates": ("POST", "/change", {"query_source": "query q() { \ud800 }"}),
        "no such route": ("PUT", "/../../etc/passwd", None),
        "no such branch": ("DELETE", "/branches/%2e%2e%2f", None),
        "a cleanup of all": ("POST", "/cleanup", {"keep": -1}),
        "an endless number": ("POST", "/cleanup", {"keep": 10**400}),
    }


@dataclass
class Uploader:
    """Sends what cannot be loaded or costs too much, also with a wrong token or half of it."""

    target: Target
    token: str
    chance: random.Random

    def act(self) -> None:
        """Send one thing, and expect an answer that is not a failure, or none."""
        address = self.target.address
        if address is None:
            time.sleep(0.05)
            return
        if self.chance.random() < 0.2:
            self._half(address)
        elif self.chance.random() < 0.5:
            name = self.chance.choice(sorted(_requests()))
            method, path, body = _requests()[name]
            content = None if body is None else json.dumps(body)
            self._send(address, name, method, path, content, "application/json")
        else:
            name = self.chance.choice(sorted(_uploads()))
            mode = self.chance.choice(["append", "merge", "overwrite"])
            self._send(address, name, "POST", f"/load?mode={mode}", _uploads()[name](), _LINES)
        self.target.counts["hostile"] += 1

    def _send(
        self,
        address: str,
        name: str,
        method: str,
        path: str,
        content: str | bytes | Iterator[bytes] | None,
        kind: str,
    ) -> None:
        token = self.token if self.chance.random() < 0.9 else "wrong"
        headers = {"authorization": f"Bearer {token}", "content-type": kind}
        with suppress(httpx.TransportError):
            answer = httpx.request(
                method, f"http://{address}{path}", headers=headers, content=content, timeout=30
            )
            is_done = answer.status_code == 200 and name in _MAY_BE_DONE
            if answer.status_code not in _ALLOWED and not is_done:
                self.target.wrong(f"{name}: {answer.status_code} {answer.text[:300]}")

    def _half(self, address: str) -> None:
        """Send half of an upload that would load as a whole, and go."""
        data = b"".join(map(_person, range(1_000)))
        head = (
            f"POST /load?mode=append HTTP/1.1\r\nhost: localhost\r\ncontent-type: {_LINES}\r\n"
            f"authorization: Bearer {self.token}\r\ncontent-length: {2 * len(data)}\r\n\r\n"
        )
        with suppress(OSError), _connection(address) as opened:
            opened.sendall(head.encode() + data)
            time.sleep(self.chance.uniform(0, 0.5))


@dataclass
class Flooder:
    """Takes many connections and says nothing, nonsense, or something very slowly."""

    target: Target
    chance: random.Random

    def act(self) -> None:
        """Hold some connections for a moment."""
        address = self.target.address
        if address is None:
            time.sleep(0.05)
            return
        with ExitStack() as held, suppress(OSError):
            for _ in range(self.chance.randint(1, 60)):
                opened = held.enter_context(_connection(address))
                opened.sendall(self._words())
                self.target.counts["connections"] += 1
            time.sleep(self.chance.uniform(0, 1.0))

    def _words(self) -> bytes:
        return self.chance.choice(
            [
                b"",
                b"GET / HTTP/1.1\r\n",
                b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"x" * 100_000 + b"\r\n\r\n",
                b"POST /read HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
                b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n" * 20,
                self.chance.randbytes(200),
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            ]
        )


def _connection(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=5)
