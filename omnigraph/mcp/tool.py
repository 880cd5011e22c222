"""Tool: what it takes, which right it needs, and whether it changes anything."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.mcp.desk import ToolCall
from omnigraph.policy.actions import Action


class Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool takes; a name that it does not know is an error."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool that a model can call.

    `destroys` is whether it can change or remove what was there, and `repeats` whether a second
    call with the same arguments does nothing more.
    """

    name: str
    about: str
    run: Callable[[ToolCall, Any], str]
    arguments: type[Arguments] = Arguments
    needs: Action | None = Action.READ
    writes: bool = False
    destroys: bool = False
    repeats: bool = False
    # Given where the arguments are not those of a class, but of a stored query.
    schema: Mapping[str, Any] | None = None

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of what it takes."""
        return dict(self.schema) if self.schema is not None else schema_of(self.arguments)

    def call(self, call: ToolCall, given: Mapping[str, Any]) -> str:
        """Run it; raise InputError for arguments that do not fit."""
        if self.schema is not None:
            return self.run(call, given)
        try:
            arguments = msgspec.convert(given, self.arguments)
        except msgspec.ValidationError as wrong:
            takes = ", ".join(self.input_schema["properties"]) or "nothing"
            raise InputError(f"{self.name}: {wrong}", hint=f"it takes {takes}") from None
        return self.run(call, arguments)


def schema_of(kind: type[Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a class of arguments, in as few words as it can be said.

    Every word is read by a model; that other arguments are refused, it is told when it gives one.
    """
    found = msgspec.json.schema(kind)
    own = found.get("$defs", {}).get(kind.__name__, found)
    properties = {name: _short(each) for name, each in own.get("properties", {}).items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if own.get("required"):
        schema["required"] = own["required"]
    return schema


def _short(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an argument: one that may be left out need not say that it is null."""
    options = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    rest = {name: each for name, each in schema.items() if name not in ("anyOf", "default")}
    found = {**options[0], **rest} if len(options) == 1 else dict(schema)
    found.pop("title", None)
    if found.get("default", ...) is None:
        del found["default"]
    if "default" in schema and schema["default"] is not None:
        found["default"] = schema["default"]
    return found
