"""The commands answer as documented, for people and for programs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph import __version__
from omnigraph.storage.layout import NEWEST_FORMAT

BIN = Path(sys.executable).parent
SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
QUERIES = """
query friends($name: String) {
  match { $p: Person { name: $name }  $p knows $f }
  return { $f.name }
}
query birthday($name: String) { update Person set { age: 30 } where name = $name }
"""


def run(
    *arguments: str, cwd: Path, stdin: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [str(BIN / arguments[0]), *arguments[1:]],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.pg").write_text(SCHEMA)
    (tmp_path / "people.gq").write_text(QUERIES)
    return tmp_path


def lint(folder: Path, *more: str) -> subprocess.CompletedProcess[bytes]:
    paths = ("--query", "people.gq", "--schema", "people.pg")
    return run("omnigraph", "query", "lint", *paths, *more, cwd=folder)


def test_the_version_is_printed_in_every_form(tmp_path: Path) -> None:
    expected = f"omnigraph {__version__}\n".encode()
    whole = f"omnigraph {__version__} (graph format {NEWEST_FORMAT})\n".encode()
    assert run("omnigraph", "version", cwd=tmp_path).stdout == whole
    assert run("omnigraph", "-v", cwd=tmp_path).stdout == expected
    as_json = run("omnigraph", "version", "--json", cwd=tmp_path)
    assert json.loads(as_json.stdout) == {"version": __version__, "format_version": NEWEST_FORMAT}


def test_lint_of_good_queries_exits_with_zero(folder: Path) -> None:
    done = lint(folder)
    assert done.returncode == 0
    assert done.stdout == b"people.gq: 2 queries, 0 errors, 0 warnings\n"


def test_lint_and_check_are_the_same(folder: Path) -> None:
    paths = ("--query", "people.gq", "--schema", "people.pg", "--json")
    checked = run("omnigraph", "query", "check", *paths, cwd=folder)
    assert checked.stdout == lint(folder, "--json").stdout


def test_lint_gives_the_documented_machine_form(folder: Path) -> None:
    (folder / "people.gq").write_text(
        "query a() { match { $p: Persn } return { $p } }\n"
        'query b() { update Person set { age: 3 } where name = "x" }\n'
    )
    done = lint(folder, "--json")
    assert done.returncode == 1
    hardcoded = "mutation declares no params; hardcoded mutations are easy to miss"
    unknown = "1:25: unknown type 'Persn' (did you mean 'Person'?)"
    assert json.loads(done.stdout) == {
        "status": "error",
        "schema_source": {"kind": "file", "path": "people.pg"},
        "query_path": "people.gq",
        "queries_processed": 2,
        "errors": 1,
        "warnings": 1,
        "infos": 0,
        "results": [
            {"name": "a", "kind": "read", "status": "error", "error": unknown, "warnings": []},
            {"name": "b", "kind": "mutation", "status": "ok", "warnings": [hardcoded]},
        ],
        "findings": [
            {"severity": "error", "code": "T1", "message": unknown, "query_names": ["a"]},
            {
                "severity": "warning",
                "code": "L202",
                "message": f"b: {hardcoded}",
                "query_names": ["b"],
            },
        ],
    }


def test_lint_with_only_warnings_exits_with_zero(folder: Path) -> None:
    (folder / "people.gq").write_text('query b() { delete Person where name = "x" }')
    done = lint(folder)
    assert done.returncode == 0
    assert b"warning[L202]" in done.stdout


def test_lint_of_a_broken_file_reports_every_query_that_does_not_parse(folder: Path) -> None:
    (folder / "people.gq").write_text("query a( { }\nquery b() { match { } }\n")
    done = lint(folder, "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert [finding["code"] for finding in report["findings"]] == ["Q000", "Q000"]
    assert report["queries_processed"] == 0
    assert report["errors"] == 2


def test_a_text_can_come_from_standard_input(folder: Path) -> None:
    paths = ("--query", "-", "--schema", "people.pg")
    done = run("omnigraph", "query", "lint", *paths, cwd=folder, stdin=QUERIES.encode())
    assert done.returncode == 0
    assert done.stdout == b"-: 2 queries, 0 errors, 0 warnings\n"


def test_both_texts_cannot_come_from_standard_input(folder: Path) -> None:
    done = run("omnigraph", "query", "lint", "--query", "-", "--schema", "-", cwd=folder)
    assert done.returncode == 2
    assert b"only one of" in done.stderr


def test_explain_shows_one_plan_or_all(folder: Path) -> None:
    paths = ("--query", "people.gq", "--schema", "people.pg")
    one = run("omnigraph", "query", "explain", *paths, "--name", "friends", cwd=folder)
    assert one.stdout.decode() == (
        "query friends($name: String)\n"
        "  NodeScan    $p: Person  key = $name\n"
        "  Expand      $p -Knows-> $f: Person  reads name\n"
        "  Order       ties by p, f\n"
        "  Project     f.name\n"
    )
    both = run("omnigraph", "query", "explain", *paths, "--json", cwd=folder)
    assert [plan["name"] for plan in json.loads(both.stdout)["plans"]] == ["friends", "birthday"]


def test_an_unknown_query_exits_with_five_and_names_the_nearest(folder: Path) -> None:
    paths = ("--query", "people.gq", "--schema", "people.pg", "--name", "freinds")
    done = run("omnigraph", "query", "explain", *paths, cwd=folder)
    assert done.returncode == 5
    assert b"did you mean 'friends'?" in done.stderr
    assert done.stdout == b""


def test_schema_check_prints_types_and_a_hash_that_ignores_comments(folder: Path) -> None:
    first = run("omnigraph", "schema", "check", "--schema", "people.pg", "--json", cwd=folder)
    (folder / "people.pg").write_text("// people\n" + SCHEMA.replace("  ", "\n"))
    second = run("omnigraph", "schema", "check", "--schema", "people.pg", "--json", cwd=folder)
    assert json.loads(first.stdout) == json.loads(second.stdout)
    text = run("omnigraph", "schema", "check", "--schema", "people.pg", cwd=folder)
    assert text.stdout.startswith(b"node Person: 2 properties, key name\nedge Knows")


def test_a_bad_schema_is_an_error_on_stderr_or_a_json_object_on_stdout(folder: Path) -> None:
    (folder / "people.pg").write_text("node Person { name: Strin }")
    for_people = lint(folder)
    assert for_people.returncode == 1
    assert b"error[S000]" in for_people.stderr
    assert for_people.stdout == b""
    for_programs = lint(folder, "--json")
    assert json.loads(for_programs.stdout)["code"] == "S000"
    assert for_programs.stderr == b""


@pytest.mark.parametrize("path", ["missing.gq", "."])
def test_an_unreadable_file_is_one_clear_message(folder: Path, path: str) -> None:
    done = run("omnigraph", "query", "lint", "--query", path, "--schema", "people.pg", cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error[unreadable]: cannot read '{path}'".encode())


def test_broken_utf8_is_an_error_with_its_place(folder: Path) -> None:
    (folder / "people.gq").write_bytes(b"query a() {\n \xff }")
    done = lint(folder)
    assert done.returncode == 1
    assert b"byte 13 is not UTF-8" in done.stderr
    assert b"people.gq:2:2" in done.stderr


def test_a_missing_option_is_a_usage_error(folder: Path) -> None:
    done = run("omnigraph", "query", "lint", cwd=folder)
    assert done.returncode == 2
    assert b"Missing option" in done.stderr


def test_a_closed_pipe_ends_quietly(folder: Path) -> None:
    queries = "\n".join(QUERIES.replace("(", f"{n}(", 1) for n in range(300))
    (folder / "people.gq").write_text(
        queries.replace("birthday", "b").replace("query b", "query c")
    )
    command = f"{BIN}/omnigraph query explain --query people.gq --schema people.pg | head -1"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(tmp_path: Path, shell: str) -> None:
    done = run("omnigraph", "completion", shell, cwd=tmp_path)
    assert done.returncode == 0
    assert b"_OMNIGRAPH_COMPLETE" in done.stdout


def test_a_real_bash_completes_commands(tmp_path: Path) -> None:
    script = (
        f'PATH={BIN}:$PATH; eval "$(omnigraph completion bash)"; '
        "COMP_WORDS=(omnigraph query ex); COMP_CWORD=2; "
        "_omnigraph_completion omnigraph; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b"explain\n"


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_no_file_of_a_graph_is_world_writable(folder: Path, umask: int) -> None:
    script = f'umask {umask:03o} && "$0" init --schema people.pg g.omni'
    command = ["sh", "-c", script, str(BIN / "omnigraph")]
    assert subprocess.run(command, cwd=folder, check=False, timeout=60).returncode == 0

    modes = {path.stat().st_mode & 0o777 for path in (folder / "g.omni").rglob("*")}

    assert modes
    assert all(mode & (umask | 0o002) == 0 for mode in modes)


def test_a_read_loads_neither_pandas_nor_what_other_commands_need(folder: Path) -> None:
    assert run("omnigraph", "init", "--schema", "people.pg", "g.omni", cwd=folder).returncode == 0
    (folder / "omnigraph.yaml").unlink()
    code = (
        "import atexit, sys; from omnigraph.cli.main import main\n"
        "atexit.register(lambda: print(*sys.modules))\n"
        "main()"
    )
    asked = (
        "read",
        "g.omni",
        "--query",
        "people.gq",
        "--name",
        "friends",
        "--params",
        '{"name": "Ana"}',
    )

    done = run("python", "-c", code, *asked, cwd=folder)

    loaded = set(done.stdout.decode().splitlines()[-1].split())
    assert "lance" in loaded
    rooms = ("adapters", "deploy", "embedding", "evolve", "export", "maintain", "merge", "server")
    others = ("pandas", "pyspark", "cedarpy", "rapidfuzz", "rich", "omnigraph.cli.commands.shell")
    unneeded = (*others, *(f"omnigraph.{room}" for room in rooms))
    assert [each for each in loaded if each.startswith(unneeded)] == []
    families = {each for each in loaded if each.startswith("omnigraph.api.operations.")}
    assert families == {"omnigraph.api.operations.commits", "omnigraph.api.operations.read"}


def test_a_thread_still_at_work_and_what_is_registered_for_the_end_are_waited_for(
    tmp_path: Path,
) -> None:
    code = (
        "import atexit, sys, threading; from omnigraph.cli.main import main\n"
        "def work(): threading.main_thread().join(); print('worked')\n"
        "if 'thread' in sys.argv.pop(): threading.Thread(target=work).start()\n"
        "atexit.register(print, 'ended', end='')\n"
        "main()"
    )

    alone = run("python", "-c", code, "version", "alone", cwd=tmp_path)
    threaded = run("python", "-c", code, "version", "thread", cwd=tmp_path)

    assert (alone.returncode, alone.stdout.splitlines()[1:]) == (0, [b"ended"])
    assert (threaded.returncode, threaded.stdout.splitlines()[1:]) == (0, [b"worked", b"ended"])


@pytest.mark.parametrize(
    "words",
    [
        ["version"],
        ["version", "--json"],
        ["version", "--jsno", "--json"],
        ["snapshot", "nothing.omni", "--json"],
    ],
)
def test_a_process_that_cannot_write_its_answer_does_not_end_as_done(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [str(BIN / "omnigraph"), *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)

    assert done.returncode == 1
    assert b"No space left" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("version >&-", 0),
        ("version --json >&- 2>&-", 0),
        ("query explain --query people.gq --schema people.pg >&-", 0),
        ("init g.omni --schema people.pg >&- <&-", 0),
        ("query fmt - <&-", 0),
        ("snapshot nothing.omni >&- <&-", 5),
    ],
)
def test_a_stream_that_is_closed_is_as_an_empty_one(folder: Path, words: str, code: int) -> None:
    command = f"{BIN}/omnigraph {words}"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, check=False)

    assert (done.returncode, done.stdout) == (code, b"")
    assert b"Traceback" not in done.stderr


def test_a_stream_that_is_closed_is_no_file_of_a_graph(folder: Path) -> None:
    for words in ("init g.omni --schema people.pg", "load g.omni --data - < people.jsonl"):
        (folder / "people.jsonl").write_text('{"type": "Person", "data": {"name": "ann"}}\n')
        command = f"{BIN}/omnigraph {words} >&- 2>&-"
        subprocess.run(command, shell=True, cwd=folder, check=True)

    found = run("omnigraph", "fsck", "g.omni", cwd=folder)

    assert found.returncode == 0, found.stdout


def test_functions_of_arrow_work_where_their_documentation_was_left_out() -> None:
    code = (
        "import sys; from omnigraph.cli.program import import_arrow; import_arrow()\n"
        "assert not {'pandas', 'dateutil', 'pyarrow.vendored.docscrape'} & sys.modules.keys()\n"
        "import pyarrow as pa, pyarrow.compute as pc, pyarrow.vendored.docscrape as found\n"
        "print(pc.round(pa.array([1.26]), ndigits=1)[0], pa.array([1]).to_pandas().sum())\n"
        "print(found.__file__ is not None)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert done.stdout.split() == [b"1.3", b"1", b"True"], done.stderr
