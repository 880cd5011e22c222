"""Call: one request on its way, as a handler sees it, and the answers that it can give."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from threading import Event, Lock
from typing import Any, Protocol, TypeAlias

import msgspec

from omnigraph.api.backend import CallOptions
from omnigraph.api.local.backend import LocalBackend
from omnigraph.api.operation import JSON, Work
from omnigraph.errors import BranchNotFoundError, Json, OmniGraphError
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import Action
from omnigraph.read.execution import Budget
from omnigraph.server.feed import Feed
from omnigraph.server.limits import Limits
from omnigraph.server.monitoring.metrics import Metrics
from omnigraph.versioning.names import normalize_name
from omnigraph.versioning.snapshot import Snapshot

_TURNS = 64
_LONGEST_TURN = 15.0


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """An answer that is there at once."""

    body: bytes
    media_type: str = JSON
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that is made while it is sent, within a number of bytes and of seconds of work.

    One that holds memory for as long as it lasts has to be taken within `taken_seconds`.
    `sized_by` is the name of the limit of its bytes.
    """

    parts: Iterator[bytes]
    media_type: str
    budget: Budget
    sized_by: str
    taken_seconds: float | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Answer: TypeAlias = WholeAnswer | Stream | Feed


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRequest:
    """A write that may be sent again: its key, and the digest of what is asked for.

    One that `repeats` another was begun before, and nobody knows how far it came.
    """

    key: str
    request: str
    repeats: bool = False
    # What is made under the key where no commit is has this id, however often the key is sent.
    id: str | None = None

    def name_for(self, actor: str | None) -> str:
        """Return the name of the key: those of two actors are never the same."""
        return hashlib.sha256(f"{actor or ''}\0{self.key}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class About:
    """What the server can tell about itself."""

    metrics: Metrics
    # The document is made when it is first asked for.
    openapi: Callable[[], bytes]
    # What other workers of the server counted.
    others: Callable[[], Iterable[Mapping[str, Any]]] = tuple
    # What a browser gets for its one-time code; only `omnigraph studio` gives one.
    hand_over: Callable[[str], dict[str, Json] | None] = lambda _: None


class Overview(Protocol):
    """What the server can tell of the graphs that it has."""

    def listed(self, actor: str | None) -> dict[str, Json]:
        """Return the graphs of a deployment that an actor may see."""

    def health(self) -> dict[str, Json]:
        """Return how a deployment is."""

    def check_ready(self) -> None:
        """Raise unless the graphs can be read."""

    def offered(self, actor: str | None, graph: str | None, branch: str) -> dict[str, Json]:
        """Return which graphs an actor may see, and what they may do to a branch of one."""


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


class ServedBackend(LocalBackend):
    """The graph of a server as answers name it: where it lies is for nobody outside to know."""

    @property
    def uri(self) -> str:
        return LocalBackend(self.access).uri.rstrip("/").rpartition("/")[2]

    def acting_as(self, actor: str | None) -> "ServedBackend":
        """Return the same graph for another actor."""
        return ServedBackend(self.access.acting_as(actor))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCall:
    """One request: the operation, the graph of who asks, and how much it may take.

    What the server tells of itself is about no graph.
    """

    served: ServedBackend | None
    overview: Overview
    actor: str | None = None
    operation: Any = None
    # What came with a request for no operation: names in its path, and its query or body.
    params: Mapping[str, str] = field(default_factory=dict)
    sent: Any = None
    takes_gzip: bool = False
    rows_size: int | None = None
    accept: str = JSON
    # The headers that ask for a part of the bytes, or for none when they are known.
    conditions: Mapping[str, str] = field(default_factory=dict)
    keyed: KeyedRequest | None = None
    pinned: Snapshot | None = None
    limits: Limits = field(default_factory=Limits)
    cancelled: Event = field(default_factory=Event)
    turns: WriteTurns = field(default_factory=WriteTurns)
    about: About

    @property
    def backend(self) -> ServedBackend:
        """The graph of who asks."""
        assert self.served is not None
        return self.served

    @property
    def budget(self) -> Budget:
        """How much a query and its answer may take."""
        return Budget(seconds=self.limits.query_seconds, bytes=self.limits.query_bytes)

    @property
    def work(self) -> Work:
        """What the operation is counted as."""
        return Work.WRITE if self.operation is None else self.operation.work

    def rows(self, parts: Iterator[bytes], media_type: str) -> Stream:
        """Return the rows of a query as an answer."""
        return Stream(parts, media_type, self.budget, "query_bytes", self.limits.answer_seconds)

    def export(self, parts: Iterator[bytes], media_type: str) -> Stream:
        """Return rows that are read while they are sent as an answer."""
        seconds = self.limits.seconds_of(self.work)
        budget = Budget(seconds=seconds, bytes=self.limits.export_bytes)
        return Stream(parts, media_type, budget, "export_bytes")

    def held(
        self, parts: Iterator[bytes], media_type: str, status: int, headers: Mapping[str, str]
    ) -> Stream:
        """Return what is in memory as an answer: such parts cannot be kept for a slow client."""
        return replace(
            self.export(parts, media_type),
            taken_seconds=self.limits.answer_seconds,
            status=status,
            headers=headers,
        )

    def may_read(self, branch: str) -> bool:
        """Return whether the actor may read a branch that was changed just now.

        One that a dry run would make is judged by its name. False where the store fails: the change
        is done, and no error may say otherwise.
        """
        try:
            return bool(self.backend.pin(branch))
        except BranchNotFoundError:
            return self.backend.access.may(Action.READ, normalize_name(branch))
        except OmniGraphError:
            return False

    @property
    def options(self) -> CallOptions:
        """How the operation is run."""
        return CallOptions(
            actor=self.backend.actor,
            operation_id=None if self.keyed is None else self.keyed.key,
            new_id=None if self.keyed is None else self.keyed.id,
            budget=self.budget,
            cancelled=self.cancelled,
            seconds=self.limits.seconds_of(self.work),
            bytes=self.limits.bytes_of(self.work),
            pinned=self.pinned,
        )


Handler: TypeAlias = Callable[[ServerCall], Answer]


def json_answer(document: Mapping[str, Json], status: int = 200) -> WholeAnswer:
    """Return a JSON document as an answer."""
    return WholeAnswer(msgspec.json.encode(document), status=status)
