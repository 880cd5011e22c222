"""Cedar: the rules as Cedar policies, parsed once and evaluated by `cedarpy`.

A branch is in the scope `any` and in one of `protected` and `unprotected`; the whole graph is in
`any` alone, and a stored query in the scopes of the branch on which it is to be run. So no policy
reads an attribute, and evaluating one cannot fail.
"""

import json
from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from omnigraph.policy.actions import Action, Scope
from omnigraph.policy.rules import Rule, Rules

if TYPE_CHECKING:
    from cedarpy import AuthzResult

SCHEMA = """\
entity Group;
entity Scope;
entity Actor in [Group];
entity Branch in [Scope];
entity Graph in [Scope];
entity Query in [Scope];
action {actions} appliesTo {{ principal: [Actor], resource: [Branch, Graph, Query] }};
""".format(actions=", ".join(f'"{action}"' for action in Action))

_MOST_CACHED = 10_000

_Key: TypeAlias = tuple[str, Action, Scope, str | None]


class Cedar:
    """A policy loaded into Cedar after `check_in_child` passed it; safe for threads."""

    def __init__(self, rules: Rules) -> None:
        from cedarpy import PolicySet, Schema

        self._schema = Schema.from_str(SCHEMA)
        self._policies = PolicySet.from_str(cedar_text(rules))
        self._rules = rules
        self._groups = rules.actors
        self._order = {rule.id: place for place, rule in enumerate(rules.rules)}
        self._cached: OrderedDict[_Key, str | None] = OrderedDict()
        self._lock = Lock()

    def knows(self, actor: str) -> bool:
        """Return whether some group has an actor."""
        return actor in self._groups

    def groups_of(self, actor: str) -> list[str]:
        """Return the groups of an actor, in the order of the file."""
        return self._groups.get(actor, [])

    def find_rule(
        self, actor: str, action: Action, branch: str | None, query: str | None = None
    ) -> str | None:
        """Return the id of the first rule that permits it; None if none does, or on any error.

        The answer is the same for all branches of a scope, so it is cached by scope; what was asked
        longest ago makes room.
        """
        key = (actor, action, self._scope(branch), query)
        with self._lock:
            if key in self._cached:
                self._cached.move_to_end(key)
                return self._cached[key]
        found = self._ask(actor, action, branch, query)
        with self._lock:
            self._cached[key] = found
            if len(self._cached) > _MOST_CACHED:
                self._cached.popitem(last=False)
        return found

    def _ask(self, actor: str, action: Action, branch: str | None, query: str | None) -> str | None:
        from cedarpy import Decision, is_authorized

        resource = _uid("Graph", "graph") if branch is None else _uid("Branch", branch)
        if query is not None:
            resource = _uid("Query", query)
        request = {
            "principal": _uid("Actor", actor),
            "action": _uid("Action", action),
            "resource": resource,
        }
        entities = json.dumps([self._actor(actor), self._resource(resource, branch)])
        try:
            result = is_authorized(request, self._policies, entities, self._schema)
        except Exception:  # a policy that cannot be evaluated allows nothing
            return None
        if result.decision is not Decision.Allow or result.diagnostics.errors:
            return None
        return self._first(result)

    def _first(self, result: "AuthzResult") -> str | None:
        ids = result.diagnostics.id_annotations_by_reason.values()
        known = [each for each in ids if each in self._order]
        return min(known, key=self._order.__getitem__, default=None)

    def _scope(self, branch: str | None) -> Scope:
        """Return the narrowest scope of a branch, or of the whole graph."""
        if branch is None:
            return Scope.ANY
        return Scope.PROTECTED if self._rules.is_protected(branch) else Scope.UNPROTECTED

    def _actor(self, actor: str) -> dict[str, object]:
        return _entity(_uid("Actor", actor), "Group", self._groups.get(actor, []))

    def _resource(self, uid: dict[str, str], branch: str | None) -> dict[str, object]:
        return _entity(uid, "Scope", sorted({Scope.ANY, self._scope(branch)}))


def cedar_text(rules: Rules) -> str:
    """Return the rules as Cedar policies, each with the id of its rule."""
    return "\n".join(_permit(rule) for rule in rules.rules)


def cedar_string(text: str) -> str:
    """Return a text as a Cedar string literal; nothing in it can end the literal early."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    plain = char.isascii() and char.isprintable() and char not in '"\\'
    return char if plain else f"\\u{{{ord(char):x}}}"


def _permit(rule: Rule) -> str:
    actions = ", ".join(f"Action::{cedar_string(action)}" for action in rule.actions)
    named = ""
    if rule.queries is not None:
        queries = ", ".join(f"Query::{cedar_string(each)}" for each in sorted(rule.queries))
        named = f" when {{ resource in [{queries}] }}"
    return (
        f"@id({cedar_string(rule.id)})\n"
        f"permit (principal in Group::{cedar_string(rule.group)}, action in [{actions}], "
        f"resource in Scope::{cedar_string(rule.scope)}){named};"
    )


def _uid(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "id": name}


def _entity(uid: dict[str, str], kind: str, parents: Iterable[str]) -> dict[str, object]:
    return {"uid": uid, "attrs": {}, "parents": [_uid(kind, each) for each in parents]}
