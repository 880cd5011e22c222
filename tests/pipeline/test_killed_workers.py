"""Workers of a cluster are killed in every phase of a load and of a stream: rows stay exact.

The graph is in a bucket of a real server, speculation is on, and a worker dies with all its
processes while its tasks are known to be in that phase.
"""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from omnigraph.api.graph import Graph, init
from tests.pipeline.cluster import CONF, Cluster, cluster
from tests.pipeline.drivers import Driver, eventually
from tests.pipeline.held import Marks
from tests.pipeline.loads import edge, person, written
from tests.sample import KNOWS, PERSON, SCHEMA
from tests.stores import BUCKET, s3_environment

FILES, EACH = 6, 20_000
SECONDS = 180
EVENTS = "node Event { number: I64 @key }"

SCRIPT = """
from pathlib import Path
from omnigraph.api import graph as og
from omnigraph.spark import runner
from tests.pipeline.held import HeldRows, HoldingRunner, Marks

runner.SparkRunner = HoldingRunner
spark = session(SparkSettings({master!r}, conf={conf!r}))
requests = Path({requests!r})

def load(uri, files, branch):
    paths, how = [Path(each) for each in files], dict(mode="append", engine="spark")
    done = og.open(uri).ingest(paths, branch=branch, **how)
    return dict(nodes=done.loaded.nodes, edges=done.loaded.edges, engine=done.loaded.engine)

def stream(uri, source, checkpoint):
    events = spark.readStream.schema("number long").option("maxFilesPerTrigger", 1).json(source)
    held = events.repartition(2).mapInArrow(HeldRows(HoldingRunner.marks), "number long")
    query = (
        held.writeStream.format("omnigraph")
        .options(path=uri, type="Event", checkpointLocation=checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return dict(batches=query.lastProgress["batchId"] + 1)

def wait_for_two():
    ends = time.monotonic() + {seconds}
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
        assert time.monotonic() < ends, "two executors did not come within {seconds} s"
        time.sleep(0.05)

say(up=True)
number = 0
while True:
    number += 1
    asked = requests / str(number)
    while not asked.exists():
        time.sleep(0.05)
    told = json.loads(asked.read_text())
    HoldingRunner.phase, HoldingRunner.marks = told.pop("phase"), Marks(told.pop("marks"))
    wait_for_two()
    say(**globals()[told.pop("work")](**told))
"""


@dataclass(slots=True)
class Work:
    """A cluster with a driver, and what that is asked to do."""

    cluster: Cluster
    driver: Driver
    folder: Path
    asked: int = 0

    def begin(self, work: str, phase: str, **told: object) -> Marks:
        """Begin some work whose tasks wait in a phase, and return where they leave marks."""
        self.asked += 1
        marks = self.folder / f"marks-{self.asked}"
        marks.mkdir()
        request = self.folder / "request"
        text = {"work": work, "phase": phase, "marks": str(marks), **told}
        request.write_text(json.dumps(text))
        request.rename(self.folder / "requests" / str(self.asked))
        return Marks(str(marks))

    def kill(self, marks: Marks, phase: str, tasks: int) -> list[int]:
        """Kill the worker of the first task when so many wait in a phase; returns the others."""
        came = eventually(lambda: len(marks.processes(phase)) >= tasks, SECONDS)
        assert came, f"not {tasks} tasks in '{phase}' in {SECONDS} s: {self.driver.complaints()}"
        first, *others = marks.processes(phase)
        address = self.cluster.kill_worker(first)
        self.cluster.add_worker(address)
        return others

    def events(self) -> list[dict[str, Any]]:
        """Return what Spark has written down so far."""
        (log,) = (self.folder / "events").iterdir()
        whole = log.read_text().rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def ends_of_tasks(self, since: int) -> set[str]:
        """Return why attempts of tasks ended, of what Spark wrote down after `since` events."""
        ends = [each for each in self.events()[since:] if each["Event"].endswith("TaskEnd")]
        return {each["Task End Reason"]["Reason"] for each in ends}


@pytest.fixture(scope="module")
def bucket_environment(seaweedfs: str) -> Iterator[dict[str, str]]:
    """Return the variables that reach a bucket, which are set here too."""
    found = s3_environment(seaweedfs)
    with pytest.MonkeyPatch.context() as patch:
        for variable in [each for each in os.environ if each.startswith("AWS_")]:
            patch.delenv(variable)
        for variable, value in found.items():
            patch.setenv(variable, value)
        yield found


