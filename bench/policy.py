"""Policy: how long a decision takes, the first time and later, and what a check adds to a read."""

import argparse
import tempfile
from functools import partial
from itertools import count
from pathlib import Path

from bench.record import Timing, measure, store
from omnigraph import Graph, init
from omnigraph import open as open_graph
from omnigraph.policy.actions import Action, Request
from omnigraph.policy.cedar import Cedar
from omnigraph.policy.policy import Policy, parse_policy
from omnigraph.policy.sandbox import check_in_child

SIZES = {"small": (10, 20), "large": (100, 5_000)}
SCHEMA = "node Person { slug: String @key }"
INSERT = "query add($slug: String) { insert Person { slug: $slug } }"
HISTORY = 500


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=1_001)
    chosen = options.parse_args()
    findings: dict[str, object] = {}
    for name, (rules, actors) in SIZES.items():
        text = policy_text(rules, actors)
        findings |= {f"{name}_rules": rules, f"{name}_actors": actors}
        findings[f"{name}_load"] = measure(partial(_loaded, text), runs=5)
        for what, timing in _decisions(_loaded(text), rules, chosen.runs).items():
            findings[f"{name}_{what}"] = timing
    with tempfile.TemporaryDirectory() as folder:
        findings |= _in_use(Path(folder), chosen.runs // 10)
    for what, found in findings.items():
        print(f"{what:32} {found}")
    print(f"stored in {store('policy', ['cedarpy'], findings)}")


def policy_text(rules: int, actors: int) -> str:
    """Return a policy with a group for each rule, and the actors spread over the groups."""
    groups = {f"g{n}": [f"a{m}" for m in range(n, actors, rules)] for n in range(rules)}
    listed = "\n".join(f"  {name}: [{', '.join(found)}]" for name, found in groups.items())
    allowed = "\n".join(
        f"  - {{id: r{n}, allow: {{actors: {{group: g{n}}}, actions: [read, change], "
        "branch_scope: unprotected}}"
        for n in range(rules)
    )
    return f"version: 1\nprotected_branches: [main]\ngroups:\n{listed}\nrules:\n{allowed}\n"


def _loaded(text: str) -> Policy:
    """Parse a policy, with the process in which it is checked first."""
    check_in_child.cache_clear()
    return parse_policy("policy.yaml", text.encode())


def _decisions(policy: Policy, rules: int, runs: int) -> dict[str, Timing]:
    """Time decisions that were made before, and those for which Cedar has to be asked."""
    last = f"a{rules - 1}"
    allowed, denied = Request(last, "read", "draft"), Request(last, "read", "main")
    assert policy.decide(allowed).rule_id == f"r{rules - 1}"
    assert not policy.decide(denied).allowed

    def asked() -> object:
        fresh._cached.clear()
        return fresh.find_rule(last, Action.READ, "draft")

    fresh = Cedar(policy.rules)
    return {
        "decision": measure(lambda: policy.decide(allowed), runs=runs, warm_up=10),
        "denial": measure(lambda: policy.decide(denied), runs=runs, warm_up=10),
        "first_decision": measure(asked, runs=runs, warm_up=10),
    }


def _in_use(folder: Path, runs: int) -> dict[str, object]:
    """Time what a policy adds to pinning a branch, and a commit far back in its history."""
    owner = init(folder / "graph", SCHEMA, durable=False)
    owner.create_branch("draft")
    numbers = count()
    first = owner.branch("draft").mutate(INSERT, slug=f"p{next(numbers)}").commit
    assert first is not None
    for _ in range(HISTORY):
        owner.branch("draft").mutate(INSERT, slug=f"p{next(numbers)}")
    guarded = open_graph(folder / "graph", actor="a1", policy=policy_text(*SIZES["small"]))
    free = open_graph(folder / "graph")

    def pinned(graph: Graph, place: str) -> Timing:
        return measure(lambda: graph.snapshot(place), runs=runs, warm_up=3)

    return {
        "branch_without_policy": pinned(free, "draft"),
        "branch_with_policy": pinned(guarded, "draft"),
        "commits_between": HISTORY,
        "commit_without_policy": pinned(free, first.id),
        "commit_with_policy": pinned(guarded, first.id),
    }


if __name__ == "__main__":
    main()
