"""Stdio: an agent and a server that is a process of its own, by the SDK's own client."""

import asyncio
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from omnigraph.api.graph import open as open_graph
from tests.agents.agent import SECONDS, SLOW, SLOW_PEOPLE, over_stdio
from tests.sample import new_graph
from tests.server.serving import ADD, ALL, PEOPLE, POLICY, Served, serving

MODES = ("legacy", "auto")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("agents")
    with new_graph(found / "graph") as graph:
        graph.load(PEOPLE)
        graph.load(SLOW_PEOPLE, type="Person")
    (found / "queries").mkdir()
    (found / "queries/people.gq").write_text(
        'query older($least: I32, $name: String?) @description("People of an age.") {\n'
        "  match { $p: Person  $p.age >= $least }\n  return { $p.slug as slug }\n}\n" + ADD
    )
    (found / "policy.yaml").write_text(POLICY)
    (found / "omnigraph.yaml").write_text(
        "queries: queries\npolicy: {file: policy.yaml}\ncli: {graph: g}\n"
        "graphs: {g: {uri: graph}}\n"
    )
    return found


@pytest.mark.parametrize("mode", MODES)
async def test_an_agent_lists_calls_and_reads(folder: Path, mode: str) -> None:
    async with over_stdio("graph", folder=folder, mode=mode) as agent:
        tools = await agent.tools()
        assert {"schema", "search", "query", "change", "merge_preview", "run_begin"} <= set(tools)
        assert tools["query"].annotations.read_only_hint is True
        assert tools["merge"].annotations.destructive_hint is True
        assert tools["merge"].annotations.idempotent_hint is True
        assert "Person (302)" in (await agent.done("schema")).text
        assert ["ana"] in (await agent.done("query", query=ALL)).rows
        documents = (await agent.client.list_resources()).resources
        assert {str(each.uri) for each in documents} == {
            "omnigraph://schema",
            "omnigraph://guide",
            "omnigraph://queries",
        }
        guide: Any = await agent.client.read_resource("omnigraph://guide")
        assert "substring(" in guide.contents[0].text
        with pytest.raises(MCPError, match="did you mean"):
            await agent.client.read_resource("omnigraph://guid")
        prompts = (await agent.client.list_prompts()).prompts
        assert [each.name for each in prompts] == ["propose_change", "review_branch"]
        words: Any = await agent.client.get_prompt("review_branch", {"branch": "draft"})
        assert '"draft"' in words.messages[0].content.text
        with pytest.raises(MCPError, match="needs 'branch'"):
            await agent.client.get_prompt("review_branch", {})


async def test_stored_queries_are_typed_tools_and_policy_limits_them(folder: Path) -> None:
    async with over_stdio("--actor", "owner", folder=folder) as agent:
        tools = await agent.tools()
        schema = tools["q_older"].input_schema
        assert schema["properties"]["least"]["type"] == "integer"
        assert schema["required"] == ["least"]
        assert tools["q_older"].description.startswith("People of an age.")
        assert tools["q_add"].annotations.read_only_hint is False
        assert (await agent.done("q_older", least=30)).rows == [["ana"]]
        assert "P" in await agent.refused("q_older", least="thirty")
        assert (await agent.done("q_add", slug="new")).branch.startswith("agent/owner/")
    async with over_stdio("--actor", "reader", folder=folder) as agent:
        tools = await agent.tools()
        assert not [name for name in tools if name.startswith("q_") or name == "change"]
        assert "error[denied]" in await agent.refused("merge", source="main")


async def test_read_only_is_only_reading(folder: Path) -> None:
    async with over_stdio("graph", "--read-only", folder=folder) as agent:
        tools = await agent.tools()
        assert all(each.annotations.read_only_hint for each in tools.values())
        assert "error[read_only]" in await agent.refused("branch_create", name="x")


async def test_a_load_tells_how_far_it_is(folder: Path) -> None:
    told: list[str] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    async with over_stdio("graph", folder=folder) as agent:
        rows = "\n".join(f'{{"slug":"x{n}","name":"X"}}' for n in range(500))
        found = await agent.client.call_tool(
            "load", {"rows": rows, "type": "Person"}, progress_callback=note
        )
        assert not found.is_error
        assert told


async def test_a_call_that_is_given_up_ends_and_others_go_on(folder: Path) -> None:
    async with over_stdio("graph", folder=folder) as agent:
        await agent.done("query", query=ALL)
        slow = asyncio.create_task(agent.ask("query", query=SLOW))
        await asyncio.sleep(1.0)
        assert not slow.done()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        begun = time.monotonic()
        assert ["ana"] in (await agent.done("query", query=ALL)).rows
        assert time.monotonic() - begun < SECONDS / 2


async def test_an_agent_that_dies_in_the_middle_leaves_nothing_half_done(folder: Path) -> None:
    """The process is killed while a load runs: the branch has all of its rows, or none."""
    words = ("graph", "--actor", "owner", "--tokens", _MAYFLY)
    rows = "\n".join(f'{{"slug":"m{n}","name":"M"}}' for n in range(20_000))
    async with over_stdio(*words, folder=folder) as agent:
        first = await agent.done("change", query=ADD, params={"slug": "m"})
        pid = _child(folder)
        load = asyncio.create_task(agent.ask("load", rows=rows, type="Person"))
        await asyncio.sleep(0.3)
        os.kill(pid, signal.SIGKILL)
        # It may have ended just before.
        with suppress(MCPError, asyncio.CancelledError):
            await asyncio.wait_for(load, SECONDS)
    with open_graph(folder / "graph") as graph:
        count = graph.branch(first.branch).query(
            'match { $p: Person $p.name = "M" } return { count(*) as n }'
        )[0]["n"]
        assert count in (0, 20_000)
        assert graph.fsck().is_sound
    async with over_stdio(*words, folder=folder) as agent:
        assert ["m"] in (await agent.done("query", query=ALL, branch=first.branch)).rows


# An option by which the process is found.
_MAYFLY = "3999"


def _child(folder: Path) -> int:
    """Return the process that serves the agent of a folder."""
    found = [
        int(each.name)
        for each in Path("/proc").iterdir()
        if each.name.isdigit() and _works_in(each, folder)
    ]
    assert len(found) == 1, found
    return found[0]


def _works_in(process: Path, folder: Path) -> bool:
    try:
        is_ours = _MAYFLY.encode() in (process / "cmdline").read_bytes()
        return is_ours and (process / "cwd").readlink() == folder
    except OSError:
        return False


@pytest.mark.parametrize("mode", MODES)
async def test_the_graph_of_a_server_is_served_as_well(
    tmp_path: Path, folder: Path, mode: str
) -> None:
    with serving(tmp_path) as served:
        address, token = f"http://{served.address}", "token-of-the-owner"
        async with over_stdio(
            address, folder=folder, mode=mode, OMNIGRAPH_BEARER_TOKEN=token
        ) as agent:
            answer = await agent.done("change", query=ADD, params={"slug": "eve"})
            assert answer.branch.startswith("agent/owner/")
            assert ["eve"] in (await agent.done("q_all", branch=answer.branch)).rows
            assert "T1" in await agent.refused("query", query=ALL.replace("Person", "Persn"))
            assert "fast_forward" in (await agent.done("merge")).text
        _read_by_a_reader(served)


def _read_by_a_reader(served: Served) -> None:
    assert {"p.slug": "eve"} in served.read(ALL)
