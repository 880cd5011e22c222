"""Backend: what runs operations on a graph, in this process or through a server."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

from omnigraph.api.operation import Document, Operation, R
from omnigraph.frozen import dataclass

if TYPE_CHECKING:
    import os
    from threading import Event

    from omnigraph.read.execution import Budget
    from omnigraph.span import Source
    from omnigraph.spark.progress import Progress
    from omnigraph.spark.settings import SparkSettings
    from omnigraph.versioning.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """How an operation is run, beside what it asks for.

    `actor` is who is noted with a change, and `operation_id` lets a repeated one be done once.
    `new_id` is the id of what is made where no commit is, the same for a repeated request.
    `source` is the text that errors quote, and `pinned` the snapshot that is read. The rest says
    who does the work and how much it may take; None leaves it to the backend.
    """

    actor: str | None = None
    operation_id: str | None = None
    new_id: str | None = None
    source: "Source | None" = None
    pinned: "Snapshot | None" = None
    budget: "Budget | None" = None
    cancelled: "Event | None" = None
    engine: str | None = None
    spark: "SparkSettings | None" = None
    concurrency: int | None = None
    seconds: float | None = None
    bytes: int | None = None
    progress: "Progress | None" = None
    report: "str | os.PathLike[str] | None" = None
    reported: int | None = None
    shown: int | None = None
    type_name: str | None = None

    def with_how(self, how: Mapping[str, Any]) -> Self:
        """Return the options with those of the keywords of a call that are among them."""
        known = {name: each for name, each in how.items() if name in self.__dataclass_fields__}
        return replace(self, **known)


USUAL = CallOptions()


class Backend(Protocol):
    """Runs operations. There are two: `LocalBackend`, and `HttpBackend` for a server's graph."""

    @property
    def uri(self) -> str:
        """Where the graph is."""

    @property
    def actor(self) -> str | None:
        """Who acts, and is noted with what changes."""

    def acting_as(self, actor: str | None) -> Self:
        """Return the same backend for another actor."""

    def author(self, actor: str | None) -> str | None:
        """Return who is noted with a change; an actor acts for nobody else."""

    def run(self, operation: Operation[R], options: CallOptions = USUAL) -> R:
        """Run an operation and return its result, or raise what went wrong."""

    def document(self, operation: Operation[Any], options: CallOptions = USUAL) -> Document:
        """Run an operation and return its result as the JSON of a server's answer."""

    def stream(self, operation: Operation[Any], options: CallOptions = USUAL) -> Iterator[bytes]:
        """Run an operation and return its rows as bytes: Arrow for a read, lines for an export."""

    def pin(self, place: str) -> "Pin":
        """Return the commit at which a branch stands, or that a tag or an id names."""

    def close(self) -> None:
        """Close the graph; later operations raise InputError."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A commit to read from; its snapshot where the tables are at hand."""

    commit_id: str
    snapshot: "Snapshot | None" = field(default=None, repr=False)
