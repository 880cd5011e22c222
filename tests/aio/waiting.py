"""Waiting: async handles as if they blocked, so that one list of operations runs through both."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from typing import Any

from omnigraph.aio.computed import AsyncAlgorithmResult
from omnigraph.aio.handle import Handle
from omnigraph.aio.items import AsyncChangeSet, AsyncCommitChanges, AsyncResultStream
from omnigraph.aio.queries import AsyncQueries, AsyncQueryFunction
from omnigraph.api.computed import AlgorithmResult
from omnigraph.errors import Json
from omnigraph.merge.compare.change_set import ChangeSet, CommitChanges
from omnigraph.merge.compare.row_change import Change, Op
from omnigraph.schema.steps import MigrationStep
from omnigraph.write.receipt import Receipt

_SECONDS = 120


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def wait(self, awaited: Awaitable[Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(_awaited(awaited), self._loop).result(_SECONDS)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)
        self._loop.close()


async def _awaited(given: Awaitable[Any]) -> Any:
    return await given


@contextmanager
def looping() -> Iterator[Loop]:
    loop = Loop()
    try:
        yield loop
    finally:
        loop.stop()


class Waiting:
    """A handle whose methods wait for those of an async one."""

    def __init__(self, loop: Loop, handle: object) -> None:
        self._loop = loop
        self._handle = handle

    def __getattr__(self, name: str) -> Any:
        return _plain(self._loop, getattr(self._handle, name))

    def __getitem__(self, name: str) -> Any:
        found = Waiting(self._loop, self._handle[name])  # type: ignore[index]
        _ = found.about
        return found

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        given = [each._handle if isinstance(each, Waiting) else each for each in args]
        found = self._handle(*given, **keywords)  # type: ignore[operator]
        return _plain(self._loop, found)


class _Changes(ChangeSet):
    def __init__(self, loop: Loop, changes: AsyncChangeSet) -> None:
        self._loop = loop
        self._changes = changes

    def __iter__(self) -> Iterator[Change]:
        return _each(self._loop, aiter(self._changes))

    @property
    def from_version(self) -> int:
        return self._changes.from_version

    @property
    def to_version(self) -> int:
        return self._changes.to_version

    @property
    def old_commit(self) -> str:
        return self._changes.old_commit

    @property
    def new_commit(self) -> str:
        return self._changes.new_commit

    @property
    def branch(self) -> str | None:
        return self._changes.branch

    @property
    def stats(self) -> Mapping[str, Mapping[Op, int]]:
        found: Mapping[str, Mapping[Op, int]] = self._loop.wait(self._changes.stats)
        return found

    @property
    def schema_steps(self) -> tuple[MigrationStep, ...]:
        found: tuple[MigrationStep, ...] = self._loop.wait(self._changes.schema_steps)
        return found

    def summary(self) -> dict[str, Json]:
        found: dict[str, Json] = self._loop.wait(self._changes.summary())
        return found


def _plain(loop: Loop, value: Any) -> Any:
    """Return what a blocking handle would return."""
    match value:
        case AsyncChangeSet():
            return _Changes(loop, value)
        case AsyncAlgorithmResult():
            return _computed(loop, value)
        case AsyncCommitChanges():
            return CommitChanges(value.commit, _Changes(loop, value.changes))
        case Handle():
            # The name of a class is part of what is compared.
            kind = type(type(value).__name__.removeprefix("Async"), (Waiting,), {})
            return kind(loop, value)
        case AsyncQueries() | AsyncQueryFunction() | AsyncResultStream():
            return Waiting(loop, value)
        case AsyncIterator():
            return _each(loop, value)
        case Coroutine() | Awaitable():
            return _plain(loop, loop.wait(value))
    return Waiting(loop, value) if callable(value) else value


def _computed(loop: Loop, found: AsyncAlgorithmResult) -> AlgorithmResult:
    def write(branch: Any, **about: Any) -> Receipt:
        receipt: Receipt = loop.wait(found.write_to(branch, **about))
        return receipt

    return AlgorithmResult(found.query_name, found.table, found.commit, _write=write)


def _each(loop: Loop, items: AsyncIterator[Any]) -> Iterator[Any]:
    """Return all items, which are read at once: what is wrong is raised by the call."""

    async def read() -> list[Any]:
        return [each async for each in items]

    return iter([_plain(loop, each) for each in loop.wait(read())])
