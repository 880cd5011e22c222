"""Handlers: an operation is run and its result becomes an answer; most by `perform`."""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from typing import Any, Literal

import msgspec

from omnigraph import __version__
from omnigraph.api.operation import ARROW, JSON, LINES, TEXT, Operation, Shape
from omnigraph.api.operations.branches import MergeBranch
from omnigraph.api.operations.changes import GetDiff, ListChanges
from omnigraph.api.operations.maintenance import OptimizeBranch
from omnigraph.api.operations.read import ExportRows, GetSchema, ReadRows
from omnigraph.api.operations.write import Ingest, Load, Mutate
from omnigraph.errors import Json, OmniGraphError
from omnigraph.merge.change_set import ChangeSet, CommitChanges
from omnigraph.server.call import Answer, Call, Handler, Stream, Whole, json_answer
from omnigraph.server.metrics import MEDIA_TYPE
from omnigraph.server.refusal import Refusal
from omnigraph.spark import session
from omnigraph.spark.choice import SPARK_FROM_BYTES
from omnigraph.versioning.names import MAIN

_CHANGES_AT_A_TIME = 500


class HealthShape(Shape, frozen=True, kw_only=True):
    """The server answers."""

    status: Literal["ok"]
    version: str


def health(_: Call) -> Answer:
    """Tell that the server answers."""
    return json_answer({"status": "ok", "version": __version__})


def ready(call: Call) -> Answer:
    """Tell that the graph can be read; a Refusal when it cannot."""
    try:
        call.backend.access.repository.manifest.newest()
    except OmniGraphError:
        raise Refusal(503, "not_ready", "the graph cannot be read now") from None
    return health(call)


def metrics(call: Call) -> Answer:
    """Return what the server counts."""
    return Whole(call.about.metrics.text().encode(), MEDIA_TYPE)


def openapi(call: Call) -> Answer:
    """Return the OpenAPI document of the server."""
    return Whole(call.about.openapi)


def perform(call: Call) -> Answer:
    """Run an operation and answer with its document.

    Of a repeated request, errors that say that it was done before mean success.
    """
    operation, keyed = call.operation, call.keyed
    if keyed is not None:
        operation = operation.keyed(keyed.name_for(call.actor))
    try:
        with call.turns.of(operation.branch or MAIN) if _takes_turns(operation) else nullcontext():
            result = call.backend.run(operation, _options(call, operation))
    except operation.settled_by as done:
        if keyed is None or not keyed.repeats:
            raise
        result = operation.settled(call.backend, done)
    return json_answer(operation.answer(result, call.backend))


def read(call: Call) -> Answer:
    """Run a read: rows as JSON or as Arrow, a plan or a profile."""
    operation: ReadRows = call.operation
    if operation.mode == "explain" or call.accept != ARROW:
        return perform(call)
    if operation.mode == "profile":
        return Whole(call.backend.run(operation, call.options).to_ipc(), ARROW)
    return Whole(b"".join(call.backend.stream(operation, call.options)), ARROW)


def export(call: Call) -> Answer:
    """Send rows as JSON lines, while they are read; the actor has to be allowed to read as well."""
    pin = call.backend.pin(call.operation.place)
    parts = call.backend.run(call.operation, replace(call.options, pinned=pin.snapshot))
    return Stream(parts, LINES)


def schema(call: Call) -> Answer:
    """Send a schema: as JSON, or as it is for those who accept plain text."""
    if call.accept != TEXT:
        return perform(call)
    text = call.backend.run(call.operation, call.options).source
    return Whole(text.encode(), f"{TEXT}; charset=utf-8")


def diff(call: Call) -> Answer:
    """Send net changes, while they are read."""
    operation: GetDiff = call.operation
    if operation.stat:
        return perform(call)
    found = call.backend.run(operation, call.options)
    return Stream(_listed(operation.head(found), "changes", _change_parts(found)), JSON)


def changes(call: Call) -> Answer:
    """Send what the next commits changed, while it is read."""
    operation: ListChanges = call.operation
    head, shown = operation.page(call.backend.run(operation, call.options))
    return Stream(_listed(head, "commits", _commit_parts(shown)), JSON)


HANDLERS: Mapping[type[Operation[Any]], Handler] = {
    ReadRows: read,
    ExportRows: export,
    GetSchema: schema,
    GetDiff: diff,
    ListChanges: changes,
}


def _takes_turns(operation: Operation[Any]) -> bool:
    """Return whether changes of a branch come one after another, so that none is run again."""
    return isinstance(operation, Mutate)


def _options(call: Call, operation: Operation[Any]) -> Any:  # noqa: ANN401
    """Return the options of a call, with Spark for much work if it runs already.

    Nobody waits until it has started.
    """
    if not isinstance(operation, Load | Ingest | MergeBranch | OptimizeBranch):
        return call.options
    size = call.rows_size
    is_worth_it = size is None or size > SPARK_FROM_BYTES
    engine = "auto" if is_worth_it and session.is_running() else "inline"
    return replace(call.options, engine=engine)


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
    rows = found.documents()
    is_first = True
    while some := list(islice(rows, _CHANGES_AT_A_TIME)):
        text = msgspec.json.encode(some)[1:-1]
        yield text if is_first else b"," + text
        is_first = False
