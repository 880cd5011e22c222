"""Feed: the changes of a branch as server-sent events, made while a client takes them."""

from collections.abc import Callable, Iterator
from dataclasses import field
from itertools import islice

import msgspec

from omnigraph.api.backend import USUAL, CallOptions
from omnigraph.api.local.backend import LocalBackend
from omnigraph.api.operations.changes import WatchChanges
from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.merge.compare.change_set import CommitChanges
from omnigraph.policy.actions import Action

EVENTS = "text/event-stream"
HEARTBEAT = b": beat\n\n"
_CHANGES_AT_A_TIME = 500


@dataclass(slots=True)
class ChangeFeed:
    """The events of a branch from a cursor on; `look` returns the next of them.

    The id of an event is the cursor behind it. A commit with many rows is several events of
    `changes`, which have no id, and then one of `commit`: who breaks off between them gets the
    whole commit again.
    """

    backend: LocalBackend
    operation: WatchChanges
    options: CallOptions = USUAL
    _cursor: str | None = field(init=False)
    _made: Iterator[bytes] | None = None

    def __post_init__(self) -> None:
        self._cursor = self.operation.since

    def look(self, backend: LocalBackend | None = None) -> bytes:
        """Return the next event for who may read the branch still; nothing when there is none now.

        With a backend, the events that come are those of the graph as it is served from now on.
        """
        self.backend = backend or self.backend
        self.backend.access.allow(Action.READ, self.operation.branch)
        if self._made is None:
            self._made = self._events()
        part = next(self._made, None)
        if part is None:
            self._made = None
            return b""
        return part

    def rest(self) -> Iterator[bytes]:
        """Yield the events up to now."""
        while part := self.look():
            yield part

    def _events(self) -> Iterator[bytes]:
        operation = self.operation
        if self._cursor is None:
            # Who reads the branch at this commit and goes on from here misses nothing.
            commit = self.backend.pin(operation.branch).commit_id
            self._cursor = commit
            document: Json = {"branch": operation.branch, "commit": commit, "cursor": commit}
            yield event("baseline", document, commit)
        for each in self.backend.run(operation.listing(self._cursor), self.options):
            yield from self._commit(each)

    def _commit(self, found: CommitChanges) -> Iterator[bytes]:
        documents = found.changes.documents()
        is_empty = True
        while some := list(islice(documents, _CHANGES_AT_A_TIME)):
            is_empty = False
            changes: Json = [*some]
            yield event("changes", {"commit": found.commit.id, "changes": changes})
        self._cursor = found.cursor
        if is_empty and self.operation.is_filtered and not found.changes.schema_steps:
            yield b"id: %s\n\n" % found.cursor.encode()  # nothing to tell, but where to go on
        else:
            yield event("commit", found.summary(), found.cursor)


@dataclass(frozen=True, slots=True)
class Feed:
    """An answer without an end: what is first, and how to look for more in the graph of then."""

    first: bytes
    look: Callable[[LocalBackend], bytes]
    media_type: str = EVENTS


def event(kind: str, document: Json, cursor: str | None = None) -> bytes:
    """Return one event; JSON has no line breaks, so its data is one line."""
    last = "" if cursor is None else f"id: {cursor}\n"
    return f"event: {kind}\n{last}data: ".encode() + msgspec.json.encode(document) + b"\n\n"
