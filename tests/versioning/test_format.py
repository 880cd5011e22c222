"""Graphs of every format open; old ones are brought forward, newer ones refused."""

from pathlib import Path

import pytest

from omnigraph.api.graph import open as open_graph
from omnigraph.errors import FormatError
from omnigraph.storage.layout import NEWEST_FORMAT
from omnigraph.versioning.manifest.records import FORMAT, PRIMARY_KEY, STAMP, stamp_of
from omnigraph.versioning.writes import Upsert
from tests.sample import PERSON, ages, edges, new_graph, people, write
from tests.versioning.formats import FIXTURES, unpacked


def test_there_is_a_stored_graph_of_every_format() -> None:
    stored = {path.name for path in FIXTURES.glob("format-*.tar.gz")}
    assert stored == {f"format-{number}.tar.gz" for number in range(1, NEWEST_FORMAT + 1)}


@pytest.mark.parametrize("number", range(1, NEWEST_FORMAT + 1))
def test_a_stored_graph_of_a_format_can_be_read_and_written(tmp_path: Path, number: int) -> None:
    root = unpacked(number, tmp_path)
    graph = open_graph(root, durable=False)
    assert graph.branches() == ["main", "review/one"]
    assert ages(graph) == {"ada": 36, "bob": None}
    assert ages(graph, "review/one") == {"ada": 37, "bob": None}
    assert edges(graph, "review/one") == {("ada", "bob")}
    assert [each.message for each in graph.log("review/one")] == ["a birthday", "two people", None]
    write(graph, {PERSON: (Upsert(people({"bob": 50})),)})
    assert ages(open_graph(root)) == {"ada": 36, "bob": 50}


def test_a_new_graph_carries_the_stamp_and_the_mark(tmp_path: Path) -> None:
    newest = new_graph(tmp_path / "g").repository.manifest.newest()
    assert stamp_of(newest) == FORMAT
    assert newest.schema.field("object_id").metadata == {PRIMARY_KEY.encode(): b"true"}


def test_reading_an_old_graph_changes_nothing(tmp_path: Path) -> None:
    root = unpacked(1, tmp_path)
    before = sorted(path for path in root.rglob("*"))
    graph = open_graph(root, read_only=True)
    assert ages(graph) == {"ada": 36, "bob": None}
    assert stamp_of(graph.repository.manifest.newest()) == 1
    assert sorted(path for path in root.rglob("*")) == before


def test_opening_for_writing_migrates_once(tmp_path: Path) -> None:
    root = unpacked(1, tmp_path)
    newest = open_graph(root).repository.manifest.newest()
    assert stamp_of(newest) == FORMAT
    assert newest.schema.field("object_id").metadata == {PRIMARY_KEY.encode(): b"true"}
    assert open_graph(root).repository.manifest.newest().version == newest.version


@pytest.mark.parametrize("read_only", [True, False])
def test_a_newer_format_is_refused(tmp_path: Path, read_only: bool) -> None:
    graph = new_graph(tmp_path / "g")
    tables, manifest = graph.repository.tables, graph.repository.manifest
    tables.set_schema_keys(manifest.newest(), {STAMP: str(NEWEST_FORMAT + 1)})
    with pytest.raises(FormatError, match=f"format {NEWEST_FORMAT + 1}") as refused:
        open_graph(tmp_path / "g", read_only=read_only)
    assert refused.value.hint == "upgrade omnigraph first"
