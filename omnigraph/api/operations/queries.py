"""Queries: operations on stored queries: which there are, what one takes, and to run it."""

from typing import Any

from msgspec import UNSET, UnsetType

from omnigraph.api.backend import Backend
from omnigraph.api.operation import (
    ARROW,
    Document,
    Key,
    PlaceOperation,
    Shape,
    Work,
    get,
    post,
)
from omnigraph.api.operations.commits import CommitShape
from omnigraph.api.operations.read import ReadRows, TargetShape
from omnigraph.api.operations.write import Mutate
from omnigraph.errors import Json
from omnigraph.policy.actions import Action
from omnigraph.query.stored import QueryDescription, StoredQuery
from omnigraph.write.receipt import Receipt


class ColumnShape(Shape, frozen=True, kw_only=True):
    """A column of the rows of a query."""

    name: str
    type: str


class QueryShape(Shape, frozen=True, kw_only=True):
    """A stored query: `params` is the JSON Schema of its parameters.

    The kind is `read` or `change`. With a `problem` it does not fit the schema of the branch.
    """

    name: str
    kind: str
    description: str | None
    instruction: str | None
    params: dict[str, Any]
    columns: list[ColumnShape]
    problem: str | None


class QueriesShape(Shape, frozen=True, kw_only=True):
    """The stored queries that the actor may run."""

    queries: list[QueryShape]


class InvokedShape(Shape, frozen=True, kw_only=True):
    """What a stored query gave: rows as `/read` answers, or a receipt as `/change` does."""

    query_name: str
    target: TargetShape | UnsetType = UNSET
    graph_commit_id: str | UnsetType | None = UNSET
    row_count: int | UnsetType = UNSET
    columns: list[str] | UnsetType = UNSET
    rows: list[dict[str, Any]] | UnsetType = UNSET
    branch: str | UnsetType = UNSET
    affected_nodes: int | UnsetType | None = UNSET
    affected_edges: int | UnsetType | None = UNSET
    inserted: int | UnsetType | None = UNSET
    updated: int | UnsetType | None = UNSET
    unchanged: int | UnsetType | None = UNSET
    deleted: int | UnsetType | None = UNSET
    actor_id: str | UnsetType | None = UNSET
    commit: str | UnsetType | None = UNSET
    operation_id: str | UnsetType | None = UNSET
    commits: dict[str, CommitShape] | UnsetType = UNSET


class ListQueries(PlaceOperation[list[QueryDescription]], frozen=True, kw_only=True):
    """Return the stored queries that the actor may run on a branch or commit.

    With `anywhere`, also those that it may run on other branches alone.
    """

    endpoint = get("/queries", "queries", QueriesShape, guard=Action.INVOKE_QUERY)

    anywhere: bool = False

    def answer(self, result: list[QueryDescription], backend: Backend) -> dict[str, Json]:
        return {"queries": [each.to_json() for each in result]}

    def result(self, answer: Document, backend: Backend) -> list[QueryDescription]:
        return [QueryDescription.from_json(each) for each in answer["queries"]]


class GetQuery(PlaceOperation[QueryDescription], frozen=True, kw_only=True):
    """Return what a stored query takes and returns on a branch or commit."""

    endpoint = get("/queries/{name}", "query", QueryShape, guard=Action.INVOKE_QUERY)
    result_type = QueryDescription

    name: Key


class InvokeQuery(PlaceOperation[Any], frozen=True, kw_only=True):
    """Run a stored query: a read on a branch or commit, a mutation as one commit of a branch.

    The result is a `ResultStream` or a `Receipt`.
    """

    work = Work.QUERY
    endpoint = post(
        "/queries/{name}",
        "invoke_query",
        Action.INVOKE_QUERY,
        InvokedShape,
        "InvokeBody",
        also=(ARROW,),
        errors=(404, 409, 502),
    )

    name: Key
    params: dict[str, Any] | None = None
    message: str | None = None
    expect: str | None = None

    def operation_on(self, query: StoredQuery) -> ReadRows | Mutate:
        """Return the read or the mutation that the stored query stands for."""
        about: dict[str, Any] = {
            "query_source": query.source.text,
            "query_name": query.name,
            "params": self.params,
            "branch": self.branch,
            "snapshot": self.snapshot,
        }
        if query.changes:
            return Mutate(**about, message=self.message, expect=self.expect)
        return ReadRows(**about)

    def may_change(self, backend: Any) -> bool:  # noqa: ANN401
        query = backend.access.queries.get(self.name)
        return query is not None and query.changes

    def answer(self, result: Any, backend: Backend) -> dict[str, Json]:  # noqa: ANN401
        if isinstance(result, Receipt):
            return result.to_answer()
        return ReadRows(query_source="", branch=self.branch, snapshot=self.snapshot).answer(
            result, backend
        )


OPERATIONS = (ListQueries, GetQuery, InvokeQuery)
