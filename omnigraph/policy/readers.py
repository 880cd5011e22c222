"""Readers: where there are actors and no policy, everybody may read and nothing else."""

from collections.abc import Collection

from omnigraph.policy.actions import Action, Decision, Request

_HINT = "start the server with --policy FILE, or with --allow-writes-without-policy"
_HINT_OF_DEPLOYED = (
    "give the graph a policy in cluster.yaml,"
    " or start the server with --allow-writes-without-policy"
)
_ALLOWED = (Action.READ, Action.EXPORT, Action.INVOKE_QUERY, Action.GRAPH_LIST)


class ReadersOnly:
    """Allows every actor to read, on any branch."""

    path = None

    def __init__(self, *, is_deployed: bool = False) -> None:
        self.hint = _HINT_OF_DEPLOYED if is_deployed else _HINT
        self._judged = "graph" if is_deployed else "server"

    def decide(self, request: Request) -> Decision:
        """Allow what only reads."""
        if request.actor is None:
            reason = "the request names no actor"
            return Decision(allowed=False, rule_id=None, reason=reason)
        if request.action in _ALLOWED:
            return Decision(allowed=True, rule_id=None, reason="everybody with a token may read")
        message = f"'{request.actor}' may only read: this {self._judged} has no policy"
        return Decision(
            allowed=False, rule_id=None, reason=message, message=message, hint=self.hint
        )

    def groups_of(self, actor: str | None) -> Collection[str]:
        """Return no groups; only a policy has any."""
        del actor
        return ()

    def somewhere(self, actor: str | None, action: Action, query: str | None = None) -> bool:
        """Return whether an actor may do something on any branch."""
        return self.decide(Request(actor, action, query=query)).allowed

    def may_invoke(self, actor: str | None, branch: str) -> bool:
        """Return whether there is a stored query that an actor may run on a branch."""
        return self.decide(Request(actor, Action.INVOKE_QUERY, branch)).allowed

    def reload(self) -> bool:
        """Return that nothing changed; there is no file."""
        return False
