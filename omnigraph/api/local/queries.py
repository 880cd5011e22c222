"""Queries: stored queries of a graph at hand, each found and run if the policy allows it."""

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from omnigraph.api.access import Access
from omnigraph.api.backend import CallOptions
from omnigraph.api.local.places import Functions, snapshot_of
from omnigraph.api.local.reads import read_rows
from omnigraph.api.local.writes import mutate
from omnigraph.api.operations.queries import GetQuery, InvokeQuery, ListQueries
from omnigraph.api.operations.read import ReadRows
from omnigraph.api.operations.write import Mutate
from omnigraph.errors import DeniedError, InputError
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import Action
from omnigraph.query.compile import AcceptedSchema
from omnigraph.query.stored import QueryDescription, StoredQuery, unknown_query
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.receipt import Receipt

if TYPE_CHECKING:
    from omnigraph.data.result import ResultStream


@dataclass(frozen=True, slots=True)
class Invocation:
    """A stored query that may be run: as what, by whose access, and on which snapshot."""

    access: Access
    operation: ReadRows | Mutate
    query: StoredQuery
    snapshot: Snapshot

    @property
    def pinned(self) -> Snapshot | None:
        """The snapshot that a read reads; a mutation reads where its branch stands."""
        return self.snapshot if isinstance(self.operation, ReadRows) else None


def list_queries(
    access: Access, operation: ListQueries, options: CallOptions
) -> list[QueryDescription]:
    """Return the stored queries that the actor may run; without a policy all that are exposed."""
    found = []
    for name, query in sorted(access.queries.items()):
        if not query.is_exposed or not access.has_role(query.roles):
            continue
        snapshot = _pin_listed(access.invoking(name), operation, options)
        if snapshot is not None:
            found.append(query.describe(_schema(snapshot)))
    return found


def get_query(access: Access, operation: GetQuery, options: CallOptions) -> QueryDescription:
    """Return what a stored query takes and returns; one that may not be run is not there."""
    query, snapshot = _find(access, operation, options)
    return query.describe(_schema(snapshot))


def prepare(access: Access, operation: InvokeQuery, options: CallOptions) -> Invocation:
    """Return how a stored query is run; one that the actor may not run is not there.

    A read needs no other right, so that an actor can be limited to some queries. A mutation needs
    the right to change the branch as well.
    """
    query, snapshot = _find(access, operation, options)
    if not query.changes and (operation.expect is not None or operation.message is not None):
        raise InputError(f"'{query.name}' is a read; 'message' and 'expect' are for changes")
    as_owner = access if query.changes else access.under(None, access.actor)
    return Invocation(as_owner, operation.operation_on(query), query, snapshot)


def invoke_query(
    access: Access, operation: InvokeQuery, options: CallOptions
) -> "ResultStream | Receipt":
    """Run a stored query."""
    found = prepare(access, operation, options)
    given = replace(options, source=found.query.source, pinned=found.pinned)
    if isinstance(found.operation, Mutate):
        return mutate(found.access, found.operation, given)
    rows: Any = read_rows(found.access, found.operation, given)
    return rows  # type: ignore[no-any-return]


def _find(
    access: Access, operation: GetQuery | InvokeQuery, options: CallOptions
) -> tuple[StoredQuery, Snapshot]:
    """Return a stored query and what it is run on.

    The policy is asked before the query is looked up: what it denies and what is not there are
    told in the same words.
    """
    try:
        snapshot = _pin(access, operation.name, operation.place, options)
    except DeniedError:
        raise unknown_query(operation.name) from None
    query = access.queries.get(operation.name)
    if query is None or not access.has_role(query.roles):
        raise unknown_query(operation.name)
    return query, snapshot


def _pin_listed(access: Access, operation: ListQueries, options: CallOptions) -> Snapshot | None:
    """Pin what a query is described by; None for one that is not listed.

    One that may be run elsewhere alone is described by the place as well, if the actor may read it.
    """
    with suppress(DeniedError):
        return snapshot_of(access, operation.place, options, Action.INVOKE_QUERY)
    policy = access.policy if operation.anywhere else None
    if policy is None or not policy.somewhere(access.actor, Action.INVOKE_QUERY, access.query):
        return None
    with suppress(DeniedError):
        return snapshot_of(access, operation.place, options)
    return access.pin_newest(Action.INVOKE_QUERY)


def _pin(access: Access, name: str, place: str, options: CallOptions) -> Snapshot:
    return snapshot_of(access.invoking(name), place, options, Action.INVOKE_QUERY)


def _schema(snapshot: Snapshot) -> AcceptedSchema:
    return AcceptedSchema(snapshot.commit.schema, snapshot.catalog)


FUNCTIONS: Functions = {
    ListQueries: list_queries,
    GetQuery: get_query,
    InvokeQuery: invoke_query,
}
