"""The protocol keeps its promises in every order of steps, and none of its rules is idle."""

import random
from itertools import combinations_with_replacement

import pytest

from tests.protocol.campaign import sample
from tests.protocol.counterexamples import CASES
from tests.protocol.explore import explore
from tests.protocol.programs import PROGRAMS, SINGLE, WORLDS, spilled
from tests.protocol.rules import SWITCHES, Rules

LONG = 20
SHORT = [
    programs
    for programs in combinations_with_replacement(SINGLE, 2)
    if ("cleanup",) in programs or ("publish run",) in programs
]
MOVES = [
    (name,)
    for name in (
        "write b",
        "write d",
        "delete d",
        "rename d",
        "untag g",
        "create from d",
        "cleanup",
    )
]


def test_every_rule_has_a_counterexample() -> None:
    assert set(CASES) == set(SWITCHES)


@pytest.mark.parametrize("rule", SWITCHES)
def test_without_a_rule_something_goes_wrong_and_with_it_nothing(rule: str) -> None:
    case = CASES[rule]

    found = case.explored(Rules().without(rule))

    assert found.violation is not None
    assert case.wrong in found.violation, found
    assert len(found.steps) <= LONG, found
    whole = case.explored(Rules())
    assert whole.violation is None, whole


def test_a_counterexample_is_the_shortest_and_can_be_read() -> None:
    found = CASES["guard_twin"].explored(Rules().without("guard_twin"))

    assert found.steps == (
        "A: delete d reads the manifest",
        "B: untag g reads the manifest",
        "A: delete d deletes d",
        "B: untag g deletes tag/g",
    )
    assert "the acknowledged commit x1 is gone" in str(found)


@pytest.mark.parametrize("programs", SHORT, ids=str)
def test_two_operations_at_once_with_a_fault_keep_every_promise(
    programs: tuple[tuple[str, ...], ...],
) -> None:
    found = explore(programs, Rules())

    assert found.violation is None, found
    assert found.complete


@pytest.mark.parametrize("other", SINGLE, ids=str)
def test_a_spill_beside_another_operation_keeps_every_promise(other: tuple[str, ...]) -> None:
    for world in WORLDS:
        found = explore((("spill",), other), Rules(), world=world())
        assert found.violation is None, found


@pytest.mark.long
def test_any_two_programs_without_a_fault_keep_every_promise() -> None:
    for programs in combinations_with_replacement(PROGRAMS, 2):
        found = explore(programs, Rules(), faults=0)
        assert found.violation is None, found


def test_what_moves_spilled_heads_keeps_every_promise_without_a_fault() -> None:
    for programs in combinations_with_replacement(MOVES, 2):
        found = explore(programs, Rules(), world=spilled(), faults=0)
        assert found.violation is None, found


@pytest.mark.parametrize("seed", range(4))
def test_some_of_three_actors_and_of_two_with_two_operations_keep_every_promise(
    seed: int,
) -> None:
    found = sample(random.Random(seed), most=1_500)

    assert found.violation is None, found
