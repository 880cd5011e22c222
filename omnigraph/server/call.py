"""Call: one request on its way, as a handler sees it, and the answers that it can give."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any, TypeAlias

import msgspec

from omnigraph.api.backend import CallOptions
from omnigraph.api.local.backend import LocalBackend
from omnigraph.api.operation import JSON
from omnigraph.errors import Json
from omnigraph.read.execution import Budget
from omnigraph.server.metrics import Metrics

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
    """An answer that is made while it is sent."""

    parts: Iterator[bytes]
    media_type: str


Answer: TypeAlias = Whole | Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRequest:
    """A write that may be sent again: its key, and the digest of what is asked for.

    One that `repeats` another was begun before, and nobody knows how far it came.
    """

    key: str
    request: str
    repeats: bool = False

    def name_for(self, actor: str | None) -> str:
        """Return the name of the key: those of two actors are never the same."""
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
    """One request: the operation, the graph of who asks, and how much it may take."""

    backend: LocalBackend
    operation: Any = None
    rows_size: int | None = None
    accept: str = JSON
    keyed: KeyedRequest | None = None
    budget: Budget = field(default_factory=Budget)
    cancelled: Event = field(default_factory=Event)
    turns: WriteTurns = field(default_factory=WriteTurns)
    about: About

    @property
    def actor(self) -> str | None:
        """Who asks."""
        return self.backend.actor

    @property
    def options(self) -> CallOptions:
        """How the operation is run."""
        return CallOptions(
            actor=self.actor,
            operation_id=None if self.keyed is None else self.keyed.key,
            budget=self.budget,
            cancelled=self.cancelled,
        )


Handler: TypeAlias = Callable[[Call], Answer]


def json_answer(document: Mapping[str, Json], status: int = 200) -> Whole:
    """Return a JSON document as an answer."""
    return Whole(msgspec.json.encode(document), status=status)
