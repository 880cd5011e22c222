"""Commands answer the same through a server as on the graph itself, and load nothing big."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.api.graph import init
from omnigraph.server.serve import Settings
from tests.cli.scene import GOLDEN, Scene, path_of
from tests.cli.test_golden import validate
from tests.server.serving import started

READS = (
    "snapshot",
    "branch list",
    "commit list",
    "commit list --limit 1",
    "commit show {id}",
    "diff main draft",
    "diff main draft --stat",
    "diff main draft --type Person --op insert",
    "changes --branch draft --type Person --type Knows",
    "tag list",
    "blame Person ann",
    "run list",
    "read --query people.gq --name everyone",
    'read --query people.gq --name friends --params \'{"name": "ann"}\' --snapshot v1',
    "query lint --query people.gq",
    "schema show",
    "schema plan --schema next.pg",
    "branch merge draft --preview",
    "coverage",
    "coverage --snapshot v1",
    "cleanup --keep 1 --grace 0s",
    "fsck",
)
WRITES = (
    "load --data dan.jsonl --branch draft",
    "ingest --data dan.jsonl --branch fresh",
    'change --query people.gq --name add --params \'{"name": "fay"}\' --branch draft',
    "branch create a/b",
    "branch rename a/b c",
    "branch delete c",
    "branch merge fresh",
    "tag create v2",
    "tag delete v2",
    "revert {id} --branch draft",
    "run begin",
    "run show {id}",
    "run publish {id}",
    "optimize --branch draft",
    "cleanup --keep 1 --confirm",
)
FAILURES = (
    ("commit show nothing", 5),
    ("read --query people.gq --name nobody", 5),
    ("read --query people.gq --name friends", 1),
    ("read -e 'query q() { match { $p: Persn } return { $p } }'", 1),
    ("branch create draft", 1),
    ("snapshot --branch nowhere", 5),
    ("load --data old.jsonl", 1),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph that has a branch, a tag and some history."""
    folder = tmp_path_factory.mktemp("served")
    for file in GOLDEN.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    graph = init(folder / "g.omni", (GOLDEN / "people.pg").read_text(), durable=False)
    graph.load([str(GOLDEN / "people.jsonl")], engine="inline")
    graph.create_tag("v1")
    graph.create_branch("draft")
    graph.branch("draft", actor="eve").mutate('query q() { insert Person { name: "zoe" } }')
    return folder


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """A server of the same graph, on a thread."""
    settings = Settings(uri=str(folder / "g.omni"), host="127.0.0.1", port=0, environment={})
    with started(settings) as server:
        yield f"http://{server.address}"


