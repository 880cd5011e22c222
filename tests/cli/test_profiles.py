"""Profiles name servers and deployments; `login` stores a token, and what removes needs --yes."""

import json
import stat
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from omnigraph.api.graph import init
from omnigraph.api.graph import open as open_graph
from omnigraph.cli import profiles
from omnigraph.cli.main import omnigraph
from omnigraph.deploy.definition import graph_uri
from omnigraph.spark import doctor
from tests.deploy.folder import QUERIES, SCHEMA, write
from tests.deploy.serving import TOKENS, Fleet, applied, fleet


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    folder = write(tmp_path / "brain", base__policy__yaml=_policy())
    applied(folder)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path / "home"))
    with fleet(folder) as found:
        (tmp_path / "home").mkdir()
        (tmp_path / "home/config.yaml").write_text(
            f"servers:\n  prod: {{url: 'http://{found.server.address}'}}\n"
            f"clusters:\n  brain: {{uri: '{folder}'}}\n"
            "profiles:\n"
            "  work: {server: prod, graph: people}\n"
            "  lab: {cluster: brain, graph: people, actor: dee}\n"
            "default_profile: work\n"
        )
        yield found


def _policy() -> str:
    return (
        "version: 1\ngroups: {all: [bob]}\nrules:\n"
        "  - id: data\n    allow:\n      actors: {group: all}\n"
        "      actions: [read, change]\n      branch_scope: any\n"
        "  - id: branches\n    allow:\n      actors: {group: all}\n"
        "      actions: [branch_create, branch_delete, admin]\n      target_branch_scope: any\n"
    )


def run(*words: str, text: str | None = None) -> Result:
    return CliRunner().invoke(omnigraph, words, input=text)


