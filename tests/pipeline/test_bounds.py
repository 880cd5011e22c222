"""What a load may cost: violations, time, lines and compressed files have bounds."""

import gzip
import json
import resource
import threading
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import errors
from omnigraph.api.graph import Graph
from omnigraph.errors import BudgetError, CancelledError, ViolationsError
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.publish import publish
from omnigraph.write.load import checks, locate, stage
from omnigraph.write.load import load as load_module
from omnigraph.write.load.sources import files, records, tabular
from tests.pipeline.loads import engine, history, person, refused, rows, text, written
from tests.sample import PERSON, new_graph

__all__ = ["engine"]

MIB = 1 << 20
FEW = 50


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


def held() -> int:
    """Return the most bytes of memory that this process held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let loads count no more than a few violations."""
    for module in (errors, records, stage, tabular, checks, locate, load_module):
        monkeypatch.setattr(module, "MOST_VIOLATIONS", FEW)


def test_millions_of_bad_lines_are_refused_in_seconds(graph: Graph) -> None:
    before, began = held(), time.monotonic()

    error = refused(graph, BytesIO(b"{\n" * (16 * MIB)), engine="inline")

    assert time.monotonic() - began < 60
    assert held() - before < 400 * MIB
    assert len(error.violations) == 20
    assert error.total == errors.MOST_VIOLATIONS + 1
    assert error.message.endswith("(and more than 99,999 more)")
    *_, more, last = error.render().splitlines()
    assert more == "… and more than 99,980 more"
    assert last == "more than 100,000 violations; nothing was written"


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "name", ["lines.jsonl", "lines.jsonl.gz", "t.csv", "t.csv.gz", "t.parquet"]
)
def test_every_reader_stops_at_the_bound(graph: Graph, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    bad = {"slug": None, "name": "n"}
    if name.endswith(".parquet"):
        table = pa.table({"slug": pa.array([None] * 400, pa.utf8()), "name": ["n"] * 400})
        pq.write_table(table, path)
    else:
        record = json.dumps({"type": "Person", "data": bad})
        data = ("slug,name\n" + "a,b,c\n" * 400) if "csv" in name else f"{record}\n" * 400
        path.write_bytes(gzip.compress(data.encode()) if name.endswith("gz") else data.encode())
    type_name = None if "jsonl" in name else "Person"

    error = refused(graph, path, type_name=type_name, engine="inline")

    assert (len(error.violations), error.total) == (20, FEW + 1)
    assert "more than 50 violations" in error.render()


@pytest.mark.usefixtures("few")
def test_a_frame_stops_at_the_bound(graph: Graph) -> None:
    frame = pa.table({"slug": [f"p{n}" for n in range(400)], "name": [7] * 400})
    error = refused(graph, frame, type_name="Person", engine="inline")
    assert error.total == FEW + 1


@pytest.mark.usefixtures("few")
def test_rules_between_rows_stop_at_the_bound_and_say_nothing_that_is_not_so(graph: Graph) -> None:
    error = refused(graph, text(*[person("ann")] * 400), engine="inline")
    assert error.total == FEW + 1
    assert {each.code for each in error.violations} == {errors.Code.REPEATED_KEY}

    pairs = [person(f"p{n}") for n in range(200)] * 2
    assert refused(graph, text(*pairs), engine="inline").total == FEW + 1


def test_a_thousand_violations_are_reported_unless_another_number_is_given(
    graph: Graph, tmp_path: Path
) -> None:
    report = tmp_path / "report.jsonl"
    error = refused(graph, "[]\n" * 1_500, engine="inline", report=report)
    assert error.total == 1_500
    assert len(report.read_text().splitlines()) == 1_000

    refused(graph, "[]\n" * 1_500, engine="inline", report=report, reported=7, shown=3)
    assert len(report.read_text().splitlines()) == 7


def test_either_engine_stops_at_the_same_bound(graph: Graph, tmp_path: Path, engine: str) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"{\n" * (3 * MIB))
    error = refused(graph, path, engine=engine)
    assert error.total == errors.MOST_VIOLATIONS + 1
    assert [each.line for each in error.violations] == list(range(1, 21))


def test_a_load_that_takes_too_long_ends_with_a_budget_error(graph: Graph, engine: str) -> None:
    before = history(graph)
    with pytest.raises(BudgetError, match=r"the load ran longer than 0\.001 s") as raised:
        graph.load(text(*(person(f"p{n}") for n in range(20_000))), engine=engine, seconds=0.001)
    assert raised.value.limit == "seconds"
    assert history(graph) == before
    assert rows(graph, PERSON) == []


