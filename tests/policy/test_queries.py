"""`invoke_query` is allowed by the names of queries, and `graph_list` without a branch."""

import pytest

from omnigraph.api.operations.queries import ListQueries
from omnigraph.errors import ConfigError
from omnigraph.policy.actions import Action, Request
from omnigraph.policy.policy import Policy, parse_policy
from omnigraph.policy.rights import rights_of
from tests.policy.world import World

HEAD = "version: 1\ngroups: {g: [ann], h: [bob]}\nprotected_branches: [main]\nrules:\n"


def policy(*allows: str) -> Policy:
    rules = "".join(f"  - {{id: r{n}, allow: {{{each}}}}}\n" for n, each in enumerate(allows))
    return parse_policy("policy.yaml", (HEAD + rules).encode())


def may(policy: Policy, actor: str, query: str | None, branch: str | None = "main") -> bool:
    return policy.decide(Request(actor, "invoke_query", branch, query=query)).allowed


def test_a_rule_without_a_scope_and_without_names_is_for_all_queries_on_all_branches() -> None:
    found = policy("actors: {group: g}, actions: [invoke_query]")

    assert may(found, "ann", "any")
    assert may(found, "ann", "any", None)
    assert not may(found, "bob", "any")


def test_names_and_branches_limit_a_rule() -> None:
    found = policy(
        "actors: {group: g}, actions: [invoke_query], queries: [find, top], branch_scope: protected"
    )

    assert may(found, "ann", "find")
    assert may(found, "ann", "top")
    assert not may(found, "ann", "find", "draft")
    assert not may(found, "ann", "finder")
    assert not found.decide(Request("ann", "read", "main")).allowed


def test_who_may_run_some_query_on_a_branch_is_told_by_the_scopes_of_the_rules() -> None:
    some = "actors: {group: g}, actions: [invoke_query]"
    every = "actors: {group: h}, actions: [invoke_query]"
    found = policy(f"{some}, queries: [find], branch_scope: unprotected", every)

    asked = [("ann", "main"), ("ann", "draft"), ("bob", "main"), ("eve", "draft"), (None, "draft")]
    assert [found.may_invoke(*each) for each in asked] == [False, True, True, False, False]
    assert not found.may_invoke("bob", "__run__x")
    assert rights_of("ann", found).actions == {Action.INVOKE_QUERY}
    assert not rights_of("ann", found).on_main
    assert rights_of("bob", found).on_main == {Action.INVOKE_QUERY}


@pytest.mark.parametrize("reads", ["any", "unprotected", None])
@pytest.mark.parametrize("runs", ["queries: [all]", "queries: [other]", None])
def test_queries_that_run_elsewhere_are_listed_for_who_may_run_them(
    world: World, reads: str | None, runs: str | None
) -> None:
    rules = [
        None if reads is None else f"actions: [read], branch_scope: {reads}",
        None if runs is None else f"actions: [invoke_query], branch_scope: unprotected, {runs}",
    ]
    found = policy(*(f"actors: {{group: g}}, {each}" for each in rules if each is not None))
    backend = world.graph("ann", found).backend

    assert backend.run(ListQueries()) == []
    listed = backend.run(ListQueries(anywhere=True))
    assert [each.name for each in listed] == (["all"] if runs == "queries: [all]" else [])
    assert all(each.columns for each in listed)


def test_a_question_about_no_query_is_denied() -> None:
    decision = policy("actors: {group: g}, actions: [invoke_query]").decide(
        Request("ann", "invoke_query", "main")
    )

    assert not decision.allowed
    assert "needs a query" in decision.reason


def test_a_name_that_looks_like_cedar_is_only_a_name() -> None:
    found = policy("""actors: {group: g}, actions: [invoke_query], queries: ['x"] || true']""")

    assert not may(found, "ann", "y")
    assert may(found, "ann", 'x"] || true')


@pytest.mark.parametrize(
    ("allow", "told"),
    [
        ("actions: [read, invoke_query], branch_scope: any, queries: [q]", "alone"),
        ("actions: [invoke_query], queries: []", "names no query"),
        ("actions: [invoke_query], queries: [q, q]", "repeats 'q'"),
        ("actions: [invoke_query], target_branch_scope: any", "does not apply"),
        ("actions: [graph_list], branch_scope: any", "which has no branch"),
        ("actions: [read, invoke_query]", "needs exactly one"),
        ("actions: [invoke_query], branch_scope: any, target_branch_scope: any", "exactly one"),
    ],
)
def test_a_wrong_rule_is_told(allow: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        policy(f"actors: {{group: g}}, {allow}")


def test_a_policy_for_a_server_says_who_lists_graphs() -> None:
    text = "version: 1\nkind: server\ngroups: {admins: [ann]}\nrules:\n"
    rule = "  - {id: a, allow: {actors: {group: admins}, actions: [graph_list]}}\n"
    found = parse_policy("server.policy.yaml", (text + rule).encode())

    assert found.rules.kind == "server"
    assert found.decide(Request("ann", "graph_list")).allowed
    assert not found.decide(Request("bob", "graph_list")).allowed