@pytest.fixture(scope="module")
def work(
    bucket_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Work]:
    """Return a cluster, and a driver that does what it is asked."""
    folder = tmp_path_factory.mktemp("work")
    for name in ("requests", "events", "driver"):
        (folder / name).mkdir()
    environment = {**os.environ, **bucket_environment}
    conf = {
        **CONF,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    with cluster(folder / "cluster", environment) as running:
        script = SCRIPT.format(
            master=running.master, conf=conf, requests=str(folder / "requests"), seconds=SECONDS
        )
        with closing(Driver(script, folder / "driver", environment)) as driver:
            assert driver.heard() == {"up": True}
            yield Work(running, driver, folder)


@pytest.fixture(scope="module")
def graph(bucket_environment: dict[str, str]) -> Graph:
    return init(f"s3://{BUCKET}/{uuid4().hex}/graph", SCHEMA)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return files of people who know each other, each of which is a task."""
    folder = tmp_path_factory.mktemp("people")
    made = []
    for file in range(FILES):
        slugs = [f"p{file}-{number}" for number in range(EACH)]
        pairs = zip(slugs, [*slugs[1:], slugs[0]], strict=True)
        lines = (*map(person, slugs), *(edge("Knows", *pair) for pair in pairs))
        made.append(str(written(folder / f"{file}.jsonl", *lines)))
    return made


def _check_exact(graph: Graph, branch: str) -> None:
    """Check that a branch is one commit ahead, which has every row once."""
    commits = [commit.id for commit in graph.log(branch)]
    assert commits[1:] == [commit.id for commit in graph.log()], "not exactly one commit"
    snapshot = graph.snapshot(branch)
    slugs = [[f"p{file}-{number}" for number in range(EACH)] for file in range(FILES)]
    people = snapshot.table(PERSON).scan(["id"])["id"].to_pylist()
    assert sorted(people) == sorted(slug for each in slugs for slug in each)
    rows = snapshot.table(KNOWS).scan(["src", "dst"]).to_pylist()
    pairs = [pair for each in slugs for pair in zip(each, [*each[1:], each[0]], strict=True)]
    assert sorted((row["src"], row["dst"]) for row in rows) == sorted(pairs)


@pytest.mark.parametrize(
    ("phase", "tasks", "reason"),
    [
        ("Stage", 2, "ExecutorLostFailure"),
        ("_emitted", 2, "ExecutorLostFailure"),
        ("_reduced", 1, "FetchFailed"),
        ("_build", 2, "ExecutorLostFailure"),
    ],
    ids=["staging", "map of the key check", "reduce of the key check", "index build"],
)
def test_a_load_whose_worker_is_killed_is_one_commit_with_every_row_once(
    work: Work, graph: Graph, files: list[str], phase: str, tasks: int, reason: str
) -> None:
    branch = f"killed-in-{phase.strip('_').lower()}"
    before = len(work.events())
    marks = work.begin("load", phase, uri=graph.uri, files=files, branch=branch)

    others = work.kill(marks, phase, tasks)
    # One that is left never ends, so that Spark must give its work to somebody else.
    marks.go(hanging=others[0] if tasks > 1 else None)

    count = FILES * EACH
    done = {"nodes": {"Person": count}, "edges": {"Knows": count}, "engine": "spark"}
    assert work.driver.heard() == done
    _check_exact(graph, branch)
    assert eventually(lambda: reason in work.ends_of_tasks(before)), f"no task ended by {reason}"


def test_a_stream_whose_worker_is_killed_commits_every_batch_once(
    work: Work, bucket_environment: dict[str, str], tmp_path: Path
) -> None:
    batches, each = 2, 1_000
    graph = init(f"s3://{BUCKET}/{uuid4().hex}/graph", EVENTS)
    source = tmp_path / "source"
    source.mkdir()
    for batch in range(batches):
        numbers = range(batch * each, (batch + 1) * each)
        written(source / f"{batch}.json", *(json.dumps({"number": number}) for number in numbers))
    first = len(list(graph.log()))
    before = len(work.events())
    checkpoint = str(tmp_path / "checkpoint")
    marks = work.begin("stream", "", uri=graph.uri, source=str(source), checkpoint=checkpoint)

    others = work.kill(marks, "batch", 2)
    marks.go(hanging=others[0])

    assert work.driver.heard() == {"batches": batches}
    assert len(list(graph.log())) == first + batches
    rows = graph.snapshot().table("node:Event").scan(["number"])["number"].to_pylist()
    assert sorted(rows) == list(range(batches * each))
    reason = "ExecutorLostFailure"
    assert eventually(lambda: reason in work.ends_of_tasks(before)), f"no task ended by {reason}"
