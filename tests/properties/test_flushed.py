"""Whatever an acknowledged commit needs has been flushed to disk, whoever wrote it."""

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, restore
from omnigraph.api.graph import open as open_graph
from omnigraph.storage import durable, layout, steps
from omnigraph.storage.table import Table
from omnigraph.versioning.writes import Append, DeleteRows
from tests.sample import PERSON, new_graph, people, write


class Crash(Exception):
    """The process ends here."""


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[Path]]:
    """Return the files that were really flushed so far."""
    seen: set[Path] = set()
    flush = durable._flush

    def watched(path: str) -> None:
        flush(path)
        seen.add(Path(path))

    monkeypatch.setattr(durable, "_flush", watched)
    yield seen
    steps.observer = None


def unflushed(graph: Graph, flushed: set[Path]) -> list[Path]:
    """Return the files of the manifest and of `main` that a loss of power could take."""
    snapshot = graph.snapshot()
    tables: list[Table] = [snapshot.table(key) for key in snapshot.commit.tables]
    tables.append(graph.repository.manifest.newest())
    needed = (Path(graph.uri, each) for table in tables for each in table.files())
    files = (each for path in needed for each in (path.iterdir() if path.is_dir() else [path]))
    return [each for each in files if each not in flushed]


def test_what_a_fold_rewrites_is_flushed(tmp_path: Path, flushed: set[Path]) -> None:
    graph = new_graph(tmp_path / "g", durable=True)

    for number in range(20):
        write(graph, {PERSON: (Append(people({f"k{number}": number})),)})

    assert unflushed(graph, flushed) == []


def test_what_another_writer_left_in_the_manifest_is_flushed(
    tmp_path: Path, flushed: set[Path]
) -> None:
    graph = new_graph(tmp_path / "g", durable=True)
    steps.observer = _end_at_commit_written
    with pytest.raises(Crash):
        write(open_graph(graph.uri), {PERSON: (Append(people({"ann": 1})),)})
    steps.observer = None

    write(graph, {PERSON: (Append(people({"bob": 2})),)})

    assert unflushed(graph, flushed) == []


def test_what_is_written_again_where_a_graph_was_restored_is_flushed(
    tmp_path: Path, flushed: set[Path]
) -> None:
    root = tmp_path / "g"
    graph = new_graph(root, durable=True)
    graph.backup(tmp_path / "copy")
    for number in range(3):
        write(graph, {PERSON: (Append(people({f"lost{number}": number})),)})
    shutil.rmtree(root)
    flushed.clear()
    restore(tmp_path / "copy", root)
    restored = set(root.rglob("*"))

    write(graph, {PERSON: (Append(people({"ann": 1})),)})

    assert [each for each in unflushed(graph, flushed) if each not in restored] == []


def _end_at_commit_written(step: str) -> None:
    if step == "commit ready":
        raise Crash(step)


def test_the_schema_for_people_is_flushed_each_time_that_it_is_written(
    tmp_path: Path, flushed: set[Path]
) -> None:
    graph = new_graph(tmp_path / "g", durable=True)
    shown = {Path(graph.uri, each) for each in (layout.SCHEMA_SOURCE, layout.SCHEMA_IR)}

    for name in ("One", "Two"):
        flushed.clear()
        graph.apply_schema(f"{graph.schema}\nnode {name} {{ slug: String @key }}")
        assert shown <= flushed


def test_the_name_of_a_file_is_flushed_with_it_up_to_its_table(
    tmp_path: Path, flushed: set[Path]
) -> None:
    graph = new_graph(tmp_path / "g", durable=True)
    write(graph, {PERSON: (Append(people({"ann": 1, "cy": 3})),)})
    flushed.clear()

    write(graph, {PERSON: (Append(people({"bob": 2})), DeleteRows(pa.array(["ann"])))})

    files = [each for each in flushed if each.is_file()]
    assert {each.parent.name for each in files} >= {"data", "_versions", "_deletions"}
    for each in files:
        assert each.parent in flushed
        # A cleanup may have removed any other folder, and somebody made it again.
        assert each.parent.name == "_versions" or each.parent.parent in flushed


def test_the_names_of_tables_are_flushed_once(tmp_path: Path, flushed: set[Path]) -> None:
    graph = new_graph(tmp_path / "g", durable=True)
    write(graph, {PERSON: (Append(people({"ann": 1})),)})
    root = Path(graph.uri)
    assert {root, root / "nodes", root / layout.MANIFEST} <= flushed
    flushed.clear()

    write(graph, {PERSON: (Append(people({"bob": 2})),)})
    assert not {root, root / "nodes"} & flushed

    graph.apply_schema(f"{graph.schema}\nnode Fresh {{ slug: String @key }}")
    assert {root, root / "nodes"} <= flushed


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[set[str]]]:
    """Return what was flushed together, each time that somebody waited for it."""
    found: list[set[str]] = []
    flush_all = durable._flush_all

    def watched(root: Path, paths: Collection[str]) -> None:
        found.append(set(paths))
        flush_all(root, paths)

    monkeypatch.setattr(durable, "_flush_all", watched)
    yield found
    steps.observer = None


def test_a_small_change_waits_for_the_disk_twice(tmp_path: Path, waits: list[set[str]]) -> None:
    graph = new_graph(tmp_path / "g", durable=True)
    write(graph, {PERSON: (Append(people({"ann": 1})),)})
    waits.clear()

    write(graph, {PERSON: (Append(people({"bob": 2})),)})

    folders = [{Path(each).parts[0] for each in paths} for paths in waits]
    assert folders == [{"nodes"}, {layout.MANIFEST}]


def test_what_came_between_is_flushed_before_the_flip_that_names_it(
    tmp_path: Path, waits: list[set[str]]
) -> None:
    graph = new_graph(tmp_path / "g", durable=True)
    graph.create_branch("draft")
    other = open_graph(graph.uri, durable=False)
    known: list[set[str]] = []

    def write_meanwhile(step: str) -> None:
        if step == "commit ready":
            steps.observer = None
            known.append(other.repository.manifest.newest().files())
            write(other, {PERSON: (Append(people({"cy": 3})),)}, "draft")
            other.delete_branch("draft")  # which adds a row that says where it stood
            known.append(other.repository.manifest.newest().files())

    steps.observer = write_meanwhile
    write(graph, {PERSON: (Append(people({"bob": 2})),)})

    before, after = known
    (between,) = (each for each in after - before if "/data/" in each)
    flip = f"_versions/{layout.manifest_name(graph.repository.manifest.newest().version)}"
    (content,) = (at for at, paths in enumerate(waits) if between in paths)
    (name,) = (at for at, paths in enumerate(waits) if f"{layout.MANIFEST}/{flip}" in paths)
    assert content < name
