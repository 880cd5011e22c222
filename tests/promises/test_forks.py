"""A process that was forked from one with an open graph is told so, and does not wait for ever."""

import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
import os, sys
import omnigraph as og
graph = og.init(sys.argv[1], "node Person { name: String @key }")
graph.load([{"name": "Ana"}], type="Person", engine="inline")
child = os.fork()
if child == 0:
    try:
        ACTION
    except og.OmniGraphError as failed:
        print(failed, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(graph.query("query q() { match { $p: Person } return { count(*) as n } }").to_dicts())
"""
_ACTIONS = (
    'graph.load([{"name": "Ben"}], type="Person", engine="inline")',
    "graph.branches()",
    "og.open(sys.argv[1])",
)


@pytest.mark.parametrize("action", _ACTIONS)
def test_a_forked_process_is_told_to_be_spawned(tmp_path: Path, action: str) -> None:
    script = _SCRIPT.replace("ACTION", action)
    command = [sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "graph")]

    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    assert "started by fork" in told.stdout
    assert "by spawn" in told.stdout
    assert told.stdout.endswith("[{'n': 1}]\n")
