"""Operation: a request as a value: its fields, its route, and how its result travels."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from functools import cache
from itertools import islice
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct

from omnigraph.errors import InputError, Json, OmniGraphError, UnavailableError
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import Action
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.ulid import is_ulid

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
LINES = "application/x-ndjson"
TEXT = "text/plain"
BYTES = "application/octet-stream"
Key = Annotated[str, Meta(min_length=1, max_length=1_000)]
# How many members of a list an answer holds at most; None is for all, and never sent.
if TYPE_CHECKING:
    Count = int | None
else:
    Count = Annotated[int, Meta(ge=1, le=10_000)]
Document = Mapping[str, Any]
R = TypeVar("R")
_Item = TypeVar("_Item")

_IN_PATH = re.compile(r"{(\w+)(?::path)?}")
# The field of a load that holds its rows; as a stream of lines they are all of the body.
_ROWS = "data"
# Texts whose problems are told elsewhere, with more words.
_ANY_TEXT = ("query_source", "schema_source", "message")


def check_fields(operation: "Operation[Any]") -> None:
    """Raise InputError for a field that holds something of another type than it is declared with.

    A server decodes requests strictly; a handle at hand is given whatever Python has.
    """
    for each, name, kinds, takes_null in _checked_fields(type(operation)):
        value = getattr(operation, name)
        if value is None and takes_null:
            continue
        # An age is a text in a request, and a timedelta at hand.
        if type(value) not in kinds and not _is_of(value, (*kinds, timedelta)):
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise InputError(f"'{each.encode_name}' is a {wanted}, not a {type(value).__name__}")
        if isinstance(value, (str, list)) and name not in _ANY_TEXT:
            for text in [value] if isinstance(value, str) else value:
                _check_text(each.encode_name, text)


def _is_of(value: object, kinds: tuple[type, ...]) -> bool:
    """Return whether a value is of one of some types; a whole number is a number, a flag none."""
    fitting = (*kinds, int) if float in kinds else kinds
    return isinstance(value, fitting) and (not isinstance(value, bool) or bool in kinds)


@cache
def _checked_fields(
    kind: "type[Operation[Any]]",
) -> tuple[tuple[msgspec.structs.FieldInfo, str, tuple[type, ...], bool], ...]:
    """Return the fields that are checked, with their names and types, and whether they may be None.

    To find them out anew would take longer than to read a row.
    """
    found = ((each, _kinds_of(each.type)) for each in msgspec.structs.fields(kind))
    return tuple(
        (each, each.name, kinds, _takes_null(each.type))
        for each, kinds in found
        if kinds is not None and each.name != _ROWS
    )


def _takes_null(declared: Any) -> bool:  # noqa: ANN401 - a type
    """Whether a field may be None; so may each number of members, of a graph at hand."""
    is_union = get_origin(declared) in (Union, UnionType)
    return type(None) in get_args(declared) if is_union else _kinds_of(declared) == (int,)


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str | dict):
        raise InputError(f"'{name}' holds a {type(text).__name__}")
    if (
        isinstance(text, str)
        and not text.isascii()
        and any("\ud800" <= char <= "\udfff" for char in text)
    ):
        raise InputError(f"'{name}' contains invalid Unicode")


@cache
def _kinds_of(declared: Any) -> tuple[type, ...] | None:  # noqa: ANN401 - a type
    """Return the plain types that a declaration means; None for one that takes anything."""
    origin = get_origin(declared)
    if origin is Annotated:
        return _kinds_of(get_args(declared)[0])
    if origin is Literal:
        return (str,)
    if origin in (list, dict):
        return (origin,)
    if origin in (Union, UnionType):
        found = [_kinds_of(each) for each in get_args(declared) if each is not type(None)]
        every = [kind for each in found if each is not None for kind in each]
        return None if None in found else tuple(dict.fromkeys(every))
    return (declared,) if declared in (str, int, float, bool) else None


class Audience(StrEnum):
    """Who may send requests about which no policy is asked."""

    ANYBODY = "anybody"
    ACTORS = "actors"


class Work(StrEnum):
    """Kinds of work that have a budget of their own."""

    QUERY = "query"
    LOAD = "load"
    MERGE = "merge"
    EXPORT = "export"
    CHANGES = "changes"
    WRITE = "write"


class Shape(Struct, frozen=True, kw_only=True):
    """A JSON object of an answer, for the OpenAPI document and those who write clients.

    In the document it has its name without `Shape`.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where an operation is served, who may send it, and what it answers.

    `body` names the schema of the body in the OpenAPI document. `also` are further media types of
    the answer. Whoever may do one of `suffices` is let through to the operation as well: part of
    what it can ask for needs no more. With `takes_lines` the body can be a stream of JSON lines.
    """

    method: str
    path: str
    name: str
    guard: Action | Audience
    answer: type[Shape] | str
    body: str = ""
    needs_body: bool = True
    takes_lines: bool = False
    also: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    writes: bool = False
    suffices: tuple[Action, ...] = ()


def get(
    path: str,
    name: str,
    answer: type[Shape] | str,
    *,
    guard: Action = Action.READ,
    errors: tuple[int, ...] = (404,),
    also: tuple[str, ...] = (),
) -> Endpoint:
    """Return an endpoint that reads what its path and query string name."""
    return Endpoint(
        method="GET", path=path, name=name, guard=guard, answer=answer, errors=errors, also=also
    )


def ask(path: str, name: str, answer: type[Shape] | str, body: str, **more: Any) -> Endpoint:  # noqa: ANN401
    """Return an endpoint that reads what its body asks for."""
    return replace(get(path, name, answer, **more), method="POST", body=body)


def post(
    path: str,
    name: str,
    guard: Action,
    answer: type[Shape],
    body: str = "",
    **more: Any,  # noqa: ANN401
) -> Endpoint:
    """Return an endpoint that changes something."""
    about = Endpoint(method="POST", path=path, name=name, guard=guard, answer=answer, body=body)
    return replace(about, **{"errors": (404, 409), "writes": True, **more})


def delete(path: str, name: str, guard: Action, answer: type[Shape]) -> Endpoint:
    """Return an endpoint that removes what its path names."""
    return replace(post(path, name, guard, answer), method="DELETE")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """An operation as HTTP sends it."""

    method: str
    path: str
    query: Mapping[str, Any]
    body: dict[str, Any] | None


class SentFields(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fields of an operation that travel together; a field that is not known is an error."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The fields of an operation by where they travel: in the path, the query or the body.

    `lines` is what the query string holds when the body is a stream of JSON lines.
    """

    path: tuple[str, ...]
    query: type[SentFields]
    body: type[SentFields] | None = None
    lines: type[SentFields] | None = None


