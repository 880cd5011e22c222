"""Actions: the actions, a request for one, and the decision on it."""

from collections.abc import Collection
from enum import StrEnum
from typing import Protocol

from omnigraph.errors import DeniedError
from omnigraph.frozen import dataclass


class Action(StrEnum):
    """An action that a policy can allow."""

    READ = "read"
    EXPORT = "export"
    CHANGE = "change"
    SCHEMA_APPLY = "schema_apply"
    BRANCH_CREATE = "branch_create"
    BRANCH_DELETE = "branch_delete"
    BRANCH_MERGE = "branch_merge"
    RUN_PUBLISH = "run_publish"
    RUN_ABORT = "run_abort"
    ADMIN = "admin"
    REVIEW = "review"
    INVOKE_QUERY = "invoke_query"
    GRAPH_LIST = "graph_list"

    @property
    def takes_target(self) -> bool:
        """Whether a rule names the branch that the action ends at, not the one it starts from."""
        return self not in _ON_BRANCH

    @property
    def needs_scope(self) -> bool:
        """Whether a rule has to say on which branches it allows the action."""
        return self not in (Action.INVOKE_QUERY, Action.GRAPH_LIST)


_ON_BRANCH = (Action.READ, Action.EXPORT, Action.CHANGE, Action.REVIEW, Action.INVOKE_QUERY)
ACTIONS: frozenset[str] = frozenset(Action)


class Scope(StrEnum):
    """The branches to which a rule applies."""

    ANY = "any"
    PROTECTED = "protected"
    UNPROTECTED = "unprotected"


@dataclass(frozen=True, slots=True)
class Request:
    """An actor wants to do an action on a branch; without one, on the whole graph.

    `query` names the stored query that `invoke_query` is about.
    """

    actor: str | None
    action: str
    branch: str | None = None
    target_branch: str | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a request is allowed, the rule that allows it, and why in words.

    `message` says why to who was denied, and `hint` what to do about it, where no policy decided.
    """

    allowed: bool
    rule_id: str | None
    reason: str
    message: str | None = None
    hint: str | None = None


def denied(request: Request, decision: Decision) -> DeniedError:
    """Return the error for who asked for what is not allowed."""
    return DeniedError(
        request.actor,
        request.action,
        request.target_branch or request.branch,
        message=decision.message,
        hint=decision.hint,
    )


class Decider(Protocol):
    """Decides requests: a policy, or one that is reloaded when its file changes."""

    def decide(self, request: Request) -> Decision:
        """Decide a request; deny it in case of doubt."""

    def groups_of(self, actor: str | None) -> Collection[str]:
        """Return the groups that an actor is in."""

    def somewhere(self, actor: str | None, action: Action, query: str | None = None) -> bool:
        """Return whether there is a branch on which an actor may do something."""

    def may_invoke(self, actor: str | None, branch: str) -> bool:
        """Return whether there is a stored query that an actor may run on a branch."""
