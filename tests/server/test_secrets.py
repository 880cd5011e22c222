"""Secrets: what is planted in tokens, keys and stores shows up nowhere that people look."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.sample import new_graph
from tests.server.process import Running, running
from tests.server.raw import exchange

_VARIABLES = (
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "OMNIGRAPH_BEARER_TOKEN",
)


@dataclass
class Planted:
    """Secrets of all sorts, and everything that was seen outside."""

    tokens: dict[str, str] = field(
        default_factory=lambda: {f"actor-{n}": f"planted-{uuid4().hex}" for n in range(30)}
    )
    wrong: list[str] = field(default_factory=lambda: [f"planted-{uuid4().hex}" for _ in range(15)])
    environment: dict[str, str] = field(
        default_factory=lambda: {name: f"planted-{uuid4().hex}" for name in _VARIABLES}
    )
    seen: list[str] = field(default_factory=list)

    @property
    def every(self) -> list[str]:
        return [*self.tokens.values(), *self.wrong, *self.environment.values()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secrets")


@pytest.fixture(scope="module")
def planted(folder: Path) -> Iterator[tuple[Planted, Running]]:
    new_graph(folder / "graph")
    found = Planted()
    given = {
        **found.environment,
        "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps(found.tokens),
    }
    with running(folder, "graph", environment=given) as server:
        yield found, server


def test_fifty_planted_secrets_are_in_no_log_error_or_metric(
    planted: tuple[Planted, Running],
) -> None:
    found, server = planted
    assert len(found.every) == 50
    for token in [*found.tokens.values(), *found.wrong]:
        _provoke(found, server, token)
    _break_the_store(found, server)
    told = "\n".join([*found.seen, server.log.read_text()])
    assert "graph_not_found" in told
    assert [secret for secret in found.every if secret in told] == []
    assert [secret for secret in found.every if secret.removeprefix("planted-") in told] == []


def _provoke(found: Planted, server: Running, token: str) -> None:
    """Put a token where it belongs and where it does not, and keep what comes back."""
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
        answers = [
            client.get("/metrics"),
            client.get("/branches"),
            client.post("/read", json={"query_source": "query q() { nonsense }"}),
            client.post("/read", content=b"\x00", headers={"content-type": "application/json"}),
            client.post("/change", json={"unknown": 1}, headers={"idempotency-key": "a b"}),
            client.get("/snapshot", params={"branch": "no such branch"}),
            client.request("PUT", "/read"),
            client.get("/openapi.json"),
        ]
    for answer in answers:
        found.seen += [answer.text, str(answer.headers)]
    raw = f"GET /branches HTTP/1.1\r\nAuthorization: Bearer {token}\r\nHost: evil\r\nBad\r\n\r\n"
    found.seen.append(exchange(server.address, raw.encode()).data.decode())


def _break_the_store(found: Planted, server: Running) -> None:
    """Let the store fail under the server."""
    graph = Path(server.log).parent / "graph"
    (graph / "__manifest").rename(graph / "gone")
    token = next(iter(found.tokens.values()))
    headers = {"authorization": f"Bearer {token}"}
    try:
        for path in ("/branches", "/snapshot", "/readyz", "/runs", "/metrics"):
            answer = httpx.get(f"{server.url}{path}", headers=headers)
            found.seen.append(answer.text)
            assert str(graph) not in answer.text
            assert "__manifest" not in answer.text
            assert path != "/readyz" or answer.status_code == 503
    finally:
        (graph / "gone").rename(graph / "__manifest")
