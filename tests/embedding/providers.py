"""Providers: stand-ins of OpenAI and Gemini on this machine, as strict as the real ones."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from typing import Any, TypeAlias

from omnigraph.embedding.embedder import EmbeddingTask
from tests.listening import QuietHandler, QuietServer, address_of, listening

KEY = "sk-verysecret-0123456789"
OPENAI_PATH = "/v1/embeddings"
GEMINI_END = ":batchEmbedContents"
TASKS = {each.value for each in EmbeddingTask}


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer; `seconds` is how long it takes, and without a status the line goes dead."""

    status: int | None = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: Any

    @property
    def texts(self) -> list[str]:
        if self.path == OPENAI_PATH:
            return list(self.body["input"])
        return [each["content"]["parts"][0]["text"] for each in self.body["requests"]]


Rows: TypeAlias = list[list[float]]


@dataclass(slots=True)
class Provider:
    """What arrived, and what is answered: first `replies` in their order, then proper vectors.

    `spoils` changes the vectors of a proper answer. With `only`, OpenAI's model has
    vectors of one dimension and refuses a request that names any, as vLLM does.
    """

    url: str = ""
    received: list[Received] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    spoils: Callable[[Rows], Rows] = lambda rows: rows
    only: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reply_to(self, request: Received) -> Reply:
        with self.lock:
            self.received.append(request)
            if self.replies:
                return self.replies.pop(0)
        if self.only is not None and "dimensions" in request.body:
            return failed(400, "Model does not support matryoshka representation")
        try:
            return Reply(body=json.dumps(self.answer_to(request)).encode())
        except (LookupError, TypeError, AssertionError) as error:
            return failed(400, f"bad request: {error!r}")

    def answer_to(self, request: Received) -> object:
        if request.path == OPENAI_PATH:
            return _openai(request, self.spoils, self.only)
        return _gemini(request, self.spoils)


def failed(status: int, message: str, **headers: str) -> Reply:
    """Return an answer that is an error, in the form that both providers use."""
    body = {"error": {"message": message, "status": "FAILED", "details": []}}
    return Reply(
        status, json.dumps(body).encode(), {k.replace("_", "-"): v for k, v in headers.items()}
    )


def raw_vector(text: str, dimension: int, task: str) -> list[float]:
    """Return the vector that the stand-ins have for a text; its length is not 1."""
    seed = sha256(f"{task} {text}".encode()).digest()
    return [float(seed[at % len(seed)]) - 100.5 for at in range(dimension)]


@contextmanager
def running() -> Iterator[Provider]:
    """Serve both providers on a free port."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.provider = Provider(address_of(server))
    with listening(server):
        yield server.provider


def _openai(request: Received, spoils: Callable[[Rows], Rows], only: int | None) -> object:
    """Return the vectors in the wrong order, as `index` allows."""
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert set(request.body) == {"model", "input"} | ({"dimensions"} if only is None else set())
    dimension = request.body["dimensions"] if only is None else only
    rows = spoils(_rows(request.body["input"], dimension, ["none"] * 2048))
    data = [
        {"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)
    ]
    return {"object": "list", "data": data[::-1], "model": request.body["model"], "usage": {}}


def _gemini(request: Received, spoils: Callable[[Rows], Rows]) -> object:
    assert request.headers["x-goog-api-key"] == KEY
    asked = request.body["requests"]
    assert len(asked) <= 100
    for each in asked:
        assert request.path == f"/v1beta/{each['model']}{GEMINI_END}"
        assert each["taskType"] in TASKS
    dimension = asked[0]["outputDimensionality"]
    rows = spoils(_rows(request.texts, dimension, [each["taskType"] for each in asked]))
    return {"embeddings": [{"values": row} for row in rows]}


def _rows(texts: Sequence[str], dimension: int, tasks: Sequence[str]) -> Rows:
    assert 0 < len(texts) <= 2048
    assert all(texts)
    return [raw_vector(text, dimension, task) for text, task in zip(texts, tasks, strict=False)]


class _Server(QuietServer):
    provider: Provider


class _Handler(QuietHandler, BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.provider.reply_to(Received(self.path, headers, body))
        time.sleep(reply.seconds)
        if reply.status is None:
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)
