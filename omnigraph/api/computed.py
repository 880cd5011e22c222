"""Computed: the rows of an algorithm, which can become a property of nodes."""

from collections.abc import Callable
from dataclasses import field
from typing import Protocol

from omnigraph.data.result import Result
from omnigraph.frozen import dataclass
from omnigraph.write.receipt import Receipt


class Placed(Protocol):
    """A handle on a branch or a commit."""

    @property
    def place(self) -> str:
        """The name of the branch, or the id of the commit."""


@dataclass(frozen=True, slots=True, repr=False)
class AlgorithmResult(Result):
    """The rows of an algorithm, by id; `write_to` makes them a property of the nodes."""

    _write: "Callable[..., Receipt]" = field(kw_only=True, repr=False, compare=False)

    def write_to(
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
        return self._write(branch, property=property, message=message, expect=expect)
