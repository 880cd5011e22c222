"""What the fuzzer found, an input each: readers answer with rows or with an error of ours."""

import bz2
import io
import json
import lzma
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import OmniGraphError, compile_query, compile_schema
from omnigraph.api.client import error_of
from omnigraph.api.profile import Profile
from omnigraph.cli.following.lines import Message
from omnigraph.cli.following.position import TopicPosition
from omnigraph.data.result import result_of
from omnigraph.deploy.ledger import Ledger
from omnigraph.errors import (
    ConfigError,
    InputError,
    RemoteError,
    SourceError,
    StorageError,
    UnreadableError,
    ViolationsError,
)
from omnigraph.evolve.plan import SavedPlan
from omnigraph.files.yaml import parse_yaml
from omnigraph.mcp.clients import CLIENTS, plan_installation
from omnigraph.mcp.table import Cursor
from omnigraph.server.answers.blobs import _asked as asked_range
from omnigraph.server.idempotency import AnswerLog
from omnigraph.versioning.heads.head import decode_head
from omnigraph.versioning.heads.layers import LAYERS, layers_of
from omnigraph.versioning.manifest.fresh import decode_fresh
from omnigraph.versioning.manifest.records import decode_commit
from omnigraph.write.infer.inferred import infer
from tests.fuzz import rows
from tests.fuzz.rows import Given
from tests.fuzz.target import check_error

DEEP = "[" * 2_000
LONG = "9" * 5_000


def _refused(call: Callable[[], object], kind: type[OmniGraphError]) -> str:
    """Return the message of the error of ours with which a call ends."""
    with pytest.raises(kind) as caught:
        call()
    check_error(caught.value)
    return caught.value.message


@pytest.mark.parametrize("text", ["", "null", "{}", '{"id": 1}', DEEP, LONG, "'", '["a"]'])
def test_a_record_of_the_manifest_that_is_damaged_is_an_error(text: str) -> None:
    assert "the record of a commit" in _refused(lambda: decode_commit(text), StorageError)
    assert "the key of a commit" in _refused(lambda: decode_fresh(text), StorageError)
    if text != "null":  # which stands for a branch that is gone
        assert "the head of a branch" in _refused(lambda: decode_head(text), StorageError)
    at: Any = SimpleNamespace(metadata={LAYERS: text})
    assert "the list of layers" in _refused(lambda: layers_of(at), StorageError)


@pytest.mark.parametrize("data", [b"{", b"{}", b"[]", b'{"number": "1"}', DEEP.encode()])
def test_a_damaged_entry_of_a_deployment_is_an_error(data: bytes) -> None:
    objects = SimpleNamespace(read=lambda _: data, names=lambda _: ["0000000001.json", ".keep"])
    store: Any = SimpleNamespace(objects=objects)

    assert "serving/0000000001.json cannot" in _refused(Ledger(store).current, StorageError)


def test_a_damaged_note_of_a_key_is_an_error() -> None:
    objects = SimpleNamespace(read=lambda _: b"{}")
    repository: Any = SimpleNamespace(store=SimpleNamespace(objects=objects))

    _refused(lambda: AnswerLog(repository)._read("name", "answered"), StorageError)


def _batch(offsets: list[int], data: bytes) -> pa.Table:
    buffers = [None, pa.py_buffer(pa.array(offsets, pa.int32()).buffers()[1]), pa.py_buffer(data)]
    texts = pa.Array.from_buffers(pa.utf8(), len(offsets) - 1, buffers)
    return pa.table({"slug": texts, "name": texts})


def _stream(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("offsets", "data"), [([0, 1 << 30, 6], b"annbob"), ([0, 3, 6], b"ann\xff\xfe\xfd")]
)
def test_places_and_texts_that_an_arrow_file_invents_are_not_followed(
    offsets: list[int], data: bytes
) -> None:
    stream = _stream(_batch(offsets, data))

    given = Given("a.arrows", stream, "Person")
    assert "is a broken Arrow file" in _refused(lambda: rows._run(given), UnreadableError)
    assert "cannot be read" in _refused(lambda: result_of("q", stream), RemoteError)


