"""Readers: where there are actors and no policy, everybody may read and nothing else."""

from collections.abc import Collection

from omnigraph.policy.actions import Action, Decision, Request

_HINT = "without a policy, actors may only read; whoever runs the server gives one with --policy"
_ALLOWED = (Action.READ, Action.EXPORT, Action.INVOKE_QUERY, Action.GRAPH_LIST)


class ReadersOnly:
    """Allows every actor to read, on any branch."""

    path = None

    def decide(self, request: Request) -> Decision:
        """Allow what only reads."""
        if request.actor is None:
            reason = "the request names no actor"
            return Decision(allowed=False, rule_id=None, reason=reason)
        if request.action in _ALLOWED:
            return Decision(allowed=True, rule_id=None, reason="everybody with a token may read")
        reason = "without a policy, an actor may only read"
        return Decision(allowed=False, rule_id=None, reason=reason, hint=_HINT)

    def groups_of(self, actor: str | None) -> Collection[str]:
        """Return no groups; only a policy has any."""
        del actor
        return ()

    def somewhere(self, actor: str | None, action: Action, query: str | None = None) -> bool:
        """Return whether an actor may do something on any branch."""
        return self.decide(Request(actor, action, query=query)).allowed

    def reload(self) -> bool:
        """Return that nothing changed; there is no file."""
        return False
