"""Http: runs operations through a server: each is sent as a request, its answer read back."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import msgspec

from omnigraph.api.backend import USUAL, CallOptions, Pin
from omnigraph.api.client import Client
from omnigraph.api.lines import is_json, lines_of, params_json, record_of, split
from omnigraph.api.operation import (
    Document,
    HttpRequest,
    Operation,
    R,
    Shape,
    check_fields,
    named_or_main,
    place_fields,
    served,
)
from omnigraph.api.operations.algorithms import RunAlgorithm
from omnigraph.api.operations.branches import ListBranches, ListTags
from omnigraph.api.operations.changes import ListChanges
from omnigraph.api.operations.commits import ListCommits
from omnigraph.api.operations.queries import InvokeQuery
from omnigraph.api.operations.read import (
    ExportRows,
    GetSchema,
    GetSnapshot,
    ReadRecords,
    ReadRows,
    catalog_at,
)
from omnigraph.api.operations.runs import ListRuns
from omnigraph.api.operations.write import Ingest, Load, Mutate
from omnigraph.errors import (
    DeniedError,
    InputError,
    MergeConflictsError,
    NotFoundError,
    RemoteError,
    UnavailableError,
    ViolationsError,
)
from omnigraph.frozen import dataclass
from omnigraph.merge.compare.change_set import CommitChanges
from omnigraph.merge.conflict import Conflict
from omnigraph.query.compile import compile_query, query_name
from omnigraph.query.params import bind_params
from omnigraph.schema.catalog import Catalog, StoredType
from omnigraph.span import Source
from omnigraph.versioning.history.retention import age_text
from omnigraph.write.receipt import Receipt

if TYPE_CHECKING:
    from omnigraph.api.profile import Explanation, Profile
    from omnigraph.data.result import ResultStream

_Query = TypeVar("_Query", ReadRows, Mutate)

_MOST_AT_A_TIME = 1_000
# Options that only a graph at hand takes, and why.
_ONLY_AT_HAND = {
    "actor": "the token says who acts",
    "budget": "a server has budgets of its own",
    "cancelled": "who ends the connection cancels what it asked for",
    "spark": "a server has its own Spark",
    "concurrency": "a server decides how many tables it works on",
    "seconds": "a server decides how long it works on something",
    "bytes": "a server decides how much memory something takes",
    "report": "a file of violations is written where the rows are checked",
    "reported": "a file of violations is written where the rows are checked",
}


@dataclass(frozen=True, slots=True)
class HttpBackend:
    """A graph that a server has; the token says who acts."""

    client: Client

    @property
    def uri(self) -> str:
        """Where the server is."""
        return self.client.url

    @property
    def actor(self) -> NoReturn:
        """Raise UnavailableError: the server knows by the token who acts, and does not say."""
        raise UnavailableError("only the server knows whose token this is")

    def acting_as(self, actor: str | None) -> NoReturn:
        """Raise UnavailableError: the server knows by the token who acts."""
        hint = "connect with the token of that actor"
        raise UnavailableError(f"a token says who acts, and not '{actor}'", hint=hint)

    def author(self, actor: str | None) -> None:
        """Raise UnavailableError for an actor: the token says who is noted with a change."""
        if actor is not None:
            self.acting_as(actor)

    def run(self, operation: Operation[R], options: CallOptions = USUAL) -> R:
        """Send an operation and return its result, or raise the error that the server had."""
        check_fields(operation)
        special = _SPECIAL.get(type(operation))
        if special is not None:
            return cast(R, special(self, operation, options))
        try:
            return operation.result(self.document(operation, options), self)
        except MergeConflictsError as refused:
            refused.conflicts = self._conflicts(refused)
            raise

    def _conflicts(self, refused: MergeConflictsError) -> tuple[Conflict, ...]:
        """Return the conflicts of a merge that a server refused, as a preview has them."""
        standing = refused.documents[0].get("ours_commit")
        try:
            catalog = None if standing is None else catalog_at(self, str(standing))
        except (DeniedError, NotFoundError):  # who may merge need not be allowed to read
            catalog = None
        return tuple(Conflict.from_json(each, catalog) for each in refused.documents)

    def document(self, operation: Operation[Any], options: CallOptions = USUAL) -> Document:
        """Send an operation and return the answer as it came."""
        request = self._request(operation, options)
        source, key = options.source, options.operation_id
        if request.method == "GET":
            found = self.client.get(request.path, **request.query)
        elif request.method == "DELETE":
            found = self.client.delete(request.path, key=key, **request.query)
        elif operation.writes:
            found = self.client.post(request.path, request.body, key=key, source=source)
        else:
            found = self.client.ask(request.path, request.body, source=source)
        return _checked(self, operation, found)

    def stream(self, operation: Operation[Any], options: CallOptions = USUAL) -> Iterator[bytes]:
        """Send an operation and return the bytes of the answer as they arrive."""
        request = self._request(operation, options)
        if isinstance(operation, ExportRows):
            return self.client.download(request.path, request.body)
        return iter([self.client.ask_arrow(request.path, request.body, source=options.source)])

    def pin(self, place: str) -> Pin:
        """Return the commit at which a branch stands, or that a tag or an id names."""
        return Pin(self.document(GetSnapshot(**place_fields(place)))["commit"])

    def close(self) -> None:
        """End the connections; later operations raise InputError."""
        self.client.close()

    def catalog(self, operation: ReadRows | ReadRecords | Mutate | Load | Ingest) -> Catalog:
        """Return the types of what an operation reads or changes."""
        place = named_or_main(getattr(operation, "snapshot", None), operation.branch)
        if isinstance(operation, Ingest):
            place = named_or_main(operation.base)
        return self.run(GetSchema(**place_fields(place))).catalog

    def _request(self, operation: Operation[Any], options: CallOptions) -> HttpRequest:
        if operation.endpoint is None:
            raise operation.unavailable()
        _refuse(options)
        if isinstance(operation, ReadRows | Mutate):
            operation = self._sendable(operation, options)
        request = operation.encode()
        body = None
        if request.body is not None:
            body = {name: _plain(name, value) for name, value in request.body.items()}
        return HttpRequest(request.method, request.path, request.query, body)

    def _sendable(self, operation: ReadRows | Mutate, options: CallOptions) -> ReadRows | Mutate:
        """Return an operation whose parameters are JSON; raise as at hand for what is no value."""
        params: Mapping[str, object] = operation.params or {}
        if not all(is_json(value) for value in params.values()):
            source = options.source or Source("<query>", operation.query_source)
            plan = compile_query(source, self.catalog(operation), operation.query_name)
            params = bind_params(plan, params)
            for name, value in params.items():
                if not is_json(value):
                    message = f"'${name}' holds NaN or infinity, which JSON cannot represent"
                    raise UnavailableError(message, hint="open the graph where it is")
        return msgspec.structs.replace(operation, params=params_json(params))


def _checked(backend: HttpBackend, operation: Operation[Any], found: object) -> Document:
    """Return an answer; raise RemoteError for that of another program, which has other fields.

    An older or newer server may have some fewer or some more.
    """
    known = _fields_of(served(type(operation)).answer)
    if not isinstance(found, dict) or (known and known.isdisjoint(found)):
        message = f"{backend.uri} does not answer as an omnigraph-server does"
        raise RemoteError(message, hint="is the address right?")
    return found


@cache
def _fields_of(answer: type[Shape] | str) -> frozenset[str]:
    """Return the names of the fields of an answer; none for one that is no document."""
    if isinstance(answer, str):
        return frozenset()
    return frozenset(each.encode_name for each in msgspec.structs.fields(answer))


def _refuse(options: CallOptions) -> None:
    """Raise UnavailableError for options that a server does not take."""
    if options.engine not in (None, "auto"):
        raise UnavailableError("a server chooses the engine", hint="leave 'engine' out")
    for name, reason in _ONLY_AT_HAND.items():
        if getattr(options, name) is not None:
            raise UnavailableError(f"'{name}' does not work through a server: {reason}")


def _plain(name: str, value: Any) -> Any:  # noqa: ANN401 - a field of any operation
    """Return a field as JSON; raise InputError for NaN and infinity, which JSON has not."""
    if isinstance(value, float) and not is_json(value):
        raise InputError(f"'{name}' is a number, not {value}")
    return age_text(value) if isinstance(value, timedelta) else value


def _with_name(operation: _Query, options: CallOptions) -> tuple[_Query, CallOptions]:
    """Return a query with the name that it has in its text, and options with that text."""
    source = options.source or Source("<query>", operation.query_source)
    named = query_name(source, operation.query_name)
    return msgspec.structs.replace(operation, query_name=named), replace(options, source=source)


def _read(
    backend: HttpBackend, operation: ReadRows, options: CallOptions
) -> "ResultStream | Explanation | Profile":
    operation, options = _with_name(operation, options)
    if operation.mode == "explain":
        return operation.result(backend.document(operation, options), backend)
    from omnigraph.api.profile import Profile
    from omnigraph.data.result import result_of

    stream = b"".join(backend.stream(operation, options))
    if operation.mode == "profile":
        return Profile.from_ipc(stream)
    return result_of(operation.query_name or "", stream).to_stream()


def _mutate(backend: HttpBackend, operation: Mutate, options: CallOptions) -> object:
    operation, options = _with_name(operation, options)
    return operation.result(backend.document(operation, options), backend)


def _invoke(backend: HttpBackend, operation: InvokeQuery, options: CallOptions) -> object:
    """Run a stored query; what it is, a read or a mutation, is seen by the answer."""
    _refuse(options)
    given: Mapping[str, object] = operation.params or {}
    for name, value in given.items():
        if not is_json(value):
            message = f"'${name}' holds what JSON cannot represent"
            hint = "give finite numbers, texts, times and lists, or open the graph where it is"
            raise UnavailableError(message, hint=hint)
    params = params_json(given)
    request = msgspec.structs.replace(operation, params=params).encode()
    found = backend.client.invoke(request.path, request.body, key=options.operation_id)
    if not isinstance(found, bytes):
        return Receipt.from_json(_checked(backend, operation, found))
    from omnigraph.data.result import result_of

    return result_of(operation.name, found).to_stream()


def _compute(backend: HttpBackend, operation: RunAlgorithm, options: CallOptions) -> "ResultStream":
    from omnigraph.data.result import result_of

    return result_of(operation.name, b"".join(backend.stream(operation, options))).to_stream()


def _upload(backend: HttpBackend, operation: Load | Ingest, options: CallOptions) -> object:
    """Send rows as a stream of lines; what is wrong with them is reported where they came from."""
    _refuse(options)
    lines = lines_of(operation.data, options.type_name, lambda: backend.catalog(operation))
    fields = dict(operation.encode().body or {})
    del fields["data"]
    for name in ("dry_run", "always"):
        fields[name] = "true" if fields[name] else None
    path = served(type(operation)).path
    try:
        key, writes = options.operation_id, operation.writes
        found = backend.client.upload(path, lines, key=key, writes=writes, **fields)
    except ViolationsError as wrong:
        raise lines.placed(wrong, options.shown) from None
    return operation.result(_checked(backend, operation, found), backend)


def _export(backend: HttpBackend, operation: ExportRows, options: CallOptions) -> Iterator[bytes]:
    return backend.stream(operation, options)


def _records(
    backend: HttpBackend, operation: ReadRecords, options: CallOptions
) -> Iterator[tuple[StoredType, Mapping[str, Any]]]:
    from omnigraph.export.network import pick_types

    # Of one commit, so that the rows are of the types that they are read by.
    commit = backend.pin(operation.place).commit_id
    operation = msgspec.structs.replace(operation, branch=None, snapshot=commit)
    catalog = backend.catalog(operation)
    names = [each.name for each in pick_types(catalog, operation.types, operation.edges)]
    if not names:
        return iter(())
    rows = ExportRows(snapshot=commit, type_names=names)
    return (record_of(line, catalog) for line in split(backend.stream(rows, options)))


def _pages(backend: HttpBackend, operation: Operation[R], options: CallOptions) -> Iterator[R]:
    """Yield a list that a server sends a page at a time."""
    limit = getattr(operation, "limit", None)
    if limit is not None:
        operation = msgspec.structs.replace(operation, limit=min(limit, _MOST_AT_A_TIME))
    while True:
        page = backend.document(operation, options)
        yield operation.result(page, backend)
        if page.get("cursor") is None:
            return
        operation = msgspec.structs.replace(operation, after=page["cursor"])


def _listed(backend: HttpBackend, operation: Operation[Any], options: CallOptions) -> object:
    """Return all members of a list: names at once, all else as it is used."""
    members = chain.from_iterable(_pages(backend, operation, options))
    return list(members) if isinstance(operation, ListBranches) else members


def _tags(backend: HttpBackend, operation: ListTags, options: CallOptions) -> dict[str, str]:
    pages = _pages(backend, operation, options)
    return {name: commit for page in pages for name, commit in page.items()}


def _changes(
    backend: HttpBackend, operation: ListChanges, options: CallOptions
) -> Iterator[CommitChanges]:
    first = backend.document(operation, options)

    def changes(page: Document) -> Iterator[CommitChanges]:
        while True:
            yield from operation.result(page, backend)
            if not page["more"]:
                return
            following = msgspec.structs.replace(operation, since=page["cursor"])
            page = backend.document(following, options)

    return changes(first)


_SPECIAL: Mapping[type[Operation[Any]], Callable[[HttpBackend, Any, CallOptions], object]] = {
    ReadRows: _read,
    Mutate: _mutate,
    InvokeQuery: _invoke,
    RunAlgorithm: _compute,
    Load: _upload,
    Ingest: _upload,
    ExportRows: _export,
    ReadRecords: _records,
    ListBranches: _listed,
    ListTags: _tags,
    ListRuns: _listed,
    ListCommits: _listed,
    ListChanges: _changes,
}
