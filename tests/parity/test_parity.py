"""A graph behind a server gives the same values, types and errors as one at hand."""

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import open as open_graph
from omnigraph.api.graph import Graph, connect
from omnigraph.errors import OmniGraphError
from omnigraph.spark.session import stop
from tests.api.people import QUERIES, people
from tests.parity.operations import OPERATIONS, Operation
from tests.parity.plain import Plain, Raised
from tests.parity.serving import serving

Answers = dict[str, Any]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Answers, Answers]:
    """Give what each operation came to, at hand and behind a server.

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
    for name in ("here", "there"):
        people(at / name).close()
    (at / "stored.gq").write_text(QUERIES)
    with (
        serving(at / "there", queries=at / "stored.gq") as url,
        connect(url) as there,
        open_graph(at / "here", queries=at / "stored.gq") as here,
    ):
        return all_answers(here, at), all_answers(there, at)


def all_answers(graph: Graph, at: Path) -> Answers:
    plain = Plain()
    return {name: plain.of(answered(each, graph, at)) for name, each in OPERATIONS.items()}


def answered(operation: Operation, graph: Graph, at: Path) -> object:
    try:
        return operation(graph, at)
    except OmniGraphError as error:
        return error


@pytest.mark.parametrize("name", OPERATIONS)
def test_both_answer_alike(name: str, answers: tuple[Answers, Answers]) -> None:
    here, there = answers
    assert there[name] == here[name]


def test_many_operations_are_compared_and_a_third_of_them_fail(
    answers: tuple[Answers, Answers],
) -> None:
    failed = [name for name, each in answers[0].items() if isinstance(each, Raised)]
    assert len(OPERATIONS) >= 60
    assert len(failed) >= len(OPERATIONS) // 3
