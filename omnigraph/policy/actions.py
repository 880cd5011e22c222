"""Actions: what a policy decides about: the ten actions, a request for one, and a decision."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Action(StrEnum):
    """What an actor may be allowed to do."""

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

    @property
    def takes_target(self) -> bool:
        """Whether it is about the branch it ends at, and not about the one it works on."""
        return self not in (Action.READ, Action.EXPORT, Action.CHANGE)


ACTIONS: frozenset[str] = frozenset(Action)


class Scope(StrEnum):
    """The branches that a rule is about."""

    ANY = "any"
    PROTECTED = "protected"
    UNPROTECTED = "unprotected"


@dataclass(frozen=True, slots=True)
class Request:
    """May this actor do this? Without a branch it is about the whole graph."""

    actor: str | None
    action: str
    branch: str | None = None
    target_branch: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a request is allowed, the rule that allows it, and why in words."""

    allowed: bool
    rule_id: str | None
    reason: str


class Decider(Protocol):
    """Whatever decides requests: a policy, or one that is loaded again when its file changes."""

    def decide(self, request: Request) -> Decision:
        """Give the decision on a request; what is in doubt is denied."""