def test_a_login_checks_and_stores_the_token_for_the_person_alone(
    served: Fleet, tmp_path: Path
) -> None:
    wrong = run("login", "prod", text="nonsense\n")
    assert wrong.exit_code == 1
    assert not (tmp_path / "home/tokens.json").exists()

    done = run("login", "prod", "--json", text=f"{TOKENS['bob']}\n")

    assert done.exit_code == 0, done.output
    path = Path(json.loads(done.stdout)["stored_in"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert TOKENS["bob"] not in done.output
    assert run("branch", "list").output.split() == ["main"]  # the usual profile
    assert run("branch", "list", "--profile", "work").exit_code == 0
    assert run("logout", "prod").output == "removed the token for prod\n"
    assert run("branch", "list").exit_code == 1


def test_of_two_logins_at_once_none_loses_its_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second begins after the first has read the tokens, and before it writes them."""
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))
    monkeypatch.setattr(profiles, "_keyring", lambda: None)
    other = threading.Thread(target=profiles.store_token, args=("lab", "l"))
    write_tokens = profiles._write_tokens

    def paused(tokens: Mapping[str, str]) -> None:
        if "prod" in tokens and not other.ident:
            other.start()
            other.join(0.3)
        write_tokens(tokens)

    monkeypatch.setattr(profiles, "_write_tokens", paused)
    profiles.store_token("prod", "p")
    other.join(60)
    assert [profiles.token_of(each) for each in ("prod", "lab")] == ["p", "l"]


def test_a_login_where_no_server_is_written_says_how_to_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))

    done = run("login", "prod", text="x\n")

    assert done.stderr == (
        f"error[config_invalid]: {tmp_path}/config.yaml has no server 'prod'\n"
        '   = hint: write it there: servers: {prod: {url: "https://…"}}\n'
    )


def test_what_removes_at_the_server_of_a_profile_shows_the_target_and_needs_yes(
    served: Fleet,
) -> None:
    run("login", "prod", text=f"{TOKENS['bob']}\n")
    assert run("branch", "create", "draft").exit_code == 0

    refused = run("branch", "delete", "draft", "--profile", "work")
    assert refused.exit_code == 2
    assert f"{served.server.address}/graphs/people (profile work)" in refused.output
    assert run("cleanup", "--keep", "1", "--confirm").exit_code == 2
    assert run("cleanup", "--keep", "1").exit_code == 0
    load = run("load", "--data", "rows.jsonl", "--mode", "overwrite")
    assert (load.exit_code, "--yes" in load.output) == (2, True)

    assert run("branch", "delete", "draft", "--profile", "work", "--yes").exit_code == 0
    assert run("branch", "list").output.split() == ["main"]


def test_a_profile_of_a_deployment_is_the_graph_itself_for_its_actor(
    served: Fleet, tmp_path: Path
) -> None:
    (tmp_path / "empty/q.gq").write_text(QUERIES)
    words = ("change", "--query", "q.gq", "--name", "add", "--params", '{"name": "Ada"}')
    done = run(*words, "--profile", "lab")

    assert done.exit_code == 0, done.output
    read = run("read", "--query", "q.gq", "--name", "everyone", "-P", "lab", "--format", "csv")
    assert read.output.splitlines() == ["name", "Ada"]
    with open_graph(graph_uri(str(tmp_path / "brain"), "people"), read_only=True) as graph:
        assert next(iter(graph.log())).actor == "dee"


@pytest.mark.parametrize("profile", [("-P", "draft"), ()], ids=["given", "usual"])
def test_commands_work_on_the_branch_of_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: tuple[str, ...]
) -> None:
    folder = write(tmp_path / "brain")
    applied(folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))
    (tmp_path / "config.yaml").write_text(
        f"clusters:\n  brain: {{uri: '{folder}'}}\n"
        "profiles:\n  draft: {cluster: brain, graph: people, branch: draft}\n"
        "default_profile: draft\n"
    )
    (tmp_path / "rows.jsonl").write_text('{"type": "Person", "data": {"name": "Ada"}}\n')
    (tmp_path / "q.gq").write_text(QUERIES)
    words = ("change", "--query", "q.gq", "--name", "add", "--params", '{"name": "Bo"}')

    for done in (run("ingest", "--data", "rows.jsonl", *profile), run(*words, *profile)):
        assert done.exit_code == 0, done.output
    read = run("read", "--query", "q.gq", "--name", "everyone", "--format", "csv", *profile)
    assert read.output.split() == ["name", "Ada", "Bo"]
    with open_graph(graph_uri(str(folder), "people"), read_only=True) as graph:
        assert graph.branches() == ["main", "draft"]
        assert len(list(graph.log())) == 1

    (tmp_path / "omnigraph.yaml").write_text("cli: {branch: main}\n")
    read = run("read", "--query", "q.gq", "--name", "everyone", "--format", "csv", *profile)
    assert read.output.split() == (["name", "Ada", "Bo"] if profile else ["name"])


@pytest.mark.parametrize("profile", [("-P", "lab"), ()], ids=["given", "usual"])
def test_queries_are_checked_against_the_graph_of_a_profile(
    served: Fleet, tmp_path: Path, profile: tuple[str, ...]
) -> None:
    run("login", "prod", text=f"{TOKENS['bob']}\n")
    (tmp_path / "empty/q.gq").write_text(QUERIES)

    linted = run("query", "lint", "--query", "q.gq", *profile)
    explained = run("query", "explain", "--query", "q.gq", "--name", "everyone", *profile)

    assert (linted.exit_code, explained.exit_code) == (0, 0), linted.output + explained.output


def test_an_alias_takes_all_words_where_a_profile_names_the_graph(
    served: Fleet, tmp_path: Path
) -> None:
    (tmp_path / "empty/q.gq").write_text(QUERIES)
    (tmp_path / "empty/omnigraph.yaml").write_text(
        "aliases:\n  add: {command: change, query: q.gq, name: add, args: [name]}\n"
    )
    done = run("change", "--alias", "add", "-P", "lab", "Ada")
    assert done.exit_code == 0, done.output


def test_the_doctor_looks_at_the_store_of_a_profile_that_is_given(
    served: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def diagnose(_: object, uri: str | None) -> tuple[()]:
        asked.append(uri)
        return ()

    monkeypatch.setattr(doctor, "diagnose", diagnose)
    run("doctor", "-P", "lab")
    run("doctor")  # the usual profile is one of a server
    assert asked == [graph_uri(str(tmp_path / "brain"), "people"), None]
    assert "does not work through the server" in run("doctor", "-P", "work").output


def test_a_graph_that_is_named_wins_over_the_profile_of_the_variable(
    served: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty/p.pg").write_text(SCHEMA)
    monkeypatch.setenv("OMNIGRAPH_PROFILE", "lab")
    made = run("init", "--schema", "p.pg", "own.omni")
    assert made.exit_code == 0, made.output
    run("branch", "create", "draft", "own.omni")

    assert run("branch", "list", "own.omni").output.split() == ["main", "draft"]
    assert run("branch", "list").output.split() == ["main"]
    refused = run("branch", "list", "own.omni", "-P", "lab")
    assert (refused.exit_code, "named twice" in refused.output) == (2, True)


def test_a_token_file_that_others_can_read_is_refused(served: Fleet, tmp_path: Path) -> None:
    run("login", "prod", text=f"{TOKENS['bob']}\n")
    (tmp_path / "home/tokens.json").chmod(0o644)

    found = run("branch", "list")

    assert found.exit_code == 1
    assert "chmod 600" in found.output


def test_wrong_profiles_are_told(served: Fleet, tmp_path: Path) -> None:
    assert "did you mean 'work'?" in run("branch", "list", "--profile", "wrk").output
    assert "named twice" in run("branch", "list", "g.omni", "--profile", "work").output
    (tmp_path / "home/config.yaml").write_text(
        "profiles:\n  x: {server: a, cluster: b}\nextra: 1\n"
    )
    told = run("branch", "list", "--profile", "x").output
    assert "unknown key 'extra'" in told
    assert "needs exactly one of" in told or "cannot be" in told


def test_where_nobody_knows_the_home_there_are_no_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    init(tmp_path / "g.omni", SCHEMA)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OMNIGRAPH_HOME", raising=False)
    monkeypatch.setattr(Path, "home", unknown)

    listed = run("branch", "list", str(tmp_path / "g.omni"))
    profile = run("branch", "list", "--profile", "work")

    assert (listed.exit_code, listed.output) == (0, "main\n")
    assert profile.exit_code == 1
    assert "~/.omnigraph/config.yaml has no profile 'work'" in profile.output
