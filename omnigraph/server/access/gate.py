"""Gate: who asks, and whether policy lets them, before anything of a body is read."""

import stat
import threading
import time
from collections.abc import Collection
from contextvars import ContextVar
from dataclasses import field
from pathlib import Path

from starlette.datastructures import Headers

from omnigraph.api.operation import Audience
from omnigraph.errors import Json, OmniGraphError
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import Action, Decision, Request, denied
from omnigraph.policy.readers import ReadersOnly
from omnigraph.policy.reload import FixedPolicy, ReloadedPolicy
from omnigraph.query.stored import unknown_query
from omnigraph.server.access.incoming import bearer_of
from omnigraph.server.access.tokens import Tokens, TokenSource
from omnigraph.server.monitoring.logs import log, warn
from omnigraph.server.monitoring.metrics import Metrics
from omnigraph.server.refusal import Refusal
from omnigraph.server.routes.route import Route

_TRY_AGAIN_SECONDS = 10.0
_noted: ContextVar[list[tuple[Request, Decision]]] = ContextVar("noted")


@dataclass(frozen=True, slots=True)
class NotedPolicy:
    """A policy of which every decision is noted for the log of the request that it was made for."""

    held: ReloadedPolicy | FixedPolicy | ReadersOnly

    def decide(self, request: Request) -> Decision:
        """Return the decision of the policy in force."""
        decision = self.held.decide(request)
        _noted.get([]).append((request, decision))
        return decision

    def groups_of(self, actor: str | None) -> Collection[str]:
        """Return the groups that an actor is in by the policy in force."""
        return self.held.groups_of(actor)

    def knows(self, actor: str | None) -> bool:
        """Return whether an actor may know of what the policy is for."""
        return isinstance(self.held, ReadersOnly) or bool(self.groups_of(actor))

    def somewhere(self, actor: str | None, action: Action, query: str | None = None) -> bool:
        """Return whether there is a branch on which an actor may do something."""
        return self.held.somewhere(actor, action, query)

    def may_invoke(self, actor: str | None, branch: str) -> bool:
        """Return whether there is a stored query that an actor may run on a branch."""
        return self.held.may_invoke(actor, branch)


def unauthorized() -> Refusal:
    """Return the refusal of a request whose token is missing or not known."""
    message = "a valid bearer token is needed"
    return Refusal(401, "unauthorized", message, {"WWW-Authenticate": "Bearer"})


def begin_notes() -> list[tuple[Request, Decision]]:
    """Return the list that gets every decision made from here on for this request."""
    notes: list[tuple[Request, Decision]] = []
    _noted.set(notes)
    return notes


def told(notes: list[tuple[Request, Decision]], *, is_denied: bool) -> dict[str, Json]:
    """Return the decision that a request came to as fields of a line of the log.

    What a list leaves out was denied as well, without the request being denied.
    """
    meant = [each for each in notes if each[1].allowed is not is_denied]
    if not meant:
        return {}
    request, decision = meant[-1] if is_denied else meant[0]
    return {
        "action": str(request.action),
        "branch": request.target_branch or request.branch,
        "decision": "deny" if is_denied else "allow",
        "rule": decision.rule_id,
    }


