"""Fsck finds every kind of damage and names it, and changes nothing."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from omnigraph.api.graph import init
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import GraphNotFoundError
from omnigraph.maintain.fsck import fsck
from omnigraph.storage.store import store_at
from omnigraph.versioning.damage import Damage
from tests.maintenance.plants import PLANTS, Plant, sound_graph


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("sound") / "graph"
    sound_graph(root)
    yield root
    shutil.rmtree(root)


def test_a_sound_graph_has_no_findings(sound: Path) -> None:
    found = fsck(store_at(sound))

    assert found.findings == ()
    assert found.commits >= 8
    assert found.versions > 10
    assert open_graph(sound, read_only=True).fsck() == found


def test_indexes_of_every_type_are_sound(tmp_path: Path) -> None:
    values: dict[str, tuple[object, object]] = {
        "I32": (-1, 2),
        "U32": (0, 2**32 - 1),
        "I64": (-1, 2**63 - 1),
        "U64": (0, 2**64 - 1),
        "F32": (0.5, float("nan")),
        "F64": (-0.0, float("nan")),
        "Bool": (True, False),
        "Date": (date(1, 1, 1), date(9999, 12, 31)),
        "DateTime": (datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, 0, 0, 1, tzinfo=UTC)),
        "String": ("", "é"),
    }
    schema = "".join(f"p{kind}: {kind}? @index\n" for kind in values)
    graph = init(tmp_path / "graph", f"node N {{ {schema} }}", durable=False)
    assigned = ", ".join(f"p{kind}: $p{kind}" for kind in values)
    declared = ", ".join(f"$p{kind}: {kind}" for kind in values)
    for at in range(2):
        given = {f"p{kind}": pair[at] for kind, pair in values.items()}
        graph.mutate(f"query add({declared}) {{ insert N {{ {assigned} }} }}", **given)
    graph.optimize()

    assert graph.fsck().findings == ()


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_damage_is_found_and_named_and_nothing_is_changed(
    plant: Plant, sound: Path, tmp_path: Path
) -> None:
    root = tmp_path / "graph"
    shutil.copytree(sound, root)
    plant.do(root)
    before = _content(root)

    found = fsck(store_at(root))

    assert plant.kind in {each.kind for each in found.findings}, found.findings
    assert _content(root) == before


def test_every_kind_of_damage_is_planted() -> None:
    assert {plant.kind for plant in PLANTS} | {Damage.VERSION_UNREADABLE} == set(Damage)
    assert len(PLANTS) >= 40


def test_where_no_graph_is_there_is_none_to_check(tmp_path: Path) -> None:
    with pytest.raises(GraphNotFoundError):
        fsck(store_at(tmp_path / "nothing"))


def test_a_cleaned_graph_is_sound(sound: Path, tmp_path: Path) -> None:
    root = tmp_path / "graph"
    shutil.copytree(sound, root)
    graph = open_graph(root, durable=False)
    assert graph.cleanup(keep=1, grace="0s", confirm=True).old_versions_removed

    assert graph.fsck().findings == ()


def test_the_command_exits_with_one_when_something_is_damaged(sound: Path, tmp_path: Path) -> None:
    root = tmp_path / "graph"
    shutil.copytree(sound, root)
    assert _command("fsck", root).returncode == 0
    next(plant for plant in PLANTS if plant.kind is Damage.DATA_MISSING).do(root)

    damaged = _command("fsck", root, "--json")

    assert damaged.returncode == 1
    told = json.loads(damaged.stdout)
    assert told["sound"] is False
    assert "data_missing" in {each["kind"] for each in told["findings"]}
    assert _command("fsck", tmp_path / "nothing").returncode == 5


def _command(*words: object) -> "subprocess.CompletedProcess[str]":
    command = [str(Path(sys.executable).with_name("omnigraph")), *map(str, words)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def _content(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
