"""Serving: a real server on a thread of the tests, and requests to it."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from omnigraph.api.graph import Graph
from omnigraph.api.local.backend import LocalBackend
from omnigraph.server.limits import Limits
from omnigraph.server.serve import Server, Settings, app_of
from omnigraph.server.studio.handover import Handover
from tests.sample import SCHEMA
from tests.templates import fresh_graph

TOKENS = {
    "owner": "token-of-the-owner",
    "reader": "token-of-the-reader",
    "drafter": "token-of-the-drafter",
    "stranger": "token-of-the-stranger",
}
POLICY = """
version: 1
groups:
  owners: [owner]
  readers: [reader, drafter]
  drafters: [drafter]
protected_branches: [main]
rules:
  - id: owners-data
    allow: {actors: {group: owners}, actions: [read, export, change, review], branch_scope: any}
  - id: owners-branches
    allow:
      actors: {group: owners}
      actions:
        [schema_apply, branch_create, branch_delete, branch_merge, run_publish, run_abort, admin]
      target_branch_scope: any
  - {id: readers, allow: {actors: {group: readers}, actions: [read], branch_scope: any}}
  - {id: owners-queries, allow: {actors: {group: owners}, actions: [invoke_query]}}
  - {id: drafters, allow: {actors: {group: drafters}, actions: [change], branch_scope: unprotected}}
"""
PEOPLE = """\
{"type": "Person", "data": {"slug": "ana", "name": "Ana", "age": 31}}
{"type": "Person", "data": {"slug": "bob", "name": "Bob"}}
{"type": "Company", "data": {"name": "mill"}}
{"edge": "Knows", "from": "ana", "to": "bob"}
"""
ALL = "query all() { match { $p: Person } return { $p.slug } order { $p.slug } }"
ADD = "query add($slug: String) { insert Person { slug: $slug name: $slug } }"
# No request of a test on a busy machine is taken for one that comes too slowly.
PATIENT = Limits(
    header_seconds=60.0, body_seconds=60.0, ingest_seconds=60.0, connections=64, threads=4
)


@dataclass(frozen=True, slots=True)
class Served:
    """A running server and how it is asked."""

    server: Server
    address: str
    client: httpx.Client

    @property
    def handover(self) -> Handover:
        """How a browser gets a token; its code works once."""
        found = self.server.settings.handover
        assert found is not None
        return found

    @property
    def graph(self) -> Graph:
        """The graph of the server, for whoever may do everything."""
        return Graph(LocalBackend(replace(self.server.app.backend.access, policy=None)))

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        actor: str | None = "owner",
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> httpx.Response:
        """Send a request as an actor."""
        given = {} if actor is None else {"authorization": f"Bearer {TOKENS[actor]}"}
        if body is not None:
            more["content"] = json.dumps(body)
            given["content-type"] = "application/json"
        return self.client.request(method, path, headers={**given, **(headers or {})}, **more)

    def read(self, query: str = ALL, **how: Any) -> list[dict[str, Any]]:
        """Return the rows of a query."""
        answer = self.ask("POST", "/read", {"query_source": query, **how})
        assert answer.status_code == 200, answer.text
        rows: list[dict[str, Any]] = answer.json()["rows"]
        return rows


@contextmanager
def started(settings: Settings) -> Iterator[Server]:
    """Run a server on a thread until the block ends."""
    server = Server(app_of(settings), settings)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.01)
        yield server
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive(), "the server did not stop"


@contextmanager
def serving(
    folder: Path,
    limits: Limits = PATIENT,
    *,
    with_tokens: bool = True,
    policy: str | None = POLICY,
    allows_writes: bool = False,
) -> Iterator[Served]:
    """Serve a new graph of people from a thread until the block ends."""
    fresh_graph(folder / "graph", SCHEMA, PEOPLE).close()
    file = None
    if policy is not None and with_tokens:
        file = folder / "policy.yaml"
        file.write_text(policy)
    tokens = folder / "tokens.json"
    tokens.write_text(json.dumps(TOKENS))
    (folder / "queries").mkdir()
    (folder / "queries/people.gq").write_text(f"{ALL}\n{ADD}\n")
    settings = Settings(
        uri=str(folder / "graph"),
        host="127.0.0.1",
        port=0,
        policy=file,
        allows_writes=allows_writes,
        queries=folder / "queries",
        limits=limits,
        handover=Handover("owner", seconds=600.0, token=TOKENS["owner"]),
        environment={"OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": str(tokens)} if with_tokens else {},
    )
    with (
        started(settings) as server,
        # Without TLS; to read all certificates of the machine takes longer than many a test.
        httpx.Client(base_url=f"http://{server.address}", timeout=30, verify=False) as client,
    ):
        yield Served(server, server.address, client)
