"""The family `policy`: whether a policy is right, whether it decides as expected, and why."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph.cli.address import given_config
from omnigraph.cli.output import Document, counted, show_json
from omnigraph.cli.session import config_option, json_option
from omnigraph.errors import ConfigError, Json

if TYPE_CHECKING:
    from omnigraph.policy.actions import Decision, Request
    from omnigraph.policy.cases import CaseResult

_FILE = click.option(
    "--policy", "file", metavar="FILE", help="The policy.  [default: policy.file of omnigraph.yaml]"
)


@click.group()
def policy() -> None:
    """Check a policy, test it, and ask what it decides."""


@policy.command()
@_FILE
@config_option
@json_option
def validate(file: str | None, as_json: bool) -> None:
    """Check a policy file and count what is in it."""
    from omnigraph.policy.policy import load_policy

    path = _policy_file(file)
    rules = load_policy(path).rules
    counts = {
        "actors": len(rules.actors),
        "groups": len(rules.groups),
        "protected_branches": len(rules.protected),
        "rules": len(rules.rules),
    }
    if as_json:
        show_json({"policy": str(path), "valid": True, **counts})
        return
    shown = [counted(counts[f"{noun}s"], noun) for noun in ("actor", "group", "rule")]
    protected = ", ".join(sorted(rules.protected)) or "no branch"
    click.echo(f"{path} is valid: {', '.join(shown)}; {protected} protected")


@policy.command()
@_FILE
@click.option(
    "--tests",
    metavar="FILE",
    help="The cases.  [default: policy.tests of omnigraph.yaml, or policy.tests.yaml beside it]",
)
@config_option
@json_option
def test(file: str | None, tests: str | None, as_json: bool) -> None:
    """Decide every case of a file of tests; exits with 1 when one is decided otherwise."""
    from omnigraph.policy.cases import load_cases, run_cases
    from omnigraph.policy.policy import load_policy

    path = _policy_file(file)
    outcomes = run_cases(load_policy(path), load_cases(_tests_file(tests, path)))
    failed = [each for each in outcomes if not each.passed]
    if as_json:
        cases: list[Json] = [_outcome_json(each) for each in outcomes]
        show_json({"cases": cases, "passed": len(outcomes) - len(failed), "failed": len(failed)})
    else:
        for each in failed:
            wanted = "allow" if each.case.allowed else "deny"
            click.echo(f"{each.case.id}: expected {wanted}, but {each.decision.reason}")
        click.echo(f"{counted(len(outcomes) - len(failed), 'case')} passed, {len(failed)} failed")
    if failed:
        sys.exit(1)


@policy.command()
@click.option("--actor", metavar="ACTOR", required=True, help="Who wants to do it.")
@click.option(
    "--action", metavar="ACTION", required=True, help="What, such as read or branch_merge."
)
@click.option(
    "--branch", metavar="NAME", help="The branch of read, export, change and invoke_query."
)
@click.option("--target-branch", metavar="NAME", help="The branch of all other actions.")
@click.option("--query", metavar="NAME", help="The stored query of invoke_query.")
@_FILE
@config_option
@json_option
def explain(
    actor: str,
    action: str,
    branch: str | None,
    target_branch: str | None,
    query: str | None,
    file: str | None,
    as_json: bool,
) -> None:
    """Show what a policy decides, and which rule allows it.

    Without a branch the question is about the whole graph.
    """
    from omnigraph.policy.actions import Request
    from omnigraph.policy.policy import load_policy

    request = Request(actor, action, branch, target_branch, query)
    decision = load_policy(_policy_file(file)).decide(request)
    if as_json:
        show_json(_decision_json(request, decision))
    else:
        click.echo(f"{'allow' if decision.allowed else 'deny'}: {decision.reason}")


def _policy_file(given: str | None) -> Path:
    if given is not None:
        return Path(given)
    config = given_config()
    if config is None or config.policy.file is None:
        raise ConfigError(
            "no policy is named", hint="give --policy FILE, or policy.file in omnigraph.yaml"
        )
    return config.policy.file


def _tests_file(given: str | None, policy_file: Path) -> Path:
    from omnigraph.policy.cases import cases_beside

    if given is not None:
        return Path(given)
    config = given_config()
    tests = None if config is None else config.policy.tests
    is_its_own = config is not None and config.policy.file == policy_file
    return tests if tests is not None and is_its_own else cases_beside(policy_file)


def _outcome_json(outcome: "CaseResult") -> Document:
    return {
        "id": outcome.case.id,
        **_decision_json(outcome.case.request, outcome.decision),
        "expect": "allow" if outcome.case.allowed else "deny",
        "passed": outcome.passed,
    }


def _decision_json(request: "Request", decision: "Decision") -> Document:
    return {
        "actor": request.actor,
        "action": request.action,
        "branch": request.branch,
        "target_branch": request.target_branch,
        "decision": "allow" if decision.allowed else "deny",
        "rule": decision.rule_id,
        "reason": decision.reason,
    }
