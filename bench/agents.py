"""Agents: how long an agent waits for its first tools and for a point read, and how much it reads.

The server is a process on standard input and output, and the client that of the SDK. A start is
from the start of that process to the first list of tools.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from mcp import Client, StdioServerParameters

from bench.record import store, timing
from omnigraph import Graph, init
from omnigraph.mcp.desk import Desk, own_branch
from omnigraph.mcp.guide import guide_text
from omnigraph.mcp.overview import describe
from omnigraph.mcp.toolbox import shown_tools
from omnigraph.mcp.wording import tokens_of
from omnigraph.policy.policy import parse_policy
from omnigraph.policy.rights import rights_of
from omnigraph.schema.compile import compile_schema

SCHEMA = """
node Person { slug: String @key  name: String @index  age: I64 }
edge Knows: Person -> Person
"""
ONE = """query one($slug: String) {
  match { $p: Person { slug: $slug } }
  return { $p.name as name, $p.age as age }
}"""
PEOPLE = 10_000
STARTS = 7
POLICY = """
version: 1
groups: {drafters: [drafter]}
protected_branches: [main]
rules:
  - {id: read, allow: {actors: {group: drafters}, actions: [read], branch_scope: any}}
  - id: draft
    allow: {actors: {group: drafters}, actions: [change, review], branch_scope: unprotected}
  - id: branch
    allow: {actors: {group: drafters}, actions: [branch_create], target_branch_scope: unprotected}
"""


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=501)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with init(root / "graph", SCHEMA) as graph:
            rows = [{"slug": f"p{n}", "name": f"P {n}", "age": n} for n in range(PEOPLE)]
            graph.load(rows, type="Person")
            sizes = _sizes(graph)
        waiting = os.getloadavg()[0]
        findings = asyncio.run(_measured(root, chosen.runs)) | sizes
        findings["processes_waiting_before"] = round(waiting, 1)
    for what, found in findings.items():
        print(f"{what:32} {found}")
    print(f"stored in {store('agents', ['mcp'], findings)}")


async def _measured(root: Path, runs: int) -> dict[str, object]:
    params = StdioServerParameters(
        command=sys.executable,
        args=["-c", "from omnigraph.cli.main import main; main()", "mcp", "graph"],
        env=dict(os.environ),
        cwd=root,
    )
    starts: list[float] = []
    lists: list[float] = []
    for _ in range(STARTS):
        begun = time.perf_counter()
        async with Client(params, mode="legacy") as client:
            met = time.perf_counter()
            await client.list_tools()
            done = time.perf_counter()
        starts.append(done - begun)
        lists.append(done - met)
    found: dict[str, object] = {
        "start_to_first_tools": timing(starts),
        "initialized_to_first_tools": timing(lists),
    }
    async with Client(params, mode="legacy") as client:
        times = []
        for number in range(runs + 50):
            asked = {"query": ONE, "params": {"slug": f"p{number * 7 % PEOPLE}"}}
            begun = time.perf_counter()
            await client.call_tool("query", asked)
            times.append(time.perf_counter() - begun)
        found["point_read"] = timing(times[50:])
        times = []
        for _ in range(101):
            begun = time.perf_counter()
            await client.call_tool("schema", {})
            times.append(time.perf_counter() - begun)
        found["schema_tool"] = timing(times)
    return found


def _sizes(graph: Graph) -> dict[str, object]:
    """Return how much a model has to read; a token is counted as three bytes.

    Of a tool that is its name, its description and what it takes. Annotations are for the client.
    """
    rights = rights_of("drafter", parse_policy("policy.yaml", POLICY.encode()))
    desk = Desk(
        opened=lambda: graph, rights=rights, own=own_branch("drafter", "bench"), has_stored=False
    )
    listed = [
        {"name": each.name, "description": each.about, "inputSchema": each.input_schema}
        for each in shown_tools(desk)
    ]
    nodes = "\n".join(
        f"node Type{n} {{ slug: String @key  title: String @index  status: enum(open, closed)"
        " body: String?  amount: F64?  created: DateTime?  tags: [String]? }"
        for n in range(18)
    )
    edges = "\n".join(f"edge Link{n}: Type{n} -> Type{n + 1} {{ since: Date? }}" for n in range(12))
    catalog = compile_schema(f"{nodes}\n{edges}")
    counts = dict.fromkeys(catalog.by_identity, 123_456)
    return {
        "tools_of_a_limited_actor": len(listed),
        "tools_of_a_limited_actor_tokens": tokens_of(json.dumps(listed, separators=(",", ":"))),
        "schema_of_30_types_tokens": tokens_of(describe(catalog, counts)),
        "guide_words": len(guide_text().split()),
    }


if __name__ == "__main__":
    main()
