"""Reload: a policy that can be read again from its file while it is in use."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from pathlib import Path

from omnigraph.files.bytes import file_bytes
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import Action, Decision, Request
from omnigraph.policy.policy import Policy, parse_policy


class _PolicyInForce(ABC):
    """A policy that decides as it stands at the moment."""

    @property
    @abstractmethod
    def current(self) -> Policy:
        """The policy in force; the same object until a reload replaces it."""

    def decide(self, request: Request) -> Decision:
        """Decide by the policy in force."""
        return self.current.decide(request)

    def groups_of(self, actor: str | None) -> Collection[str]:
        """Return the groups that an actor is in by the policy in force."""
        return self.current.groups_of(actor)

    def somewhere(self, actor: str | None, action: Action, query: str | None = None) -> bool:
        """Return whether there is a branch on which an actor may do something."""
        return self.current.somewhere(actor, action, query)

    def may_invoke(self, actor: str | None, branch: str) -> bool:
        """Return whether there is a stored query that an actor may run on a branch."""
        return self.current.may_invoke(actor, branch)


@dataclass(frozen=True)
class FixedPolicy(_PolicyInForce):
    """A policy that never changes, because it is part of an immutable revision."""

    policy: Policy
    path: None = None

    @property
    def current(self) -> Policy:
        return self.policy

    def reload(self) -> bool:
        """Return that nothing changed."""
        return False


class ReloadedPolicy(_PolicyInForce):
    """The policy of a file, as of its last successful read; safe for threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        data = file_bytes(path)
        self._loaded = (data, parse_policy(str(path), data))

    @property
    def current(self) -> Policy:
        return self._loaded[1]

    def reload(self) -> bool:
        """Read the file again; return whether the policy changed.

        If the file cannot be read or is invalid, raise the error and keep the old policy.
        """
        data = file_bytes(self.path)
        if data == self._loaded[0]:
            return False
        self._loaded = (data, parse_policy(str(self.path), data))
        return True