@pytest.mark.parametrize("name", ["born", "days", "name", "tags", "vec"])
@pytest.mark.parametrize("is_list", [False, True])
def test_times_of_an_unknown_zone_are_no_values_of_other_types(name: str, is_list: bool) -> None:
    times = pa.array([5, None], pa.int64()).view(pa.timestamp("us", "Nowhere/Else"))
    ends = pa.array([0, 1, 2], pa.int32())
    column = pa.ListArray.from_arrays(ends, times) if is_list else times
    columns = {"slug": ["ann", "bob"], "name": ["Ann", "Bob"], name: column}

    given = Given("a.arrows", _stream(pa.table(columns)), "Person")
    assert f".{name}: " in _refused(lambda: rows._run(given), ViolationsError)


def test_a_time_zone_of_an_arrow_file_that_is_no_text_is_an_error() -> None:
    times = pa.array([5, 6], pa.int64()).view(pa.timestamp("us", "Nowhere/Else"))
    stream = _stream(pa.table({"slug": ["ann", "bob"], "name": ["A", "B"], "seen": times}))

    given = Given("a.arrows", stream.replace(b"Nowhere", b"No\xffhere"), "Person")
    assert "is a broken Arrow file" in _refused(lambda: rows._run(given), UnreadableError)


def test_texts_of_a_parquet_file_that_are_not_utf_8_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(_batch([0, 3, 6], b"ann\xff\xfe\xfd"), path)

    given = Given("a.parquet", path.read_bytes(), "Person")
    assert "is a broken Parquet file" in _refused(lambda: rows._run(given), UnreadableError)
    _refused(lambda: infer(path), UnreadableError)


@pytest.mark.parametrize(("ending", "pack"), [("bz2", bz2.compress), ("xz", lzma.compress)])
def test_rows_behind_a_damaged_stream_of_a_compressed_file_are_not_left_out(
    ending: str, pack: Callable[[bytes], bytes]
) -> None:
    lines = [b'{"type":"Room","data":{"number":%d}}\n' % number for number in (7, 8)]
    first, second = map(pack, lines)
    name = f"a.jsonl.{ending}"

    for damaged in (b"X" + second[1:], second[:-1], b"junk"):
        read = partial(rows._run, Given(name, first + damaged))
        assert "is not a valid" in _refused(read, UnreadableError)
    (block,) = rows._read(Given(name, first + second))
    assert block.rows[0].columns["number"].to_pylist() == [7, 8]


def test_streams_of_xz_may_have_padding_between_and_behind_them() -> None:
    packed = lzma.compress(b'{"type":"Room","data":{"number":7}}\n') + b"\0" * 8

    (block,) = rows._read(Given("a.jsonl.xz", packed * 2))

    assert block.rows[0].columns["number"].to_pylist() == [7, 7]


