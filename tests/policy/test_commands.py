"""`policy validate`, `test` and `explain`, and `--as` under a policy."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from omnigraph.cli.main import omnigraph
from tests.policy.world import POLICY, World

Run = Callable[..., Result]
CASES = """\
version: 1
cases:
  - {id: one, actor: ann, action: read, branch: main, expect: allow}
  - {id: two, actor: una, action: read, branch: main, expect: EXPECTED}
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "policy.tests.yaml").write_text(CASES.replace("EXPECTED", "deny"))

    def invoke(*given: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["omnigraph", *given])
        return CliRunner().invoke(omnigraph, list(given))

    return invoke


def configured(folder: Path, extra: str = "") -> None:
    (folder / "omnigraph.yaml").write_text(
        f"policy: {{file: policy.yaml{extra}}}\ngraphs: {{world: {{uri: world}}}}\n"
        "cli: {graph: world}\n"
    )


def test_validate_counts_what_is_there(run: Run) -> None:
    done = run("policy", "validate", "--policy", "policy.yaml")
    assert done.exit_code == 0
    shown = "policy.yaml is valid: 4 actors, 4 groups, 6 rules; main, vault protected\n"
    assert done.stdout == shown
    found = json.loads(run("policy", "validate", "--policy", "policy.yaml", "--json").stdout)
    assert found == {
        "policy": "policy.yaml",
        "valid": True,
        "actors": 4,
        "groups": 4,
        "protected_branches": 2,
        "rules": 6,
    }


def test_validate_ends_with_1_and_every_problem(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("version: 2\nrules: [{id: a}]\n")
    done = run("policy", "validate", "--policy", "policy.yaml")
    assert done.exit_code == 1
    assert "policy.yaml:1: 'version' must be 1, not 2" in done.stderr
    assert "policy.yaml:2: 'rules[0]' needs 'allow'" in done.stderr
    as_json = run("policy", "validate", "--policy", "policy.yaml", "--json")
    assert (as_json.exit_code, json.loads(as_json.stdout)["code"]) == (1, "config_invalid")


@pytest.mark.parametrize("command", ["validate", "test"])
def test_without_a_policy_there_is_nothing_to_look_at(run: Run, command: str) -> None:
    done = run("policy", command)
    assert done.exit_code == 1
    assert "no policy is named" in done.stderr


def test_the_configuration_names_the_policy_and_its_tests(run: Run, tmp_path: Path) -> None:
    configured(tmp_path)
    assert run("policy", "validate").exit_code == 0
    assert run("policy", "test").stdout == "2 cases passed, 0 failed\n"
    (tmp_path / "others.yaml").write_text(CASES.replace("EXPECTED", "allow"))
    configured(tmp_path, ", tests: others.yaml")
    assert run("policy", "test").exit_code == 1
    assert run("policy", "test", "--tests", "policy.tests.yaml").exit_code == 0
    other = tmp_path / "sub" / "policy.yaml"
    other.parent.mkdir()
    other.write_text(POLICY)
    (other.parent / "policy.tests.yaml").write_text(CASES.replace("EXPECTED", "deny"))
    assert run("policy", "test", "--policy", str(other)).exit_code == 0


def test_a_case_that_is_decided_otherwise_ends_with_1(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.tests.yaml").write_text(CASES.replace("EXPECTED", "allow"))
    done = run("policy", "test", "--policy", "policy.yaml")
    assert done.exit_code == 1
    assert done.stdout == (
        "two: expected allow, but no rule allows 'una' read on 'main'\n1 case passed, 1 failed\n"
    )
    as_json = run("policy", "test", "--policy", "policy.yaml", "--json")
    found = json.loads(as_json.stdout)
    assert as_json.exit_code == 1
    assert (found["passed"], found["failed"]) == (1, 1)
    assert found["cases"][0] == {
        "id": "one",
        "actor": "ann",
        "action": "read",
        "branch": "main",
        "target_branch": None,
        "decision": "allow",
        "rule": "everywhere-branch",
        "reason": "rule 'everywhere-branch' allows it",
        "expect": "allow",
        "passed": True,
    }


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (("ann", "change", "--branch", "main"), "allow: rule 'everywhere-branch' allows it"),
        (("una", "change", "--branch", "main"), "deny: no rule allows 'una' change on 'main'"),
        (
            ("pia", "branch_merge", "--target-branch", "main", "--branch", "open"),
            "allow: rule 'inside-target' allows it",
        ),
        (("una", "admin"), "deny: no rule allows 'una' admin on the whole graph"),
        (("ann", "fly"), "deny: unknown action 'fly'"),
        (("eve", "read"), "deny: no group has the actor 'eve'"),
    ],
)
def test_explain_shows_the_decision_and_the_rule(
    run: Run, given: tuple[str, ...], shown: str
) -> None:
    actor, action, *rest = given
    asked = ("--policy", "policy.yaml", "--actor", actor, "--action", action, *rest)
    done = run("policy", "explain", *asked)
    assert (done.exit_code, done.stdout.strip()) == (0, shown)


def test_with_as_the_policy_of_the_configuration_is_asked(
    run: Run, world: World, tmp_path: Path
) -> None:
    assert world.root == tmp_path / "world"
    configured(tmp_path)
    assert run("branch", "list").stdout.split() == ["main", "lab", "open", "vault"]
    assert run("branch", "list", "--as", "una").stdout.split() == ["lab", "open"]
    for command in (
        ("snapshot", "--branch", "vault"),
        ("export", "--branch", "vault"),
        ("diff", "open", "vault"),
        ("branch", "merge", "vault", "--into", "open"),
        ("branch", "create", "mine", "--from", "vault"),
        ("branch", "delete", "vault"),
        ("commit", "list", "--branch", "vault"),
        ("optimize",),
    ):
        done = run(*command, "--as", "una")
        assert done.exit_code == 4, (command, done.output)
        assert "error[denied]" in done.stderr
    assert run("commit", "show", world.secret, "--as", "una").exit_code == 5
    denied = run("snapshot", "--branch", "vault", "--as", "una", "--json")
    assert (denied.exit_code, json.loads(denied.stdout)["code"]) == (4, "denied")
    for asked, what in (
        (("snapshot", "--branch", "vault"), "--action read --branch vault"),
        (("branch", "delete", "vault"), "--action branch_delete --target-branch vault"),
        (("optimize",), "--action admin"),
    ):
        told = run(*asked, "--as", "una").stderr.partition("   = hint: `omnigraph ")[2]
        line, _, rest = told.partition("`")
        assert (line, rest) == (f"policy explain --actor una {what}", " says why\n")
        assert run(*shlex.split(line)).stdout.startswith("deny: ")


def test_a_wrong_policy_lets_nobody_do_anything(run: Run, world: World, tmp_path: Path) -> None:
    configured(tmp_path)
    (tmp_path / "policy.yaml").write_text("version: 1\nrules: 3\n")
    done = run("branch", "list", "--as", "ann")
    assert done.exit_code == 1
    assert "must be a list" in done.stderr
    assert world.root.exists()
