"""Generate: writes the documents and operations of the OpenAPI document as TypeScript.

Run by `make client`. The document is that of a deployment, which has the operations of a graph
below `/graphs/{graph}` and beside them those of the server, so that one client serves both.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from omnigraph.server.routes.openapi import openapi
from omnigraph.server.table import FLEET_TABLE

_HERE = Path(__file__).parent
_TARGET = _HERE / "src/generated/api.ts"
_GRAPH = "/graphs/{graph}"
_FOR_BROWSERS = "/studio"
_JSON = "application/json"
_LINES = "application/x-ndjson"
_EVENTS = "text/event-stream"
_SAFE_INTEGER = 2**53 - 1
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
# Lists of objects that the document says nothing more about, and what they are.
_KNOWN = {"merge_conflicts": "Conflict[]", "resolutions": "readonly Resolution[] | null"}
_HEAD = """\
/** Api: made of the OpenAPI document of OmniGraph {version} by generate.py; not written by hand. */

import type {{ Conflict, Resolution }} from '../errors.ts'
import type {{ Sent, Value }} from '../json.ts'
import type {{ ServerEvent }} from '../events.ts'
import type {{ CallOptions, ExportedRow, Lines, Requests, WriteOptions }} from '../requests.ts'
import {{ segment }} from '../requests.ts'

/** The version of OmniGraph that this client was made for. */
export const VERSION = {version_text}
"""
_CLASS = """\
/** Every operation of a server, by its name there; fields have the names of its documents. */
export class Api {
  readonly #requests: Requests

