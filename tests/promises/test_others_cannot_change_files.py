"""Promise: whatever the umask of a process, other users of the machine cannot change its graphs."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys
os.umask(int(sys.argv[1], 8))
import omnigraph as og
from tests.sample import SCHEMA
graph = (og.open if os.path.exists(sys.argv[2]) else lambda uri: og.init(uri, SCHEMA))(sys.argv[2])
name = f"umask-{sys.argv[1]}"
graph.mutate("query add($s: String) { insert Person { slug: $s  name: $s } }", s=name)
graph.create_branch(name)
graph.query("query all() { match { $p: Person } return { $p.slug } }").to_dicts()
graph.optimize()
graph.backup(sys.argv[2] + ".backup")
assert os.umask(0) == int(sys.argv[1], 8), "the umask of the process was changed"
"""


def _run(umask: str, graph: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SCRIPT, umask, str(graph)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)


def _changeable(top: Path) -> list[Path]:
    """Return what any user could change below a folder, or by way of it."""
    found, folders = [], [top]
    while folders:
        folder = folders.pop()
        if not folder.stat().st_mode & stat.S_IXOTH:
            continue
        for each in folder.iterdir():
            found += [each] if each.stat().st_mode & stat.S_IWOTH else []
            folders += [each] if each.is_dir() else []
    return found


@pytest.mark.parametrize("umask", ["000", "022", "077"])
def test_nobody_else_can_change_what_a_library_process_makes(tmp_path: Path, umask: str) -> None:
    tmp_path.chmod(0o755)

    done = _run(umask, tmp_path / "made" / "graph")

    assert _changeable(tmp_path) == []
    assert "every user" not in done.stderr
    closed = (tmp_path / "made" / "graph").stat().st_mode & 0o777
    assert closed == {"000": 0o770, "022": 0o755, "077": 0o700}[umask]


def test_a_folder_that_is_open_to_all_is_left_so_and_a_warning_is_logged(tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    _run("022", graph)

    done = _run("000", graph)

    assert graph.stat().st_mode & 0o777 == 0o755
    assert "every user of this machine can change what this process writes to" in done.stderr
