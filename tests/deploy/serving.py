"""Serving: a server of a deployment on a thread, and requests to it."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from omnigraph.deploy.apply import Applied, apply
from omnigraph.deploy.declaration import read_declaration
from omnigraph.server.serve import Server, Settings
from tests.server.serving import started

TOKENS = {"ann": "token-of-ann", "bob": "token-of-bob", "cy": "token-of-cy"}
_LONGEST = 60.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """A running server of a deployment."""

    server: Server
    client: httpx.Client

    def ask(
        self, method: str, path: str, body: object = None, actor: str | None = "bob"
    ) -> httpx.Response:
        """Send a request as an actor."""
        headers = {} if actor is None else {"authorization": f"Bearer {TOKENS[actor]}"}
        more: dict[str, Any] = {} if body is None else {"json": body}
        return self.client.request(method, path, headers=headers, **more)

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so."""
        end = time.monotonic() + _LONGEST
        while not is_so():
            assert time.monotonic() < end, "it did not come to pass"
            time.sleep(0.05)


def applied(folder: Path) -> Applied:
    """Apply what a folder declares."""
    found = read_declaration(folder)
    return apply(found.storage, found.definition)


@contextmanager
def fleet(folder: Path, *, needs_all: bool = False, allows_writes: bool = True) -> Iterator[Fleet]:
    """Serve the deployment of a folder until the block ends."""
    tokens = folder.parent / "tokens.json"
    tokens.write_text(json.dumps(TOKENS))
    settings = Settings(
        host="127.0.0.1",
        port=0,
        cluster=str(folder),
        allows_writes=allows_writes,
        needs_all_graphs=needs_all,
        environment={"OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": str(tokens)},
    )
    with (
        started(settings) as server,
        httpx.Client(base_url=f"http://{server.address}", timeout=60) as client,
    ):
        yield Fleet(server, client)
