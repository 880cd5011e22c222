"""Files of policies and of their tests are read strictly, and hostile ones do no harm."""

import sys
import textwrap
import time
from pathlib import Path

import pytest

from omnigraph.errors import ConfigError, UnreadableError
from omnigraph.policy.actions import Request
from omnigraph.policy.cases import cases_beside, load_cases, run_cases
from omnigraph.policy.cedar import SCHEMA, cedar_string
from omnigraph.policy.policy import load_policy, parse_policy
from omnigraph.policy.sandbox import check_in_child
from tests.policy.world import POLICY

ALLOW = "actors: {group: g}, actions: [read], branch_scope: any"
START = "version: 1\ngroups: {g: [ann]}\n"
ODD = [
    'a"b',
    "a\\",
    '\\"',
    '"); permit(principal, action, resource); //',
    '\\"); permit(principal, action, resource); //',
    "it's",
    "a\\u{22}",
    "Group::x",
    "ünï çödé",
    "日本",
    "a b",
    "${x}",
    "{{}}",
    "%22",
    "@id",
    "--",
]


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_policy("p.yaml", textwrap.dedent(text).encode())
    return caught.value.message.splitlines()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("groups: {}", "p.yaml:1: 'version' is missing"),
        ("version: 2", "p.yaml:1: 'version' must be 1, not 2"),
        (f"version: {'9' * 100_000}", "p.yaml:1: 'version' must have at most 18 digits"),
        ("version: '1'", "p.yaml:1: 'version' must be a number, not text"),
        ("version: 1\nrule: []", "p.yaml:2: unknown key 'rule'; did you mean 'rules'?"),
        (
            f"{START}rules:\n- {{id: r, allow: {{{ALLOW}, branchscope: any}}}}",
            "p.yaml:4: unknown key 'rules[0].allow.branchscope'; did you mean 'branch_scope'?",
        ),
        (
            f"{START}rules:\n- {{id: r, allow: {{{ALLOW.replace('read', 'raed')}}}}}",
            "p.yaml:4: 'rules[0].allow.actions' has the unknown action 'raed'; "
            "did you mean 'read'?",
        ),
        (
            f"{START}rules:\n- {{id: r, allow: {{{ALLOW.replace('group: g', 'group: gg')}}}}}",
            "p.yaml:4: 'rules[0].allow.actors.group' names the unknown group 'gg'; "
            "did you mean 'g'?",
        ),
        (
            f"{START}rules:\n- {{id: r, allow: {{{ALLOW}, target_branch_scope: any}}}}",
            "p.yaml:4: 'rules[0].allow' needs exactly one of 'branch_scope' and "
            "'target_branch_scope'",
        ),
        (
            f"{START}rules:\n- {{id: r, allow: {{{ALLOW.replace('any', 'all')}}}}}",
            "p.yaml:4: 'rules[0].allow.branch_scope' cannot be 'all'; "
            "expected any, protected, unprotected",
        ),
        (
            f"{START}rules:\n- {{id: r, allow: {{{ALLOW.replace('read', 'read, branch_merge')}}}}}",
            "p.yaml:4: 'rules[0].allow.branch_scope' does not apply to 'branch_merge', "
            "which takes 'target_branch_scope'",
        ),
        (
            f"{START}rules:\n- {{id: r, allow: {{{ALLOW.replace('branch_', 'target_branch_')}}}}}",
            "p.yaml:4: 'rules[0].allow.target_branch_scope' does not apply to 'read', "
            "which takes 'branch_scope'",
        ),
        (
            f"{START}rules:\n- {{id: r, allow: {{{ALLOW.replace('read', '')}}}}}",
            "p.yaml:4: 'rules[0].allow' needs 'actions', a list of at least one action",
        ),
        (
            f"{START}rules:\n- {{id: r, allow: {{{ALLOW.replace('read', 'read, read')}}}}}",
            "p.yaml:4: 'rules[0].allow.actions' repeats 'read'",
        ),
        (f"{START}rules:\n- {{allow: {{{ALLOW}}}}}", "p.yaml:4: 'rules[0].id' is missing"),
        (
            f"{START}rules:\n- {{id: r}}",
            "p.yaml:4: 'rules[0]' needs 'allow'; what no rule allows is denied",
        ),
        (
            f"{START}rules:\n- {{id: r, deny: {{{ALLOW}}}, allow: {{{ALLOW}}}}}",
            "p.yaml:4: unknown key 'rules[0].deny'; expected id, allow",
        ),
        (
            f"{START}rules:\n- {{id: r, allow: {{{ALLOW}}}}}\n- {{id: r, allow: {{{ALLOW}}}}}",
            "p.yaml:4: 'rules' repeats the id 'r'",
        ),
        (
            "version: 1\ngroups: {g: [ann, ann]}",
            "p.yaml:2: 'groups' repeats 'ann' in 'g'",
        ),
        (
            "version: 1\ngroups: {g: [ann, 7]}",
            "p.yaml:2: 'groups.g[1]' must be text, not a number; put it in quotes",
        ),
        (
            'version: 1\ngroups: {g: ["a\\u200b"]}',
            "p.yaml:2: 'groups' has a name with an invisible character",
        ),
        (
            "version: 1\ngroups: {g: [' ann']}",
            "p.yaml:2: 'groups' has a name that is empty, or starts or ends with a space",
        ),
        (
            f"version: 1\ngroups: {{g: [{'a' * 201}]}}",
            "p.yaml:2: 'groups' has a name of more than 200 bytes",
        ),
        (
            "version: 1\nprotected_branches: [release/*]",
            "p.yaml:2: 'protected_branches' has a name that no branch can have: "
            "invalid branch name 'release/*': it contains '*'",
        ),
        (
            "version: 1\nprotected_branches: [main, MAIN]",
            "p.yaml:2: 'protected_branches' repeats 'MAIN'",
        ),
        (
            "version: 1\nprotected_branches: [__run__x]",
            "p.yaml:2: 'protected_branches' has '__run__x', which is an internal branch",
        ),
        ("version: 1\nversion: 1", "p.yaml:2: 'version' is repeated"),
        ("[]", "p.yaml:1: the file must be a mapping, not a list"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, told: str) -> None:
    assert told in problems(text)


