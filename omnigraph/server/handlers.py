"""Handlers: an operation is run and its result becomes an answer; most by `perform`."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from omnigraph import __version__
from omnigraph.api.local.queries import prepare
from omnigraph.api.operation import ARROW, JSON, LINES, TEXT, Operation, Shape, named_or_main
from omnigraph.api.operations.algorithms import RunAlgorithm, WriteAlgorithm
from omnigraph.api.operations.branches import MergeBranch
from omnigraph.api.operations.changes import GetDiff, ListChanges, WatchChanges
from omnigraph.api.operations.maintenance import OptimizeBranch
from omnigraph.api.operations.queries import InvokeQuery
from omnigraph.api.operations.read import ExportRows, GetBlob, GetSchema, ReadRows
from omnigraph.api.operations.write import EmbedAgain, Ingest, Load, Mutate, Resolve
from omnigraph.errors import Json, OmniGraphError
from omnigraph.merge.compare.change_set import ChangeSet, CommitChanges
from omnigraph.server.answers.blobs import blob
from omnigraph.server.call import (
    Answer,
    Handler,
    ServedBackend,
    ServerCall,
    WholeAnswer,
    WriteTurns,
    json_answer,
)
from omnigraph.server.feed import EVENTS, ChangeFeed, Feed
from omnigraph.server.monitoring.metrics import MEDIA_TYPE
from omnigraph.server.refusal import Refusal
from omnigraph.spark.choice import engine_for_request
from omnigraph.storage.layout import NEWEST_FORMAT

_CHANGES_AT_A_TIME = 500
_BYTES_AT_A_TIME = 256 << 10


class ServerShape(Shape, frozen=True, kw_only=True):
    """What the server is, the newest format of graphs that it knows, and where to look."""

    name: str
    version: str
    format_version: int
    openapi: str
    health: str


class HealthShape(Shape, frozen=True, kw_only=True):
    """The server answers.

    `reload_failing` names what could not be read again, so that the old one is in force: `tokens`,
    `policy` or `revision`. Of a deployment there is its revision, and how many graphs it has.
    """

    status: Literal["ok"]
    version: str
    format_version: int
    reload_failing: list[str]
    revision: int | UnsetType = UNSET
    graphs: int | UnsetType = UNSET
    graphs_out_of_service: int | UnsetType = UNSET


class ListedGraphShape(Shape, frozen=True, kw_only=True):
    """A graph of a deployment, where it is served, and whether it can be opened."""

    id: str
    path: str
    in_service: bool


class GraphsShape(Shape, frozen=True, kw_only=True):
    """The graphs of a deployment that the actor may see, and the revision that serves."""

    graphs: list[ListedGraphShape]
    revision: int | None


def about(_: ServerCall) -> Answer:
    """Tell what this is, and where it is described."""
    return json_answer(
        {
            "name": "omnigraph-server",
            "version": __version__,
            "format_version": NEWEST_FORMAT,
            "openapi": "/openapi.json",
            "health": "/healthz",
        }
    )


def health(call: ServerCall) -> Answer:
    """Tell that the server answers, and whether it works with old tokens or an old policy."""
    failing: list[Json] = [*sorted(call.about.metrics.failing)]
    return json_answer(
        {
            "status": "ok",
            "version": __version__,
            "format_version": NEWEST_FORMAT,
            "reload_failing": failing,
            **call.overview.health(),
        }
    )


def ready(call: ServerCall) -> Answer:
    """Tell that the graph can be read; a Refusal when it cannot."""
    try:
        call.overview.check_ready()
    except OmniGraphError:
        raise Refusal(503, "not_ready", "the graph cannot be read now") from None
    return health(call)


def graphs(call: ServerCall) -> Answer:
    """List the graphs of a deployment that the actor may see."""
    return json_answer(call.overview.listed(call.actor))


def metrics(call: ServerCall) -> Answer:
    """Return what the server counts."""
    about = call.about
    counted = about.metrics.with_others(about.others())
    return WholeAnswer(counted.text().encode(), MEDIA_TYPE)


def openapi(call: ServerCall) -> Answer:
    """Return the OpenAPI document of the server."""
    return WholeAnswer(call.about.openapi())


def perform(call: ServerCall) -> Answer:
    """Run an operation and answer with its document.

    Of a repeated request, errors that say that it was done before mean success.
    """
    operation, keyed = call.operation, call.keyed
    if keyed is not None:
        operation = operation.keyed(keyed.name_for(call.backend.actor))
    try:
        options = replace(call.options, engine=engine_of(operation, call.rows_size))
        with turn_of(call.turns, operation):
            result = call.backend.run(operation, options)
    except operation.settled_by as done:
        if keyed is None or not keyed.repeats:
            raise
        result = operation.settled(call.backend, done)
    answer = operation.answer(result, call.backend)
    branch = operation.changed_branch(answer)
    if branch is not None and not call.may_read(branch):
        answer = operation.redacted(answer)
    return json_answer(answer)


def read(call: ServerCall) -> Answer:
    """Run a read: rows as JSON or as Arrow while they are made, a plan or a profile."""
    operation: ReadRows = call.operation
    if operation.mode == "explain" or (operation.mode == "profile" and call.accept != ARROW):
        return perform(call)
    return rows(call)


def rows(call: ServerCall) -> Answer:
    """Send rows as JSON or as Arrow, while they are made."""
    operation: ReadRows | RunAlgorithm = call.operation
    found = call.backend.run(operation, call.options)
    if call.accept == ARROW:
        return call.rows(found.to_ipc(), ARROW)
    head: dict[str, Json] = {
        **operation.head(found.query_name),
        "graph_commit_id": found.commit,
        "row_count": found.count,
        "columns": [*found.columns],
    }
    return call.rows(_listed(head, "rows", found.to_json()), JSON)


def invoke(call: ServerCall) -> Answer:
    """Run a stored query, and answer as to a read or a mutation."""
    found = prepare(call.backend.access, call.operation, call.options)
    backend = ServedBackend(found.access)
    return (perform if found.query.changes else read)(
        replace(call, served=backend, operation=found.operation, pinned=found.pinned)
    )


def export(call: ServerCall) -> Answer:
    """Send rows as JSON lines, while they are read."""
    return call.export(call.backend.run(call.operation, call.options), LINES)


def schema(call: ServerCall) -> Answer:
    """Send a schema: as JSON, or as it is for those who accept plain text."""
    if call.accept != TEXT:
        return perform(call)
    text = call.backend.run(call.operation, call.options).source
    return WholeAnswer(text.encode(), f"{TEXT}; charset=utf-8")


def diff(call: ServerCall) -> Answer:
    """Send net changes, while they are read."""
    operation: GetDiff = call.operation
    if operation.stat:
        return perform(call)
    found = call.backend.run(operation, call.options)
    return call.export(_listed(operation.head(found), "changes", _change_parts(found)), JSON)


def changes(call: ServerCall) -> Answer:
    """Send what the next commits changed, while it is read."""
    operation: ListChanges = call.operation
    head, shown = operation.page(call.backend.run(operation, call.options))
    return call.export(_listed(head, "commits", _commit_parts(shown)), JSON)


def watch(call: ServerCall) -> Answer:
    """Send what commits change as events, while they come."""
    feed = ChangeFeed(call.backend, call.operation, call.options)
    if not call.operation.follow:
        return call.export(feed.rest(), EVENTS)
    return Feed(feed.look(), feed.look)


HANDLERS: Mapping[type[Operation[Any]], Handler] = {
    ReadRows: read,
    InvokeQuery: invoke,
    RunAlgorithm: rows,
    ExportRows: export,
    GetSchema: schema,
    GetBlob: blob,
    GetDiff: diff,
    ListChanges: changes,
    WatchChanges: watch,
}


def turn_of(turns: WriteTurns, operation: Operation[Any]) -> AbstractContextManager[None]:
    """Let changes of a branch come one after another, so that none has to be run again."""
    if isinstance(operation, Mutate | Resolve | WriteAlgorithm):
        return turns.of(named_or_main(operation.branch))
    return nullcontext()


def engine_of(operation: Operation[Any], size: int | None) -> str | None:
    """Return who does much work: Spark if it runs already, for nobody waits until it has started.

    `size` is how many bytes of rows came with it, if any did.
    """
    if not isinstance(operation, Load | Ingest | EmbedAgain | MergeBranch | OptimizeBranch):
        return None
    return engine_for_request(size)


def _listed(head: dict[str, Json], name: str, members: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a document whose last field is a list that is made some members at a time."""
    yield msgspec.json.encode(head)[:-1] + b',"%s":[' % name.encode()
    yield from members
    yield b"]}"


def _commit_parts(found: list[CommitChanges]) -> Iterator[bytes]:
    for number, each in enumerate(found):
        yield b"," if number else b""
        yield from _listed(each.summary(), "changes", _change_parts(each.changes))


def _change_parts(found: ChangeSet) -> Iterator[bytes]:
    """Yield the changes as the members of a JSON list."""
    made: list[bytes] = []
    size, before = 0, b""
    for each in found.documents():
        made.append(msgspec.json.encode(each))
        size += len(made[-1])
        if len(made) >= _CHANGES_AT_A_TIME or size >= _BYTES_AT_A_TIME:
            yield before + b",".join(made)
            made, size, before = [], 0, b","
    if made:
        yield before + b",".join(made)
