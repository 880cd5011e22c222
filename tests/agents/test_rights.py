"""Rights: an agent needs for a tool what the API needs for the same, on the branch it names."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.api.graph import connect
from omnigraph.policy.actions import Action
from tests.agents.agent import over_http
from tests.server.serving import ADD, TOKENS, Served, serving

POLICY = """
version: 1
groups: {publishers: [drafter], scoped: [stranger]}
protected_branches: [main]
rules:
  - {id: changes, allow: {actors: {group: publishers}, actions: [change], branch_scope: any}}
  - id: publishes
    allow: {actors: {group: publishers}, actions: [run_publish], target_branch_scope: any}
  - id: runs
    allow:
      actors: {group: scoped}
      actions: [invoke_query]
      queries: [all]
      branch_scope: unprotected
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("rights"), policy=POLICY) as found:
        found.graph.create_branch("open")
        yield found


async def test_who_may_publish_a_run_need_not_read_its_target(served: Served) -> None:
    run = served.graph.begin_run("main").run_id

    async with over_http(served, "drafter") as agent:
        done = await agent.done("run_publish", run_id=run)

    assert f"run {run}: published" in done.text
    assert "commit" not in done.text
    assert served.graph.run_record(run).status == "published"


async def test_a_query_that_runs_on_other_branches_alone_is_a_tool(served: Served) -> None:
    async with over_http(served, "stranger") as agent:
        tools = await agent.tools()
        assert [name for name in tools if name.startswith("q_")] == ["q_all"]
        assert tools["q_all"].description.endswith("Returns p.slug.")
        assert (await agent.done("q_all", branch="open")).rows == [["ana"], ["bob"]]
        refused = await agent.refused("q_all")
        assert refused.startswith("error[query_not_found]")
        assert "it does not run on 'main'; name another branch" in refused
        listed = await agent.client.read_resource("omnigraph://queries")
        assert '"tool": "q_all"' in listed.contents[0].text  # type: ignore[union-attr]
        assert "no tool 'q_add'" in await agent.refused("q_add", branch="open", slug="x")


async def test_a_query_is_looked_up_on_the_branch_that_a_call_names(served: Served) -> None:
    served.graph.create_branch("bare")
    served.graph.branch("bare").apply_schema(
        "node City { name: String @key }", allow_data_loss=True
    )
    async with over_http(served, "stranger") as agent:
        # The first branch on which it may run the query is the one that it does not fit.
        assert not [name for name in await agent.tools() if name.startswith("q_")]
        assert (await agent.done("q_all", branch="open")).rows == [["ana"], ["bob"]]
        assert "no tool 'q_all'" in await agent.refused("q_all", branch="bare")
    served.graph.delete_branch("bare")


async def test_an_agent_of_a_server_without_a_policy_is_told_so(tmp_path: Path) -> None:
    told = "'reader' may only read: this server has no policy"
    hint = "start the server with --policy FILE"
    with serving(tmp_path, policy=None) as served:
        async with over_http(served, "reader") as agent:
            answers = [
                await agent.refused("change", query=ADD, params={"slug": "eve"}),
                await agent.refused("q_add", slug="eve"),
            ]
        with connect(f"http://{served.address}", token=TOKENS["reader"]) as graph:
            rights = graph.rights()

    for answer in answers:
        assert answer.startswith(f"error[denied]: {told}")
        assert hint in answer
    assert str(rights.denied(Action.CHANGE)) == str(rights.denied(Action.ADMIN))
    assert rights.denied(Action.CHANGE).message == told
    assert hint in (rights.denied(Action.CHANGE).hint or "")
