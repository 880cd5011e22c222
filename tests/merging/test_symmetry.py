"""Merging one branch into another and the other into the one agree, but for whose side is whose."""

from pathlib import Path
from random import Random

from omnigraph.api.graph import Graph
from omnigraph.errors import ViolationsError
from tests.changes.town import content, do
from tests.merging.statements import edge, part_ways, person, remove, update, weigh
from tests.merging.village import OURS, THEIRS, Conflict, village

PEOPLE = ["ada", "bob", "cy", "dan", "eve"]
EDITS = 6
SEEDS = 16


def statement(random: Random) -> str:
    """Return a change, which not every graph can take."""
    one, other = random.choice(PEOPLE), random.choice(PEOPLE)
    club = random.choice(["chess", "choir"])
    return random.choice(
        [
            person(one, age=random.randrange(3)),
            update(one, age=random.randrange(3)),
            update(one, name=random.choice("xy")),
            update(one, email=random.choice("xy")),
            remove(one),
            edge("Knows", one, other, weight=random.randrange(3)),
            weigh(one, other, random.randrange(3)),
            part_ways(one, other),
            edge("Likes", one, other),
            edge("Joined", one, club),
            part_ways(one, club, "Joined"),
            edge("Hosts", club, one),
            part_ways(club, one, "Hosts"),
        ]
    )


def wander(graph: Graph, branch: str, random: Random) -> None:
    """Change a branch a few times; it stays as its schema wants it."""
    for _ in range(EDITS):
        try:
            do(graph.branch(branch), statement(random))
        except ViolationsError:
            continue


def mirrored(found: list[Conflict]) -> set[tuple[object, ...]]:
    """Return what conflicts are about, with the sides changed; of unique values, only that."""
    return {
        (each["kind"], each["type_name"], each["property"])
        if each["kind"] == "UniqueViolation"
        else (
            each["kind"],
            each["type_name"],
            each["row_id"],
            each["property"],
            repr(each["base"]),
            repr(each["theirs"]),
            repr(each["ours"]),
        )
        for each in found
    }


def plain(found: list[Conflict]) -> set[tuple[object, ...]]:
    return mirrored([{**each, "ours": each["theirs"], "theirs": each["ours"]} for each in found])


def both_ways(graph: Graph, here: str | None, there: str | None) -> bool:
    """Merge in both directions and compare; tell whether there were conflicts."""
    one, other = f"one-{here}", f"other-{here}"
    graph.create_branch(one, OURS)
    graph.create_branch(other, THEIRS)
    found = graph.preview_merge(THEIRS, one, resolutions=here).conflicts_json()
    mirror = graph.preview_merge(OURS, other, resolutions=there).conflicts_json()
    assert plain(found) == mirrored(mirror)
    if not found:
        graph.merge(THEIRS, one, resolutions=here)
        graph.merge(OURS, other, resolutions=there)
        assert content(graph, one) == content(graph, other)
    return bool(found)


def test_both_directions_of_a_merge_agree(tmp_path: Path) -> None:
    met = []
    for seed in range(SEEDS):
        random = Random(seed)
        graph = village(tmp_path / str(seed))
        do(graph, 'insert Club { slug: "choir" }', edge("Hosts", "choir", "ada"))
        graph.create_branch(THEIRS)
        for branch in (OURS, THEIRS):
            wander(graph, branch, random)
        met.append(both_ways(graph, None, None))
        assert not both_ways(graph, "ours", "theirs")
        assert not both_ways(graph, "theirs", "ours")

    assert 3 <= sum(met) <= SEEDS - 3
