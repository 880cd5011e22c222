"""Answering: a tiny HTTP server that gives prepared answers and notes what it was asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Answering:
    """What the server says, and what it was asked; to the first few it hangs up instead."""

    status: int = 200
    hang_ups: int = 0
    body: bytes = b"{}"
    kind: str = "application/json"
    asked: list[Asked] = field(default_factory=list)
    url: str = ""


@contextmanager
def answering(**said: object) -> Iterator[Answering]:
    """Serve prepared answers on a free port."""
    found = Answering(**said)  # type: ignore[arg-type]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = (
                self._chunks() if self.headers.get("transfer-encoding") else self.rfile.read(length)
            )
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.asked.append(Asked(self.command, self.path, headers, body))
            if len(found.asked) <= found.hang_ups:
                self.close_connection = True
                return
            self.send_response(found.status)
            self.send_header("content-type", found.kind)
            self.send_header("content-length", str(len(found.body)))
            self.end_headers()
            self.wfile.write(found.body)

        do_POST = do_DELETE = do_GET  # noqa: N815

        def _chunks(self) -> bytes:
            pieces = []
            while size := int(self.rfile.readline(), 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
