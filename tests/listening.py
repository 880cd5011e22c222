"""Listening: small HTTP servers on a thread of the tests, which print nothing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QuietServer(ThreadingHTTPServer):
    """A server with a thread for each connection."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients that go away are part of the tests."""


class QuietHandler(BaseHTTPRequestHandler):
    """Answers the requests of one connection, which stays open between them."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as inherited
        """Say nothing."""


def address_of(server: QuietServer) -> str:
    """Return the URL of a server."""
    return f"http://127.0.0.1:{server.server_address[1]}"


@contextmanager
def listening(server: QuietServer) -> Iterator[None]:
    """Answer requests from a thread until the block ends."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
