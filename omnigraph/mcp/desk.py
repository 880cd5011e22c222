"""Desk: where an agent works: a graph, its own branch, and what it may do."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.errors import (
    BranchExistsError,
    BranchNotFoundError,
    DeniedError,
    OmniGraphError,
)
from omnigraph.frozen import dataclass
from omnigraph.mcp.wording import problem_text
from omnigraph.policy.actions import Action
from omnigraph.policy.rights import Rights
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.versioning.names import MAIN, fold, normalize_name

if TYPE_CHECKING:
    from omnigraph.api.branch import Branch
    from omnigraph.api.graph import Graph

_Found = TypeVar("_Found")
TOKENS = 4_000
_NO_PART = re.compile(r"[^\w@.+-]+|\.{2,}|\.lock$")
_LONGEST_BYTES = 60


def own_branch(actor: str | None, run: str) -> str:
    """Return the branch of an agent, of names that a branch may have."""
    return f"agent/{_part(actor or 'anybody')}/{_part(run or 'run')}"


def _part(name: str) -> str:
    """Return a name as a part of a branch's.

    One that is changed, or with which others differ in case alone, has what tells it from others.
    """
    whole = _NO_PART.sub("-", name).strip(".-")
    part = whole.encode()[:_LONGEST_BYTES].decode(errors="ignore")
    if part == name == fold(name):
        return name
    mark = sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{part}-{mark}" if part else mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A graph as one agent has it.

    Reads are of `home`, and so are writes that name no branch; without a home they read `main`
    and write to `own`, which is made by the first of them. `main` is only written where it is
    named, and where a policy allows it or, without a policy, `allows_main` does. Whether the graph
    holds a memory is only looked up where it `may_remember`. Answers have at most so many `tokens`.
    """

    opened: "Callable[[], Graph]"
    rights: Rights
    own: str
    home: str | None = None
    is_read_only: bool = False
    allows_main: bool = False
    has_stored: bool = True
    may_remember: Callable[[], bool] = lambda: True
    tokens: int = TOKENS
    tell: Callable[[OmniGraphError], str] = problem_text

    @property
    def graph(self) -> "Graph":
        """The graph, as the agent may use it."""
        return self.opened()

    @property
    def is_remote(self) -> bool:
        """Whether a server has the graph."""
        return self.graph.uri.startswith(("http://", "https://"))

    @property
    def main_is_open(self) -> bool:
        """Whether anybody said who may write to `main`."""
        return self.rights.has_policy or self.allows_main

    def may(self, action: Action | None) -> bool:
        """Return whether the agent may do something on some branch."""
        return action is None or action in self.rights.actions

    def to_read(self, branch: str | None) -> str:
        """Return the branch, tag or commit that is read."""
        return branch or self.home or MAIN

    def to_write(self, branch: str | None) -> str:
        """Return the branch that is written to."""
        return branch or self.home or self.own

    def check_target(self, branch: str, action: Action) -> None:
        """Raise unless the agent may write to a branch, as far as this desk decides it."""
        is_main = fold(normalize_name(branch)) == MAIN
        if not is_main or self.main_is_open:
            return
        error = DeniedError(self.rights.actor, str(action), MAIN)
        error.message = f"an agent does not do '{action}' on 'main' unless a policy allows it"
        error.hint = (
            "leave the branch out to write to your own, then propose it, or show merge_preview to a"
            " person, and let them merge; a policy, or `omnigraph mcp --allow-main`, allows more"
        )
        raise error


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool: the desk it is for, and how it is stopped and followed."""

    desk: Desk
    cancelled: Event = field(default_factory=Event)
    progress: Progress = NO_PROGRESS

    @property
    def graph(self) -> "Graph":
        return self.desk.graph

    def view(self, place: str | None) -> "Branch":
        """Return what is read: a branch, a tag or a commit."""
        return self.graph.branch(self.desk.to_read(place), **self._reading)

    def branch(
        self, name: str, *, message: str | None = None, expect: str | None = None
    ) -> "Branch":
        """Return a branch to change."""
        return self.graph.branch(name, message=message, expect=expect, **self._reading)

    @property
    def work(self) -> dict[str, Any]:
        """The keywords of long work."""
        if self.desk.is_remote:
            return {}
        return {"progress": self.progress, "cancelled": self.cancelled}

    def write(
        self, branch: str | None, action: Action, work: Callable[[str], _Found]
    ) -> tuple[str, _Found]:
        """Do something to a branch, and return its name and what came of it.

        The agent's own branch is made from `main` by the first thing that is done to it.
        """
        desk = self.desk
        name = desk.to_write(branch)
        desk.check_target(name, action)
        try:
            return name, work(name)
        except BranchNotFoundError:
            if name != desk.own:
                raise
        with suppress(BranchExistsError):  # another call has made it meanwhile
            self.graph.create_branch(name, MAIN)
        return name, work(name)

    def may_see(self, branch: str) -> bool:
        """Return whether the agent may read a branch that it changed just now.

        False where nobody can tell: the change is done, and no error may say otherwise.
        """
        try:
            return bool(self.graph.backend.pin(branch))
        except OmniGraphError:
            return False

    @property
    def _reading(self) -> dict[str, Any]:
        if self.desk.is_remote:
            return {}
        return {"cancelled": self.cancelled}
