"""Algorithms: operations that compute something of nodes, to see it or as a property of them."""

from typing import Any, Generic, Literal

from omnigraph.api.backend import Backend
from omnigraph.api.operation import (
    ARROW,
    Document,
    Key,
    Operation,
    R,
    Work,
    ask,
    named_or_main,
    post,
)
from omnigraph.api.operations.read import ReadRows, RowsShape
from omnigraph.api.operations.write import Mutate, ReceiptShape
from omnigraph.errors import Json
from omnigraph.policy.actions import Action
from omnigraph.write.receipt import Receipt

# Those of the fields that say where an operation reads and writes, and not what it computes.
_ABOUT = ("name", "branch", "snapshot", "property", "message", "expect")


class AlgorithmOperation(Operation[R], Generic[R], frozen=True, kw_only=True):
    """An algorithm, the part of a graph that it runs on, and its settings."""

    work = Work.QUERY

    name: Key
    edges: list[str] | None = None
    types: list[str] | None = None
    direction: Literal["out", "in", "both"] | None = None
    weight: str | None = None
    damping: float | None = None
    tolerance: float | None = None
    method: Literal["labels", "louvain"] | None = None
    resolution: float | None = None
    samples: int | None = None
    seed: int | None = None
    limit: int | None = None
    least: float | None = None
    branch: str | None = None
    snapshot: str | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """What the algorithm is told."""
        names = (name for name in self.__struct_fields__ if name not in _ABOUT)
        return {name: getattr(self, name) for name in names}


class RunAlgorithm(AlgorithmOperation[Any], frozen=True, kw_only=True):
    """Run an algorithm on a branch or commit; the result is a `ResultStream`, by id."""

    endpoint = ask("/algorithms/{name}", "algorithm", RowsShape, "AlgorithmBody", also=(ARROW,))

    @property
    def place(self) -> str:
        """The branch, commit or tag; `main` when none is named."""
        return self._read.place

    @property
    def _read(self) -> ReadRows:
        return ReadRows(query_source="", branch=self.branch, snapshot=self.snapshot)

    def head(self, query_name: str) -> dict[str, Json]:
        """Return what every answer begins with: the algorithm, and what was read."""
        return self._read.head(query_name)

    def answer(self, result: Any, backend: Backend) -> dict[str, Json]:  # noqa: ANN401
        return self._read.answer(result, backend)


class WriteAlgorithm(AlgorithmOperation[Receipt], frozen=True, kw_only=True):
    """Write what an algorithm computes to a property of the nodes of a branch, as one commit.

    It runs on the branch, or on the commit, tag or branch that `snapshot` names.
    """

    endpoint = post(
        "/algorithms/{name}/write",
        "write_algorithm",
        Action.CHANGE,
        ReceiptShape,
        "WriteAlgorithmBody",
        errors=(404, 409),
    )
    result_type = Receipt

    property: Key
    message: str | None = None
    expect: str | None = None

    def changed_branch(self, answer: Document) -> str | None:
        return named_or_main(self.branch)

    def answer(self, result: Receipt, backend: Backend) -> dict[str, Json]:
        return result.to_answer()

    def redacted(self, answer: dict[str, Any]) -> dict[str, Json]:
        return Mutate(query_source="").redacted(answer)


OPERATIONS = (RunAlgorithm, WriteAlgorithm)
