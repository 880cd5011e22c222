"""Two exports that find a folder empty at the same time leave each other's files alone."""

from pathlib import Path
from threading import Event
from typing import Any

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import CancelledError
from omnigraph.export import export
from tests.pipeline.loads import person, text
from tests.sample import new_graph


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = new_graph(tmp_path / "graph")
    edges = '{"edge":"Knows","from":"bob","to":"ann","data":{"id":"e1"}}\n'
    graph.load(text(person("bob", 2), person("ann", 1)) + edges, engine="inline")
    return graph


@pytest.fixture
def overtaken(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let another export of people run between the plan and the work of the next one."""
    plain, files = export.plan_export, list[str]()

    def plan_and_wait(*given: Any) -> export.ExportPlan:
        plan = plain(*given)
        monkeypatch.setattr(export, "plan_export", plain)
        files.extend(graph.export_to(tmp_path / "out", types=["Person"], engine="inline").files)
        left = tmp_path / "out" / "edges" / "Knows" / "part-00000.jsonl#1"
        left.parent.mkdir(parents=True)
        left.write_text("what an interrupted task of ours left")
        return plan

    monkeypatch.setattr(export, "plan_export", plan_and_wait)
    return files


def on_disk(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if path.is_file())


def test_an_export_removes_nothing_that_another_wrote(
    graph: Graph, tmp_path: Path, overtaken: list[str]
) -> None:
    second = graph.export_to(tmp_path / "out", types=["Knows"], engine="inline")

    assert (len(overtaken), len(second.files)) == (1, 1)
    assert on_disk(tmp_path / "out") == sorted([*overtaken, *second.files])


def test_an_export_that_is_cancelled_removes_its_own_files_only(
    graph: Graph, tmp_path: Path, overtaken: list[str]
) -> None:
    cancelled = Event()
    cancelled.set()

    with pytest.raises(CancelledError):
        graph.branch(cancelled=cancelled).export_to(
            tmp_path / "out", types=["Knows"], engine="inline"
        )

    assert on_disk(tmp_path / "out") == overtaken
    assert not (tmp_path / "out" / "edges").exists()
