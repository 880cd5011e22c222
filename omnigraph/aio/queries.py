"""Queries: the stored queries of a branch or commit, each an async function of its parameters."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from omnigraph.aio.calls import Calls, Pending
from omnigraph.api.queries import Queries
from omnigraph.query.stored import QueryDescription
from omnigraph.write.receipt import Receipt

if TYPE_CHECKING:
    from omnigraph.data.result import Result


class AsyncQueries:
    """The stored queries that the actor may run here; `await queries["name"](key=value)`."""

    def __init__(self, calls: Calls, queries: Queries) -> None:
        self._calls = calls
        self._queries = queries

    def __getitem__(self, name: str) -> "AsyncQueryFunction":
        """Return a stored query, which is looked up when it is used."""
        return AsyncQueryFunction(self._calls, self._queries, name)

    async def __aiter__(self) -> AsyncIterator[str]:
        for each in await self.describe():
            yield each.name

    async def describe(self) -> list[QueryDescription]:
        """Return what each stored query takes and returns."""
        return await self._calls.run(self._queries.describe)


class AsyncQueryFunction:
    """A stored query: called with its parameters, its `Result` or `Receipt` is awaited."""

    def __init__(self, calls: Calls, queries: Queries, name: str) -> None:
        self._calls = calls
        self._queries = queries
        self._name = name

    def __repr__(self) -> str:
        return f"AsyncQueryFunction({self._name!r})"

    @property
    def about(self) -> Pending[QueryDescription]:
        """What the query takes and returns; raises QueryNotFoundError when it is not there."""
        return Pending(self._calls, lambda: self._queries[self._name].about)

    async def __call__(self, /, **params: object) -> "Result | Receipt":
        """Run the query; keywords are its parameters."""
        return await self._calls.run(lambda: self._queries[self._name](**params))
