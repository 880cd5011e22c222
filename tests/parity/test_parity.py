"""A graph gives the same values, types and errors at hand and behind a server, awaited or not."""

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import aio
from omnigraph import open as open_graph
from omnigraph.api.graph import Graph, connect
from omnigraph.errors import OmniGraphError
from omnigraph.spark.session import stop
from tests.aio.waiting import Waiting, looping
from tests.api.people import QUERIES, people
from tests.parity.operations import OPERATIONS, Operation
from tests.parity.plain import Plain, Raised
from tests.parity.serving import serving

Answers = dict[str, Any]


WAYS = ("a server", "awaited", "a server, awaited")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answers]:
    """Return what each operation came to, at hand and in the other ways.

    Spark does not run in either process: where it does, small loads use it as well.
    """
    stop()
    at = tmp_path_factory.mktemp("parity")
    (at / "people.gq").write_text("query ages() { match { $p: Person } return { $p.age as age } }")
    (at / "wrong.gq").write_text("query q() {\n  match { $p: Persn }\n  return { $p.name }\n}\n")
    (at / "teams.jsonl").write_text('{"type": "Team", "data": {"slug": "t1"}}\n')
    (at / "wrong.jsonl").write_text('\n{"type": "Team", "data": {"slug": "t2", "x": 1}}')
    (at / "t3.jsonl").write_text('{"type": "Team", "data": {"slug": "t3"}}')
    (at / "teams.jsonl.gz").write_bytes(gzip.compress(b'{"type": "Team", "data": {"slug": "t4"}}'))
    pq.write_table(pa.table({"slug": ["t5"], "title": ["Five"]}), at / "teams.parquet")
    for name in ("here", "there", "own", "far"):
        people(at / name).close()
    stored = at / "stored.gq"
    stored.write_text(QUERIES)
    with (
        serving(at / "there", queries=stored) as url,
        serving(at / "far", queries=stored) as other_url,
        connect(url) as there,
        open_graph(at / "here", queries=stored) as here,
        looping() as loop,
    ):
        own = loop.wait(aio.open(at / "own", queries=stored))
        far = aio.connect(other_url)
        try:
            return {
                "at hand": all_answers(here, at),
                "a server": all_answers(there, at),
                "awaited": all_answers(Waiting(loop, own), at),
                "a server, awaited": all_answers(Waiting(loop, far), at),
            }
        finally:
            loop.wait(own.close())
            loop.wait(far.close())


def all_answers(graph: Graph | Waiting, at: Path) -> Answers:
    plain = Plain()
    return {name: plain.of(answered(each, graph, at)) for name, each in OPERATIONS.items()}


def answered(operation: Operation, graph: Graph | Waiting, at: Path) -> object:
    try:
        return operation(graph, at)
    except OmniGraphError as error:
        return error


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("way", WAYS)
def test_all_answer_alike(name: str, way: str, answers: dict[str, Answers]) -> None:
    assert answers[way][name] == answers["at hand"][name]


def test_many_operations_are_compared_and_a_third_of_them_fail(
    answers: dict[str, Answers],
) -> None:
    failed = [name for name, each in answers["at hand"].items() if isinstance(each, Raised)]
    assert len(OPERATIONS) >= 60
    assert len(failed) >= len(OPERATIONS) // 3
