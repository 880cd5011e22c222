"""A file of records gets its vectors, and every other byte of it stays."""

import gzip
import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pytest

from omnigraph.embedding import EmbeddingTask, embedder_for
from omnigraph.errors import (
    EmbeddingError,
    InputError,
    StorageError,
    UnreadableError,
    ViolationsError,
)
from omnigraph.write.embed.embed import Embedded, EmbedKeywords, Input, embed_file
from omnigraph.write.embed.parts import print_vectors
from omnigraph.write.embed.rewrite import EmbedMode
from omnigraph.write.load.sources import splits as sources
from tests.embedding.providers import Reply
from tests.pipeline.commands import running, until
from tests.pipeline.loads import Heard, edge, node, text
from tests.pipeline.purse import Purse, open_purse

FIELDS = {"source": "body", "target": "v"}
SPEC: dict[str, Any] = {"dimension": 4, "model": "mock", "types": {"Doc": FIELDS}}
FILES = ("embed", "--input", "in", "--output", "out", "--spec", "spec.json")
MAIN = "from omnigraph.cli.main import main; main()"
DEAR = {**SPEC, "model": "text-embedding-3-small"}
MIXED = (
    b"\xef\xbb\xbf// a comment\r\n"
    b'{"type": "Doc", "data": {"n": 12345678901234567890123, "x": 1.0, "body": "one"}}\r\n'
    b"\n"
    b'{"type":"Doc","data":{"v":null,"x":1E+05,"y":-0.0,"body":"tw\\u006f"}}\n'
    b'  {"data" : {"body" : "three" , "v" : [ ] } , "type" : "Doc"}  \n'
    b'{"type": "Doc", "data": {"body": "four", "v": [0.5, 0.50, 5e-1, 1]}}\n'
    b'{"type": "Other", "data": {"body": "one", "v": "anything"}}\n'
    b'{"edge": "Doc", "from": "a", "to": "b", "data": {"body": "one"}}\n'
    b'{"type": "Doc", "data": {}}'
)


@pytest.fixture
def purse() -> Iterator[Purse]:
    with open_purse() as purse:
        yield purse


