"""Protocol: tools, resources and prompts as a server of the SDK."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import field
from threading import Event
from typing import Any, Protocol, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from omnigraph import __version__
from omnigraph.errors import OmniGraphError
from omnigraph.frozen import dataclass
from omnigraph.mcp.desk import Desk, ToolCall
from omnigraph.mcp.shelf import (
    INSTRUCTIONS,
    prompt_text,
    read_document,
    shown_documents,
    shown_prompts,
)
from omnigraph.mcp.tool import Tool
from omnigraph.mcp.toolbox import call_tool, shown_tools

_Found = TypeVar("_Found")
_Context = ServerRequestContext[Any, Any]


class Workplace(Protocol):
    """Who serves an agent: gives it its desk, and has its work done on threads."""

    def desk(self, request: object) -> Desk:
        """Return the desk of who sent a request; it may take long."""

    def worked(self, request: object, work: Callable[[], _Found]) -> Awaitable[_Found]:
        """Do a piece of work on a thread."""

    def cancelled(self, request: object) -> Event:
        """Return what is set when a call is to end."""

    def note(self, request: object, tool: str) -> None:
        """Note which tool a request calls."""


def build_server(workplace: Workplace) -> "Server[Any]":
    """Return the server that the transports of the SDK run."""
    handlers = _Handlers(workplace)
    return Server(
        "omnigraph",
        version=__version__,
        instructions=INSTRUCTIONS,
        # No tool has arguments that are sent as headers, so none has to be looked up.
        get_tool_input_schema=lambda _: None,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


@dataclass(frozen=True, slots=True)
class _Handlers:
    """Decodes a request of the SDK, calls, and encodes the answer."""

    workplace: Workplace

    async def list_tools(self, context: _Context, _: Any) -> types.ListToolsResult:  # noqa: ANN401
        found = await self._worked(context, shown_tools)
        return types.ListToolsResult(tools=[_shown(each) for each in found])

    async def call_tool(
        self, context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        self.workplace.note(context.request, params.name)
        cancelled, progress = self.workplace.cancelled(context.request), _Reported(context)
        given = params.arguments or {}

        def work(desk: Desk) -> types.CallToolResult:
            call = ToolCall(desk=desk, cancelled=cancelled, progress=progress)
            said = call_tool(call, params.name, given)
            content = types.TextContent(type="text", text=said.text)
            return types.CallToolResult(content=[content], is_error=said.is_error)

        try:
            return await self._worked(context, work)
        except asyncio.CancelledError:
            cancelled.set()  # the thread ends soon; what it publishes already is finished
            raise

    async def list_resources(
        self,
        context: _Context,
        _: Any,  # noqa: ANN401
    ) -> types.ListResourcesResult:
        found = await self._worked(context, shown_documents)
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    name=each.name,
                    uri=each.uri,
                    description=each.about,
                    mime_type=each.media_type,
                )
                for each in found
            ]
        )

    async def read_resource(
        self, context: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        about, text = await self._worked(context, lambda desk: read_document(desk, str(params.uri)))
        content = types.TextResourceContents(uri=about.uri, mime_type=about.media_type, text=text)
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(self, context: _Context, _: Any) -> types.ListPromptsResult:  # noqa: ANN401
        found = await self._worked(context, shown_prompts)
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=each.name,
                    description=each.about,
                    arguments=[
                        types.PromptArgument(name=name, description=meaning, required=True)
                        for name, meaning in each.arguments.items()
                    ],
                )
                for each in found
            ]
        )

    async def get_prompt(
        self, context: _Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        given = params.arguments or {}
        text = await self._worked(context, lambda desk: prompt_text(desk, params.name, given))
        content = types.TextContent(type="text", text=text)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def _worked(self, context: _Context, work: Callable[[Desk], _Found]) -> _Found:
        """Do some work at the desk of who asks; its errors are answers of the protocol."""
        request, workplace = context.request, self.workplace
        told: list[str] = []

        def at_desk() -> _Found:
            desk = workplace.desk(request)
            try:
                return work(desk)
            except OmniGraphError as error:
                told.append(desk.tell(error))
                raise

        try:
            return await workplace.worked(request, at_desk)
        except OmniGraphError:
            if not told:
                raise
            raise _refusal(told[0]) from None


@dataclass(slots=True)
class _Reported:
    """Tells a client how far long work is; on a thread, so that it goes through the loop."""

    context: _Context
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    stage: str = ""
    steps: int = 0

    def begin(self, stage: str, size: int = 0) -> None:
        """Tell that a stage begins."""
        self.stage = stage
        self._tell(stage if not size else f"{stage} ({size:,})")

    def advance(self, done: int, total: int) -> None:
        """Tell how much of a stage is done."""
        self._tell(f"{self.stage}: {done} of {total}")

    def _tell(self, message: str) -> None:
        self.steps += 1
        told = self.context.session.report_progress(self.steps, None, message)
        asyncio.run_coroutine_threadsafe(told, self.loop)


def _shown(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.about,
        input_schema=tool.input_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.writes,
            destructive_hint=tool.destroys,
            idempotent_hint=tool.repeats or not tool.writes,
            open_world_hint=False,
        ),
    )


def _refusal(text: str) -> MCPError:
    return MCPError(code=types.INVALID_PARAMS, message=text)
