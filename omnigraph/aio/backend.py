"""Backend: a graph at hand whose operations end when the call that runs them is cancelled."""

from collections.abc import Iterator
from dataclasses import replace
from threading import Event
from typing import Any, Self

from omnigraph.aio.calls import Call, current_call
from omnigraph.api.access import Access
from omnigraph.api.backend import USUAL, CallOptions, Pin
from omnigraph.api.local.backend import LocalBackend
from omnigraph.api.operation import Document, Operation, R
from omnigraph.frozen import dataclass


@dataclass(frozen=True, slots=True)
class CancellableBackend:
    """A graph at hand; a server's needs none of this, because a request is broken off."""

    backend: LocalBackend

    @property
    def access(self) -> Access:
        """What all handles of the graph share."""
        return self.backend.access

    @property
    def uri(self) -> str:
        """Where the graph is."""
        return self.backend.uri

    @property
    def actor(self) -> str | None:
        """Who acts, and is noted with what changes."""
        return self.backend.actor

    def acting_as(self, actor: str | None) -> Self:
        """Return the same graph for another actor."""
        return replace(self, backend=self.backend.acting_as(actor))

    def author(self, actor: str | None) -> str | None:
        """Return who is noted with a change; raise InputError for another than who acts."""
        return self.backend.author(actor)

    def run(self, operation: Operation[R], options: CallOptions = USUAL) -> R:
        """Run an operation until its call is cancelled."""
        return self.backend.run(operation, _cancellable(options))

    def document(self, operation: Operation[Any], options: CallOptions = USUAL) -> Document:
        """Run an operation and return its result as the JSON of a server's answer."""
        return self.backend.document(operation, _cancellable(options))

    def stream(self, operation: Operation[Any], options: CallOptions = USUAL) -> Iterator[bytes]:
        """Run an operation and return its rows as bytes."""
        return self.backend.stream(operation, _cancellable(options))

    def pin(self, place: str) -> Pin:
        """Return the commit at which a branch stands, or that a tag or an id names."""
        return self.backend.pin(place)

    def close(self) -> None:
        """Close the graph; later operations raise InputError."""
        self.backend.close()


class _CallEvent(Event):
    """Set when a call is cancelled: that which began the work, or that which reads it later.

    Changes are read by other calls than the one that returned them. The event that a caller gave
    sets it as well.
    """

    def __init__(self, begun: Call, given: Event | None) -> None:
        super().__init__()
        self._begun = begun
        self._given = given

    def is_set(self) -> bool:
        reading = current_call() or self._begun
        given = self._given is not None and self._given.is_set()
        return given or self._begun.cancelled.is_set() or reading.cancelled.is_set()


def _cancellable(options: CallOptions) -> CallOptions:
    call = current_call()
    if call is None:
        return options
    return replace(options, cancelled=_CallEvent(call, options.cancelled))