@pytest.fixture
def many_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut even small files into many splits."""
    monkeypatch.setattr(sources, "_LEAST_SPLIT", 400)
    monkeypatch.setattr(sources, "_MOST_SPLIT", 400)


def vector(body: str, dimension: int = 4) -> str:
    """Return the JSON of the vector that the mock has for a text."""
    (found,) = print_vectors(
        embedder_for("mock", {}).embed([body], dimension, EmbeddingTask.DOCUMENT)
    )
    return found.decode()


def embed(
    source: Input, output: str | Path, spec: dict[str, Any], **how: Unpack[EmbedKeywords]
) -> Embedded:
    how.setdefault("engine", "inline")
    return embed_file(source, output, spec, **how)


def embedded(
    folder: Path, data: bytes | str, **how: Unpack[EmbedKeywords]
) -> tuple[bytes, Embedded]:
    """Embed a file by the mock, and give what was written and the result."""
    (folder / "in.jsonl").write_bytes(data.encode() if isinstance(data, str) else data)
    result = embed(folder / "in.jsonl", folder / "out.jsonl", SPEC, **how)
    assert names(folder) == ["in.jsonl", "out.jsonl"]
    return (folder / "out.jsonl").read_bytes(), result


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def docs(count: int) -> str:
    return text(*(node("Doc", slug=f"d{n}", body=f"text {n}") for n in range(count)))


@pytest.mark.usefixtures("many_splits")
def test_rows_without_a_vector_get_one_and_no_other_byte_changes(
    tmp_path: Path, engine: str
) -> None:
    found, result = embedded(tmp_path, MIXED, engine=engine)

    expected = MIXED.decode("utf-8-sig")
    expected = expected.replace('"body": "one"}}\r', f'"body": "one", "v": {vector("one")}}}}}\r')
    expected = expected.replace('"v":null', f'"v":{vector("two")}')
    expected = expected.replace('"v" : [ ]', f'"v" : {vector("three")}')
    assert found == expected.encode("utf-8-sig")
    assert result == Embedded(
        input=str(tmp_path / "in.jsonl"),
        output=str(tmp_path / "out.jsonl"),
        mode=EmbedMode.FILL_MISSING,
        rows=7,
        selected_rows=5,
        embedded_rows=3,
        cleaned_rows=0,
        dimension=4,
        model="mock",
        engine=engine,
    )


def test_the_result_is_a_json_object_with_stable_keys(tmp_path: Path) -> None:
    _, result = embedded(tmp_path, docs(2))
    assert result.to_json() == {
        "input": str(tmp_path / "in.jsonl"),
        "output": str(tmp_path / "out.jsonl"),
        "rows": 2,
        "selected_rows": 2,
        "embedded_rows": 2,
        "cleaned_rows": 0,
        "mode": "fill_missing",
        "dimension": 4,
        "model": "mock",
        "engine": "inline",
    }


def test_all_vectors_can_be_made_anew(tmp_path: Path, engine: str) -> None:
    data = text(node("Doc", v=[9], body="one"), node("Doc", body="two", v="no vector"))
    found, result = embedded(tmp_path, data, mode="reembed_all", engine=engine)
    assert found.decode() == data.replace("[9]", vector("one")).replace(
        '"no vector"', vector("two")
    )
    assert (result.mode, result.embedded_rows) == ("reembed_all", 2)


@pytest.mark.usefixtures("many_splits")
def test_cleaning_undoes_embedding_byte_for_byte(tmp_path: Path, engine: str) -> None:
    data = docs(30) + text(edge("Cites", "d1", "d2")) + "// the end"
    (tmp_path / "in.jsonl").write_bytes(embedded(tmp_path, data, engine=engine)[0])

    result = embed(tmp_path / "in.jsonl", tmp_path / "out.jsonl", SPEC, mode="clean", engine=engine)

    assert (tmp_path / "out.jsonl").read_text() == data
    assert (result.rows, result.selected_rows, result.cleaned_rows) == (31, 30, 30)


def test_cleaning_needs_no_model(tmp_path: Path) -> None:
    spec = {**SPEC, "model": None}
    (tmp_path / "in.jsonl").write_text(text(node("Doc", body="one", v=[1])))
    result = embed(tmp_path / "in.jsonl", tmp_path / "out", spec, mode="clean", environment={})
    assert (result.cleaned_rows, result.model) == (1, None)


@pytest.mark.usefixtures("many_splits")
def test_rows_keep_their_order_and_both_engines_write_the_same(tmp_path: Path, engine: str) -> None:
    found, result = embedded(tmp_path, docs(60), engine=engine)
    lines = [json.loads(line) for line in found.splitlines()]
    assert [line["data"]["slug"] for line in lines] == [f"d{n}" for n in range(60)]
    assert [line["data"]["v"] for line in lines] == [
        json.loads(vector(f"text {n}")) for n in range(60)
    ]
    assert result.embedded_rows == 60


def test_a_vector_is_written_as_the_shortest_text_of_its_floats() -> None:
    rows = embedder_for("mock", {}).embed(
        [f"text {n}" for n in range(50)], 96, EmbeddingTask.DOCUMENT
    )
    for row, line in zip(rows, print_vectors(rows), strict=True):
        assert (np.array(json.loads(line), np.float32) == row).all()
        texts = line.decode().strip("[]").split(",")
        assert [*map(digits, texts)] == [*map(digits, map(str, row))]


def digits(number: str) -> int:
    return len(Decimal(number).normalize().as_tuple().digits)


def test_rows_are_chosen_by_type_and_by_value(tmp_path: Path) -> None:
    spec = {**SPEC, "types": dict.fromkeys(("Doc", "Note", "Page"), FIELDS)}
    data = text(
        node("Doc", lang="de", body="a"),
        node("Doc", lang="en", body="b"),
        node("Note", lang="de", body="c"),
        node("Page", lang="de", body="d"),
    )
    (tmp_path / "in.jsonl").write_text(data)

    def chosen(**how: Unpack[EmbedKeywords]) -> str:
        embed(tmp_path / "in.jsonl", tmp_path / "out", spec, **how)
        found = [json.loads(line)["data"] for line in (tmp_path / "out").read_text().splitlines()]
        return "".join(data["body"] for data in found if "v" in data)

    assert chosen() == "abcd"
    assert chosen(types=["Doc", "Note"]) == "abc"
    assert chosen(select=["Doc:lang=de"]) == "a"
    assert chosen(select=["Doc:lang=de", "Note:lang=de"]) == "ac"
    assert chosen(types=["Doc"], select=["Doc:lang=en"]) == "b"


def test_a_type_that_the_spec_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no type 'Dok'") as raised:
        embed(tmp_path / "in", tmp_path / "out", SPEC, types=["Dok"])
    assert raised.value.hint == "did you mean 'Doc'?"
    with pytest.raises(InputError, match="no type 'Dok'"):
        embed(tmp_path / "in", tmp_path / "out", SPEC, select=["Dok:a=1"])


def test_rows_of_a_type_that_is_left_out_cannot_be_selected(tmp_path: Path) -> None:
    spec = {**SPEC, "types": dict.fromkeys(("Doc", "Note"), FIELDS)}
    with pytest.raises(InputError, match="'Note' are selected"):
        embed(tmp_path / "in", tmp_path / "out", spec, types=["Doc"], select=["Note:a=1"])


def test_gzip_is_read_and_written(tmp_path: Path, engine: str) -> None:
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(docs(3).encode()))

    embed(tmp_path / "in.jsonl.gz", tmp_path / "out.jsonl.gz", SPEC, engine=engine)

    found = gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes())
    assert found == embedded(_folder(tmp_path / "plain"), docs(3))[0]


@pytest.mark.usefixtures("many_splits")
def test_gzip_parts_are_one_gzip_file(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(docs(30))
    embed(tmp_path / "in", tmp_path / "out.gz", {**SPEC, "dimension": 2})
    assert len(gzip.decompress((tmp_path / "out.gz").read_bytes()).splitlines()) == 30


def test_a_stream_is_read_as_a_file_is(tmp_path: Path) -> None:
    result = embed(io.BytesIO(docs(3).encode()), tmp_path / "out", SPEC)
    assert (result.input, result.embedded_rows) == ("<stdin>", 3)
    assert names(tmp_path) == ["out"]


def test_an_empty_file_gives_an_empty_file(tmp_path: Path, engine: str) -> None:
    found, result = embedded(tmp_path, b"", engine=engine)
    assert (found, result.rows) == (b"", 0)


@pytest.mark.usefixtures("many_splits")
def test_every_bad_line_is_told_and_nothing_is_written_or_paid(
    tmp_path: Path, engine: str, purse: Purse
) -> None:
    good = docs(20).splitlines()
    lines = [
        *good,
        '{"type": "Doc", "data": {"body": "x"}',
        "",
        *good,
        '{"data": {"body": "x"}}',
        '{"type": "Doc"}',
        node("Doc", body=7, v=[1]),
        node("Doc", body="\ufffe", v={"a": [{"b": 1}]}),
    ]
    data = text(*lines).encode() + b'{"type": "Doc", "data": {"body": "\xff"}}\n'
    (tmp_path / "in.jsonl").write_bytes(data)

    with pytest.raises(ViolationsError) as raised:
        embed(
            tmp_path / "in.jsonl",
            tmp_path / "out",
            DEAR,
            engine=engine,
            environment=purse.environment,
        )

    told = [(str(each.code), each.line, each.type, each.field) for each in raised.value.violations]
    assert told == [
        ("V1", 21, None, None),
        ("V2", 43, None, None),
        ("V2", 44, "Doc", None),
        ("V7", 45, "Doc", "body"),
        ("V7", 45, "Doc", "v"),
        ("V7", 46, "Doc", "v"),
        ("V1", 47, None, None),
    ]
    assert {each.file for each in raised.value.violations} == {str(tmp_path / "in.jsonl")}
    assert raised.value.total == 7
    assert purse.provider.received == []
    assert names(tmp_path) == ["in.jsonl"]


def test_a_vector_without_text_cannot_be_made_anew(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(text(node("Doc", body="a", v=[1]), node("Doc", v=[1])))
    with pytest.raises(ViolationsError, match=r"in:2: Doc.body: is required") as raised:
        embed(tmp_path / "in", tmp_path / "out", SPEC, mode="reembed_all")
    assert raised.value.code == "V6"


def test_only_the_first_violations_are_held_and_all_are_counted(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("no\n" * 50)
    with pytest.raises(ViolationsError) as raised:
        embed(tmp_path / "in", tmp_path / "out", SPEC, shown=3)
    assert [each.line for each in raised.value.violations] == [1, 2, 3]
    assert raised.value.total == 50


def test_a_failing_provider_leaves_no_output_and_the_next_run_pays_the_rest(
    tmp_path: Path, engine: str, purse: Purse
) -> None:
    (tmp_path / "in").write_text(docs(400))
    (tmp_path / "out").write_text("what was there before")
    purse.money = 200

    with pytest.raises(EmbeddingError, match="no money left"):
        embed(tmp_path / "in", tmp_path / "out", DEAR, engine=engine, environment=purse.environment)
    assert (tmp_path / "out").read_text() == "what was there before"
    assert names(tmp_path / "out.embeddings") == ["vectors"]
    assert 100 < purse.paid <= 200

    purse.money = 400 - purse.paid
    embed(tmp_path / "in", tmp_path / "out", DEAR, engine=engine, environment=purse.environment)
    assert purse.paid == 400
    assert names(tmp_path) == ["in", "out"]
    assert (tmp_path / "out").read_text().count('"v": [') == 400


def test_equal_texts_are_paid_once(tmp_path: Path, purse: Purse) -> None:
    (tmp_path / "in").write_text(docs(5) * 10)
    result = embed(tmp_path / "in", tmp_path / "out", DEAR, environment=purse.environment)
    assert (result.embedded_rows, result.model, purse.paid) == (50, DEAR["model"], 5)


def test_texts_are_sent_as_documents(tmp_path: Path, purse: Purse) -> None:
    (tmp_path / "in").write_text(docs(1))
    environment = {
        "GEMINI_API_KEY": purse.environment["OPENAI_API_KEY"],
        "OMNIGRAPH_GEMINI_BASE_URL": f"{purse.provider.url}/v1beta",
    }
    spec = {**SPEC, "model": "gemini-embedding-001"}
    embed(tmp_path / "in", tmp_path / "out", spec, environment=environment)
    (sent,) = purse.provider.received
    assert sent.body["requests"][0]["taskType"] == "RETRIEVAL_DOCUMENT"


def test_a_missing_key_is_named_and_none_is_needed_when_no_vector_is_missing(
    tmp_path: Path,
) -> None:
    (tmp_path / "in").write_text(docs(1))
    with pytest.raises(EmbeddingError, match="OPENAI_API_KEY is not set"):
        embed(tmp_path / "in", tmp_path / "out", DEAR, environment={})
    assert names(tmp_path) == ["in"]

    (tmp_path / "in").write_text(text(node("Doc", body="a", v=[1, 2, 3, 4])))
    embed(tmp_path / "in", tmp_path / "out", DEAR, environment={})
    assert (tmp_path / "out").read_bytes() == (tmp_path / "in").read_bytes()


@pytest.mark.parametrize("other", ["in", "./sub/../in", "link", "hard"])
def test_a_file_is_not_written_over_itself(tmp_path: Path, other: str) -> None:
    _folder(tmp_path / "sub")
    (tmp_path / "in").write_text(docs(1))
    (tmp_path / "link").symlink_to(tmp_path / "in")
    (tmp_path / "hard").hardlink_to(tmp_path / "in")
    with pytest.raises(InputError, match="is the input and the output"):
        embed(tmp_path / "in", tmp_path / other, SPEC)
    assert (tmp_path / "in").read_text() == docs(1)


def test_an_output_that_cannot_be_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(docs(1))
    with pytest.raises(InputError, match="is not a file"):
        embed(tmp_path / "in", tmp_path, SPEC)
    with pytest.raises(InputError, match="not a URI"):
        embed(tmp_path / "in", "s3://bucket/out", SPEC)
    with pytest.raises(StorageError, match="No such file or directory"):
        embed(tmp_path / "in", tmp_path / "nowhere" / "out", SPEC)
    assert names(tmp_path) == ["in"]


def test_an_output_that_is_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(docs(1))
    (tmp_path / "real").touch()
    (tmp_path / "out").symlink_to("real")
    embed(tmp_path / "in", tmp_path / "out", SPEC)
    assert (tmp_path / "out").is_symlink()
    assert '"v"' in (tmp_path / "real").read_text()


def test_an_input_that_is_not_one_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="No such file"):
        embed(tmp_path / "in", tmp_path / "out", SPEC)
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(docs(1))
    with pytest.raises(InputError, match="names 2 files"):
        embed(tmp_path / "*.jsonl", tmp_path / "out", SPEC)
    (tmp_path / "c.gz").write_bytes(gzip.compress(docs(9).encode())[:-9])
    with pytest.raises(UnreadableError, match="not a valid gzip file"):
        embed(tmp_path / "c.gz", tmp_path / "out", SPEC)
    assert names(tmp_path) == ["a.jsonl", "b.jsonl", "c.gz"]


def test_an_unknown_mode_or_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="invalid mode 'wipe'"):
        embed(tmp_path / "in", tmp_path / "out", SPEC, mode="wipe")
    with pytest.raises(InputError, match="invalid engine 'flink'"):
        embed(tmp_path / "in", tmp_path / "out", SPEC, engine="flink")


def test_what_somebody_keeps_in_the_folder_beside_the_output_stays(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(docs(1))
    (_folder(tmp_path / "out.embeddings") / "mine").touch()
    embed(tmp_path / "in", tmp_path / "out", SPEC)
    assert names(tmp_path / "out.embeddings") == ["mine"]


class Meddler(Heard):
    """Changes a file, or breaks off, when a stage begins."""

    def __init__(self, stage: str, file: Path | None = None, data: str = "") -> None:
        super().__init__()
        self.stage, self.file, self.data = stage, file, data

    def begin(self, stage: str, size: int = 0) -> None:
        super().begin(stage, size)
        if stage == self.stage:
            if self.file is None:
                raise KeyboardInterrupt
            self.file.write_text(self.data)


@pytest.mark.parametrize("data", ["", "no\n", docs(2), docs(3)[:-1] + "}"])
def test_a_file_that_changes_meanwhile_is_noticed(tmp_path: Path, data: str) -> None:
    (tmp_path / "in").write_text(docs(3))
    meddler = Meddler("embedding", tmp_path / "in", data)
    with pytest.raises(InputError, match="changed while it was read"):
        embed(tmp_path / "in", tmp_path / "out", SPEC, progress=meddler)
    assert not (tmp_path / "out").exists()


def test_progress_tells_what_is_done(tmp_path: Path, engine: str) -> None:
    heard = Heard()
    embedded(tmp_path, docs(3), engine=engine, progress=heard)
    assert heard.stages == ["reading", "embedding"]


@pytest.mark.parametrize("stage", ["reading", "embedding"])
def test_an_interrupt_leaves_nothing(tmp_path: Path, stage: str) -> None:
    (tmp_path / "in").write_text(docs(3))
    with pytest.raises(KeyboardInterrupt):
        embed(tmp_path / "in", tmp_path / "out", SPEC, progress=Meddler(stage))
    assert names(tmp_path) == ["in"]


def test_ctrl_c_ends_the_command_and_leaves_no_output(tmp_path: Path, purse: Purse) -> None:
    (tmp_path / "in").write_text(docs(3))
    (tmp_path / "spec.json").write_text(json.dumps(DEAR))
    purse.provider.replies = [Reply(seconds=30)]

    with running("-c", MAIN, *FILES, cwd=tmp_path, **purse.environment) as process:
        until(lambda: purse.provider.received)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)

    assert (process.returncode, errors) == (130, "interrupted\n")
    assert names(tmp_path) == ["in", "spec.json"]


def run(*arguments: str, cwd: Path, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    command = [str(Path(sys.executable).with_name("omnigraph")), *arguments]
    return subprocess.run(
        command, cwd=cwd, input=stdin, capture_output=True, text=True, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").write_text(docs(2))
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    return tmp_path


def test_the_command_tells_what_it_did(folder: Path) -> None:
    done = run(*FILES, cwd=folder)
    assert done.stdout == "embedded 2 of 2 selected rows into out (mock, inline)\n"
    assert (done.returncode, done.stderr) == (0, "")

    cleaned = ("embed", "--input", "out", "--output", "bare", "--spec", "spec.json", "--clean")
    assert run(*cleaned, cwd=folder).stdout == "cleaned 2 of 2 selected rows into bare (inline)\n"
    assert (folder / "bare").read_text() == docs(2)


def test_the_command_reads_standard_input_and_prints_json(folder: Path) -> None:
    arguments = ("embed", "--input", "-", "--output", "out", "--spec", "spec.json", "--json")
    done = run(*arguments, "--select", "Doc:slug=d1", "--reembed-all", cwd=folder, stdin=docs(3))
    result = json.loads(done.stdout)
    assert (result["input"], result["rows"], result["embedded_rows"]) == ("<stdin>", 3, 1)
    assert result["mode"] == "reembed_all"


def test_a_bad_line_ends_the_command_with_one(folder: Path) -> None:
    (folder / "in").write_text("\n{}\n")
    done = run(*FILES, cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("error[V2]: in:2: names no type")
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give --seed, or also --input and --output and --spec"),
        (("--input", "in", "--spec", "s"), "give --seed, or also --output"),
        (("--seed", "s", "--output", "out"), "--seed and --output exclude each other"),
        ((*FILES[1:], "--reembed-all", "--clean"), "--reembed-all and --clean exclude"),
        ((*FILES[1:], "--select", "Doc.slug=d1"), "'Doc.slug=d1' selects nothing"),
        ((*FILES[1:], "--engine", "flink"), "Invalid value for '--engine'"),
    ],
)
def test_options_that_make_no_sense_are_a_usage_error(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = run("embed", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr


def test_help_imports_nothing_heavy() -> None:
    heavy = ("lance", "pyarrow", "pyspark", "rich", "httpx", "numpy", "yaml")
    code = (
        "import sys; from omnigraph.cli.main import omnigraph\n"
        "try: omnigraph(['embed', '--help'])\n"
        f"finally: print('heavy:', *(n for n in {heavy!r} if n in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("heavy:\n")


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
