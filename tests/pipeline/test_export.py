"""An export loads back to the identical graph, and its lines have one order."""

import json
import math
import subprocess
import sys
from pathlib import Path
from threading import Event

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph.api.graph import Graph
from omnigraph.data.values.columns import with_timestamps
from omnigraph.errors import (
    BranchNotFoundError,
    CancelledError,
    CommitNotFoundError,
    InputError,
    TableNotFoundError,
)
from omnigraph.export.export import ExportResult
from omnigraph.export.keywords import ExportKeywords
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.catalog import StoredType
from tests.pipeline.loads import Heard, person, text
from tests.pipeline.rich import PAIR, content, empty_graph, is_same, lines_of, rich_graph
from tests.sample import KNOWS, PERSON, new_graph
from tests.stores import Lane

BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return rich_graph(tmp_path_factory.mktemp("rich") / "graph")


@pytest.fixture
def people(tmp_path: Path) -> Graph:
    graph = new_graph(tmp_path / "graph")
    edges = '{"edge":"Knows","from":"bob","to":"ann","data":{"id":"e1"}}\n'
    graph.load(text(person("bob", 2), person("ann", 1)) + edges, engine="inline")
    return graph


def records(lines: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in lines.splitlines()]


def loaded_back(place: Path, exported: ExportResult) -> Graph:
    """Load all files of an export into a new graph."""
    graph = empty_graph(place)
    if exported.format == "jsonl":
        graph.load(list(exported.files), engine="inline")
    else:
        for file in exported.files:
            graph.load([file], type=file.split("/")[-2], engine="inline")
    return graph


def test_the_lines_load_back_to_the_identical_graph(rich: Graph, tmp_path: Path) -> None:
    (tmp_path / "all.jsonl").write_bytes(lines_of(rich))
    other = empty_graph(tmp_path / "other")

    other.load(tmp_path / "all.jsonl", engine="inline")

    assert is_same(rich, other)
    assert len(records(lines_of(rich))) == sum(map(len, content(rich).values())) == 13


def test_nodes_come_before_edges_by_type_and_by_the_bytes_of_the_id(rich: Graph) -> None:
    found = records(lines_of(rich))
    types = list(dict.fromkeys(record.get("type", record.get("edge")) for record in found))
    assert types == ["Loose", "Pair", "Thing", "Bare", "Likes", "Next"]
    slugs = [r["data"]["slug"] for r in found if r.get("type") == "Thing"]  # type: ignore[index]
    assert slugs == sorted(slugs, key=str.encode)
    assert slugs[-2:] == ["\uffff", "😀"]


def test_a_record_holds_every_property_in_declared_order(people: Graph) -> None:
    assert lines_of(people) == (
        b'{"type":"Person","data":{"slug":"ann","name":"ann of the north","age":1}}\n'
        b'{"type":"Person","data":{"slug":"bob","name":"bob of the north","age":2}}\n'
        b'{"edge":"Knows","from":"bob","to":"ann","data":{"id":"e1"}}\n'
    )


def test_rows_that_were_replaced_or_come_later_stand_once(people: Graph) -> None:
    people.load(text(person("ann", 7)), mode="merge", engine="inline")
    people.load(text(person("al", None)), engine="inline")
    ages = [(r["data"]["slug"], r["data"]["age"]) for r in records(lines_of(people))[:3]]  # type: ignore[index]
    assert ages == [("al", None), ("ann", 7), ("bob", 2)]


def test_an_old_commit_and_another_branch_are_exported_as_they_are(people: Graph) -> None:
    before, lines = people.snapshot().commit.id, lines_of(people)
    people.create_branch("more")
    people.load(text(person("eve")), branch="more", engine="inline")
    people.load(text(person("ann", 7)), mode="merge", engine="inline")

    assert lines_of(people, before) == lines
    assert b'"eve"' in lines_of(people, "more")
    assert b'"eve"' not in lines_of(people)


@pytest.mark.parametrize(
    ("how", "types"),
    [
        ({"types": ["Person"]}, {"Person"}),
        ({"types": ("Knows", "Person", "Person")}, {"Person", "Knows"}),
        ({"tables": [KNOWS]}, {"Knows"}),
        ({"types": ["Person"], "tables": [KNOWS, PERSON]}, {"Person", "Knows"}),
        ({"types": ["Company"]}, set()),
    ],
)
def test_types_and_tables_choose_what_is_exported(
    people: Graph, how: dict[str, list[str]], types: set[str]
) -> None:
    chosen, tables = how.get("types", ()), how.get("tables", ())
    found = records(b"".join(people.export(types=chosen, tables=tables)))
    assert {record.get("type", record.get("edge")) for record in found} == types


