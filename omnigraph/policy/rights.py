"""Rights: the actions that a policy lets an actor do, on some branch and on `main`."""

from collections.abc import Mapping
from typing import Any, Self

from omnigraph.errors import DeniedError, Json
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import Action, Decider, Request

_MAIN = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """What an actor may do: `actions` on at least one branch, `on_main` on that one.

    Without a policy everything is allowed. `message` says why not to who is denied something, and
    `hint` what to do about it, where no policy decided.
    """

    actor: str | None
    has_policy: bool
    actions: frozenset[Action]
    on_main: frozenset[Action]
    message: str | None = None
    hint: str | None = None

    def denied(self, action: Action) -> DeniedError:
        """Return the error for an action that is allowed on no branch."""
        return DeniedError(self.actor, str(action), message=self.message, hint=self.hint)

    def to_json(self) -> dict[str, Json]:
        """Return the rights as JSON."""
        return {
            "actor_id": self.actor,
            "has_policy": self.has_policy,
            "actions": [str(each) for each in sorted(self.actions)],
            "on_main": [str(each) for each in sorted(self.on_main)],
            "message": self.message,
            "hint": self.hint,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the rights that `to_json` wrote; actions of a newer server are left out."""
        known = {str(each): each for each in Action}
        actions, on_main = (
            frozenset(known[each] for each in document[name] if each in known)
            for name in ("actions", "on_main")
        )
        return cls(
            actor=document["actor_id"],
            has_policy=document["has_policy"],
            actions=actions,
            on_main=on_main,
            message=document.get("message"),
            hint=document.get("hint"),
        )


def rights_of(actor: str | None, policy: Decider | None) -> Rights:
    """Return what an actor may do under a policy."""
    every = frozenset(Action)
    if policy is None:
        return Rights(actor=actor, has_policy=False, actions=every, on_main=every)
    actions = frozenset(each for each in every if policy.somewhere(actor, each))
    refused = min(every - actions, default=None)
    decision = None if refused is None else policy.decide(Request(actor, refused))
    return Rights(
        actor=actor,
        has_policy=True,
        actions=actions,
        on_main=frozenset(each for each in every if _may_on_main(policy, actor, each)),
        message=None if decision is None else decision.message,
        hint=None if decision is None else decision.hint,
    )


def _may_on_main(policy: Decider, actor: str | None, action: Action) -> bool:
    if action is Action.INVOKE_QUERY:  # it is decided by the query as well
        return policy.may_invoke(actor, _MAIN)
    if action is Action.GRAPH_LIST:  # it is about no branch
        return policy.somewhere(actor, action)
    named = {"target_branch" if action.takes_target else "branch": _MAIN}
    return policy.decide(Request(actor, action, **named)).allowed
