"""Call: one request on its way, as a handler sees it, and the answers that it can give."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import IO, Any, TypeAlias

import msgspec

from omnigraph.api.graph import Graph
from omnigraph.errors import DeniedError, InputError, Json, NotFoundError, OmniGraphError
from omnigraph.read.execution import Budget
from omnigraph.server.limits import Limits
from omnigraph.server.metrics import Metrics

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
LINES = "application/x-ndjson"

_TURNS = 64
_LONGEST_TURN = 15.0


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer that is there at once."""

    body: bytes
    media_type: str = JSON
    status: int = 200


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that is made while it is sent, within a number of bytes and of seconds of work.

    One that holds memory for as long as it lasts has to be taken within `taken_seconds`.
    """

    parts: Iterator[bytes]
    media_type: str
    budget: Budget
    taken_seconds: float | None = None


Answer: TypeAlias = Whole | Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A write that may be sent again: its key, and the digest of what is asked for.

    One that `repeats` another was begun before, and nobody knows how far it came.
    """

    key: str
    request: str
    repeats: bool = False

    def name_for(self, actor: str | None) -> str:
        """Give the name of the operation: the keys of two actors are never the same."""
        return hashlib.sha256(f"{actor or ''}\0{self.key}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class About:
    """What the server can tell about itself."""

    metrics: Metrics
    openapi: bytes


class WriteTurns:
    """Lets the changes of one branch come one after another, so that none has to be run again."""

    def __init__(self) -> None:
        self._locks = [Lock() for _ in range(_TURNS)]

    @contextmanager
    def of(self, branch: str) -> Iterator[None]:
        """Wait for the turn of a branch; behind a long change not for ever, races are no danger."""
        lock = self._locks[hash(branch.casefold()) % _TURNS]
        is_ours = lock.acquire(timeout=_LONGEST_TURN)
        try:
            yield
        finally:
            if is_ours:
                lock.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request: who asks what of which graph, and how much it may take."""

    graph: Graph
    actor: str | None
    path: Mapping[str, str]
    query: Any
    body: Any = None
    stream: IO[bytes] | None = None
    accept: str = JSON
    operation: Operation | None = None
    limits: Limits = field(default_factory=Limits)
    cancelled: Event = field(default_factory=Event)
    turns: WriteTurns = field(default_factory=WriteTurns)
    about: About

    @property
    def budget(self) -> Budget:
        """How much a query and its answer may take."""
        return Budget(seconds=self.limits.query_seconds, bytes=self.limits.query_bytes)

    def rows(self, parts: Iterator[bytes], media_type: str) -> Stream:
        """Give the rows of a query as an answer."""
        return Stream(parts, media_type, self.budget, self.limits.answer_seconds)

    def export(self, parts: Iterator[bytes], media_type: str) -> Stream:
        """Give rows that are read while they are sent as an answer."""
        limits = self.limits
        budget = Budget(seconds=limits.export_seconds, bytes=limits.export_bytes)
        return Stream(parts, media_type, budget)

    @property
    def graph_name(self) -> str:
        """The name of the graph; where it lies is for nobody outside to know."""
        return self.graph.uri.rstrip("/").rpartition("/")[2]

    def may_read(self, branch: str) -> bool:
        """Tell whether the actor may read a branch."""
        try:
            return bool(self.graph.snapshot(branch))
        except (DeniedError, NotFoundError):
            return False

    @property
    def key(self) -> str | None:
        """The id of the operation, as commits record it."""
        return None if self.operation is None else self.operation.key

    @contextmanager
    def settling(self, *kinds: type[OmniGraphError]) -> Iterator[None]:
        """Take errors that say that it is done already for success, when it may have been us."""
        try:
            yield
        except kinds:
            if self.operation is None or not self.operation.repeats:
                raise


Handler: TypeAlias = Callable[[Call], Answer]


def json_answer(document: Mapping[str, Json], status: int = 200) -> Whole:
    """Give a JSON document as an answer."""
    return Whole(msgspec.json.encode(document), status=status)


def place(branch: str | None, snapshot: str | None, default: str) -> str:
    """Give the branch or commit that is meant; both are too many."""
    if branch is not None and snapshot is not None:
        raise InputError("a branch and a snapshot exclude each other", hint="leave one of them out")
    return snapshot or branch or default
