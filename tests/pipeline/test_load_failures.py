"""Whatever goes wrong on its way, a load leaves exactly its rows, or nothing that can be seen."""

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import (
    BranchNotFoundError,
    OmniGraphError,
    SparkError,
    StorageError,
    ViolationsError,
)
from omnigraph.spark.runner import InlineRunner
from omnigraph.storage import steps
from omnigraph.write.load import load
from omnigraph.write.load.loaded import LoadMode
from omnigraph.write.load.options import options_of
from omnigraph.write.load.sources.files import files_at
from omnigraph.write.load.sources.splits import Format, LoadSource
from tests.crashes.faults import small_disk
from tests.pipeline.cluster import CONF, cluster
from tests.pipeline.drivers import Driver, eventually, family, is_there
from tests.pipeline.loads import edge, engine, history, node, person, text, written
from tests.pipeline.troubles import Troubled
from tests.sample import COMPANY, ages, edges, new_graph

__all__ = ["engine"]

FILES, EACH = 6, 200


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    made = new_graph(tmp_path / "graph")
    made.load(text(person("ann", 30), node("Company", name="Acme")), engine="inline")
    return made


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Return files of people, each of which is a task."""
    folder = tmp_path / "people"
    folder.mkdir()
    people = [[f"p{file}-{number}" for number in range(EACH)] for file in range(FILES)]
    return [
        written(folder / f"{file}.jsonl", *map(person, slugs)) for file, slugs in enumerate(people)
    ]


def all_there(graph: Graph, branch: str = "main") -> bool:
    """Tell whether every person of the files is there, once, beside those from before."""
    expected = {f"p{file}-{number}" for file in range(FILES) for number in range(EACH)}
    return ages(open_graph(graph.uri), branch).keys() == {"ann", *expected}


def meanwhile(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Let something happen once, after the rows of a load are staged and before its commit."""

    def observe(step: str) -> None:
        if step == "version staged":
            monkeypatch.setattr(steps, "observer", None)
            change()

    monkeypatch.setattr(steps, "observer", observe)


