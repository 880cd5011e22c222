"""Backend: runs operations on a graph at hand, each by the function for it."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from omnigraph.api.access import Access
from omnigraph.api.backend import USUAL, CallOptions, Pin
from omnigraph.api.local.places import Function, Functions
from omnigraph.api.operation import Document, Operation, R, check_fields
from omnigraph.api.operations.read import ReadRows
from omnigraph.frozen import dataclass
from omnigraph.telemetry.spans import Kind, is_watched, span

# Which module runs the operations of a family; it is imported with the first of them.
_FAMILIES = {
    "read": "reads",
    "explore": "explore",
    "algorithms": "algorithms",
    "editing": "editing",
    "write": "writes",
    "queries": "queries",
    "branches": "branches",
    "runs": "branches",
    "reviews": "reviews",
    "changes": "changes",
    "commits": "changes",
    "rights": "rights",
    "schemas": "maintenance",
    "maintenance": "maintenance",
}


@dataclass(frozen=True, slots=True)
class LocalBackend:
    """A graph on a local disk or in a bucket, for one actor and under one policy."""

    access: Access

    @property
    def uri(self) -> str:
        """Where the graph is."""
        return self.access.repository.store.root

    @property
    def actor(self) -> str | None:
        """Who acts, and is noted with what changes."""
        return self.access.actor

    def acting_as(self, actor: str | None) -> "LocalBackend":
        """Return the same graph for another actor, about whom the policy is asked then."""
        return LocalBackend(self.access.acting_as(actor))

    def author(self, actor: str | None) -> str | None:
        """Return who is noted with a change; raise InputError for another than who acts."""
        return self.access.author(actor)

    def run(self, operation: Operation[R], options: CallOptions = USUAL) -> R:
        """Run an operation, if the policy allows it."""
        check_fields(operation)
        function: Callable[[Access, Operation[R], CallOptions], R] = function_of(type(operation))
        if not is_watched():
            return function(self.access, operation, options)
        with span(Kind.OPERATION, type(operation).__name__):
            return function(self.access, operation, options)

    def document(self, operation: Operation[Any], options: CallOptions = USUAL) -> Document:
        """Run an operation and return its result as the JSON of a server's answer."""
        return operation.answer(self.run(operation, options), self)

    def stream(self, operation: Operation[Any], options: CallOptions = USUAL) -> Iterator[bytes]:
        """Run an operation and return its rows as bytes."""
        from omnigraph.api.operations.algorithms import RunAlgorithm

        found = self.run(operation, options)
        is_rows = isinstance(operation, ReadRows | RunAlgorithm)
        pieces: Iterator[bytes] = found.to_ipc() if is_rows else found
        return pieces

    def pin(self, place: str) -> Pin:
        """Return the commit at which a branch stands, or that a tag or an id names."""
        snapshot = self.access.pin(place)
        return Pin(snapshot.commit.id, snapshot)

    def close(self) -> None:
        """Close the graph; later operations raise InputError."""
        self.access.close()


@cache
def function_of(kind: type[Operation[Any]]) -> Function:
    """Return the function that runs operations of a kind."""
    family = kind.__module__.rpartition(".")[2]
    functions: Functions = import_module(f"omnigraph.api.local.{_FAMILIES[family]}").FUNCTIONS
    return functions[kind]
