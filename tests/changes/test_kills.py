"""A process that changes a graph is killed at any moment: each change is there or it is not."""

import json
import random
from pathlib import Path
from typing import Any

from omnigraph.api.graph import open as open_graph
from tests.changes.nursery import Order, order
from tests.changes.statements import link, person
from tests.changes.town import commits, counts, do, town
from tests.crashes.nursery import Nursery

KILLS = 20
LONGEST = 0.4
ORDERS = 60


def wanted(number: int) -> Order:
    """Return the order of a number; every third deletes a person with the edges it has by then."""
    operation = f"op-{number}"
    if number % 3 == 2:
        return order(f'delete Person where slug = "p{number - 2}"', operation_id=operation)
    return order(
        person(f"p{number}", age=str(number % 100)),
        f'update Person set {{ age: {number % 100} }} where slug = "hub"',
        link("Knows", f"p{number}", "hub"),
        link("Knows", "hub", f"p{number}"),
        operation_id=operation,
    )


def expected(done: int) -> dict[str, Any]:
    """Return the ages and edges that there are after so many orders."""
    ages, edges = {"hub": 100}, set[tuple[str, str]]()
    for number in range(done):
        name, old = f"p{number}", f"p{number - 2}"
        if number % 3 == 2:
            ages.pop(old, None)
            edges = {pair for pair in edges if old not in pair}
        else:
            ages |= {name: number % 100, "hub": number % 100}
            edges |= {(name, "hub"), ("hub", name)}
    return {"ages": ages, "edges": sorted(edges)}


def test_after_kill_minus_nine_every_change_is_there_whole_or_not_at_all(
    nursery: Nursery, place: Path
) -> None:
    chance = random.Random(6)
    graph = town(place)
    do(graph, person("hub", age="100"))
    root, acks = graph.uri, place / "acks"
    done, longest = 0, LONGEST

    for _ in range(KILLS):
        acks.unlink(missing_ok=True)
        orders = [wanted(number) for number in range(done, done + ORDERS)]
        pid = nursery.start("carry out", root=root, orders=orders, acks=str(acks), cut=None)
        ended = nursery.end(pid, kill_after=chance.uniform(0, longest))
        assert ended.was_killed, ended.answer

        answered = _answered(acks)
        # On a busy machine a process gets more time when one came to nothing.
        longest *= 1 if answered else 1.3
        assert [each.get("operation_id") for each in answered] == [
            each["operation_id"] for each in orders[: len(answered)]
        ], "each was answered in its turn, and none with an error"
        seen = _seen(nursery, root)
        least = done + len(answered)
        possible = [number for number in (least, least + 1) if seen == expected(number)]
        assert possible, f"after {least} answers there is {seen}"

        done = _sent_again(root, least)
    assert done > KILLS, "the processes were killed too soon to change anything"
    assert commits(open_graph(root)) == done + 1


def _sent_again(root: str, number: int) -> int:
    """Send the order that was not answered once more: it is done once, whether it was or not."""
    graph = open_graph(root, durable=False)
    terms = dict(wanted(number))
    statements = terms.pop("statements")
    receipt = do(graph.branch(**terms), *statements)
    assert receipt.operation_id == f"op-{number}"
    assert counts(receipt) == ((1, 2) if number % 3 == 2 else (2, 2))
    return number + 1


def _answered(acks: Path) -> list[dict[str, Any]]:
    if not acks.exists():
        return []
    return [json.loads(line) for line in acks.read_text().splitlines() if line.endswith("}")]


def _seen(nursery: Nursery, root: str) -> dict[str, Any]:
    """Return what a process sees that opens the graph only now."""
    found = nursery.answer("look", root=root)["content"]
    ages = {row["id"]: row["age"] for row in found["Person"]}
    return {"ages": ages, "edges": sorted((row["src"], row["dst"]) for row in found["Knows"])}
