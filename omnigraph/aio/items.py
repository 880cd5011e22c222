"""Items: what handles return to be read as it is used: items, batches, changes and blocks."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from omnigraph.aio.calls import Call, Calls, Pending
from omnigraph.frozen import dataclass
from omnigraph.merge.compare.change_set import ChangeSet, CommitChanges
from omnigraph.merge.compare.row_change import Change, Op
from omnigraph.schema.steps import MigrationStep
from omnigraph.versioning.commit import Commit

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.api.branch import Looks
    from omnigraph.data.result import Result, ResultStream
    from omnigraph.errors import Json

T = TypeVar("T")
H = TypeVar("H")
# A step of an iterator costs a change of threads, unless several are taken at once.
MANY = 128
_SECONDS_AT_A_TIME = 0.005


class AsyncItems(AsyncIterator[T]):
    """Items that are read as they are awaited; nothing is read before the first is.

    Small ones that come fast are read up to `most` at a time. `aclose`, or the end of an
    `async with` block, lets go of what was not read.
    """

    def __init__(
        self,
        calls: Calls,
        read: Callable[[], Iterator[T]],
        call: Call | None = None,
        *,
        most: int = 1,
    ) -> None:
        self._calls = calls
        self._read = read
        self._call = call or Call()
        self._most = most
        self._rest: Iterator[T] | None = None
        self._ready: deque[T] = deque()
        self._failed: Exception | None = None

    async def __anext__(self) -> T:
        if not self._ready:
            if self._failed is not None:
                failed, self._failed = self._failed, None
                raise failed
            self._ready = await self._calls.run_in(self._call, self._more)
        if not self._ready:
            raise StopAsyncIteration
        return self._ready.popleft()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Let go of what was not read; there are no more items then."""
        self._ready.clear()
        self._failed = None
        await self._calls.run(self._close)

    def _more(self) -> deque[T]:
        """Return the next items, none at the end; what fails behind some is raised after them."""
        if self._rest is None:
            self._rest = self._read()
        found: deque[T] = deque()
        end = time.monotonic() + _SECONDS_AT_A_TIME
        try:
            for each in islice(self._rest, self._most):
                found.append(each)
                if time.monotonic() > end:
                    break
        except Exception as error:
            if not found:
                raise
            self._failed = error
        return found

    def _close(self) -> None:
        close = getattr(self._rest, "close", None)
        self._rest = iter(())
        if close is not None:
            close()