@dataclass(slots=True)
class Gate:
    """The tokens and the policy in force; both are read again while the server runs."""

    source: TokenSource
    policy: NotedPolicy | None
    metrics: Metrics
    tokens: Tokens | None = field(init=False, repr=False)
    _seen: dict[Path, tuple[int, ...]] = field(default_factory=dict)
    _tried: float = 0.0
    _open: dict[str, str | None] = field(default_factory=dict)
    _reloading: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.tokens = self.source.read() if self.source.is_given else None
        self.source = self.source.spent()
        self.changed_files()

    def actor_of(self, route: Route, headers: Headers) -> str | None:
        """Return who sends a request; raises a Refusal when a token is needed and wrong."""
        if route.guard is Audience.ANYBODY or self.tokens is None:
            return None
        token = bearer_of(headers)
        actor = None if token is None else self.tokens.actor_of(token)
        if actor is None:
            raise unauthorized()
        return actor

    def check(
        self,
        route: Route,
        actor: str | None,
        branch: str | None = None,
        *,
        policy: NotedPolicy | None,
        query: str | None = None,
    ) -> None:
        """Raise DeniedError when policy denies, as far as that is known without the body.

        A stored query that the actor may not run is not there, and a list of them is empty.
        """
        if policy is None or not isinstance(route.guard, Action):
            return
        action = route.guard
        if action is Action.INVOKE_QUERY:
            if query is not None and not policy.somewhere(actor or "", action, query):
                raise unknown_query(query)
            return
        if branch is not None:
            is_target = action.takes_target
            named = {"target_branch": branch} if is_target else {"branch": branch}
            request = Request(actor, action, **named)
            if (decision := policy.decide(request)).allowed:
                return
        elif actor is not None and any(
            policy.somewhere(actor, each) for each in (action, *route.suffices)
        ):
            return
        else:
            request = Request(actor, action)
            decision = policy.decide(request)  # for the log, and its hint
        raise denied(request, decision)

    def reload(self) -> None:
        """Read tokens and policy again; what cannot be read leaves the old ones in force."""
        with self._reloading:  # else a slow reader could put old tokens in place of newer ones
            self._tried = time.monotonic()
            for what, read in (("tokens", self._read_tokens), ("policy", self._read_policy)):
                try:
                    is_new = read()
                except Exception as failed:
                    self._note_failure(what, failed)
                else:
                    self._note_success(what, is_new=is_new)
            self.warn_of_readers()

    def reload_changed(self) -> None:
        """Read tokens and policy again if their files changed, or could not be read last time."""
        is_due = self.metrics.failing and time.monotonic() > self._tried + _TRY_AGAIN_SECONDS
        if self.changed_files() or is_due:
            self.reload()

    def changed_files(self) -> bool:
        """Return whether the file of the tokens or of the policy changed since this was asked."""
        seen = {path: _look_of(path) for path in self._paths.values()}
        is_changed = seen != self._seen
        self._seen = seen
        return is_changed

    def warn_of_readers(self) -> None:
        """Write a line about each file that other users of the machine can read or change."""
        open_to = {what: _open_to_others(path) for what, path in self._paths.items()}
        for what, how in open_to.items():
            if how is not None and self._open.get(what) != how:
                warn("other users can open a file", what=what, how=how)
        self._open = open_to

    @property
    def _paths(self) -> dict[str, Path]:
        path = None if self.policy is None else self.policy.held.path
        found = {} if path is None else {"policy": path}
        return found if self.source.path is None else {**found, "tokens": self.source.path}

    def _note_failure(self, what: str, failed: Exception) -> None:
        """Count and log a failure, once for as long as it stays the same."""
        code = failed.code if isinstance(failed, OmniGraphError) else type(failed).__name__
        if self.metrics.failing.get(what) != code:
            self.metrics.failing[what] = code
            self.metrics.reloads[f"{what}_failed"] += 1
            warn("reload failed", what=what, code=code)

    def _note_success(self, what: str, *, is_new: bool) -> None:
        was_failing = self.metrics.failing.pop(what, None) is not None
        if is_new:
            self.metrics.reloads[what] += 1
        if is_new or was_failing:
            log("reloaded", what=what, is_new=is_new)

    def _read_tokens(self) -> bool:
        if not self.source.can_change:
            return False
        found = self.source.read()
        is_new = found != self.tokens
        self.tokens = found
        return is_new

    def _read_policy(self) -> bool:
        return self.policy is not None and self.policy.held.reload()


def _open_to_others(path: Path) -> str | None:
    """Return what users that are neither the owner nor in the group may do to a file."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    if mode & stat.S_IWOTH:
        return "write"
    return "read" if mode & stat.S_IROTH else None


def _look_of(path: Path) -> tuple[int, ...]:
    """Return what tells a file from what was there before; some tools give all the same time."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def origin_problem(headers: Headers, hosts: frozenset[str] | None) -> Refusal | None:
    """Return the refusal of a request that was not meant for this server, or None.

    A web page of another site can let a browser send requests here; they name another host, or
    come with another origin.
    """
    given = headers.getlist("host")
    if len(given) != 1:
        return Refusal(400, "bad_host", "a request needs exactly one Host")
    if hosts is not None and _name_of(given[0]) not in hosts:
        return Refusal(400, "bad_host", "this server is not known by that Host")
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2].lower() != given[0].lower():
        return Refusal(403, "cross_origin", "requests of other origins are not taken")
    return None


def _name_of(host: str) -> str:
    name, separator, port = host.lower().rpartition(":")
    return name if separator and port.isdigit() else host.lower()
