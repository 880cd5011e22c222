"""Cases: the file `policy.tests.yaml`: the decisions that a policy is expected to make."""

from collections.abc import Iterable
from pathlib import Path

from omnigraph.files.bytes import file_bytes
from omnigraph.files.yaml import Section, parse_yaml
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import ACTIONS, Action, Decider, Decision, Request
from omnigraph.policy.rules import check_unique, check_version, read_name

_CASE = ("id", "actor", "action", "branch", "target_branch", "query", "expect")


@dataclass(frozen=True, slots=True)
class Case:
    """A request, and whether it is expected to be allowed."""

    id: str
    request: Request
    allowed: bool


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case and the decision on it."""

    case: Case
    decision: Decision

    @property
    def passed(self) -> bool:
        """Whether it was decided as expected."""
        return self.decision.allowed == self.case.allowed


def load_cases(path: Path) -> tuple[Case, ...]:
    """Read a file of cases; raise ConfigError with all its problems."""
    top = parse_yaml(str(path), file_bytes(path), ("version", "cases"))
    check_version(top)
    cases = tuple(_case(each) for each in top.items("cases", _CASE))
    check_unique(top, "cases", (case.id for case in cases))
    if not cases:
        top.note("'cases' is missing or empty, so nothing would be tested")
    top.check()
    return cases


def run_cases(policy: Decider, cases: Iterable[Case]) -> list[CaseResult]:
    """Decide every case, in the order of the file."""
    return [CaseResult(case, policy.decide(case.request)) for case in cases]


def cases_beside(policy: Path) -> Path:
    """Return the default path of a policy's cases, `policy.tests.yaml` beside it."""
    return policy.with_name(f"{policy.stem}.tests{policy.suffix}")


def _case(section: Section) -> Case:
    section.choice("action", list(Action))
    section.choice("expect", ("allow", "deny"))
    action = section.required("action")
    request = Request(
        section.required("actor"),
        action,
        section.text("branch"),
        section.text("target_branch"),
        section.text("query"),
    )
    if action in ACTIONS:
        own, other = _kinds(Action(action))
        if other in section and own not in section:
            section.report(other, f"is not enough for '{action}', which needs '{own}'")
    return Case(read_name(section, "id"), request, section.required("expect") == "allow")


def _kinds(action: Action) -> tuple[str, str]:
    kinds = ("target_branch", "branch")
    return kinds if action.takes_target else kinds[::-1]
