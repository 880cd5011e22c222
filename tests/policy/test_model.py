"""Whatever a policy holds, Cedar decides as a few lines of Python do."""

import json
import unicodedata
from dataclasses import dataclass
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.policy.actions import Action, Request, Scope
from omnigraph.policy.policy import parse_policy
from omnigraph.policy.rules import name_problem

NAMES = st.text(min_size=1, max_size=12).filter(lambda text: name_problem(text) is None)
BRANCHES = ("main", "Release/1", "draft", "größe", "MAIN")


@dataclass(frozen=True)
class Model:
    """A policy as plain lists."""

    groups: dict[str, list[str]]
    protected: list[str]
    rules: list[tuple[str, str, list[Action], Scope]]

    def text(self) -> str:
        """Return the policy as a file; JSON is YAML."""
        rules = [
            {
                "id": name,
                "allow": {
                    "actors": {"group": group},
                    "actions": actions,
                    ("target_" if actions[0].takes_target else "") + "branch_scope": scope,
                },
            }
            for name, group, actions, scope in self.rules
        ]
        return json.dumps(
            {
                "version": 1,
                "groups": self.groups,
                "protected_branches": self.protected,
                "rules": rules,
            },
            ensure_ascii=False,
        )

    def allowing(self, actor: str, action: Action, branch: str | None) -> str | None:
        """Return the first rule that allows it."""
        scopes = {Scope.ANY}
        if branch is not None:
            is_protected = folded(branch) in map(folded, self.protected)
            scopes.add(Scope.PROTECTED if is_protected else Scope.UNPROTECTED)
        for name, group, actions, scope in self.rules:
            if action in actions and scope in scopes and actor in self.groups[group]:
                return name
        return None


def folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


@st.composite
def models(draw: st.DrawFn) -> Model:
    actors = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    groups = {name: draw(st.lists(st.sampled_from(actors), unique=True)) for name in names}
    scoped: list[Action] = [each for each in Action if each is not Action.GRAPH_LIST]
    kinds = [[each for each in scoped if each.takes_target is kind] for kind in (True, False)]
    ids = draw(st.lists(NAMES, max_size=5, unique=True))
    rules = []
    for rule_id in ids:
        of_kind = draw(st.sampled_from(kinds))
        actions = draw(st.lists(st.sampled_from(of_kind), min_size=1, unique=True))
        group, scope = draw(st.sampled_from(names)), draw(st.sampled_from(list(Scope)))
        rules.append((rule_id, group, actions, scope))
    protected = draw(st.lists(st.sampled_from(BRANCHES), unique_by=folded))
    return Model(groups, protected, rules)


@settings(max_examples=40)
@given(model=models(), stranger=st.text(max_size=12))
def test_cedar_agrees_with_the_model(model: Model, stranger: str) -> None:
    policy = parse_policy("p.yaml", model.text().encode())
    actors = {stranger, *model.groups, *(each for found in model.groups.values() for each in found)}
    for actor, action, branch in product(sorted(actors), Action, (None, *BRANCHES)):
        place = {"target_branch" if action.takes_target else "branch": branch}
        decision = policy.decide(Request(actor, action, **place, query="any"))
        wanted = model.allowing(actor, action, branch)
        assert (decision.allowed, decision.rule_id) == (wanted is not None, wanted)
