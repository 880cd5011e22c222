"""Openapi: the OpenAPI 3.1 document that the table of routes makes."""

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from omnigraph import __version__
from omnigraph.api.operation import JSON, LINES, Audience, SentFields, Shape
from omnigraph.server.routes.route import Route

_REFERENCE = "#/components/schemas/{name}"
_SUFFIX = re.compile(rb"([\"/])(\w+)Shape(?=\")")
_SECURITY = {"bearer": {"type": "http", "scheme": "bearer"}}


class ProblemShape(Shape, frozen=True, kw_only=True):
    """Why a request was refused; `detail` is all that is known about it."""

    error: str
    code: str
    kind: Literal["unauthorized", "forbidden", "bad_request", "not_found", "conflict", "internal"]
    detail: dict[str, Any] | UnsetType = UNSET
    request_id: str | UnsetType = UNSET
    merge_conflicts: list[dict[str, Any]] | UnsetType = UNSET
    manifest_conflict: dict[str, Any] | UnsetType = UNSET


def openapi(table: Sequence[Route], *, has_tokens: bool) -> bytes:
    """Return the document; without tokens it says nothing about security."""
    kinds = _kinds(table)
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    known = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in table:
        described = _operation(route, known, has_tokens=has_tokens)
        paths.setdefault(route.template, {})[route.method.lower()] = described
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "OmniGraph", "version": __version__},
        "paths": paths,
        "components": {"schemas": components},
    }
    if has_tokens:
        document["components"]["securitySchemes"] = _SECURITY
    # Shapes have their names without the suffix that tells them from results.
    return _SUFFIX.sub(rb"\1\2", msgspec.json.encode(document))


def _kinds(table: Sequence[Route]) -> list[type]:
    found: dict[type, None] = {ProblemShape: None}
    for route in table:
        for kind in (route.fields, route.answer):
            if isinstance(kind, type):
                found[kind] = None
    return list(found)


def _operation(route: Route, known: dict[type, Any], *, has_tokens: bool) -> dict[str, Any]:
    is_open = route.guard is Audience.ANYBODY or not has_tokens
    found: dict[str, Any] = {
        "operationId": route.name,
        "summary": ((route.operation or route.handler).__doc__ or "").partition("\n")[0],
        "parameters": [*_path_params(route), *_query_params(route), *_header_params(route)],
        "responses": {"200": _success(route, known), **_failures(route, known, is_open=is_open)},
    }
    if not isinstance(route.guard, Audience):
        found["x-action"] = str(route.guard)
    if route.fields is not None:
        found["requestBody"] = _body(route, known)
    if not is_open:
        found["security"] = [{"bearer": []}]
    return found


def _body(route: Route, known: dict[type, Any]) -> dict[str, Any]:
    assert route.fields is not None
    content: dict[str, Any] = {JSON: {"schema": known[route.fields]}}
    if route.lines is not None:
        content[LINES] = {"schema": {"type": "string"}}
    return {"required": route.needs_body, "content": content}


def _success(route: Route, known: dict[type, Any]) -> dict[str, Any]:
    schema = known[route.answer] if isinstance(route.answer, type) else {}
    media = {route.media_type.partition(";")[0]: {"schema": schema}}
    media |= {each: {} for each in route.also}
    return {"description": "Done.", "content": media}


def _failures(route: Route, known: dict[type, Any], *, is_open: bool) -> dict[str, Any]:
    hidden = {401} - {*route.errors} if is_open else set()
    statuses = (status for status in route.statuses if status not in hidden)
    schema = {JSON: {"schema": known[ProblemShape]}}
    return {
        str(status): {"description": HTTPStatus(status).phrase + ".", "content": schema}
        for status in statuses
    }


def _path_params(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in (*(("graph",) if "{graph}" in route.path else ()), *route.parts.path)
    ]


def _query_params(route: Route) -> list[dict[str, Any]]:
    found = _fields(route.query)
    # Where lines are sent, what else a body would say stands in the query string.
    return found if route.lines is None else _fields(route.lines)


def _fields(kind: type[SentFields]) -> list[dict[str, Any]]:
    schema = next(iter(msgspec.json.schema_components([kind], ref_template=_REFERENCE)[1].values()))
    needed = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": _plain(found)}
        for name, found in schema.get("properties", {}).items()
    ]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value of a query string, where there is no null."""
    options = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    rest = {name: each for name, each in schema.items() if name not in ("anyOf", "default")}
    return {**options[0], **rest} if options else rest


def _header_params(route: Route) -> list[dict[str, Any]]:
    if not route.writes:
        return []
    key = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"}
    return [{"name": "Idempotency-Key", "in": "header", "required": False, "schema": key}]