class AsyncResultStream(AsyncItems["pa.RecordBatch"]):
    """The rows of a query as Arrow batches, to be read once; see `ResultStream`."""

    def __init__(self, calls: Calls, stream: "ResultStream", call: Call) -> None:
        super().__init__(calls, lambda: stream.batches, call)
        self._stream = stream

    @classmethod
    async def of(cls, calls: Calls, read: "Callable[[], ResultStream]") -> Self:
        """Return the stream of a read, which ends when the task that reads it is cancelled."""
        call = Call()
        return cls(calls, await calls.run_in(call, read), call)

    def __repr__(self) -> str:
        return f"Async{self._stream!r}"

    @property
    def query_name(self) -> str:
        """The name of the query."""
        return self._stream.query_name

    @property
    def schema(self) -> "pa.Schema":
        """The Arrow schema of the rows."""
        return self._stream.schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order of the query."""
        return self._stream.columns

    @property
    def count(self) -> int | None:
        """How many rows there are; None while nobody knows."""
        return self._stream.count

    @property
    def commit(self) -> str | None:
        """The id of the commit that is read."""
        return self._stream.commit

    async def to_result(self) -> "Result":
        """Return all rows, in memory."""
        return await self._calls.run_in(self._call, self._stream.to_result)


class AsyncChangeSet:
    """The net changes from one commit to another; `async for` reads them. See `ChangeSet`."""

    def __init__(self, calls: Calls, changes: ChangeSet) -> None:
        self._calls = calls
        self._changes = changes

    def __repr__(self) -> str:
        return f"Async{self._changes!r}"

    def __aiter__(self) -> AsyncItems[Change]:
        return AsyncItems(self._calls, partial(iter, self._changes), most=MANY)

    @property
    def blocking(self) -> ChangeSet:
        """The changes as code that runs in a thread reads them."""
        return self._changes

    @property
    def from_version(self) -> int:
        """The version of the older commit."""
        return self._changes.from_version

    @property
    def to_version(self) -> int:
        """The version of the newer commit."""
        return self._changes.to_version

    @property
    def branch(self) -> str | None:
        """The branch that was compared to; None when a commit or a tag was, and in a feed."""
        return self._changes.branch

    @property
    def old_commit(self) -> str:
        """The id of the older commit."""
        return self._changes.old_commit

    @property
    def new_commit(self) -> str:
        """The id of the newer commit."""
        return self._changes.new_commit

    @property
    def stats(self) -> Pending[Mapping[str, Mapping[Op, int]]]:
        """Rows of each type that were inserted, deleted and updated."""
        return Pending(self._calls, lambda: self._changes.stats)

    @property
    def schema_steps(self) -> Pending[tuple[MigrationStep, ...]]:
        """The steps that lead from the older schema to the newer one."""
        return Pending(self._calls, lambda: self._changes.schema_steps)

    def documents(self) -> "AsyncItems[dict[str, Json]]":
        """Return the changes one by one, each as JSON."""
        return AsyncItems(self._calls, self._changes.documents, most=MANY)

    async def summary(self) -> "dict[str, Json]":
        """Return everything but the rows as JSON: versions, counts and schema steps."""
        return await self._calls.run(self._changes.summary)

    async def to_json(self) -> "dict[str, Json]":
        """Return all changes as JSON."""
        return await self._calls.run(self._changes.to_json)


def blocking_changes(compared: "Mapping[str, Any] | None") -> "Mapping[str, Any] | None":
    """Return changes by their titles, as a report that is made in a thread reads them."""
    if compared is None:
        return None
    return {
        title: each.blocking if isinstance(each, AsyncChangeSet) else each
        for title, each in compared.items()
    }


@dataclass(frozen=True, slots=True)
class AsyncCommitChanges:
    """What one commit of a branch changed; its id is the cursor to continue from."""

    commit: Commit
    changes: AsyncChangeSet

    @property
    def cursor(self) -> str:
        return self.commit.id


def changes_of(calls: Calls, each: CommitChanges) -> AsyncCommitChanges:
    """Return what a commit changed, to be read as it is awaited."""
    return AsyncCommitChanges(each.commit, AsyncChangeSet(calls, each.changes))


class AsyncBlock(Generic[T, H]):
    """An `async with` block over one that blocks at its ends; `wrap` is what it hands over.

    Neither end is broken off at once when its task is cancelled: what a server began would stay
    open, and nobody could say whether it was done. It is waited for a while.
    """

    def __init__(
        self,
        calls: Calls,
        begin: Callable[[], AbstractContextManager[H]],
        wrap: Callable[[H], T],
    ) -> None:
        self._calls = calls
        self._begin = begin
        self._wrap = wrap
        self._begun: AbstractContextManager[H] | None = None

    async def __aenter__(self) -> T:
        try:
            call = Call()
            return self._wrap(await self._calls.run_in(call, partial(self._enter, call)))
        except BaseException as error:
            # Whoever is cancelled meanwhile leaves nothing that was begun.
            if self._begun is not None:
                await self.__aexit__(type(error), error, error.__traceback__)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        assert self._begun is not None
        call = Call()
        call.completes = True
        return await self._calls.run_in(call, partial(self._begun.__exit__, kind, error, trace))

    def _enter(self, call: Call) -> H:
        # Before its turn comes, a call may still be given up.
        call.completes = True
        block = self._begin()
        entered = block.__enter__()
        self._begun = block
        return entered


class AsyncWatch(AsyncItems[AsyncCommitChanges]):
    """What each commit changes as it comes; no thread is held while there is nothing new.

    A step that is cancelled loses nothing: the next one looks again behind the last commit.
    """

    def __init__(self, calls: Calls, look: "Callable[[], Looks]") -> None:
        super().__init__(calls, lambda: iter(()))
        self._look = look
        self._begun: Looks | None = None
        self._looks = AsyncItems(calls, self._begin)

    async def __anext__(self) -> AsyncCommitChanges:
        try:
            async for found in self._looks:
                if isinstance(found, CommitChanges):
                    assert self._begun is not None
                    self._begun.cursor = found.cursor
                    return changes_of(self._calls, found)
                await asyncio.sleep(found)
        except asyncio.CancelledError:
            # What the look had found that was broken off is handed out to nobody.
            self._looks = AsyncItems(self._calls, self._begin)
            raise
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop watching."""
        await self._looks.aclose()

    def _begin(self) -> "Iterator[CommitChanges | float]":
        if self._begun is None:
            self._begun = self._look()
        return iter(self._begun)
