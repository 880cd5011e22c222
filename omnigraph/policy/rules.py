"""Rules: the file `policy.yaml`, parsed strictly into frozen values."""

from collections import Counter
from collections.abc import Iterable, Mapping

from omnigraph.errors import BranchNameError
from omnigraph.files.yaml import Section, parse_yaml
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import ACTIONS, Action, Scope
from omnigraph.syntax.names import fold, is_system, is_visible, normalize_name
from omnigraph.syntax.problems import suggest

VERSION = 1
MOST_NAME_BYTES = 200

KINDS = ("graph", "server")

_TOP = ("version", "kind", "groups", "protected_branches", "rules")
_RULE = ("id", "allow")
_ALLOW = ("actors", "actions", "branch_scope", "target_branch_scope", "queries")


@dataclass(frozen=True, slots=True)
class Rule:
    """Allows the actors of a group some actions on the branches of a scope.

    `queries` are the stored queries that may be invoked; None is for all.
    """

    id: str
    group: str
    actions: tuple[Action, ...]
    scope: Scope
    queries: frozenset[str] | None = None

    def covers(self, action: Action, query: str | None) -> bool:
        """Return whether the rule is about an action, and about a query if it has one."""
        named = query is None or self.queries is None or query in self.queries
        return action in self.actions and named


@dataclass(frozen=True, slots=True)
class Rules:
    """The content of `policy.yaml`; the names of protected branches are folded.

    Rules of the kind `server` say who may list the graphs of a deployment.
    """

    groups: Mapping[str, frozenset[str]]
    protected: frozenset[str]
    rules: tuple[Rule, ...]
    kind: str = "graph"

    @property
    def actors(self) -> dict[str, list[str]]:
        """Every actor of some group, with its groups in the order of the file."""
        found: dict[str, list[str]] = {}
        for group, actors in self.groups.items():
            for actor in actors:
                found.setdefault(actor, []).append(group)
        return found

    def is_protected(self, branch: str) -> bool:
        """Return whether a branch is protected; upper and lower case make no difference."""
        return fold(branch) in self.protected


def parse_rules(name: str, data: bytes) -> Rules:
    """Parse a policy file; raise ConfigError with all its problems."""
    top = parse_yaml(name, data, _TOP)
    check_version(top)
    groups = {group: _actors(top, group, found) for group, found in top.lists("groups").items()}
    kind = top.choice("kind", KINDS) or KINDS[0]
    rules = [_rule(each, groups) for each in top.items("rules", _RULE)]
    check_unique(top, "rules", (rule.id for rule in rules))
    found = Rules(groups, _protected(top), tuple(rules), kind)
    top.check()
    return found


def check_version(top: Section) -> None:
    """Note a version that this release does not read."""
    version = top.count("version")
    if "version" not in top:
        top.note("'version' is missing")
    elif version is not None and version != VERSION:
        top.report("version", f"must be {VERSION}, not {version}")


def check_unique(top: Section, key: str, ids: Iterable[str]) -> None:
    """Note every id that a list has more than once."""
    seen: set[str] = set()
    for each in ids:
        if each and each in seen:
            top.report(key, f"repeats the id '{each}'")
        seen.add(each)


def read_name(section: Section, key: str) -> str:
    """Return a required name, such as that of a rule; an invalid one is noted."""
    text = section.required(key)
    if text and (reason := name_problem(text)) is not None:
        section.report(key, reason)
    return text


def name_problem(text: str) -> str | None:
    """Return what is wrong with the name of an actor, a group, a rule or a case, or None."""
    if not text.strip() or text != text.strip():
        return "has a name that is empty, or starts or ends with a space"
    if not is_visible(text):
        return "has a name with an invisible character"
    if len(text.encode()) > MOST_NAME_BYTES:
        return f"has a name of more than {MOST_NAME_BYTES} bytes"
    return None


def _actors(top: Section, group: str, actors: tuple[str, ...]) -> frozenset[str]:
    problems = [name_problem(each) for each in (group, *actors)]
    for problem in dict.fromkeys(each for each in problems if each is not None):
        top.report("groups", problem)
    for actor in [each for each, count in Counter(actors).items() if count > 1]:
        top.report("groups", f"repeats '{actor}' in '{group}'")
    return frozenset(actors)