@pytest.fixture
def scene(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.chdir(folder)
    scene = Scene(folder)
    scene.run("commit list g.omni")
    return scene


@pytest.mark.parametrize("as_json", ["", " --json"], ids=["people", "programs"])
@pytest.mark.parametrize("line", READS)
def test_a_read_gives_the_same_through_a_server(
    scene: Scene, url: str, line: str, as_json: str
) -> None:
    given = line.replace("{id}", scene.last_id) + as_json
    here, there = scene.run(f"{given} --uri g.omni"), scene.run(f"{given} --uri {url}")

    assert here.exit_code == there.exit_code == 0, there.output
    assert place_hidden(scene, url, there.stdout) == place_hidden(scene, url, here.stdout)


def place_hidden(scene: Scene, url: str, printed: str) -> str:
    return printed.replace(url, "g.omni").replace(str(scene.folder / "g.omni"), "g.omni")


def test_a_write_through_a_server_tells_what_it_did(scene: Scene, url: str) -> None:
    for line in WRITES:
        done = scene.run(f"{line} --uri {url} --json")
        assert done.exit_code == 0, f"{line}\n{done.output}"
        validate(path_of(line), json.loads(done.stdout))


@pytest.mark.parametrize(("line", "code"), FAILURES, ids=[line for line, _ in FAILURES])
def test_an_error_is_the_same_through_a_server(
    scene: Scene, url: str, line: str, code: int
) -> None:
    here, there = scene.run(f"{line} --uri g.omni --json"), scene.run(f"{line} --uri {url} --json")

    assert (here.exit_code, there.exit_code) == (code, code)
    told, known = json.loads(there.stdout), json.loads(here.stdout)
    # A server is sent the text of queries, and knows no name of a file for it.
    assert told == {**known, "error": known["error"].replace("people.gq", "<query>")}


def test_an_export_through_a_server_has_the_same_lines(scene: Scene, url: str) -> None:
    here, there = (
        scene.run("export g.omni --branch draft"),
        scene.run(f"export {url} --branch draft"),
    )

    assert here.stdout_bytes == there.stdout_bytes != b""


def test_arrow_comes_through_a_server(scene: Scene, url: str) -> None:
    line = "read --query people.gq --name everyone --format arrow --uri"

    assert scene.run(f"{line} {url}").stdout_bytes == scene.run(f"{line} g.omni").stdout_bytes


def test_a_shell_works_through_a_server(folder: Path, url: str) -> None:
    everyone = "match { $p: Person } return { $p.name as name } order { name };"
    typed = [".branch draft", ".mode csv", 'insert Person { name: "uma" };']
    typed += [everyone, ".snapshot v1", everyone, ".explain", "match { $p: Persn } return { $p };"]
    done = subprocess.run(
        [str(Path(sys.executable).with_name("omnigraph")), "shell", "--uri", url],
        input="\n".join(typed),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )

    changed, *rows = done.stdout.splitlines()
    assert changed.startswith("changed 1 node and 0 edges on draft")
    assert "uma" in rows[: rows.index("name", 1)]
    assert "uma" not in rows[rows.index("name", 1) :]
    assert '"road"' in done.stdout
    assert done.stderr.startswith("error[T1]: unknown type 'Persn'")
    assert done.returncode == 1


def test_a_report_is_written_through_a_server(scene: Scene, url: str) -> None:
    given = "report --diff v1 draft --query people.gq --name everyone --out"
    for name, uri in (("here.html", "g.omni"), ("there.html", url)):
        assert scene.run(f"{given} {name} --uri {uri}").exit_code == 0
    pages = (Path(name).read_text() for name in ("here.html", "there.html"))
    here, there = (place_hidden(scene, url, page) for page in pages)

    assert there.replace(url.partition("//")[2], "g") == here
    assert "zoe" in here


def test_an_alias_takes_its_arguments_through_a_server(scene: Scene, url: str) -> None:
    Path("served.yaml").write_text(
        f"graphs: {{there: {{uri: '{url}'}}}}\n"
        "aliases:\n"
        "  f: {command: read, query: people.gq, name: friends, args: [name], graph: there}\n"
    )

    done = scene.run("read --config served.yaml --alias f ann --format csv")

    assert done.stdout.split() == ["friend", "bob"]


def test_lines_that_a_server_refuses_are_named_by_file(scene: Scene, url: str) -> None:
    Path("more.jsonl").write_text(Path("dan.jsonl").read_text().replace("dan", "gus").rstrip())
    done = scene.run(f"load {url} --data more.jsonl --data old.jsonl")

    assert done.stderr.startswith("error[V9]: old.jsonl:1: Person.age: 200 is outside 0..150")


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ("optimize --engine spark", 1, "--engine does not work through a server"),
        ("export --output out", 1, "'export' does not work through the server at http://"),
        ("snapshot --as eve", 2, "--as does not work with a server"),
        ("load --data rows.csv --type Person", 1, "a server takes JSON lines only"),
        ("load --data s3://b/k.jsonl", 1, "only local files can be sent to a server"),
        ("load --data missing.jsonl", 1, "cannot read 'missing.jsonl': No such file"),
    ],
)
def test_what_a_server_cannot_do_is_told(
    scene: Scene, url: str, line: str, code: int, told: str
) -> None:
    done = scene.run(f"{line} --uri {url}")

    assert done.exit_code == code
    assert told in done.stderr


def test_a_server_that_is_not_there_is_one_message(scene: Scene) -> None:
    done = scene.run("snapshot --uri http://127.0.0.1:9")
    as_json = scene.run("snapshot --uri http://127.0.0.1:9 --json")

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("error[unreachable]: no server answers at http://127.0.0.1:9")
    assert json.loads(as_json.stdout)["code"] == "unreachable"


def test_no_command_through_a_server_loads_lance_arrow_or_spark(folder: Path, url: str) -> None:
    code = """
import sys
from click.testing import CliRunner
from omnigraph.cli.main import omnigraph
for given in sys.argv[1:]:
    done = CliRunner().invoke(omnigraph, given.split(" "))
    assert done.exit_code == 0, done.output
heavy = {"lance", "pyarrow", "pyspark", "pandas", "numpy"} & {m.split(".")[0] for m in sys.modules}
sys.exit(f"loaded {heavy}" if heavy else 0)
"""
    lines = (
        "snapshot",
        "branch list",
        "changes",
        "read --query people.gq --name everyone",
        "read --query people.gq --name everyone --format arrow",
        "diff main draft",
        "export",
        "load --data people.jsonl --mode merge --branch draft",
        "schema show",
    )
    given = [f"{line} --uri {url}" for line in lines]
    done = subprocess.run(
        [sys.executable, "-c", code, *given],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
