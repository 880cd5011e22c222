"""Recording: a proxy in front of an S3 server that notes each request and when it was under way."""

import http.client
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from tests.listening import QuietHandler, QuietServer, address_of, listening

_OF_ONE_HOP = ("connection", "keep-alive", "transfer-encoding")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, the bytes of its bodies, and when it came and was answered."""

    method: str
    key: str
    sent: int
    received: int
    begun: float
    ended: float

    def __str__(self) -> str:
        return f"{self.method:6} {self.key} +{self.sent} -{self.received}"


@dataclass
class Recording:
    """The requests that passed; each is held for `pause` seconds, so that side by side is seen."""

    pause: float = 0.0
    asked: list[Asked] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def taken(self, pause: float) -> Iterator[list[Asked]]:
        """Hold each request made inside for a while, and note it."""
        found: list[Asked] = []
        before, self.pause = len(self.asked), pause
        try:
            yield found
        finally:
            self.pause = 0.0
            with self.lock:
                found += sorted(self.asked[before:], key=lambda each: each.begun)


def longest_chain(asked: Iterable[Asked]) -> list[Asked]:
    """Return the most requests of which each began after the one before it was answered."""
    chain: list[Asked] = []
    for each in sorted(asked, key=lambda one: one.ended):
        if not chain or each.begun >= chain[-1].ended:
            chain.append(each)
    return chain


class _Proxy(QuietServer):
    recording: Recording
    behind: str


class _Handler(QuietHandler):
    server: _Proxy

    def setup(self) -> None:
        super().setup()
        self._behind = http.client.HTTPConnection(urlsplit(self.server.behind).netloc, timeout=60)

    def finish(self) -> None:
        self._behind.close()
        super().finish()

    def _pass(self) -> None:
        begun, recording = time.monotonic(), self.server.recording
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        time.sleep(recording.pause)
        self._behind.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in _OF_ONE_HOP:
                self._behind.putheader(name, value)
        self._behind.endheaders(body or None)
        answer = self._behind.getresponse()
        data = answer.read()
        asked = Asked(*_named(self), len(body), len(data), begun, time.monotonic())
        with recording.lock:
            recording.asked.append(asked)
        self.send_response_only(answer.status, answer.reason)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else len(data)
        for name, value in answer.getheaders():
            if name.lower() not in (*_OF_ONE_HOP, "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(length or 0))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass  # noqa: N815 - as inherited


@contextmanager
def recorded(behind: str) -> Iterator[tuple[str, Recording]]:
    """Serve in front of an S3 server; gives the address to ask, and what was asked there."""
    server = _Proxy(("127.0.0.1", 0), _Handler)
    server.recording, server.behind = Recording(), behind
    with listening(server):
        yield address_of(server), server.recording


def _named(request: _Handler) -> tuple[str, str]:
    """Return the method and the key of a request; a listing is called LIST."""
    url = urlsplit(request.path)
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    if "list-type" in query:
        return "LIST", f"{query.get('prefix', '')}* of {query.get('max-keys', 'all')}"
    return request.command, unquote(url.path).lstrip("/").partition("/")[2]