def test_all_problems_are_told_together() -> None:
    found = problems(
        """\
        version: 3
        protected: [main]
        groups: {g: [ann, ann]}
        rules:
          - {id: r, allow: {actors: {group: h}, actions: [fly], branch_scope: any}}
        """
    )
    assert [line.split(":")[1] for line in found] == ["1", "2", "3", "5", "5"]


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\na: &a [x]\nb: [*a, *a]",
        "version: 1\n" + "".join(f"a{n}: &a{n} [*a{n - 1},*a{n - 1}]\n" for n in range(1, 60)),
        "[" * 100_000,
        "{a: " * 5_000,
        "version: 1\nrules: " + "[" * 40 + "]" * 40,
        "version: 1\n<<: {rules: []}",
        "version: !!python/object/apply:os.system ['true']",
        "version: 1\n--- \nversion: 1",
        "\x00",
        "version: 1\n\tgroups: {}",
        "x" * 300_000,
        "version: 1\ngroups: {? [a] : [b]}",
    ],
    ids=lambda text: text[:24],
)
def test_a_hostile_text_is_refused_quickly(text: str) -> None:
    begun = time.perf_counter()
    with pytest.raises(ConfigError):
        parse_policy("p.yaml", text.encode())
    assert time.perf_counter() - begun < 5


@pytest.mark.parametrize("count", [5_000, pytest.param(25_000, marks=pytest.mark.long)])
def test_many_actors_are_read_quickly(count: int) -> None:
    actors = ", ".join(f"a{n}" for n in range(count))
    begun = time.perf_counter()
    policy = parse_policy("p", f"version: 1\ngroups: {{g: [{actors}]}}".encode())
    assert len(policy.rules.actors) == count
    assert time.perf_counter() - begun < 30


