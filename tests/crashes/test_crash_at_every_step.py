"""Whatever durable step a process dies at, its operation happened as a whole or not at all."""

import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.crashes.model import Kind, Operation, applied
from tests.crashes.nursery import Nursery
from tests.crashes.scenarios import INIT, SCENARIOS, Scenario, prepared
from tests.crashes.workload import acknowledged

DEPTH = 100
Pair = tuple[Nursery, Nursery]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_a_crash_at_any_step_leaves_all_or_nothing(
    scenario: Scenario, nurseries: Pair, place: Path
) -> None:
    template = place / "template"
    scenario.prepare(nurseries[0], template)
    steps = _trace(scenario, nurseries[0], template, place / "whole")

    def crash(nursery: Nursery, cut: int) -> list[str]:
        return _crash(scenario, nursery, template, place / f"cut{cut}", cut)

    found = _on_both(nurseries, range(1, len(steps) + 1), crash)

    assert dict(zip(enumerate(steps, 1), found, strict=True)) == {
        step: [] for step in enumerate(steps, 1)
    }


def test_a_graph_has_its_schema_files_even_when_init_died_after_making_it(
    nursery: Nursery, place: Path
) -> None:
    steps = prepared(nursery, place / "whole", [INIT])
    root = str(place / "graph")
    ended = nursery.do(
        "run", root=root, operations=[INIT.to_json()], acks=f"{root}.acks", cut=len(steps)
    )
    assert ended.was_killed

    prepared(nursery, place / "graph", [Operation(Kind.WRITE, 1)])

    found = nursery.answer("schema files", root=root)
    assert found == {"_schema.pg": True, "_schema.ir.json": True}


def _trace(scenario: Scenario, nursery: Nursery, template: Path, root: Path) -> list[str]:
    """Do the operation without a crash, check it, and give its durable steps."""
    _copy(template, root)
    steps = prepared(nursery, root, [scenario.operation])
    missing = [step for step, least in scenario.marks if steps.count(step) < least]
    assert missing == [], "the operation does not do what the scenario is for"
    after = applied(scenario.model, scenario.operation)
    verdict = nursery.answer("check", root=str(root), candidates=[after], following=[], depth=DEPTH)
    assert verdict["violations"] == []
    return steps


def _crash(scenario: Scenario, nursery: Nursery, template: Path, root: Path, cut: int) -> list[str]:
    """Kill the operation at a step and give what is wrong afterwards."""
    _copy(template, root)
    acks = f"{root}.acks"
    operations = [scenario.operation.to_json()]
    ended = nursery.do("run", root=str(root), operations=operations, acks=acks, cut=cut)
    if not ended.was_killed:
        return [f"not killed: {ended.answer}"]
    assert acknowledged(acks) == []
    following = [scenario.instead.to_json(), scenario.then.to_json()]
    verdict = nursery.do(
        "check",
        root=str(root),
        candidates=scenario.candidates,
        following=following,
        depth=DEPTH,
    )
    shutil.rmtree(root)
    if verdict.answer is None or "raised" in verdict.answer:
        return [f"the check did not end well: {verdict}"]
    found: list[str] = verdict.answer["value"]["violations"]
    return found


def _copy(template: Path, root: Path) -> None:
    if template.exists():
        shutil.copytree(template, root)


def _on_both(
    nurseries: Pair, cuts: Iterable[int], crash: Callable[[Nursery, int], list[str]]
) -> list[list[str]]:
    """Return what every cut leads to, in the order of the cuts; two at a time."""
    shares = list(cuts)

    def share(which: int) -> list[list[str]]:
        return [crash(nurseries[which], cut) for cut in shares[which::2]]

    with ThreadPoolExecutor(2) as pool:
        even, odd = pool.map(share, (0, 1))
    return [(even, odd)[at % 2][at // 2] for at in range(len(shares))]
