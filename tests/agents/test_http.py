"""Http: agents of a server, by the SDK's own client: tokens, policy, limits, many at once."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import httpx
import pytest
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from omnigraph.server.agents.speaker import Speaker
from omnigraph.server.limits import Limits
from tests.agents.agent import SLOW, SLOW_PEOPLE, over_http
from tests.server.serving import ADD, ALL, POLICY, Served, serving

MODES = ("legacy", "auto")
AGENTS = 8
# Drafters may make branches of their own.
RULES = POLICY.replace(
    "  - {id: drafters,",
    "  - id: drafters-branches\n    allow: {actors: {group: drafters}, actions: [branch_create],"
    " target_branch_scope: unprotected}\n  - {id: drafters,",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served"), policy=RULES) as found:
        yield found


@pytest.mark.parametrize("mode", MODES)
async def test_an_agent_works_with_its_token(served: Served, mode: str) -> None:
    async with over_http(served, "drafter", mode=mode, path=f"/mcp?run={mode}") as agent:
        tools = await agent.tools()
        assert "merge" not in tools
        assert "change" in tools
        answer = await agent.done("change", query=ADD, params={"slug": f"by-{mode}"})
        assert answer.branch == f"agent/drafter/{mode}"
        assert [f"by-{mode}"] in (await agent.done("query", query=ALL, branch=answer.branch)).rows
        assert "fast_forward" in (await agent.done("merge_preview")).text
        denied = await agent.refused("merge")
        assert denied.startswith("error[denied]")
        denied = await agent.refused("change", query=ADD, params={"slug": "x"}, branch="main")
        assert denied.startswith("error[denied]")
        documents = (await agent.client.list_resources()).resources
        assert [each.name for each in documents] == ["schema", "guide"]
    commit = served.graph.branch(f"agent/drafter/{mode}").commit
    assert commit.actor == "drafter"


@pytest.mark.parametrize("mode", MODES)
async def test_stored_queries_are_tools_of_who_may_invoke_them(served: Served, mode: str) -> None:
    async with over_http(served, "owner", mode=mode) as agent:
        assert {"q_all", "q_add"} <= set(await agent.tools())
        assert ["ana"] in (await agent.done("q_all")).rows
    async with over_http(served, "reader", mode=mode) as agent:
        assert "no tool 'q_all'" in await agent.refused("q_all")


def _post(served: Served, **headers: str) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    usual = {"accept": "application/json, text/event-stream"}
    return served.client.post("/mcp", json=body, headers={**usual, **headers})


def test_without_a_right_token_nothing_is_said(served: Served) -> None:
    for headers in ({}, {"authorization": "Bearer wrong"}):
        answer = _post(served, **headers)
        assert answer.status_code == 401
        assert answer.json()["code"] == "unauthorized"


def test_another_origin_and_another_method_are_refused(served: Served) -> None:
    token = "Bearer token-of-the-owner"
    answer = _post(served, authorization=token, origin="http://elsewhere.example")
    assert (answer.status_code, answer.json()["code"]) == (403, "cross_origin")
    answer = served.client.get("/mcp", headers={"authorization": token})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_body_over_the_limit_is_refused(served: Served) -> None:
    most = served.server.app.limits.body_bytes
    answer = served.client.post(
        "/mcp",
        content=b" " * (most + 1),
        headers={"authorization": "Bearer token-of-the-owner", "content-type": "application/json"},
    )
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_answers_carry_the_headers_of_all_answers(served: Served) -> None:
    answer = _post(served, authorization="Bearer token-of-the-owner")
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-request-id"]


async def test_agents_with_a_branch_each_write_and_merge_at_once_and_none_is_lost(
    served: Served,
) -> None:
    async def work(number: int) -> list[str]:
        path = f"/mcp?run=many-{number}"
        async with over_http(served, "owner", mode=MODES[number % 2], path=path) as agent:
            slugs = [f"a{number}-{step}" for step in range(3)]
            for slug in slugs:
                await agent.done("change", query=ADD, params={"slug": slug})
            while True:
                answer = await agent.ask("merge")
                if not answer.is_error:
                    return slugs
                assert "head_moved" in answer.text, answer.text

    async with asyncio.timeout(240):
        every = await asyncio.gather(*(work(number) for number in range(AGENTS)))
    found = {str(row["p.slug"]) for row in served.graph.query(ALL)}
    assert {slug for slugs in every for slug in slugs} <= found


async def test_of_two_agents_that_disagree_the_second_is_told_the_conflict(served: Served) -> None:
    change = 'query c($name: String) { update Person set { name: $name } where slug = "bob" }'
    for run, name in (("one", "Robert"), ("two", "Bobby")):
        async with over_http(served, "owner", path=f"/mcp?run={run}") as agent:
            await agent.done("change", query=change, params={"name": name})
    async with over_http(served, "owner", path="/mcp?run=one") as agent:
        await agent.done("merge")
    async with over_http(served, "owner", path="/mcp?run=two") as agent:
        refused = await agent.refused("merge")
        assert refused.startswith("error[merge_conflicts]")
        assert '"ours":"Robert"' in refused
        assert '"theirs":"Bobby"' in refused


async def test_who_leaves_in_the_middle_cancels_what_was_asked(served: Served) -> None:
    served.graph.create_branch("crowd")
    served.graph.branch("crowd").load(SLOW_PEOPLE, type="Person")
    async with over_http(served, "owner", mode="auto") as agent:
        call = asyncio.create_task(agent.ask("query", query=SLOW, branch="crowd"))
        await asyncio.sleep(1.0)
        assert not call.done()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    async with asyncio.timeout(60):
        while served.server.app.admission.running:
            await asyncio.sleep(0.05)


def test_the_log_names_the_tool(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    async def call() -> None:
        async with over_http(served, "reader", mode="auto") as agent:
            await agent.done("query", query=ALL)

    def tools() -> list[object]:
        return [getattr(each, "fields", {}).get("tool") for each in caplog.records]

    with caplog.at_level("INFO"):
        asyncio.run(call())
        until = time.monotonic() + 60
        while "query" not in tools() and time.monotonic() < until:
            time.sleep(0.01)
    assert "query" in tools()


def test_main_is_for_people_where_no_policy_speaks(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        async with over_http(served, "") as agent:
            await agent.done("change", query=ADD, params={"slug": "eve"})
            assert "unless a policy allows it" in await agent.refused("merge")

    with serving(tmp_path, with_tokens=False, policy=None) as served:
        asyncio.run(work(served))


async def test_agents_are_refused_and_not_kept_waiting_where_the_sdk_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    speaker = Speaker(Limits())

    def fail(_: object) -> AbstractAsyncContextManager[None]:
        raise RuntimeError("the manager did not start")

    with monkeypatch.context() as broken:
        broken.setattr(StreamableHTTPSessionManager, "run", fail)
        async with asyncio.timeout(30):
            with pytest.raises(RuntimeError, match="did not start"):
                await speaker.load()

    await speaker.load()
    await speaker.close()
