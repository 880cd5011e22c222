"""`blob` writes the content of a Blob property, whole or in part."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from omnigraph.api.graph import Graph
from omnigraph.cli.main import omnigraph
from tests.templates import copied_graph, fresh_graph

SCHEMA = "node Photo { slug: String @key  content: Blob? }"
PUT = """query put($slug: String, $content: Blob?) {
  insert Photo { slug: $slug, content: $content }
}"""
CONTENT = bytes(range(256)) * 8192


def made(root: Path) -> Graph:
    graph = fresh_graph(root, SCHEMA)
    graph.create_branch("empty")
    for slug, content in (("full", CONTENT), ("empty", b""), ("null", None), ("far", "s3://b/k")):
        graph.mutate(PUT, slug=slug, content=content)
    return graph


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    copied_graph(tmp_path / "g.omni", made)

    def invoke(slug: str, *more: str) -> Result:
        given = ["blob", "Photo", slug, "content", "g.omni", *more]
        monkeypatch.setattr(sys, "argv", ["omnigraph", *given])
        return CliRunner().invoke(omnigraph, given)

    return invoke


def test_the_content_goes_to_standard_output_whole_or_in_part(run: Callable[..., Result]) -> None:
    assert run("full").stdout_bytes == CONTENT
    assert run("full", "--offset", "1000", "--length", "5").stdout_bytes == CONTENT[1000:1005]
    assert run("full", "--offset", "2097150").stdout_bytes == CONTENT[-2:]
    assert run("full", "--offset", "2097152").stdout_bytes == b""
    assert (run("empty").exit_code, run("empty").stdout_bytes) == (0, b"")


def test_the_content_goes_to_a_file(run: Callable[..., Result]) -> None:
    done = run("full", "--output", "photo")

    assert (done.exit_code, done.stdout) == (0, "wrote 2097152 bytes to photo\n")
    assert Path("photo").read_bytes() == CONTENT
    failed = run("full", "--output", "no/photo")
    assert failed.exit_code == 1
    assert failed.stderr.startswith("error[unreadable]: cannot write 'no/photo': No such file")


def test_a_description_tells_content_reference_empty_and_null_apart(
    run: Callable[..., Result],
) -> None:
    told = {
        slug: json.loads(run(slug, "--json").stdout) for slug in ("full", "far", "empty", "null")
    }

    assert told["full"] == {
        "type": "Photo",
        "id": "full",
        "property": "content",
        "size": 2097152,
        "uri": None,
    }
    assert [(each["size"], each["uri"]) for each in told.values()] == [
        (2097152, None),
        (None, "s3://b/k"),
        (0, None),
        (None, None),
    ]


def test_a_description_has_no_file_to_go_to(run: Callable[..., Result]) -> None:
    done = run("full", "--json", "--output", "x")

    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"] == "--json and --output exclude each other"


def test_null_is_no_content_and_a_reference_is_not_fetched(run: Callable[..., Result]) -> None:
    null, far = run("null", "--output", "null"), run("far", "--output", "far")

    assert (null.exit_code, far.exit_code) == (5, 1)
    assert null.stderr == "error[not_found]: Photo.content of 'null' is null\n"
    assert far.stderr.startswith(
        "error[bad_input]: the blob has no content, it refers to s3://b/k\n"
    )
    assert not Path("null").exists()
    assert not Path("far").exists()


@pytest.mark.parametrize(
    ("slug", "more", "code", "told"),
    [
        ("nobody", (), 5, "error[row_not_found]: no Photo 'nobody'"),
        ("full", ("--branch", "empty"), 5, "error[row_not_found]: no Photo 'full'"),
        ("full", ("--snapshot", "01K9Z0000000000000000000ZZ"), 5, "_not_found]"),
        ("full", ("--snapshot", "x", "--branch", "main"), 2, "exclude each other"),
        ("full", ("--offset", "-1"), 2, "-1 is not in the range x>=0"),
    ],
)
def test_what_is_wrong_is_told(
    run: Callable[..., Result], slug: str, more: tuple[str, ...], code: int, told: str
) -> None:
    done = run(slug, *more)

    assert (done.exit_code, done.stdout) == (code, "")
    assert told in done.stderr
