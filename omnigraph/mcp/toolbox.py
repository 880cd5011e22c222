"""Toolbox: the tools that an actor is shown, and how one is called."""

from collections.abc import Mapping
from typing import Any

from omnigraph.errors import InputError, OmniGraphError, ReadOnlyError
from omnigraph.frozen import dataclass
from omnigraph.mcp import finding, proposing, reading, remembering, reviewing, stored, writing
from omnigraph.mcp.desk import Desk, ToolCall
from omnigraph.mcp.tool import Tool
from omnigraph.mcp.wording import clip
from omnigraph.syntax.problems import suggest

TOOLS: tuple[Tool, ...] = tuple(
    tool for family in (finding, reading, writing, reviewing, proposing) for tool in family.TOOLS
)
_BY_NAME = {each.name: each for each in TOOLS}
_OF_MEMORY = {each.name: each for each in remembering.TOOLS}
_LISTED = "tools/list has the tools that you may use"


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool answers: its text, and whether it is an error."""

    text: str
    is_error: bool = False


def shown_tools(desk: Desk) -> list[Tool]:
    """Return the tools that the actor may use on some branch, stored queries last."""
    every = [*TOOLS, *_more_tools(desk)]
    return [each for each in every if _is_shown(each, desk)]


def _more_tools(desk: Desk) -> list[Tool]:
    """Return the tools that not every graph has: those of a memory, and of stored queries."""
    of_memory = remembering.TOOLS if remembering.holds_memory(desk) else ()
    return [*of_memory, *stored.stored_tools(desk)]


def call_tool(call: ToolCall, name: str, given: Mapping[str, Any]) -> Said:
    """Call a tool; what goes wrong on purpose is an answer that says what to do."""
    try:
        text = _find(call.desk, name, given).call(call, given)
    except OmniGraphError as error:
        return Said(clip(call.desk.tell(error), call.desk.tokens), is_error=True)
    return Said(text)


def _find(desk: Desk, name: str, given: Mapping[str, Any]) -> Tool:
    # Whether a graph holds a memory, its tools say themselves when they are called.
    tool = _BY_NAME.get(name) or _OF_MEMORY.get(name)
    if tool is None:
        others = _more_tools(desk)
        tool = next((each for each in others if each.name == name), None)
        tool = tool or stored.unlisted_tool(desk, name, given)
        if tool is None:
            known = [each.name for each in (*TOOLS, *others) if _is_shown(each, desk)]
            raise InputError(f"no tool '{name}'", hint=suggest(name, known) or _LISTED)
    if desk.is_read_only and tool.writes:
        raise ReadOnlyError(f"'{name}' changes the graph, which is open for reading only")
    if tool.needs is not None and not desk.may(tool.needs):
        raise desk.rights.denied(tool.needs)
    return tool


def _is_shown(tool: Tool, desk: Desk) -> bool:
    return desk.may(tool.needs) and not (desk.is_read_only and tool.writes)