def test_a_load_ends_soon_after_it_is_cancelled(graph: Graph) -> None:
    cancelled = threading.Event()
    data = BytesIO(text(*(person(f"p{n}") for n in range(400_000))).encode())
    threading.Timer(0.3, cancelled.set).start()
    began = time.monotonic()
    with pytest.raises(CancelledError, match="the load was cancelled"):
        graph.load(data, engine="inline", cancelled=cancelled)
    assert time.monotonic() - began < 30
    assert rows(graph, PERSON) == []
    # A folder of nothing may stay when the stream was just being stored.
    assert [each for each in Path(graph.uri).glob("_aside/**/*") if each.is_file()] == []


def test_a_load_that_publishes_is_not_cancelled(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled = threading.Event()

    def slowly(*given: Any) -> Commit:
        cancelled.set()
        return publish(*given)

    monkeypatch.setattr("omnigraph.versioning.transact.publish", slowly)
    loaded = graph.load(person("ann"), cancelled=cancelled)
    assert loaded.commit is not None
    assert len(rows(graph, PERSON)) == 1


@pytest.mark.parametrize("name", ["long.jsonl", "long.jsonl.gz", "long.csv", "long.csv.gz"])
def test_a_line_that_is_too_long_is_a_violation_and_never_held(
    graph: Graph, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    is_csv = ".csv" in name
    good = "ann,Ann" if is_csv else person("ann")
    with gzip.open(path, "wb", 1) if name.endswith("gz") else path.open("wb") as file:
        file.write((f"slug,name\n{good}\n" if is_csv else f"{good}\n").encode())
        for _ in range(200):
            file.write(b"x" * MIB)
        file.write(b"\n{}\n")
    before = held()

    error = refused(graph, path, type_name="Person" if is_csv else None, engine="inline")

    assert held() - before < 4 * files.LONGEST_LINE + 100 * MIB
    first = error.violations[0]
    assert (first.code, first.line) == (errors.Code.RECORD_SYNTAX, 3 if is_csv else 2)
    assert first.reason == "the line is longer than 64 MiB"
    assert [each.line for each in error.violations[1:]] == ([] if is_csv else [3])


def test_a_long_line_at_the_end_is_told_and_one_of_the_longest_is_read(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 9 * MIB)
    path = tmp_path / "lines.jsonl"
    name = "n" * (9 * MIB - 200)
    line = json.dumps({"type": "Person", "data": {"slug": "ann", "name": name}})
    path.write_text(f"{line}\n")
    assert graph.load(path, engine="inline").nodes == {"Person": 1}
    path.write_text("{" * (19 * MIB))
    assert [each.line for each in refused(graph, path, engine="inline").violations] == [1]


@pytest.mark.parametrize("name", ["blank.jsonl.gz", "blank.csv.gz"])
def test_a_small_file_of_many_blank_lines_costs_little(
    graph: Graph, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    is_csv = ".csv" in name
    blanks = (4 if is_csv else 64) * MIB
    with gzip.open(path, "wb", 1) as file:
        file.write(b"slug,name\n" if is_csv else b"")
        file.write(b"\n" * blanks)
        file.write(b"ann,Ann\n" if is_csv else f"{person('ann')}\n[]\n".encode())
    before, began = held(), time.monotonic()

    if is_csv:
        assert graph.load(path, type="Person", engine="inline").nodes == {"Person": 1}
    else:
        with pytest.raises(ViolationsError) as raised:
            graph.load(path, engine="inline")
        assert [each.line for each in raised.value.violations] == [blanks + 2]

    assert time.monotonic() - began < 60
    assert held() - before < 300 * MIB


def test_names_that_a_record_repeats_are_found_in_one_pass(graph: Graph) -> None:
    names = ",".join(f'"n{number}":1' for number in range(100_000))
    line = f'{{"type":"Person","data":{{"slug":"a","name":"n",{names},"n1":1}}}}'
    began = time.monotonic()
    error = refused(graph, f"{line}\n", engine="inline", shown=1)
    assert time.monotonic() - began < 60
    assert error.violations[0].code == errors.Code.REPEATED_FIELD


def test_files_and_lines_are_read_as_before(graph: Graph, tmp_path: Path) -> None:
    path = written(tmp_path / "lines.jsonl", person("ann"), "", "  ", "// note", person("bob"))
    assert graph.load(path, engine="inline").nodes == {"Person": 2}


def test_a_merge_and_an_export_end_when_they_are_cancelled(graph: Graph) -> None:
    graph.create_branch("draft")
    graph.load(person("ann"), branch="draft")
    graph.load(person("bob"))
    before = history(graph)
    cancelled = threading.Event()
    lines = graph.at(cancelled=cancelled).export()
    cancelled.set()

    with pytest.raises(CancelledError, match="the merge was cancelled"):
        graph.merge("draft", cancelled=cancelled)
    with pytest.raises(BudgetError, match="the merge ran longer than 0 s"):
        graph.merge("draft", seconds=0)
    with pytest.raises(CancelledError, match="the export was cancelled"):
        list(lines)

    assert history(graph) == before
    assert graph.merge("draft").commit is not None