class Operation(Struct, Generic[R], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request with all that is asked for; `R` is what Python gets.

    An operation without an `endpoint` works where the graph is, and not through a server. Its
    `result_type` reads an answer with `from_json`; without one the result is None. Errors of
    `settled_by` tell a repeated request that the operation was done before. `work` names the budget
    of its time and memory.
    """

    endpoint: ClassVar[Endpoint | None] = None
    work: ClassVar[Work] = Work.WRITE
    result_type: ClassVar[Any] = None
    settled_by: ClassVar[tuple[type[OmniGraphError], ...]] = ()

    @property
    def writes(self) -> bool:
        """Whether a request changes something: one that is a preview does not."""
        return served(type(self)).writes

    def encode(self) -> HttpRequest:
        """Return the request that a server decodes to this operation."""
        endpoint = served(type(self))
        values = {each.name: getattr(self, each.name) for each in msgspec.structs.fields(self)}
        names = {each.name: each.encode_name for each in msgspec.structs.fields(self)}
        path = _IN_PATH.sub(lambda found: quote(values.pop(found[1]), safe=""), endpoint.path)
        rest = {names[name]: each for name, each in values.items() if each is not None}
        if parts_of(type(self)).body is None:
            return HttpRequest(endpoint.method, path, rest, None)
        return HttpRequest(endpoint.method, path, {}, rest)

    @classmethod
    def decode(cls, *sent: Mapping[str, Any] | Struct | None) -> Self:
        """Return the operation of the names in a path and of the fields that were sent."""
        found: dict[str, Any] = {}
        for each in sent:
            if each is not None:
                found |= msgspec.structs.asdict(each) if isinstance(each, Struct) else each
        return cls(**found)

    def answer(self, result: R, backend: Any) -> dict[str, Json]:  # noqa: ANN401 - a Backend
        """Return the JSON document with which a server answers."""
        found: dict[str, Json] = result.to_json()  # type: ignore[attr-defined]
        return found

    def result(self, answer: Document, backend: Any) -> R:  # noqa: ANN401 - a Backend
        """Return the result that the document of an answer holds."""
        return cast(R, self.result_type and self.result_type.from_json(answer))

    def changed_branch(self, answer: Document) -> str | None:
        """Return the branch of which an answer shows rows or commits, if it does so by a change."""
        return None

    def redacted(self, answer: dict[str, Any]) -> dict[str, Json]:
        """Return an answer without what only those may see who may read the changed branch."""
        return answer

    def settled(self, backend: Any, error: OmniGraphError) -> R:  # noqa: ANN401 - a Backend
        """Return the result of what was done before, as an error of `settled_by` says."""
        return None  # type: ignore[return-value]

    def keyed(self, name: str) -> Self:
        """Return the operation of a request whose idempotency key has a name of its own."""
        return self

    def resumed(self, last: str) -> Self:
        """Return the operation that goes on behind the last event of an earlier answer."""
        return self

    def may_change(self, backend: Any) -> bool:  # noqa: ANN401 - a LocalBackend
        """Return whether an operation that writes in general can do so this time."""
        return True

    def unavailable(self) -> UnavailableError:
        """Return why a server does not do this."""
        hint = "run it where the graph itself is"
        return UnavailableError(f"a server does not do '{type(self).__name__}'", hint=hint)


class PlaceOperation(Operation[R], Generic[R], frozen=True, kw_only=True):
    """An operation that reads a branch, or a commit or tag."""

    branch: str | None = None
    snapshot: str | None = None

    @property
    def place(self) -> str:
        """The branch, commit or tag; `main` when none is named."""
        if self.snapshot is None:
            return MAIN if self.branch is None else self.branch
        if self.branch is not None:
            raise InputError(
                "a branch and a snapshot exclude each other", hint="leave one of them out"
            )
        return self.snapshot


def page_of(
    every: Iterable[_Item], limit: int | None, cursor_of: Callable[[_Item], str]
) -> tuple[list[_Item], str | None]:
    """Return the first items, and behind which one the list goes on; None when it does not."""
    found = list(islice(every, None if limit is None else limit + 1))
    shown = found[:limit]
    return shown, cursor_of(shown[-1]) if len(found) > len(shown) else None


def named_or_main(*names: str | None) -> str:
    """Return the first name that is given, `main` when none is; an empty name is one, and wrong."""
    return next((name for name in names if name is not None), MAIN)


def place_fields(place: str) -> dict[str, Any]:
    """Return a branch or a commit as the fields of an operation name it."""
    if not isinstance(place, str):
        raise InputError(f"a branch or a commit is named by a str, not a {type(place).__name__}")
    return {"snapshot" if is_ulid(place) else "branch": place}


def served(kind: type[Operation[Any]]) -> Endpoint:
    """Return the endpoint of an operation that has one."""
    assert kind.endpoint is not None
    return kind.endpoint


@cache
def parts_of(kind: type[Operation[Any]]) -> Parts:
    """Return where the fields of an operation travel."""
    endpoint = served(kind)
    path = tuple(_IN_PATH.findall(endpoint.path))
    rest = [each for each in msgspec.structs.fields(kind) if each.name not in path]
    about = kind.__doc__ or ""
    if not endpoint.body:
        return Parts(path, _fields(f"{kind.__name__}Query", about, rest))
    lines = [each for each in rest if each.name != _ROWS]
    return Parts(
        path,
        NO_PARTS.query,
        _fields(endpoint.body, about, rest),
        _fields(f"{kind.__name__}Lines", about, lines) if endpoint.takes_lines else None,
    )


def _fields(name: str, about: str, fields: Iterable[msgspec.structs.FieldInfo]) -> type[SentFields]:
    kinds: list[tuple[str, Any, Any]] = []
    for each in fields:
        default = {} if each.required else {"default": each.default}
        kinds.append((each.name, each.type, msgspec.field(name=each.encode_name, **default)))
    first_line = about.partition("\n")[0]
    made = msgspec.defstruct(
        name,
        kinds,
        bases=(SentFields,),
        namespace={"__doc__": first_line},
        frozen=True,
        kw_only=True,
    )
    return cast(type[SentFields], made)


NO_PARTS = Parts((), _fields("Nothing", "No parameters.", ()))