  constructor(requests: Requests) {
    this.#requests = requests
  }
"""

Schema = Mapping[str, Any]


def main() -> int:
    """Write the file anew."""
    document = json.loads(openapi(FLEET_TABLE, has_tokens=True))
    _TARGET.parent.mkdir(exist_ok=True)
    _TARGET.write_text("\n".join(_file(document)))
    return 0


def _file(document: Schema) -> Iterator[str]:
    version = document["info"]["version"]
    yield _HEAD.format(version=version, version_text=json.dumps(version))
    for name, schema in document["components"]["schemas"].items():
        yield from _interface(name, schema)
    operations = [
        _Operation(path, method.upper(), described, document["components"]["schemas"])
        for path, methods in document["paths"].items()
        if not path.startswith(_FOR_BROWSERS)
        for method, described in methods.items()
    ]
    for each in operations:
        yield from each.fields()
    yield _CLASS
    for each in operations:
        yield from each.method()
    yield "}\n"


def _interface(name: str, schema: Schema) -> Iterator[str]:
    is_sent = schema.get("additionalProperties") is False
    yield _comment(schema.get("description", ""))
    yield f"export interface {name} {{"
    needed = schema.get("required", ())
    for field, kind in schema.get("properties", {}).items():
        yield _field(field, kind, is_needed=field in needed, is_sent=is_sent)
    yield "}\n"


def _field(name: str, kind: Schema, *, is_needed: bool, is_sent: bool) -> str:
    typed = _KNOWN.get(name, "") if _is_open(kind) else ""
    typed = typed or _type(kind, is_sent=is_sent)
    if is_needed:
        return f"  {name}: {typed}"
    return f"  {name}?: {typed} | undefined" if is_sent else f"  {name}?: {typed}"


def _is_open(kind: Schema) -> bool:
    """Return whether a schema is about objects and does not say which."""
    if "anyOf" in kind:
        return any(_is_open(each) for each in kind["anyOf"])
    if kind.get("type") == "array":
        return _is_open(kind["items"])
    return kind.get("type") == "object" and "additionalProperties" not in kind


def _type(kind: Schema, *, is_sent: bool) -> str:
    if "$ref" in kind:
        return str(kind["$ref"]).rpartition("/")[2]
    if "anyOf" in kind:
        return " | ".join(_type(each, is_sent=is_sent) for each in kind["anyOf"])
    if "enum" in kind:
        return " | ".join(f"'{each}'" for each in kind["enum"])
    match kind.get("type"):
        case "null":
            return "null"
        case "array":
            item = _type(kind["items"], is_sent=is_sent)
            listed = f"({item})[]" if " " in item and not item.startswith("{") else f"{item}[]"
            return f"readonly {listed}" if is_sent else listed
        case "object":
            value = kind.get("additionalProperties")
            whatever = "Sent" if is_sent else "Value"
            inner = whatever if not value else _type(value, is_sent=is_sent)
            return f"{{ {'readonly ' if is_sent else ''}[name: string]: {inner} }}"
        case "integer" if is_sent and kind.get("maximum", 0) > _SAFE_INTEGER:
            return "number | bigint"
        case str() as plain if plain in _PLAIN:
            return _PLAIN[plain]
        case None if not kind:
            return "Value"
    raise ValueError(f"no type of TypeScript for the schema {dict(kind)}")


class _Operation:
    """One operation of the document: its fields, and the method that sends it."""

    def __init__(self, path: str, method: str, described: Schema, known: Schema) -> None:
        self.is_of_graph = path.startswith(f"{_GRAPH}/")
        self.path = path.removeprefix(_GRAPH) if self.is_of_graph else path
        self.verb = method
        self.name = _camel(described["operationId"])
        self.about = described["summary"]
        parameters = [each for each in described["parameters"] if each["name"] != "graph"]
        self.in_path = [each for each in parameters if each["in"] == "path"]
        self.in_query = [each for each in parameters if each["in"] == "query"]
        self.writes = any(each["in"] == "header" for each in parameters)
        content = described.get("requestBody", {}).get("content", {})
        self.takes_lines = _LINES in content
        body = content.get(_JSON, {}).get("schema")
        self.body = None if body is None or self.takes_lines else _type(body, is_sent=True)
        self.is_body_needed = self.body is not None and bool(known[self.body]["required"])
        self.answers = described["responses"]["200"]["content"]

    @property
    def fields_name(self) -> str:
        return f"{self.name[0].upper()}{self.name[1:]}Fields"

    def fields(self) -> Iterator[str]:
        """Yield the interface of what stands in the path and in the query string, if any."""
        if not (self.in_path or self.in_query):
            return
        yield _comment(self.about)
        base = f" extends {self.body}" if self.body else ""
        yield f"export interface {self.fields_name}{base} {{"
        for each in (*self.in_path, *self.in_query):
            yield _field(each["name"], each["schema"], is_needed=each["required"], is_sent=True)
        yield "}\n"

    def method(self) -> Iterator[str]:
        """Yield the method of the class."""
        reader, answer = self._answer()
        how = "WriteOptions" if self.writes else "CallOptions"
        given = [*(["rows: Lines"] if self.takes_lines else []), *self._given()]
        yield _comment(self.about, "  ")
        yield f"  {self.name}({', '.join([*given, f'options: {how} = {{}}'])}): {answer} {{"
        names = [each["name"] for each in self.in_path]
        if names and (self.body or self.in_query):
            unpacked = ", ".join([*names, "...rest"])
            yield f"    const {{ {unpacked} }} = fields"
        call = ", ".join(self._call("rest" if names else "fields"))
        yield f"    return this.#requests.{reader}({{ {call} }}, options)"
        yield "  }\n"

    def _given(self) -> list[str]:
        kind = self.fields_name if self.in_path or self.in_query else self.body
        if kind is None:
            return []
        required = bool(self.in_path) or any(each["required"] for each in self.in_query)
        return [f"fields: {kind}" + ("" if required or self.is_body_needed else " = {}")]

    def _call(self, rest: str) -> Iterator[str]:
        has_rest = bool(self.body or self.in_query)
        yield f"method: '{self.verb}'"
        yield f"scope: '{'graph' if self.is_of_graph else 'server'}'"
        source = "" if has_rest else "fields."
        path = re.sub(r"\{(\w+)\}", rf"${{segment({source}\1)}}", self.path)
        yield f"path: `{path}`" if self.in_path else f"path: '{path}'"
        if self.in_query:
            yield f"query: {{ ...{rest} }}"
        if self.body:
            yield f"body: {rest}"
        if self.takes_lines:
            yield "lines: rows"
        yield f"writes: {'true' if self.writes else 'false'}"
        yield f"accept: '{self._media()}'"

    def _media(self) -> str:
        # The first is what it answers with, unless another one is asked for.
        return str(next(iter(self.answers)))

    def _answer(self) -> tuple[str, str]:
        media = self._media()
        schema = self.answers[media].get("schema", {})
        if media == _JSON:
            kind = _type(schema, is_sent=False)
            return f"json<{kind}>", f"Promise<{kind}>"
        if media == _LINES:
            return "lines<ExportedRow>", "AsyncGenerator<ExportedRow, void, undefined>"
        if media == _EVENTS:
            return "events", "AsyncGenerator<ServerEvent, void, undefined>"
        if media.startswith("text/"):
            return "text", "Promise<string>"
        return "bytes", "Promise<Uint8Array>"


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


def _comment(text: str, indent: str = "") -> str:
    lines = [line.strip() for line in text.replace("*/", "*\\/").splitlines()]
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */"
    body = "\n".join(f"{indent} * {line}".rstrip() for line in lines)
    return f"{indent}/**\n{body}\n{indent} */"


if __name__ == "__main__":
    sys.exit(main())