def test_what_does_not_exist_is_refused_at_once_with_the_nearest_name(
    people: Graph, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="no type 'Persn'") as unknown_type:
        people.export(types=["Persn"])
    assert unknown_type.value.hint == "did you mean 'Person'?"
    with pytest.raises(TableNotFoundError, match="no table 'node:Persn'") as unknown_table:
        people.export(tables=["node:Persn"])
    assert unknown_table.value.hint == "did you mean 'node:Person'?"
    with pytest.raises(BranchNotFoundError):
        people.export("nowhere")
    with pytest.raises(CommitNotFoundError):
        people.export_to(tmp_path / "out", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    with pytest.raises(InputError, match="invalid format 'xml'"):
        people.export_to(tmp_path / "out", format="xml")
    with pytest.raises(InputError, match="invalid engine 'dask'"):
        people.export_to(tmp_path / "out", engine="dask")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_the_files_of_a_folder_load_back_to_the_identical_graph(
    rich: Graph, tmp_path: Path, form: str, engine: str
) -> None:
    exported = rich.export_to(tmp_path / "out", format=form, engine=engine)

    assert is_same(rich, loaded_back(tmp_path / "other", exported))
    assert exported.engine == engine
    assert exported.nodes == {"Loose": 2, "Pair": 2, "Thing": 5}
    assert exported.edges == {"Bare": 1, "Likes": 2, "Next": 1}
    kinds = {"Loose": "nodes", "Pair": "nodes", "Thing": "nodes"}
    names = [f"{kinds.get(name, 'edges')}/{name}/part-00000.{form}" for name in exported.nodes]
    names += [f"edges/{name}/part-00000.{form}" for name in exported.edges]
    assert exported.files == tuple(f"{tmp_path}/out/{name}" for name in names)
    on_disk = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert sorted(map(str, on_disk)) == sorted(exported.files)


def test_the_lines_of_a_folder_are_found_by_a_pattern(rich: Graph, tmp_path: Path) -> None:
    rich.export_to(tmp_path / "out", engine="inline")
    other = empty_graph(tmp_path / "other")

    other.load(tmp_path / "out" / "**" / "*.jsonl", engine="inline")

    assert is_same(rich, other)


def test_a_table_of_several_fragments_gives_several_files(
    people: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.load(text(person("cy")), engine="inline")
    monkeypatch.setattr("omnigraph.export.export._ROWS_PER_FILE", 1)

    exported = people.export_to(tmp_path / "out", types=["Person"], engine="inline")

    assert [Path(file).name for file in exported.files] == ["part-00000.jsonl", "part-00001.jsonl"]
    assert exported.nodes == {"Person": 3}


def test_an_export_of_nothing_leaves_an_empty_folder(tmp_path: Path, engine: str) -> None:
    graph = empty_graph(tmp_path / "graph")
    exported = graph.export_to(tmp_path / "out", engine=engine)
    assert (exported.files, exported.nodes, exported.edges) == ((), {}, {})
    assert lines_of(graph) == b""


def test_a_folder_that_holds_something_is_refused_and_not_touched(
    people: Graph, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        people.export_to(tmp_path / "out", engine="inline")
    with pytest.raises(InputError, match="is not a folder"):
        people.export_to(tmp_path / "out" / "mine", engine="inline")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def _not_finite(graph: Graph, file: Path) -> None:
    """Return the rich graph a number that JSON cannot hold, in its last table."""
    pq.write_table(pa.table({"from": [PAIR], "to": [PAIR], "n": [9], "weight": [math.nan]}), file)
    graph.load(file, type="Next", engine="inline")


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_files_that_are_cancelled_while_they_are_written_are_removed(
    people: Graph, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled = Event()

    def cancel(stored: StoredType) -> pa.Schema:
        cancelled.set()
        return arrow_schema(stored)

    monkeypatch.setattr("omnigraph.export.shards.arrow_schema", cancel)
    with pytest.raises(CancelledError, match="the export was cancelled"):
        people.branch(cancelled=cancelled).export_to(tmp_path / "out", format=form, engine="inline")

    assert not any((tmp_path / "out").rglob("*"))


def test_a_network_that_is_cancelled_while_it_is_read_ends(
    people: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled = Event()

    def cancel(rows: pa.Table) -> pa.Table:
        cancelled.set()
        return with_timestamps(rows)

    monkeypatch.setattr("omnigraph.export.network.with_timestamps", cancel)
    with pytest.raises(CancelledError, match="was cancelled"):
        people.branch(cancelled=cancelled).to_networkx()


def test_nan_is_refused_in_lines_and_kept_in_parquet(tmp_path: Path, engine: str) -> None:
    graph = rich_graph(tmp_path / "graph")
    _not_finite(graph, tmp_path / "next.parquet")

    with pytest.raises(InputError, match=r"Next '\[.*': weight holds NaN or infinity"):
        lines_of(graph)
    with pytest.raises(InputError, match="weight holds NaN or infinity"):
        graph.export_to(tmp_path / "lines", engine=engine)
    assert list((tmp_path / "lines").iterdir()) == []
    exported = graph.export_to(tmp_path / "out", format="parquet", engine=engine)

    other = content(loaded_back(tmp_path / "other", exported))["edge:Next"]
    weights = [weight for weight in other["weight"].to_pylist() if weight is not None]
    assert [math.isnan(weight) for weight in weights] == [True]


def test_parquet_has_the_types_that_other_programs_know(rich: Graph, tmp_path: Path) -> None:
    rich.export_to(tmp_path / "out", format="parquet", types=["Thing", "Likes"], engine="inline")
    thing = pq.read_schema(tmp_path / "out/nodes/Thing/part-00000.parquet")
    likes = pq.read_schema(tmp_path / "out/edges/Likes/part-00000.parquet")
    assert likes.names == ["id", "from", "to", "why"]
    assert thing.names[0] == "slug", "a key says the id already"
    assert thing.field("at").type == pa.timestamp("ms", "UTC")
    assert thing.field("vector").type == pa.list_(pa.field("element", pa.float32()))
    assert (thing.field("u64").type, thing.field("blob").type) == (pa.uint64(), pa.utf8())


@pytest.mark.parametrize("lane", ["moto"], indirect=True)
def test_a_folder_may_lie_in_a_bucket(rich: Graph, tmp_path: Path, lane: Lane, engine: str) -> None:
    how: ExportKeywords = {"format": "jsonl", "engine": engine}

    exported = rich.export_to(f"{lane.root}/out", **how)

    assert all(file.startswith("s3://") for file in exported.files)
    assert is_same(rich, loaded_back(tmp_path / "other", exported))
    with pytest.raises(InputError, match="is not empty"):
        rich.export_to(f"{lane.root}/out", **how)


def test_the_progress_is_heard(people: Graph, tmp_path: Path) -> None:
    heard = Heard()
    people.export_to(tmp_path / "out", engine="inline", progress=heard)
    assert heard.stages == ["exporting"]
    assert heard.steps[-1] == (2, 2)


def run(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[bytes]":
    command = [str(BIN / "omnigraph"), "export", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, check=False)


def test_the_command_prints_the_lines(people: Graph, tmp_path: Path) -> None:
    commit = people.snapshot().commit.id
    whole, lines = run("graph", cwd=tmp_path), lines_of(people)
    people.load(text(person("eve")), engine="inline")
    old = run("graph", "--snapshot", commit, "--type", "Knows", cwd=tmp_path)
    assert (whole.returncode, whole.stdout, whole.stderr) == (0, lines, b"")
    assert old.stdout == lines.splitlines(keepends=True)[-1]


def test_the_command_tells_what_it_wrote(people: Graph, tmp_path: Path) -> None:
    done = run("graph", "--output", "out", "--json", cwd=tmp_path)
    assert json.loads(done.stdout) == {
        "uri": people.uri,
        "branch": "main",
        "commit": people.snapshot().commit.id,
        "format": "jsonl",
        "engine": "inline",
        "output": f"{tmp_path}/out",
        "files": [
            f"{tmp_path}/out/{name}/part-00000.jsonl" for name in ("nodes/Person", "edges/Knows")
        ],
        "rows": 3,
    }
    told = run("graph", "--output", "more", "--format", "parquet", cwd=tmp_path)
    assert told.stdout.decode() == (
        f"exported 2 nodes and 1 edge to 2 files in {tmp_path}/more (inline)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--format", "parquet"], 2, "--format parquet needs --output"),
        (["--engine", "spark"], 2, "--engine spark needs --output"),
        (["--branch", "a", "--snapshot", "b"], 2, "exclude each other"),
        (["--type", "Persn"], 1, "did you mean 'Person'?"),
        (["--table", "node:Persn"], 5, "did you mean 'node:Person'?"),
        (["--branch", "nowhere"], 5, "no branch, tag or commit 'nowhere'"),
    ],
)
@pytest.mark.usefixtures("people")
def test_the_command_refuses_what_makes_no_sense(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    done = run("graph", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, b"")
    assert said in done.stderr.decode()


def test_a_reader_that_closes_the_pipe_ends_the_command_quietly(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "graph")
    graph.load(text(*(person(f"p{number}") for number in range(20_000))), engine="inline")
    with subprocess.Popen(
        [str(BIN / "omnigraph"), "export", "graph"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b'{"type":"Person"')
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1