def test_a_deeply_nested_cell_of_csv_is_a_text() -> None:
    given = Given("a.csv", f"slug,name,age\nann,Ann,{DEEP}\n".encode(), "Person")

    assert "age" in _refused(lambda: rows._run(given), OmniGraphError)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_deeply_nested_json_is_not_imported(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(DEEP)

    assert "is not JSON" in _refused(lambda: infer(path), UnreadableError)


def test_deeply_nested_answers_and_files_are_errors(tmp_path: Path) -> None:
    data = DEEP.encode()
    assert isinstance(error_of(500, data, None), RemoteError)
    _refused(lambda: SavedPlan.read(DEEP), InputError)
    (tmp_path / ".mcp.json").write_bytes(data)
    _refused(lambda: plan_installation(CLIENTS[0], "a", ["b"], tmp_path, tmp_path), InputError)
    (tmp_path / ".mcp.json").write_bytes(b"\xff")
    _refused(lambda: plan_installation(CLIENTS[0], "a", ["b"], tmp_path, tmp_path), InputError)
    assert Message("t", 0, 1, data + b"\n[").line.count(b"\n") == 1


def test_an_answer_with_an_empty_message_tells_its_status() -> None:
    error = error_of(404, b'{"error": "", "code": "head_moved"}', None)

    assert error.message == "the server answered with status 404"


def test_names_of_an_answer_that_are_not_utf_8_are_an_error() -> None:
    stream = _stream(pa.table({"a": [{"inner": 1}]})).replace(b"inner", b"\xff\xffner")

    assert "cannot be read" in _refused(lambda: result_of("q", stream), RemoteError)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([5, None], pa.duration("ms")),
        pa.array([1 << 62, None], pa.timestamp("us")),
        pa.array([1 << 30, None], pa.date32()),
    ],
    ids=lambda values: str(values.type),
)
@pytest.mark.parametrize("is_list", [False, True])
def test_values_of_an_answer_that_no_result_holds_are_an_error(
    values: pa.Array, is_list: bool
) -> None:
    ends = pa.array([0, 1, 2], pa.int32())
    column = pa.ListArray.from_arrays(ends, values) if is_list else values

    message = _refused(lambda: result_of("q", _stream(pa.table({"a": column}))), RemoteError)
    assert "cannot be read" in message


def test_cypher_that_matches_nothing_is_not_translated() -> None:
    catalog = compile_schema("node Person { slug: String @key }")
    text = "return [ enum asc node = ? null fuzzy query where 64"

    assert _refused(lambda: compile_query(text, catalog), SourceError)


@pytest.mark.parametrize("line", [b"%s\x0b\n", b"\x0c%s\n", b"\x0b\n%s\n"])
def test_only_what_json_calls_space_may_stand_around_a_line(tmp_path: Path, line: bytes) -> None:
    record = b'{"type":"Person","data":{"slug":"cy","name":"C"}}'
    for each in (record, record.replace(b"{", b"{ ", 1)):
        given = Given("a.jsonl", line % each, "Person")
        for run in (rows._run_lines, rows._run_embed):
            assert "is not JSON" in _refused(partial(run, given), ViolationsError)


def test_an_answer_without_the_costs_of_a_query_is_an_error() -> None:
    _refused(lambda: Profile.from_ipc(_stream(pa.table({"a": [1]}))), RemoteError)


def test_numbers_with_too_many_digits_are_no_cursor_range_or_position() -> None:
    assert "not the cursor" in _refused(lambda: Cursor.read(f"{LONG}~abc", "abc"), InputError)
    assert asked_range({"range": f"bytes=0-{LONG}"}, "tag", 100) is None
    assert asked_range({"range": "bytes=0-٣"}, "tag", 100) is None
    assert TopicPosition.parse(f"Kafka-Position: c t 0:{LONG}") is None


@pytest.mark.parametrize("text", ["\\0", "\\ud800"])
def test_yaml_holds_no_text_that_nothing_can_hold(text: str) -> None:
    data = json.dumps({"a": "x"}).replace("x", text).encode()

    assert "a.yaml:1: " in _refused(lambda: parse_yaml("a.yaml", data, ("a",)), ConfigError)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a: "\\U00110000"\n', 1),
        ('a: x\nb: ["\\UFFFFFFFF"]\n', 2),
        (f"# here\n%YAML {'9' * 5000}.1\n---\na: x\n", 2),
        (f"%YAML 1.{'9' * 5000}\n---\na: x\n", 1),
    ],
    ids=["above", "far above", "major", "minor"],
)
def test_a_number_of_yaml_that_is_too_large_is_told_with_its_line(text: str, line: int) -> None:
    told = _refused(lambda: parse_yaml("a.yaml", text.encode(), ("a", "b")), ConfigError)

    assert f"a.yaml:{line}: a number is too large" in told