def _protected(top: Section) -> frozenset[str]:
    """Return the folded names of the protected branches; note names that no branch can have.

    Such an entry would protect nothing without anyone noticing.
    """
    found = set()
    for each in top.texts("protected_branches"):
        try:
            name = normalize_name(each)
        except BranchNameError as wrong:
            top.report("protected_branches", f"has a name that no branch can have: {wrong.message}")
            continue
        if is_system(name):
            top.report("protected_branches", f"has '{name}', which is an internal branch")
        if fold(name) in found:
            top.report("protected_branches", f"repeats '{name}'")
        found.add(fold(name))
    return frozenset(found)


def _rule(section: Section, groups: Mapping[str, object]) -> Rule:
    rule_id = read_name(section, "id")
    if "allow" not in section:
        section.note("needs 'allow'; what no rule allows is denied")
        return Rule(rule_id, "", (), Scope.UNPROTECTED)
    allow = section.section("allow", _ALLOW)
    actions = _actions(allow)
    group, scope = _group(allow, groups), _scope(allow, actions)
    return Rule(rule_id, group, actions, scope, _queries(allow, actions))


def _group(allow: Section, groups: Mapping[str, object]) -> str:
    if "actors" not in allow:
        allow.note("needs 'actors', with the name of a group")
        return ""
    actors = allow.section("actors", ("group",))
    group = actors.required("group")
    if group and group not in groups:
        hint = suggest(group, groups)
        message = f"names the unknown group '{group}'"
        actors.report("group", message if hint is None else f"{message}; {hint}")
    return group


def _actions(allow: Section) -> tuple[Action, ...]:
    given = allow.texts("actions")
    if not given:
        allow.note("needs 'actions', a list of at least one action")
    found = []
    for each in given:
        if each not in ACTIONS:
            hint = suggest(each, list(Action)) or f"expected {', '.join(Action)}"
            allow.report("actions", f"has the unknown action '{each}'; {hint}")
        elif Action(each) in found:
            allow.report("actions", f"repeats '{each}'")
        else:
            found.append(Action(each))
    return tuple(found)


def _scope(allow: Section, actions: tuple[Action, ...]) -> Scope:
    branch = allow.choice("branch_scope", list(Scope))
    target = allow.choice("target_branch_scope", list(Scope))
    is_needed = not actions or any(action.needs_scope for action in actions)
    if (branch is None) == (target is None) and (is_needed or branch is not None):
        allow.note("needs exactly one of 'branch_scope' and 'target_branch_scope'")
    for action in actions:
        if action is Action.GRAPH_LIST:
            _refuse_scope(allow)
            continue
        wrong = "branch_scope" if action.takes_target else "target_branch_scope"
        if wrong in allow:
            right = "target_branch_scope" if action.takes_target else "branch_scope"
            allow.report(wrong, f"does not apply to '{action}', which takes '{right}'")
    given = branch if target is None else target
    if given is None and not is_needed:
        return Scope.ANY
    return Scope(given) if given in list(Scope) else Scope.UNPROTECTED


def _refuse_scope(allow: Section) -> None:
    """Note scopes of branches in a rule about the graphs of a deployment."""
    for key in ("branch_scope", "target_branch_scope"):
        if key in allow:
            allow.report(key, f"does not apply to '{Action.GRAPH_LIST}', which has no branch")


def _queries(allow: Section, actions: tuple[Action, ...]) -> frozenset[str] | None:
    """Return the stored queries that a rule names; None when it names none."""
    if "queries" not in allow:
        return None
    names = allow.texts("queries")
    if not names:
        allow.report("queries", "names no query; leave it out for all of them")
    for name in [each for each, count in Counter(names).items() if count > 1]:
        allow.report("queries", f"repeats '{name}'")
    if set(actions) - {Action.INVOKE_QUERY}:
        hint = "make another rule for the other actions"
        allow.report("queries", f"goes with '{Action.INVOKE_QUERY}' alone; {hint}")
    return frozenset(names)
