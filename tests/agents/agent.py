"""Agent: a client of the SDK that talks to a server of ours, and what it reads of the answers."""

import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.server.serving import TOKENS, Served

ROOT = Path(__file__).parents[2]
# The machine may stall for a while.
SECONDS = 120.0
# A query that takes long among so many people.
SLOW = """query slow() {
  match { $a: Person $b: Person $c: Person  $a.name != $b.name  $b.name != $c.name }
  return { count(*) as n } }"""
SLOW_PEOPLE = [{"slug": f"p{n}", "name": f"P {n}"} for n in range(300)]
_CURSOR = re.compile(r'cursor: "([^"]+)"')
_COMMIT = re.compile(r"commit ([0-9A-Z]{26})")
_BRANCH = re.compile(r'"(agent/[^"]+)"')


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool said."""

    text: str
    is_error: bool

    @property
    def rows(self) -> list[list[Any]]:
        """Return the rows of the first table, without its columns."""
        lines = [line for line in self.text.splitlines()[1:] if line.startswith("[")]
        return [json.loads(line) for line in lines[1:]]

    @property
    def cursor(self) -> str | None:
        """Return where the table goes on."""
        found = _CURSOR.search(self.text.splitlines()[0])
        return None if found is None else found[1]

    @property
    def commit(self) -> str:
        """Return the commit that the answer names."""
        found = _COMMIT.search(self.text)
        assert found is not None, self.text
        return found[1]

    @property
    def branch(self) -> str:
        """Return the branch of the agent that the answer names."""
        found = _BRANCH.search(self.text)
        assert found is not None, self.text
        return found[1]


@dataclass(frozen=True, slots=True)
class Agent:
    """A client that is connected."""

    client: Client

    async def ask(self, tool: str, /, **arguments: Any) -> Answer:
        """Call a tool."""
        found = await self.client.call_tool(tool, arguments)
        (content,) = found.content
        return Answer(content.text, bool(found.is_error))  # type: ignore[union-attr]

    async def done(self, tool: str, /, **arguments: Any) -> Answer:
        """Call a tool that has to succeed."""
        answer = await self.ask(tool, **arguments)
        assert not answer.is_error, answer.text
        return answer

    async def refused(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that has to fail, and give what it says."""
        answer = await self.ask(tool, **arguments)
        assert answer.is_error, answer.text
        return answer.text

    async def tools(self) -> dict[str, Any]:
        """Return the tools by name."""
        return {each.name: each for each in (await self.client.list_tools()).tools}


def command(*words: str, folder: Path, **variables: str) -> StdioServerParameters:
    """Return how a server on standard input and output is started."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-c", "from omnigraph.cli.main import main; main()", "mcp", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder), **variables},
        cwd=folder,
    )


@asynccontextmanager
async def over_stdio(
    *words: str, folder: Path, mode: str = "legacy", **variables: str
) -> AsyncIterator[Agent]:
    """Return an agent of a server that is a process of its own."""
    params = command(*words, folder=folder, **variables)
    async with Client(params, mode=mode, read_timeout_seconds=SECONDS) as client:
        yield Agent(client)


@asynccontextmanager
async def over_http(
    served: Served, actor: str, *, mode: str = "legacy", path: str = "/mcp"
) -> AsyncIterator[Agent]:
    """Return an agent of a server that is asked over HTTP."""
    token = TOKENS[actor] if actor else None
    async with at_address(f"http://{served.address}{path}", token, mode=mode) as agent:
        yield agent


@asynccontextmanager
async def at_address(
    address: str, token: str | None, *, mode: str = "legacy"
) -> AsyncIterator[Agent]:
    """Return an agent of a server at an address."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=SECONDS) as client:
            yield Agent(client)
