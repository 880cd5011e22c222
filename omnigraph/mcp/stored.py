"""Stored: one tool for each stored query, typed by its parameters."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from omnigraph.errors import QueryNotFoundError
from omnigraph.mcp.desk import Desk, ToolCall
from omnigraph.mcp.reading import rows_text
from omnigraph.mcp.table import Cursor, question_of
from omnigraph.mcp.tool import Tool
from omnigraph.mcp.writing import receipt_text
from omnigraph.policy.actions import Action

if TYPE_CHECKING:
    from omnigraph.query.stored import QueryDescription

PREFIX = "q_"
# Clients take names of tools up to this length.
_LONGEST_NAME = 64
# Arguments of the tool itself, beside the parameters of the query.
_BRANCH: Mapping[str, Any] = {"type": "string", "description": "branch"}
_CURSOR: Mapping[str, Any] = {"type": "string", "description": "of the answer before"}


def described(desk: Desk, branch: str | None = None) -> "list[QueryDescription]":
    """Return the stored queries that the actor may run on a branch; without one, on some branch."""
    from omnigraph.api.operation import place_fields
    from omnigraph.api.operations.queries import ListQueries

    if not desk.has_stored or not desk.may(Action.INVOKE_QUERY):
        return []
    place = place_fields(desk.to_read(branch))
    return desk.graph.backend.run(ListQueries(anywhere=branch is None, **place))


def stored_tools(desk: Desk, branch: str | None = None) -> list[Tool]:
    """Return a tool for each stored query that the actor may run and that fits the schema."""
    return [tool_of(each) for each in described(desk, branch) if has_tool(each)]


def unlisted_tool(desk: Desk, name: str, given: Mapping[str, Any]) -> Tool | None:
    """Return the tool of a stored query that fits the branch which a call names, and no other."""
    branch = given.get("_branch", given.get("branch"))
    if not name.startswith(PREFIX) or not isinstance(branch, str):
        return None
    return next((each for each in stored_tools(desk, branch) if each.name == name), None)


def has_tool(about: "QueryDescription") -> bool:
    """Return whether there can be a tool for a stored query."""
    return about.problem is None and len(PREFIX + about.name) <= _LONGEST_NAME


def tool_of(about: "QueryDescription") -> Tool:
    """Return the tool that runs a stored query."""
    changes = _changes(about)
    return Tool(
        name=PREFIX + about.name,
        about=" ".join(_described(about)),
        run=partial(_invoke, about),
        needs=Action.INVOKE_QUERY,
        writes=changes,
        destroys=changes,
        schema=_schema(about),
    )


def _changes(about: "QueryDescription") -> bool:
    from omnigraph.query.stored import CHANGE

    return about.kind == CHANGE


def _described(about: "QueryDescription") -> Iterator[str]:
    yield about.description or f"The stored {about.kind} '{about.name}'."
    if about.instruction is not None:
        yield about.instruction
    if about.columns:
        yield f"Returns {', '.join(name for name, _ in about.columns)}."


def _schema(about: "QueryDescription") -> dict[str, Any]:
    own = dict(about.params.get("properties", {}))
    extra = {_free("branch", own): dict(_BRANCH)}
    if not _changes(about):
        extra[_free("cursor", own)] = dict(_CURSOR)
    return {**about.params, "properties": {**own, **extra}}


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """Return the name of an argument of the tool; a parameter of the same name comes first."""
    return f"_{name}" if name in taken else name


def _invoke(about: "QueryDescription", call: ToolCall, given: Mapping[str, Any]) -> str:
    own = about.params.get("properties", {})
    params = dict(given)
    branch = params.pop(_free("branch", own), None)
    text = params.pop(_free("cursor", own), None) if not _changes(about) else None
    if _changes(about):
        name, receipt = call.write(
            branch, Action.CHANGE, lambda name: _run(call, about.name, name, params)
        )
        return receipt_text(call, name, receipt)
    question = question_of(PREFIX + about.name, {"params": params, "branch": branch})
    cursor = Cursor.read(text, question)
    place = call.desk.to_read(branch) if cursor is None else cursor.commits[0]
    return rows_text(call, _run(call, about.name, place, params), question, cursor)


def _run(call: ToolCall, name: str, place: str, params: Mapping[str, Any]) -> Any:  # noqa: ANN401
    from omnigraph.api.backend import CallOptions
    from omnigraph.api.operation import place_fields
    from omnigraph.api.operations.queries import InvokeQuery

    options = CallOptions(cancelled=None if call.desk.is_remote else call.cancelled)
    asked = InvokeQuery(name=name, params=dict(params), **place_fields(place))
    try:
        return call.graph.backend.run(asked, options)
    except QueryNotFoundError as missing:
        missing.hint = f"it does not run on '{place}'; name another branch"
        raise
