"""Whatever is wrong with a command, it ends with one clear message and the right code."""

import json
from pathlib import Path

import pytest

from omnigraph.api.graph import init
from tests.cli.scene import GOLDEN, Scene
from tests.cli.test_golden import validate

POLICY = """
version: 1
groups: {readers: [rea]}
rules: [{id: r, allow: {actors: {group: readers}, actions: [read], branch_scope: any}}]
"""
CASES = (
    # code, what is run, what is told
    (1, "load g.omni --data missing.jsonl", "[unreadable]: cannot read 'missing.jsonl'"),
    (1, "read g.omni --query missing.gq", "[unreadable]: cannot read 'missing.gq': No such file"),
    (1, "read g.omni --query .", "[unreadable]: cannot read '.': Is a directory"),
    (1, "init new.omni --schema missing.pg", "[unreadable]: cannot read 'missing.pg'"),
    (5, "snapshot nothing.omni", "[graph_not_found]"),
    (5, "snapshot people.gq", "[graph_not_found]"),
    (1, "read g.omni --query people.gq --name friends", "[P1]: '$name' is missing"),
    (
        1,
        "read g.omni --query people.gq --name friends --params '{'",
        "[P4]: the parameters are not",
    ),
    (
        1,
        "read g.omni --query people.gq --name friends --params '{\"name\": 1e400}'",
        "[P4]: the parameters are not JSON: 1e400 is too large a number",
    ),
    (
        1,
        "read g.omni --query people.gq --name friends --params '{\"name\": NaN}'",
        "[P4]: the parameters are not JSON: NaN is not a number",
    ),
    (
        1,
        'read g.omni --query people.gq --name friends --params \'{"name": 1, "name": 2}\'',
        "[P4]: the parameters are not JSON: 'name' is given twice",
    ),
    (1, "read g.omni --query people.gq --name friends --params '{\"nme\": 1}'", "[P2]: "),
    (
        1,
        "read g.omni --query people.gq --name friends --params '{\"name\": 1}'",
        "[P4]: '$name' is",
    ),
    (1, "read --alias frends", "[config_invalid]: {folder}/omnigraph.yaml has no alias 'frends'"),
    (1, "change --alias friends ann", "[bad_input]: the alias 'friends' is for read"),
    (1, "snapshot --target gg", "[config_invalid]: {folder}/omnigraph.yaml has no graph 'gg'"),
    (
        1,
        "snapshot --target nope",
        "[config_invalid]: {folder}/omnigraph.yaml has no graph 'nope'\n"
        "   = hint: the graphs are: g, away\n",
    ),
    (
        1,
        "init --schema people.pg g.omni",
        "[graph_exists]: there is a graph at {folder}/g.omni already\n"
        "   = hint: load into it, or name another place\n",
    ),
    (1, "snapshot --config missing.yaml", "[unreadable]: cannot read '{folder}/missing.yaml'"),
    (1, "snapshot --config broken.yaml", "[config_invalid]: {folder}/broken.yaml:1: unknown key"),
    (1, "snapshot --config people.jsonl", "[config_invalid]: {folder}/people.jsonl"),
    (1, "branch list --config dotenv.yaml", "[config_invalid]: {folder}/dotenv.env:1: expected N"),
    (1, "snapshot --target away", "[config_invalid]: the variable AWAY_TOKEN"),
    (1, "branch list http://127.0.0.1:10", "[unreachable]: no server answers"),
    (1, "branch list http://", "[bad_input]: 'http://' is not the address of a server"),
    (
        4,
        "branch create x --as rea --config policy.omni.yaml",
        "[denied]: the policy does not allow",
    ),
    (4, "snapshot --as stranger --config policy.omni.yaml", "[denied]: the policy does not allow"),
    (3, "change -e '{ADD}' --expect 01ARZ3NDEKTSV4RRFFQ69G5FAV", "[head_moved]"),
    (5, "branch delete nowhere", "[branch_not_found]"),
    (1, "branch create 'not a name'", "[branch_name_invalid]"),
    (5, "explain T333", "[not_found]: unknown error code 'T333'"),
    (2, "snapshot g.omni --uri g.omni", "the graph is named twice"),
    (2, "snapshot --config empty.yaml", "name a graph, by its URI or with --target"),
    (2, "snapshot --branhc main", "No such option '--branhc'"),
    (2, "-P work snapshot", "No such option '-P'. Options such as this one go after the command."),
    (2, "branch --uri g.omni list", "Options such as this one go after the command."),
    (2, "diff main g.omni --config empty.yaml", "two places come before the graph: FROM TO g.omni"),
    (2, "snapsot", "No such command 'snapsot'. Did you mean 'snapshot'?"),
    (2, "merge", "No such command 'merge'. Did you mean 'branch merge'?"),
    (2, "log", "Did you mean 'commit list'?"),
    (2, "serve", "The server is the command omnigraph-server."),
    (2, "xyzzy", "No such command 'xyzzy'.\n"),
    (2, "read g.omni", "give one of --query, -e and --alias"),
    (2, "diff main", "name two places: FROM TO"),
    (5, "read g.omni -e ''", "[query_not_found]: <text> has no query\n"),
    (5, "read g.omni -e '// nothing'", "[query_not_found]: <text> has no query\n"),
    (2, "embed g.omni --input a --output b --spec c", "are for --again, not for a file"),
    (2, "embed --branch main --input a --output b --spec c", "are for --again, not for a file"),
    (2, "embed --as ann --seed s", "are for --again, not for a file"),
    (2, "--config o.yaml snapshot", "Options such as this one go after the command."),
    (2, "load --data -  --data people.jsonl", "standard input cannot be loaded together"),
)
ADD = 'query q() { insert Person { name: "x" } }'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    for file in GOLDEN.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    init(folder / "g.omni", (GOLDEN / "people.pg").read_text(), durable=False)
    usual = (
        "graphs:\n  g: {uri: g.omni}\n"
        "  away: {uri: 'http://127.0.0.1:9', bearer_token_env: AWAY_TOKEN}\n"
        "cli: {graph: g}\n"
    )
    alias = "aliases: {friends: {command: read, query: people.gq, name: friends, args: [name]}}\n"
    (folder / "omnigraph.yaml").write_text(usual + alias)
    (folder / "policy.omni.yaml").write_text(usual + "policy: {file: rules.yaml}\n")
    (folder / "rules.yaml").write_text(POLICY)
    (folder / "broken.yaml").write_text("graps: {}\n")
    (folder / "empty.yaml").write_text("")
    (folder / "dotenv.yaml").write_text(usual + "auth: {env_file: dotenv.env}\n")
    (folder / "dotenv.env").write_text("s3cr3t\n")
    return folder


