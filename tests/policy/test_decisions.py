"""What a policy decides: every action, scope, kind of branch and actor; and any doubt is a no."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from omnigraph.policy import cedar
from omnigraph.policy.actions import Action, Decision, Request
from omnigraph.policy.cedar import Cedar
from omnigraph.policy.policy import Policy, load_policy, parse_policy
from tests.policy.world import POLICY

SCOPES = {"ann": "any", "pia": "protected", "una": "unprotected", "nil": None, "zed": None}
BRANCHES = {
    "main": "protected",
    "vault": "protected",
    "MAIN": "protected",
    "Vault": "protected",
    "open": "unprotected",
    "main2": "unprotected",
    "feature/x": "unprotected",
    "mäin": "unprotected",
    None: "graph",
}
GROUP = "groups: {g: [ann]}"
RULE = "{id: r, allow: {actors: {group: g}, actions: [read], branch_scope: any}}"


@pytest.fixture(scope="module")
def policy() -> Policy:
    return parse_policy("policy.yaml", POLICY.encode())


def asked(policy: Policy, actor: str | None, action: str, branch: str | None) -> Decision:
    is_target = action in list(Action) and Action(action).takes_target
    place = {"target_branch" if is_target else "branch": branch}
    return policy.decide(Request(actor, action, **place, query="any"))


@pytest.mark.parametrize(
    ("actor", "action"), list(product(SCOPES, [each for each in Action if each != "graph_list"]))
)
def test_an_action_is_allowed_in_the_scope_of_the_actors_rule_and_nowhere_else(
    policy: Policy, actor: str, action: Action
) -> None:
    for branch, kind in BRANCHES.items():
        wanted = SCOPES[actor] is not None and SCOPES[actor] in ("any", kind)
        decision = asked(policy, actor, action, branch)
        assert decision.allowed is wanted, (branch, decision)
        assert (decision.rule_id is not None) is wanted


@pytest.mark.parametrize(
    ("action", "rule_id"), [("read", "everywhere-branch"), ("branch_merge", "everywhere-target")]
)
def test_a_decision_names_its_rule(policy: Policy, action: str, rule_id: str) -> None:
    decision = asked(policy, "ann", action, "main")
    assert decision == Decision(allowed=True, rule_id=rule_id, reason=f"rule '{rule_id}' allows it")


def test_of_two_rules_that_allow_it_the_first_of_the_file_is_named() -> None:
    rules = "\n".join(f"  - {RULE.replace('id: r', f'id: r{n}')}" for n in (12, 3, 7, 1))
    policy = parse_policy("p", f"version: 1\n{GROUP}\nrules:\n{rules}".encode())
    named = {asked(policy, "ann", "read", branch).rule_id for branch in ("main", "x", None)}
    assert named == {"r12"}


@pytest.mark.parametrize(
    "request_",
    [
        Request(None, "read", "open"),
        Request("", "read", "open"),
        Request("zed", "read", "open"),
        Request("ANN", "read", "open"),
        Request("ann ", "read", "open"),
        Request("everywhere", "read", "open"),
        Request("ann\x00", "read", "open"),
        Request("\ud800", "read", "open"),
        Request("ann", "reed", "open"),
        Request("ann", "READ", "open"),
        Request("ann", "", "open"),
        Request("ann", "read", ""),
        Request("ann", "read", "with space"),
        Request("ann", "read", "main%2f"),
        Request("ann", "read", "ma\u200bin"),
        Request("ann", "read", "\ud800"),
        Request("ann", "read", "a" * 1_000),
        Request("ann", "read", "__run__01K9ZZZZZZZZZZZZZZZZZZZZZZ"),
        Request("ann", "read", "__tag__v1"),
        Request("ann", "read", None, "open"),
        Request("ann", "branch_merge", "open", None),
    ],
    ids=repr,
)
def test_what_is_in_doubt_is_denied(policy: Policy, request_: Request) -> None:
    decision = policy.decide(request_)
    assert not decision.allowed
    assert decision.rule_id is None
    assert decision.reason


def test_the_branch_of_the_action_itself_counts_when_both_kinds_are_given(policy: Policy) -> None:
    assert policy.decide(Request("pia", "branch_merge", "open", "main")).allowed
    assert not policy.decide(Request("pia", "branch_merge", "main", "open")).allowed
    assert not policy.decide(Request("una", "read", "main", "open")).allowed


def test_a_name_in_another_unicode_form_is_the_same_branch() -> None:
    text = POLICY.replace("[main, vault]", "[sécret]")
    policy = parse_policy("p", text.encode())
    for name in ("s\u00e9cret", "se\u0301cret", "SE\u0301CRET", "S\u00c9CRET"):
        assert asked(policy, "pia", "read", name).allowed
        assert not asked(policy, "una", "read", name).allowed


def test_the_same_question_gets_the_same_answer(policy: Policy) -> None:
    again = parse_policy("policy.yaml", POLICY.encode())
    for actor, action, branch in product(SCOPES, Action, BRANCHES):
        decision = asked(policy, actor, action, branch)
        assert asked(policy, actor, action, branch) == decision
        assert asked(again, actor, action, branch) == decision


def test_without_rules_everything_is_denied() -> None:
    policy = parse_policy("p", f"version: 1\n{GROUP}\n".encode())
    assert not any(asked(policy, "ann", action, "main").allowed for action in Action)


def test_an_error_of_cedar_is_a_denial(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    import cedarpy

    def allowed_with_errors(*_: object) -> cedarpy.AuthzResult:
        found = {"errors": ["something failed"], "reason": ["policy0"]}
        return cedarpy.AuthzResult({"decision": "Allow", "diagnostics": found})

    def failing(*_: object) -> cedarpy.AuthzResult:
        raise ValueError("no such thing")

    for broken in (allowed_with_errors, failing):
        monkeypatch.setattr(cedarpy, "is_authorized", broken)
        assert Cedar(policy.rules).find_rule("ann", Action.READ, "main") is None


def test_what_was_asked_last_is_kept_however_much_was_asked_before(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cedarpy

    evaluated, plain = [], cedarpy.is_authorized

    def noted(*given: Any) -> cedarpy.AuthzResult:
        evaluated.append(given)
        return plain(*given)

    monkeypatch.setattr(cedarpy, "is_authorized", noted)
    monkeypatch.setattr(cedar, "_MOST_CACHED", 3)
    asked_again = Cedar(policy.rules)
    for name in ("q1", "q2", "q3", "q4"):
        asked_again.find_rule("una", Action.INVOKE_QUERY, "main", name)
        asked_again.find_rule("ann", Action.READ, "main")
    assert len(evaluated) == 5

    asked_again.find_rule("una", Action.INVOKE_QUERY, "main", "q4")
    assert len(evaluated) == 5
    asked_again.find_rule("una", Action.INVOKE_QUERY, "main", "q1")
    assert len(evaluated) == 6


def test_a_policy_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    assert asked(load_policy(path), "ann", "read", "main").allowed
