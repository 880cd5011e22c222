"""Serving: a real server on a free port, for as long as it is needed."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from omnigraph.server.limits import Limits
from omnigraph.server.serve import Server, Settings, app_of


@contextmanager
def serving(
    root: Path,
    *,
    environment: Mapping[str, str] | None = None,
    policy: Path | None = None,
    queries: Path | None = None,
    limits: Limits | None = None,
) -> Iterator[str]:
    """Serve a graph; gives the address."""
    settings = Settings(
        uri=str(root),
        host="127.0.0.1",
        port=0,
        policy=policy,
        queries=queries,
        limits=limits or Limits(),
        environment=environment or {},
    )
    server = Server(app_of(settings), settings)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield f"http://{server.address}"
    finally:
        server.should_exit = True
        thread.join()
