"""Requests: the targets that read what the other end of a connection sends."""

import json
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any
from urllib.parse import urlencode

import msgspec
import pyarrow as pa

from omnigraph.api.client import error_of
from omnigraph.api.operation import Operation, check_fields
from omnigraph.api.operations.branches import MergeOperation
from omnigraph.api.profile import Profile
from omnigraph.cli.following.lines import Message
from omnigraph.cli.following.position import TopicPosition
from omnigraph.data.result import Result, result_of
from omnigraph.embedding.gemini import Gemini
from omnigraph.embedding.http import HttpEmbedder
from omnigraph.embedding.openai import OpenAI
from omnigraph.errors import OmniGraphError, QueryNotFoundError
from omnigraph.mcp.table import Cursor
from omnigraph.merge.review.page import ReviewPlace
from omnigraph.server.access.incoming import asked, decoded
from omnigraph.server.answers.blobs import _asked as asked_range
from omnigraph.server.app import _Sent as Sent
from omnigraph.server.refusal import Refusal
from omnigraph.server.routes.route import Route
from omnigraph.server.table import TABLE
from omnigraph.span import Source
from tests.fuzz.corpus import ODD
from tests.fuzz.mutation import Language, hostile_bytes, hostile_json, hostile_text
from tests.fuzz.target import Broken, Target

_ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
_CONFLICTS = [
    {"kind": "DivergentUpdate", "type_name": "P", "row_id": "a", "property": "x", "take": "ours"},
    {"type_name": "P", "row_id": "b", "property": "x", "value": 3, "message": "m"},
    {"type_name": "P", "row_id": "c", "into": "d"},
]
_SPECIAL = {"resolutions": _CONFLICTS, "types": {"P": "theirs"}, "take": "ours", "snapshot": _ULID}

_BY_NAME = {route.name: route for route in TABLE}


@cache
def _routes(part: str) -> tuple[tuple[Route, tuple[str, ...]], ...]:
    """Return the routes whose requests have a part, each with valid documents for it."""
    found = []
    for route in TABLE:
        kind = getattr(route, part)
        if kind is not None and route.operation is not None and msgspec.structs.fields(kind):
            full = {each.encode_name: _sample(each) for each in msgspec.structs.fields(kind)}
            needed = {
                each.encode_name: full[each.encode_name]
                for each in msgspec.structs.fields(kind)
                if each.required
            }
            found.append((route, tuple(map(json.dumps, (full, needed)))))
    return tuple(found)


def _sample(field: msgspec.structs.FieldInfo) -> object:
    if field.encode_name in _SPECIAL:
        return _SPECIAL[field.encode_name]
    return _value(msgspec.inspect.type_info(field.type))


def _value(kind: msgspec.inspect.Type) -> object:
    """Return a value of a type."""
    match kind:
        case msgspec.inspect.UnionType(types):
            return _value(next(e for e in types if not isinstance(e, msgspec.inspect.NoneType)))
        case msgspec.inspect.ListType(item_type=item):
            return [_value(item)]
        case msgspec.inspect.DictType(value_type=value):
            return {"a": _value(value)}
        case msgspec.inspect.LiteralType(values):
            return values[0]
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType():
            return 1
        case msgspec.inspect.BoolType():
            return True
        case _:
            return "main"


def _body(random: Random) -> tuple[str, bytes]:
    route, documents = random.choice(_routes("fields"))
    return route.name, hostile_json(random, documents).encode(errors="surrogatepass")


def _run_body(given: tuple[str, bytes]) -> None:
    route, data = _BY_NAME[given[0]], given[1]
    params = dict.fromkeys(route.parts.path, "main")
    try:
        query = asked(b"", route.query)
        operation, _ = Sent(data).operation(route, params, query)
    except Refusal as refusal:
        _check_refusal(refusal)
        return
    assert operation is not None
    _check_operation(route, operation)


def _check_operation(route: Route, operation: Operation[Any]) -> None:
    """Raise Broken unless an operation comes back from the request that sends it."""
    try:
        check_fields(operation)
        if isinstance(operation, MergeOperation):
            json.dumps(operation.chosen.to_json())
    except OmniGraphError:
        return  # such as is answered with its status
    if route.lines is not None:
        return  # its rows are a stream
    sent = operation.encode()
    json.dumps(sent.body or sent.query)
    if route.fields is None:
        return
    again = decoded(msgspec.json.encode(sent.body), route.fields)
    params = {name: getattr(operation, name) for name in route.parts.path}
    if route.operation is None or route.operation.decode(params, again) != operation:
        raise Broken("the request sends another operation")


def _check_refusal(refusal: Refusal) -> None:
    if not 400 <= refusal.status < 500 or not refusal.message:
        raise Broken(f"a bad request is answered with {refusal.status} {refusal.message}")
    json.dumps(refusal.to_json("id"))


def _query_string(random: Random) -> tuple[str, str]:
    route, documents = random.choice(_routes("query"))
    fields = json.loads(random.choice(documents))
    pairs = [(name, str(random.choice((each, *ODD)))) for name, each in fields.items()]
    text = urlencode(pairs, errors="replace")
    return route.name, hostile_text(
        random, Language((text or "a=1",), ("limit", "after"), _ESCAPES)
    )


_ESCAPES = (*"=&;+%?#", "%00", "%ff", "%zz", "&&", "=1&", "%ED%A0%80", "%F0%9F%98%80", *ODD)