@pytest.fixture
def scene(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("OMNIGRAPH_BEARER_TOKEN", raising=False)
    return Scene(folder)


@pytest.mark.parametrize(("code", "line", "told"), CASES, ids=[line for _, line, _ in CASES])
def test_it_ends_with_one_message_and_its_code(
    scene: Scene, code: int, line: str, told: str
) -> None:
    done = scene.run(line.replace("{ADD}", ADD))

    assert (done.exit_code, done.stdout) == (code, "")
    assert told.replace("{folder}", str(scene.folder)) in done.stderr
    assert "s3cr3t" not in done.stderr


def test_an_option_before_its_command_is_told_as_json_where_it_goes(scene: Scene) -> None:
    done = scene.run("--json snapshot g.omni")

    assert done.exit_code == 2
    told = json.loads(done.stdout)["error"]
    assert told == "No such option '--json'. Options such as this one go after the command."


def test_a_file_of_parameters_may_begin_with_a_byte_order_mark(scene: Scene) -> None:
    (scene.folder / "marked.json").write_text('\ufeff{"name": "ann"}')
    words = "read g.omni --query people.gq --name friends --params-file marked.json"

    done = scene.run(words)

    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(("code", "line", "told"), CASES, ids=[line for _, line, _ in CASES])
def test_programs_get_the_same_as_an_object(scene: Scene, code: int, line: str, told: str) -> None:
    done = scene.run(line.replace("{ADD}", ADD) + " --json")

    document = json.loads(done.stdout)
    assert (done.exit_code, done.stderr) == (code, "")
    assert document["code"] == ("usage" if code == 2 else told[1:].partition("]")[0])
    validate("error", document)