@pytest.mark.parametrize("name", ODD)
def test_odd_names_stay_names(name: str) -> None:
    shown = "'" + name.replace("'", "''") + "'"
    policy = parse_policy(
        "p",
        f"version: 1\ngroups: {{{shown}: [{shown}], other: [zed]}}\nrules:\n"
        f"- {{id: {shown}, allow: {{actors: {{group: {shown}}}, actions: [read], "
        "branch_scope: unprotected}}\nprotected_branches: [main]".encode(),
    )
    assert policy.decide(Request(name, "read", "open")).rule_id == name
    assert not policy.decide(Request(name, "read", "main")).allowed
    assert not policy.decide(Request(name, "change", "open")).allowed
    assert not policy.decide(Request("zed", "read", "open")).allowed


def test_a_quoted_text_has_quotes_at_its_ends_only() -> None:
    for text in (*ODD, "\n\r\t\x00\x7f\u2028", "\N{GRINNING FACE}"):
        found = cedar_string(text)
        assert found.count('"') == 2
        assert found.isascii()
        assert found.isprintable()


def test_a_text_that_kills_the_parser_kills_only_the_process_that_tries_it() -> None:
    deep = f"permit(principal, action, resource) when {{ {'(' * 100_000}true{')' * 100_000} }};"
    with pytest.raises(ValueError, match="the process that checked it crashed"):
        check_in_child(deep, SCHEMA)


def test_policies_that_do_not_fit_the_schema_are_refused_apart() -> None:
    unknown = 'permit(principal in Person::"x", action, resource);'
    everything = "permit(principal, action, resource);"
    check_in_child(everything, SCHEMA)
    for text, schema in ((unknown, SCHEMA), ("permit(", SCHEMA), (everything, "")):
        with pytest.raises(ValueError, match=r"Person|unexpected|schema|action"):
            check_in_child(text, schema)


def test_a_check_that_could_not_be_made_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = POLICY.replace("everywhere-branch", "another-branch").encode()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/nowhere/python")
        with pytest.raises(ConfigError, match="could not start a process"):
            parse_policy("p", text)
    assert parse_policy("p", text).rules.rules[0].id == "another-branch"


def test_a_file_that_is_not_there_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"cannot read .*No such file"):
        load_policy(tmp_path / "none.yaml")


CASES = """\
version: 1
cases:
  - {id: a, actor: ann, action: read, branch: main, expect: allow}
  - {id: b, actor: una, action: branch_merge, branch: open, target_branch: main, expect: deny}
  - {id: c, actor: una, action: read, branch: main, expect: allow}
  - {id: d, actor: zed, action: admin, expect: deny}
"""


def test_cases_are_run_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "policy.tests.yaml"
    path.write_text(CASES)
    outcomes = run_cases(parse_policy("p", POLICY.encode()), load_cases(path))
    found = [(each.case.id, each.decision.allowed, each.passed) for each in outcomes]
    assert found == [
        ("a", True, True),
        ("b", False, True),
        ("c", False, False),
        ("d", False, True),
    ]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("expect: allow", "expect: maybe", "cannot be 'maybe'; expected allow, deny"),
        ("action: read", "action: reed", "cannot be 'reed'; did you mean 'read'?"),
        ("id: b", "id: a", "'cases' repeats the id 'a'"),
        ("actor: zed, ", "", "'cases[3].actor' is missing"),
        ("branch: main, expect: allow", "target_branch: main, expect: allow", "is not enough for"),
        ("version: 1", "version: 9", "must be 1, not 9"),
        (CASES[11:], "", "'cases' is missing or empty"),
    ],
)
def test_wrong_cases_are_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = tmp_path / "policy.tests.yaml"
    path.write_text(CASES.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        load_cases(path)
    assert told in caught.value.message


def test_the_cases_lie_beside_their_policy() -> None:
    assert cases_beside(Path("/a/policy.yaml")) == Path("/a/policy.tests.yaml")
    assert cases_beside(Path("rules.yml")) == Path("rules.tests.yml")
