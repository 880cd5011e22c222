"""Sequences: operations that make sense one after the other, and what came of a crash in them."""

import random
from collections.abc import Iterator
from typing import Any

from tests.crashes.model import Kind, Model, Operation, applied
from tests.crashes.nursery import Ended, Nursery
from tests.crashes.workload import acknowledged

MOST_BRANCHES = 4
_WEIGHTS = {
    Kind.WRITE: 6,
    Kind.APPEND: 6,
    Kind.OVERWRITE: 1,
    Kind.CREATE_BRANCH: 2,
    Kind.RENAME_BRANCH: 1,
    Kind.DELETE_BRANCH: 1,
    Kind.MIGRATE: 1,
    Kind.SPILL: 2,
    Kind.OPTIMIZE: 1,
    Kind.CLEANUP: 1,
}


def operations(chance: random.Random, model: Model, first: int) -> Iterator[Operation]:
    """Return operations without end, each of which is possible after those before it."""
    while True:
        operation = _operation(chance, model, first)
        yield operation
        model, first = applied(model, operation), first + 1


def _operation(chance: random.Random, model: Model, number: int) -> Operation:
    if not model["branches"]:
        return Operation(Kind.INIT, number)
    kind = chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    branches = sorted(model["branches"])
    others = [each for each in branches if each != "main"]
    if kind in (Kind.DELETE_BRANCH, Kind.RENAME_BRANCH) and others:
        return Operation(kind, number, chance.choice(others), f"b{number}")
    if kind is Kind.CREATE_BRANCH and len(others) < MOST_BRANCHES:
        return Operation(kind, number, chance.choice(branches), f"b{number}")
    usual = kind in (
        Kind.WRITE,
        Kind.APPEND,
        Kind.OVERWRITE,
        Kind.OPTIMIZE,
        Kind.CLEANUP,
        Kind.SPILL,
    )
    return Operation(kind if usual else Kind.WRITE, number, chance.choice(branches))


def possible(model: Model, wanted: list[Operation], acks: str) -> list[Model]:
    """Return what a graph may be after a crash: all that was answered, and perhaps one more."""
    answered = acknowledged(acks)
    assert answered == [each.number for each in wanted[: len(answered)]], "acknowledged in order"
    for operation in wanted[: len(answered)]:
        model = applied(model, operation)
    in_flight = wanted[len(answered) : len(answered) + 1]
    return [model, *(applied(model, operation) for operation in in_flight)]


def started(nursery: Nursery, root: str, wanted: list[Operation], cut: int | None) -> int:
    """Start a process that does operations, and give its pid."""
    given = [each.to_json() for each in wanted]
    return nursery.start("run", root=root, operations=given, acks=f"{root}.acks", cut=cut)


def judged(ended: Ended) -> tuple[list[str], int]:
    """Return the violations that a check found, and which candidate the graph agrees with."""
    answer: dict[str, Any] = ended.answer or {"raised": f"killed by signal {ended.signal}"}
    if "raised" in answer:
        return [f"the check itself failed: {answer['raised']}"], 0
    verdict = answer["value"]
    return verdict["violations"], verdict.get("landed", 0)