def test_a_load_is_made_again_on_a_commit_to_the_same_table(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    other = open_graph(graph.uri)
    meanwhile(monkeypatch, lambda: other.load(person("first"), engine="inline"))

    loaded = graph.load(text(person("second"), node("Company", name="Second")), engine=engine)

    assert loaded.commit is not None
    assert loaded.commit.id == history(graph)["main"][0]
    assert ages(graph) == {"ann": 30, "first": None, "second": None}
    assert graph.snapshot().table(COMPANY).count() == 2


def test_a_load_is_checked_again_after_a_commit_to_a_table_that_it_only_looked_at(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_graph(graph.uri)
    meanwhile(monkeypatch, lambda: other.load(person("bob"), mode="overwrite", engine="inline"))

    with pytest.raises(ViolationsError):
        graph.load(edge("Knows", "ann", "ann"), engine="inline")

    assert (ages(graph), edges(graph)) == ({"bob": None}, set())


def test_an_overwrite_is_checked_again_for_edges_that_would_lose_their_nodes(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_graph(graph.uri)
    meanwhile(monkeypatch, lambda: other.load(edge("Knows", "ann", "ann"), engine="inline"))

    with pytest.raises(ViolationsError):
        graph.load(person("bob"), mode="overwrite", engine="inline")

    assert (ages(graph), edges(graph)) == ({"ann": 30}, {("ann", "ann")})


def test_a_commit_to_another_table_meanwhile_does_not_matter(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    other = open_graph(graph.uri)
    meanwhile(monkeypatch, lambda: other.load(node("Company", name="Other"), engine="inline"))

    loaded = graph.load(person("second"), engine=engine)

    assert loaded.commit is not None
    assert loaded.commit.id == history(graph)["main"][0]
    assert sorted(ages(graph)) == ["ann", "second"]
    assert graph.snapshot().table(COMPANY).count() == 2


def test_a_branch_that_is_deleted_meanwhile_stays_deleted(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.create_branch("draft")
    meanwhile(monkeypatch, lambda: open_graph(graph.uri).delete_branch("draft"))

    with pytest.raises(BranchNotFoundError):
        graph.load(person("second"), branch="draft", engine="inline")

    assert graph.branches() == ["main"]


class TwiceRunner(InlineRunner):
    """Runs every task twice and takes the second answer, as after a lost executor."""

    def map(self, *given: Any, **more: Any) -> list[Any]:
        super().map(*given, **more)
        return super().map(*given, **more)


@pytest.mark.parametrize("mode", list(LoadMode))
def test_a_task_that_runs_twice_leaves_its_rows_once(
    graph: Graph, files: list[Path], mode: LoadMode
) -> None:
    target = load.LoadTarget("main", graph.snapshot())
    given = [LoadSource(file, Format.JSONL) for file in files_at([str(path) for path in files])]

    loaded = load.load(graph.repository, target, given, TwiceRunner(), options_of({}, mode))

    assert loaded.nodes == {"Person": FILES * EACH}
    assert ages(graph).keys() - {"ann"} == {
        f"p{file}-{number}" for file in range(FILES) for number in range(EACH)
    }


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [("fails", "the task failed after it had written"), ("dies", "the job failed")],
)
@pytest.mark.usefixtures("spark")
def test_a_task_that_never_ends_well_fails_the_load_in_one_line_and_leaves_nothing(
    graph: Graph,
    files: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trouble: str,
    reason: str,
) -> None:
    before = history(graph)
    with monkeypatch.context() as patch:
        patch.setattr(load, "Stage", partial(Troubled, trouble=trouble, folder=str(tmp_path)))
        with pytest.raises(SparkError, match=reason) as raised:
            graph.load(files, engine="spark")

    assert "\n" not in raised.value.message
    assert history(graph) == before
    graph.load(files, engine="spark")
    assert all_there(graph)


def test_a_disk_that_is_full_costs_the_load_and_nothing_else(tmp_path: Path, engine: str) -> None:
    with small_disk(tmp_path / "disk", "8m") as disk:
        graph = new_graph(disk / "graph")
        graph.load(person("ann", 30), engine="inline")
        noise = [node("Person", slug=f"p{n}", name=os.urandom(700).hex()) for n in range(2000)]
        path = written(tmp_path / "people.jsonl", *noise)
        (disk / "ballast").write_bytes(bytes(6 << 20))
        before = history(graph)

        with pytest.raises((StorageError, SparkError), match="No space left on device"):
            graph.load(path, engine=engine)

        assert history(open_graph(graph.uri)) == before
        assert ages(open_graph(graph.uri)) == {"ann": 30}
        (disk / "ballast").unlink()
        graph.load(text(person("bob")), engine=engine)
        assert sorted(ages(open_graph(graph.uri))) == ["ann", "bob"]


def test_a_source_that_cannot_be_read_is_told_in_our_words(
    graph: Graph, tmp_path: Path, engine: str
) -> None:
    path = tmp_path / "people.gz"
    path.write_bytes(b"no gzip")

    with pytest.raises(OmniGraphError, match=r"people\.gz' is not a valid gzip file"):
        graph.load(path, engine=engine)


SCRIPT = """
from functools import partial
from pathlib import Path
from omnigraph.api import graph as og
from omnigraph.write.load import load
from tests.pipeline.troubles import Troubled

uri, folder, files = {uri!r}, Path({folder!r}), [Path(each) for each in {files!r}]

def meet(trouble):
    marks = folder / trouble.replace(" ", "-")
    marks.mkdir()
    load.Stage = partial(Troubled, trouble=trouble, folder=str(marks))
"""


@pytest.fixture
def driver(graph: Graph, files: list[Path], tmp_path: Path) -> Iterator[Callable[[str], Driver]]:
    """Return processes that load the files, each with a session of its own."""
    running: list[Driver] = []

    def start(script: str) -> Driver:
        told = {"uri": graph.uri, "folder": str(tmp_path), "files": [str(each) for each in files]}
        made = Driver(SCRIPT.format(**told) + script, tmp_path, os.environ)
        running.append(made)
        return made

    yield start
    for each in running:
        each.close()


def test_on_a_cluster_rows_are_exact_whatever_becomes_of_tasks_and_executors(
    graph: Graph, driver: Callable[[str], Driver], tmp_path: Path
) -> None:
    """A task fails after it has written, one hangs, and an executor is killed with its tasks."""
    with cluster(tmp_path / "cluster") as running:
        process = driver(
            f"""
session(SparkSettings({running.master!r}, conf={CONF!r}))
graph = og.open(uri)
for trouble in ("fails once", "one hangs", "waits"):
    meet(trouble)
    branch = trouble.replace(" ", "-")
    done = graph.ingest(files, branch=branch, mode="append", engine="spark")
    say(trouble=trouble, nodes=done.loaded.nodes, engine=done.loaded.engine)
stop()
"""
        )
        exact = {"nodes": {"Person": FILES * EACH}, "engine": "spark"}
        assert process.heard() == {"trouble": "fails once", **exact}
        assert attempts(tmp_path / "fails-once") >= 2 * FILES
        assert process.heard() == {"trouble": "one hangs", **exact}
        assert attempts(tmp_path / "one-hangs") > FILES, "nobody took over the task that hangs"
        assert eventually(lambda: attempts(tmp_path / "waits") >= 2, 300)
        killed = running.executors()[0]
        os.kill(killed, signal.SIGKILL)
        assert eventually(lambda: not is_there(killed))
        (tmp_path / "waits" / "go").touch()
        assert process.heard() == {"trouble": "waits", **exact}
        assert attempts(tmp_path / "waits") > FILES, "the lost task was not tried again"
        assert process.end() == 0
    for branch in ("fails-once", "one-hangs", "waits"):
        assert all_there(graph, branch)


def attempts(marks: Path) -> int:
    """Return how often the tasks of a load were tried."""
    return len(list(marks.glob("*.jsonl-*")))


COMMAND = """
from omnigraph.cli.main import main
meet("hangs")
sys.argv = ["omnigraph", "load", uri, "--engine", "spark", "--spark-master", "local[2]"]
sys.argv += [word for file in files for word in ("--data", str(file))]
main()
"""


def test_ctrl_c_leaves_nothing_visible_and_no_process(
    graph: Graph, driver: Callable[[str], Driver], tmp_path: Path
) -> None:
    before = history(graph)
    process = driver(COMMAND)
    marks = tmp_path / "hangs"
    assert eventually(lambda: marks.exists() and len(list(marks.iterdir())) == 2, 300)
    below = family(process.process.pid)
    assert len(below) >= 3, "there is a JVM with two Python workers"

    os.kill(process.process.pid, signal.SIGINT)

    assert process.end() == 130
    assert process.complaints() == "interrupted\n"
    assert eventually(lambda: not any(map(is_there, below))), "a process is left"
    assert history(open_graph(graph.uri)) == before
    assert ages(open_graph(graph.uri)) == {"ann": 30}
    graph.load(person("bob"), engine="inline")
    assert sorted(ages(graph)) == ["ann", "bob"]


def test_ctrl_c_ends_a_load_in_this_process_just_as_well(
    graph: Graph, driver: Callable[[str], Driver], tmp_path: Path
) -> None:
    before = history(graph)
    process = driver(COMMAND.replace('"--engine", "spark"', '"--engine", "inline"'))
    marks = tmp_path / "hangs"
    assert eventually(lambda: marks.exists() and len(list(marks.iterdir())) == 1, 300)

    os.kill(process.process.pid, signal.SIGINT)

    assert process.end() == 130
    assert process.complaints() == "interrupted\n"
    assert history(open_graph(graph.uri)) == before


def test_a_connect_server_loads_the_same_and_tells_how_far_it_is(
    graph: Graph, driver: Callable[[str], Driver], connect_server: str, tmp_path: Path
) -> None:
    bad = written(tmp_path / "bad.jsonl", person("bob"), "[]", person("ann"), "{}")
    process = driver(
        f"""
from omnigraph.errors import ViolationsError
from tests.pipeline.loads import Heard
settings = SparkSettings(remote={connect_server!r})
graph, heard = og.open(uri), Heard()
loaded = graph.load(files, engine="spark", spark=settings, progress=heard)
say(nodes=loaded.nodes, engine=loaded.engine, stages=heard.stages, heard=max(heard.steps))
for lines in (Path({str(bad)!r}), '{person("ann")}'):
    try:
        graph.load(lines, spark=settings)
    except ViolationsError as error:
        say(said=error.render())
load.Stage = partial(Troubled, trouble="fails", folder=str(folder))
try:
    graph.load(files, spark=settings)
except Exception as error:
    say(error=type(error).__name__)
"""
    )
    done: dict[str, Any] = process.heard()
    steps_heard = done.pop("heard")
    assert done == {
        "nodes": {"Person": FILES * EACH},
        "engine": "spark",
        "stages": ["starting Spark", "reading", "checking", "indexing", "publishing"],
    }
    assert steps_heard[0] <= steps_heard[1]
    assert steps_heard[1] > 0
    assert all_there(graph)
    said = process.heard()["said"].splitlines()
    assert [line.partition(": is not")[0] for line in said[:1]] == [f"error[V2]: {bad}:2"]
    assert said[-1] == "2 violations; nothing was written"
    assert "Person 'ann' exists already" in process.heard()["said"]
    assert process.heard() == {"error": "SparkError"}
    assert process.end() == 0
