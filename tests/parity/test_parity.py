"""A graph gives the same values, types and errors at hand and behind a server, awaited or not."""

import gzip
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
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


WAYS = (
    "a server",
    "awaited",
    # What is awaited is held by the way before it, and what goes over HTTP by the first.
    pytest.param("a server, awaited", marks=pytest.mark.long),
)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Answers]:
    """Return what tells what each operation came to, at hand and in the other ways.

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
    (at / "stored.gq").write_text(QUERIES)
    return cache(lambda way: _answers(way, at))


def _answers(way: str, at: Path) -> Answers:
    root, stored = at / way, at / "stored.gq"
    people(root).close()
    with ExitStack() as stack:
        if way == "at hand":
            return all_answers(stack.enter_context(open_graph(root, queries=stored)), at)
        if way == "a server":
            url = stack.enter_context(serving(root, queries=stored))
            return all_answers(stack.enter_context(connect(url)), at)
        if way == "awaited":
            loop = stack.enter_context(looping())
            graph = loop.wait(aio.open(root, queries=stored))
        else:
            url = stack.enter_context(serving(root, queries=stored))
            loop = stack.enter_context(looping())
            graph = aio.connect(url)
        stack.callback(lambda: loop.wait(graph.close()))
        return all_answers(Waiting(loop, graph), at)


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
def test_all_answer_alike(name: str, way: str, answers: Callable[[str], Answers]) -> None:
    assert answers(way)[name] == answers("at hand")[name]


def test_many_operations_are_compared_and_a_third_of_them_fail(
    answers: Callable[[str], Answers],
) -> None:
    failed = [name for name, each in answers("at hand").items() if isinstance(each, Raised)]
    assert len(OPERATIONS) >= 60
    assert len(failed) >= len(OPERATIONS) // 3