def _run_query_string(given: tuple[str, str]) -> None:
    route, text = _BY_NAME[given[0]], given[1]
    try:
        query = asked(text.encode("latin-1", errors="replace"), route.query)
        params = dict.fromkeys(route.parts.path, "main")
        operation, _ = Sent().operation(route, params, query)
    except Refusal as refusal:
        _check_refusal(refusal)
        return
    assert operation is not None
    _check_operation(route, operation)


_DIGITS = ("0", "1", "7" * 12, "8" * 13, "9" * 5_000, "٣", "²", "-1", "1_0", *ODD)
_CURSORS = Language(
    (
        f"{_ULID}.{_ULID}.3.17",
        f"12~abcdef0123~{_ULID}",
        "bytes=0-99",
        "bytes=-5",
        "Loaded.\n\nKafka-Position: cluster topic 0:17 1:5",
    ),
    words=("bytes", "Kafka", _ULID, _ULID.lower()),
    signs=(*".~-:= \n", "..", "~~", *_DIGITS),
)


def _run_cursor(given: str) -> None:
    for read in (_read_review, _read_cursor, _read_range, _read_position, _read_message):
        try:
            read(given)
        except OmniGraphError:
            continue
        except Refusal as refusal:
            _check_refusal(refusal)
    _read_review(given)  # so that its error is checked


def _read_review(given: str) -> None:
    place = ReviewPlace.parse(given)
    if ReviewPlace.parse(str(place)) != place:
        raise Broken("the cursor of a review is another one")


def _read_cursor(given: str) -> None:
    found = Cursor.read(given, "abcdef0123")
    if found is not None and Cursor.read(str(found), "abcdef0123") != found:
        raise Broken("the cursor of an answer is another one")


def _read_range(given: str) -> None:
    found = asked_range({"range": given}, "tag", 100)
    if found is not None and not 0 <= found[0] < found[1] <= 100:
        raise Broken(f"the range {found} is none of 100 bytes")


def _read_position(given: str) -> None:
    found = TopicPosition.parse(given)
    if found is not None and TopicPosition.parse(str(found)) != found:
        raise Broken("the position is another one")


def _read_message(given: str) -> None:
    line = Message("t", 0, 1, given.encode(errors="surrogatepass")).line
    if line.count(b"\n") != 1 or not line.endswith(b"\n"):
        raise Broken("a message is not one line")


@cache
def _error_answers() -> tuple[str, ...]:
    from omnigraph import compile_schema
    from omnigraph.errors import Code, HeadMovedError, Violation, ViolationsError

    errors: list[OmniGraphError] = [
        QueryNotFoundError("no query 'a'", hint="b"),
        HeadMovedError("moved"),
        ViolationsError([Violation(code=Code.VALUE_TYPE, reason="r", line=3)], total=1),
    ]
    try:
        compile_schema("node A { x: I33 }")
    except OmniGraphError as wrong:
        errors.append(wrong)
    told = [{"error": each.message, "code": each.code, "detail": each.to_json()} for each in errors]
    return tuple(json.dumps(each) for each in told)


def _error_answer(random: Random) -> tuple[int, bytes]:
    data = hostile_json(random, _error_answers()).encode(errors="surrogatepass")
    return random.choice((400, 401, 404, 409, 500, 503)), data


def _run_error_answer(given: tuple[int, bytes]) -> None:
    error = error_of(*given, Source("schema.pg", "node A { x: I33 }"))
    json.dumps(error.to_json())
    if not str(error):
        raise Broken("the error says nothing")


@cache
def _result_answers() -> tuple[bytes, ...]:
    table = pa.table(
        {"p.name": ["a", "é", None], "n": [1, None, 3], "v": [[1.5], [], None], "d": [{"a": 1}] * 3}
    )
    with_commit = table.replace_schema_metadata({"omnigraph:commit": _ULID})
    return tuple(b"".join(Result("q", each).to_stream().to_ipc()) for each in (table, with_commit))


def _run_result_answer(given: bytes) -> None:
    found = result_of("q", given)
    found.to_json()
    found.to_dicts()
    Profile.from_ipc(given)


_EMBEDDED = (
    '{"data":[{"index":0,"embedding":[1.0,2.0]},{"index":1,"embedding":[0.5,-1]}]}',
    '{"embeddings":[{"values":[1.0,2.0]},{"values":[3,4]}]}',
)


class _Answering:
    """A service that answers with a text whatever is asked of it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def post(self, path: str, body: object) -> object:
        """Return the JSON of the text."""
        del path, body
        return json.loads(self._text)


def _run_embedded(given: str) -> None:
    try:
        json.loads(given)
    except (ValueError, RecursionError):
        return  # is refused by the service itself
    for wire in (OpenAI("m"), Gemini("m")):
        embedder = HttpEmbedder(wire, _Answering(given))  # type: ignore[arg-type]
        found = _embed(embedder, ["a", "b"])
        if found is not None and found.shape != (2, 2):
            raise Broken(f"the vectors have the shape {found.shape}")


def _embed(embedder: HttpEmbedder, texts: Sequence[str]) -> Any:
    from omnigraph.embedding.embedder import EmbeddingTask

    try:
        return embedder.embed(texts, 2, EmbeddingTask.DOCUMENT)
    except OmniGraphError:
        return None


REQUESTS = (
    Target("bodies", _body, _run_body),
    Target("query strings", _query_string, _run_query_string),
    Target("cursors", lambda random: hostile_text(random, _CURSORS), _run_cursor),
    Target("error answers", _error_answer, _run_error_answer),
    Target(
        "result answers",
        lambda random: hostile_bytes(random, _result_answers()),
        _run_result_answer,
    ),
    Target("embedding answers", lambda random: hostile_json(random, _EMBEDDED), _run_embedded),
)
