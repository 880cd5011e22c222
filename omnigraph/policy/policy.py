"""Policy: decides requests by the rules of a file; what no rule allows is denied."""

from collections.abc import Collection
from dataclasses import field
from pathlib import Path

from omnigraph.errors import BranchNameError, ConfigError
from omnigraph.files.bytes import file_bytes
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import ACTIONS, Action, Decision, Request
from omnigraph.policy.cedar import SCHEMA, Cedar, cedar_text
from omnigraph.policy.rules import Rules, parse_rules
from omnigraph.policy.sandbox import check_in_child
from omnigraph.syntax.names import is_system, normalize_name


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one file, loaded into Cedar; immutable."""

    rules: Rules
    _cedar: Cedar = field(repr=False, compare=False)

    def decide(self, request: Request) -> Decision:
        """Decide a request, and name the first rule of the file that allows it."""
        try:
            actor, action, branch = self._resolve_request(request)
        except _DoubtError as doubt:
            return Decision(allowed=False, rule_id=None, reason=str(doubt))
        query = request.query if action is Action.INVOKE_QUERY else None
        rule_id = self._cedar.find_rule(actor, action, branch, query)
        if rule_id is None:
            about = "the whole graph" if branch is None else f"'{branch}'"
            about = about if query is None else f"'{query}' on {about}"
            reason = f"no rule allows '{actor}' {action} on {about}"
            return Decision(allowed=False, rule_id=None, reason=reason)
        return Decision(allowed=True, rule_id=rule_id, reason=f"rule '{rule_id}' allows it")

    def groups_of(self, actor: str | None) -> Collection[str]:
        """Return the groups that an actor is in."""
        return () if actor is None else self._cedar.groups_of(actor)

    def somewhere(self, actor: str | None, action: Action, query: str | None = None) -> bool:
        """Return whether there is a branch on which an actor may do something."""
        rules = self.rules
        return actor is not None and any(
            rule.covers(action, query) and actor in rules.groups[rule.group] for rule in rules.rules
        )

    def may_invoke(self, actor: str | None, branch: str) -> bool:
        """Return whether there is a stored query that an actor may run on a branch."""
        rules = (each for each in self.rules.rules if each.covers(Action.INVOKE_QUERY, None))
        # A rule for all queries is asked about one without a name.
        names = {name for rule in rules for name in rule.queries or ("",)}
        asked = (Request(actor, Action.INVOKE_QUERY, branch, query=each) for each in names)
        return any(self.decide(each).allowed for each in asked)

    def _resolve_request(self, request: Request) -> tuple[str, Action, str | None]:
        """Return actor, action and branch of a request; raise _DoubtError if one is unclear."""
        if request.actor is None:
            raise _DoubtError("the request names no actor")
        if not self._cedar.knows(request.actor):
            raise _DoubtError(f"no group has the actor {request.actor!r}")
        if request.action not in ACTIONS:
            raise _DoubtError(f"unknown action {request.action!r}")
        action = Action(request.action)
        if action is Action.INVOKE_QUERY and request.query is None:
            raise _DoubtError(f"'{action}' needs a query, and the request names none")
        return request.actor, action, _branch(action, request)


class _DoubtError(Exception):
    """A request is denied before any rule is asked."""


def load_policy(path: Path) -> Policy:
    """Read a policy file; raise ConfigError with all its problems."""
    return parse_policy(str(path), file_bytes(path))


def parse_policy(name: str, data: bytes) -> Policy:
    """Parse a policy; raise ConfigError with all its problems."""
    rules = parse_rules(name, data)
    try:
        check_in_child(cedar_text(rules), SCHEMA)
    except ValueError as wrong:
        raise ConfigError(f"{name}: Cedar rejects the policy: {wrong}") from None
    return Policy(rules, Cedar(rules))


def _branch(action: Action, request: Request) -> str | None:
    """Return the normalized branch that an action is about; None is the whole graph."""
    given = (request.target_branch, request.branch)
    own, other = given if action.takes_target else given[::-1]
    if own is None and other is not None:
        kind = "target branch" if action.takes_target else "branch"
        raise _DoubtError(f"'{action}' needs a {kind}, and the request names none")
    try:
        name = None if own is None else normalize_name(own)
    except BranchNameError as wrong:
        raise _DoubtError(wrong.message) from None
    if name is not None and is_system(name):
        raise _DoubtError(f"'{name}' is an internal branch")
    return name
