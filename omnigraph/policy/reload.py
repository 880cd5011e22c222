"""Reload: a policy that is read again from its file while it is in use."""

from pathlib import Path

from omnigraph.files.bytes import file_bytes
from omnigraph.policy.actions import Decision, Request
from omnigraph.policy.policy import Policy, parse_policy


class ReloadedPolicy:
    """The policy of a file as it was when it was last read without an error; safe for threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        data = file_bytes(path)
        self._held = (data, parse_policy(str(path), data))

    @property
    def current(self) -> Policy:
        """The policy in force; it stays the same object until a reload takes another."""
        return self._held[1]

    def decide(self, request: Request) -> Decision:
        """Give the decision of the policy in force."""
        return self.current.decide(request)

    def reload(self) -> bool:
        """Take what the file says now, and tell whether that is something else.

        When the file cannot be read or is wrong, the error is raised and the old policy stays.
        """
        data = file_bytes(self.path)
        if data == self._held[0]:
            return False
        self._held = (data, parse_policy(str(self.path), data))
        return True
