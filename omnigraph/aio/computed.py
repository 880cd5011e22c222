"""Computed: the rows of an algorithm, whose writing is awaited."""

from dataclasses import field
from typing import Self

from omnigraph.aio.calls import Calls
from omnigraph.api.computed import AlgorithmResult, Placed
from omnigraph.data.result import Result
from omnigraph.frozen import dataclass
from omnigraph.write.receipt import Receipt


@dataclass(frozen=True, slots=True, repr=False)
class AsyncAlgorithmResult(Result):
    """The rows of an algorithm, by id; `await write_to` makes them a property of the nodes."""

    _calls: Calls = field(kw_only=True, repr=False, compare=False)
    _found: AlgorithmResult = field(kw_only=True, repr=False, compare=False)

    @classmethod
    def of(cls, calls: Calls, found: AlgorithmResult) -> Self:
        """Return the rows that a blocking handle has."""
        return cls(found.query_name, found.table, found.commit, _calls=calls, _found=found)

    async def write_to(
        self,
        branch: str | Placed,
        property: str,  # noqa: A002 - the word of the schema
        *,
        message: str | None = None,
        expect: str | None = None,
    ) -> Receipt:
        """Write the values to a property of the nodes of a branch, as one commit.

        Nodes that are not on the branch are left out. When all have their value already, there is
        no commit. Raises InputError unless each type has the property with a fitting type.
        """
        write = self._found.write_to
        return await self._calls.run(write, branch, property, message=message, expect=expect)
