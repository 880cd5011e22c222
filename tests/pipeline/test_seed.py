"""A seed and a spec are read strictly: what is unknown, missing or repeated is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import ConfigError, UnreadableError
from omnigraph.write.embed.embed import embed_file
from omnigraph.write.embed.seed import Fields, Spec, read_seed, read_spec, spec_of
from tests.pipeline.loads import node, text

SPEC: dict[str, Any] = {
    "dimension": 4,
    "model": "mock",
    "types": {"Doc": {"source": "body", "target": "v"}},
}
READ = Spec(dimension=4, model="mock", types={"Doc": Fields("body", "v")})
INLINE = f"input: in.jsonl\noutput: out.jsonl\nspec: {json.dumps(SPEC)}\n"


def refused(path: Path, content: str) -> ConfigError:
    path.write_text(content)
    with pytest.raises(ConfigError) as raised:
        read_seed(path) if path.suffix == ".yaml" else read_spec(path)
    return raised.value


def test_a_spec_is_read_from_json(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    assert read_spec(tmp_path / "spec.json") == READ
    assert spec_of({**SPEC, "model": None}).model is None
    assert spec_of({"dimension": 4, "types": SPEC["types"]}).model is None


def test_what_a_seed_names_lies_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "seeds"
    folder.mkdir()
    (folder / "seed.yaml").write_text("input: in.jsonl\noutput: ../out.jsonl\nspec: spec.json\n")
    (folder / "spec.json").write_text(json.dumps(SPEC))
    (folder / "in.jsonl").write_text(text(node("Doc", body="one")))
    monkeypatch.chdir("/")

    seed = read_seed(folder / "seed.yaml")
    embed_file(seed.input, seed.output, seed.spec, engine="inline")

    assert seed.spec == READ
    assert '"v": [' in (tmp_path / "out.jsonl").read_text()


def test_a_spec_can_stand_in_the_seed(tmp_path: Path) -> None:
    (tmp_path / "seed.yaml").write_text(INLINE)
    assert read_seed(tmp_path / "seed.yaml").spec == READ


def test_the_input_of_a_seed_can_be_a_uri(tmp_path: Path) -> None:
    (tmp_path / "seed.yaml").write_text(INLINE.replace("in.jsonl", "s3://bucket/in.jsonl"))
    assert read_seed(tmp_path / "seed.yaml").input == "s3://bucket/in.jsonl"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (INLINE.replace("input", "inptu"), ":1: unknown key 'inptu'; did you mean 'input'?"),
        (INLINE + "extra: 1\n", ":4: unknown key 'extra'; expected input, output, spec"),
        (INLINE.replace("dimension", "dimensions"), "'spec.dimensions'; did you mean 'dimension'?"),
        (INLINE.replace("target", "traget"), "'spec.types.Doc.traget'; did you mean 'target'?"),
        ("input: a\nspec: s\n", "'output' is missing"),
        ("input: a\noutput: b\n", "the spec has no 'dimension'"),
        (INLINE + "input: b\n", ":4: 'input' is repeated"),
        ("input: &a x\noutput: *a\nspec: s\n", ":2: the alias '*a' is not allowed"),
        ("- input\n", "the file must be a mapping, not a list"),
        ("", "'input' is missing"),
        ("input: [a\n", "expected"),
        ("input: 7\noutput: b\nspec: c\n", "'input' must be text, not a number"),
        ("input: a\noutput: b\nspec: [c]\n", "'spec' must be a mapping, not a list"),
        ("input: !!python/name:os.system a\n", "of the unknown kind"),
        (f"input: {'[' * 3000}\n", "the nesting is deeper"),
    ],
)
def test_a_seed_that_is_wrong_says_where(tmp_path: Path, content: str, message: str) -> None:
    error = refused(tmp_path / "seed.yaml", content)
    assert message in error.message
    assert error.message.startswith(str(tmp_path / "seed.yaml"))
    assert error.code == "config_invalid"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimension": 0}, "'dimension' must be a whole number of at least 1, not 0"),
        ({"dimension": 2**31}, "'dimension' is at most 2147483647"),
        ({"dimension": 1.5}, "'dimension' must be a number"),
        ({"dimension": True}, "'dimension' must be a number, not true or false"),
        ({"dimension": "4"}, "'dimension' must be a number, not text"),
        ({"dimension": None}, "the spec has no 'dimension'"),
        ({"model": ""}, "'model' is empty"),
        ({"model": 4}, "'model' must be text, not a number"),
        ({"types": {}}, "the spec has no 'types'"),
        ({"types": ["Doc"]}, "'types' must be a mapping, not a list"),
        ({"types": {"Doc": {"source": "body"}}}, "'types.Doc.target' is missing"),
        ({"types": {"Doc": {"source": "", "target": "v"}}}, "'types.Doc.source' is empty"),
        ({"types": {"Doc": {"source": "v", "target": "v"}}}, "'types.Doc.target' is the source"),
        ({"types": {"Doc": "body"}}, "'types.Doc' must be a mapping, not text"),
    ],
)
def test_a_spec_that_is_wrong_says_where(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    assert message in refused(tmp_path / "s.json", json.dumps({**SPEC, **change})).message
    with pytest.raises(ConfigError) as raised:
        spec_of({**SPEC, **change})
    assert message in raised.value.message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"dimension": 4, "dimension": 5}', "'dimension' is repeated"),
        ('{"dimension": 4,', "expected"),
        ("[" * 9999, "the nesting is deeper"),
        ("7", "the file must be a mapping, not a number"),
    ],
)
def test_a_spec_that_is_no_sound_json_is_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    assert message in refused(tmp_path / "s.json", content).message


def test_a_spec_may_be_indented_by_tabs(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(SPEC, indent="\t"))
    assert read_spec(tmp_path / "s.json") == READ


def test_a_spec_of_something_else_than_json_values_is_refused() -> None:
    with pytest.raises(ConfigError, match="a value that JSON cannot hold"):
        spec_of({**SPEC, "model": b"mock"})


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="No such file"):
        read_spec(tmp_path / "none.json")
    assert "not UTF-8" in _refused_bytes(tmp_path / "latin.yaml", b"input: \xff\n")


def _refused_bytes(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(ConfigError) as raised:
        read_seed(path)
    return raised.value.message
