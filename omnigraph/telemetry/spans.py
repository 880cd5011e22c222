"""Spans: pieces of work with a beginning and an end; nothing while nobody watches.

Spans nest: a request runs an operation, that a query or a commit, and a query its operators.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from types import TracebackType
from typing import Protocol, TypeAlias

Attributes: TypeAlias = Mapping[str, str | int | float | bool]

COMMIT_ID = "omnigraph.commit.id"
BRANCH = "omnigraph.branch"
ROWS = "omnigraph.rows"


class Kind(StrEnum):
    """What a span is about."""

    REQUEST = "request"
    OPERATION = "operation"
    QUERY = "query"
    OPERATOR = "operator"
    COMMIT = "commit"


class OpenSpan(Protocol):
    """A span that has not ended yet."""

    def note(self, attributes: Attributes) -> None:
        """Add what was found out meanwhile."""


class Watcher(Protocol):
    """Takes spans."""

    def span(
        self, kind: Kind, name: str, attributes: Attributes, sent: Mapping[str, str]
    ) -> AbstractContextManager[OpenSpan]:
        """Return a block that is a span; `sent` are the headers that name the span around it."""

    def note(self, attributes: Attributes) -> None:
        """Add attributes to the span that is open."""

    def headers(self) -> dict[str, str]:
        """Return the headers with which a request names the span that it is sent from."""


class _Silent:
    """The span of those whom nobody watches."""

    def __enter__(self) -> "_Silent":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def note(self, attributes: Attributes) -> None:
        """Take no note."""


_SILENT = _Silent()
_NOTHING: Mapping[str, str] = {}
_watchers: list[Watcher] = []


def watch(watcher: Watcher | None) -> None:
    """Set who watches all spans of this process from now on; None is nobody."""
    _watchers[:] = [] if watcher is None else [watcher]


def is_watched() -> bool:
    """Return whether anybody watches, so that it pays to find out what a span is called."""
    return bool(_watchers)


def span(
    kind: Kind, name: str, attributes: Attributes = _NOTHING, sent: Mapping[str, str] = _NOTHING
) -> AbstractContextManager[OpenSpan]:
    """Return a block that is a span."""
    return _watchers[0].span(kind, name, attributes, sent) if _watchers else _SILENT


def note(attributes: Attributes) -> None:
    """Add attributes to the span that is open, if somebody watches."""
    if _watchers:
        _watchers[0].note(attributes)


def headers() -> dict[str, str]:
    """Return the headers with which a request names the span that it is sent from."""
    return _watchers[0].headers() if _watchers else {}
