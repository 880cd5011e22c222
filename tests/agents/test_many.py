"""Many: fifty agents with a branch each write and merge at once; nothing is lost or hidden."""

import asyncio
from pathlib import Path

from omnigraph.server.limits import Limits
from tests.agents.agent import over_http
from tests.server.serving import ADD, ALL, Served, serving

AGENTS = 50
ROWS = 2
SECONDS = 540
# The clients share one process with the server, and the machine may stall: none of them is slow.
PATIENT = Limits(
    header_seconds=SECONDS,
    body_seconds=SECONDS,
    keep_alive_seconds=SECONDS,
    query_seconds=SECONDS,
    threads=4,
    waiting=4 * AGENTS,
)
RENAME = 'query c($name: String) { update Person set { name: $name } where slug = "bob" }'


async def _write(served: Served, number: int) -> list[str]:
    """Write rows of one's own, and give one row that all know a name of one's own."""
    async with over_http(served, "owner", path=f"/mcp?run=many-{number}") as agent:
        slugs = [f"a{number}-{step}" for step in range(ROWS)]
        for slug in slugs:
            await agent.done("change", query=ADD, params={"slug": slug})
        await agent.done("change", query=RENAME, params={"name": f"Bob {number}"})
        return slugs


async def _merge(served: Served, number: int) -> str:
    """Merge what one wrote, and return what was told of a conflict, which is left to others."""
    told = ""
    async with over_http(served, "owner", path=f"/mcp?run=many-{number}") as agent:
        while True:
            answer = await agent.ask("merge", **({"take": "ours"} if told else {}))
            if not answer.is_error:
                return told
            if answer.text.startswith("error[merge_conflicts]"):
                assert not told, answer.text
                told = answer.text
            else:
                assert answer.text.startswith("error[head_moved]"), answer.text


async def test_of_fifty_agents_that_write_and_merge_at_once_no_row_is_lost(tmp_path: Path) -> None:
    with serving(tmp_path, PATIENT) as served:
        async with asyncio.timeout(SECONDS):
            written = await asyncio.gather(*(_write(served, each) for each in range(AGENTS)))
            told = await asyncio.gather(*(_merge(served, each) for each in range(AGENTS)))
        found = {str(row["p.slug"]) for row in served.graph.query(ALL)}
        assert {slug for slugs in written for slug in slugs} <= found
        # All branches began at one commit: whoever merges first is right, and the others are told.
        (first,) = (each for each in range(AGENTS) if not told[each])
        name = served.graph.query('match { $p: Person { slug: "bob" } } return { $p.name as name }')
        assert name[0]["name"] == f"Bob {first}"
        for number, text in enumerate(told):
            assert number == first or f'"theirs":"Bob {number}"' in text
        assert served.graph.fsck().is_sound
