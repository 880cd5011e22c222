"""A merge that is killed happened as a whole or not at all, and can be done again."""

import random
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from tests.changes.town import Row, content, do
from tests.crashes.nursery import Nursery
from tests.merging.nursery import MODULE
from tests.merging.statements import edge, person, remove, update
from tests.merging.village import OURS, THEIRS, part, village

KILLS, MOST_KILLS = 15, 300
BRANCHES = 40

Content = dict[str, list[Row]]
SHAPES = {
    "merged": [person("dan", age=4), update("ada", age=1), edge("Knows", "cy", "ada")],
    "merged in parts": [person("dan", age=4), update("ada", age=1), edge("Knows", "cy", "ada")],
    "adopted": [edge("Likes", "ada", "bob")],
    "fast_forward": [],
}


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery(MODULE) as nursery:
        yield nursery


def checked(root: Path) -> tuple[Content, list[str]]:
    """Return what a graph holds as a new process sees it, and its commits, all readable."""
    graph = open_graph(root, read_only=True)
    commits = list(graph.log())
    for commit in commits[:3]:
        content(graph, commit.id)
    return content(graph), [commit.id for commit in commits]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_merge_killed_at_any_step_is_done_or_not_done(
    shape: str, nursery: Nursery, place: Path
) -> None:
    template = village(place)
    theirs = [update("bob", age=2), update("ada", name="A"), edge("Knows", "bob", "ada")]
    both = shape.startswith("merged")
    part(template, SHAPES[shape], theirs if both else [*theirs, remove("cy")])
    how = {"source": THEIRS, "into": OURS, "in_parts": shape == "merged in parts"}
    before = content(template)
    whole = place / "whole"
    shutil.copytree(template.uri, whole)
    steps = nursery.answer("merge", root=str(whole), **how)
    after, commits = checked(whole)
    assert after != before

    seen = []
    for cut in range(1, len(steps) + 1):
        root = place / f"cut{cut}"
        shutil.copytree(template.uri, root)
        ended = nursery.do("merge", root=str(root), cut=cut, **how)
        assert ended.was_killed
        found, log = checked(root)
        assert (found, len(log)) in [(before, len(commits) - 1), (after, len(commits))]
        seen.append(found == after)
        open_graph(root, durable=False).merge(THEIRS)
        assert checked(root)[0] == after
        assert len(checked(root)[1]) == len(commits)
        shutil.rmtree(root)

    assert seen == sorted(seen), "once it is done it stays done"
    assert (seen[0], seen[-1]) == (False, True)


def made(graph: Graph) -> list[str]:
    """Make branches that each add a person, a friendship and a weight, and give their names."""
    names = [f"b{number:02}" for number in range(BRANCHES)]
    for name in names:
        graph.create_branch(name)
        added = person(name, age=1), edge("Knows", name, "ada"), edge("Likes", "ada", name)
        do(graph.branch(name), *added)
    return names


def test_merges_killed_at_any_moment_are_done_or_not_done(nursery: Nursery, place: Path) -> None:
    graph = village(place)
    names = made(graph)
    chance, merged = random.Random(7), 0
    acks = place / "acks"

    for kill in count():
        left = names[merged:]
        if not left or (merged and kill >= KILLS):
            break
        assert kill < MOST_KILLS, "no merge came to an end"
        pid = nursery.start(
            "merge in turn", root=graph.uri, sources=left, into=OURS, acks=str(acks)
        )
        # A loaded machine may not end a merge in the time that is enough for several elsewhere.
        nursery.end(pid, kill_after=chance.uniform(0.02, 0.25) * (1 + kill // KILLS))
        told = acks.read_text().splitlines() if acks.exists() else []
        merged = check_merged(Path(graph.uri), names, len(told))

    for name in names[merged:]:
        open_graph(graph.uri, durable=False).merge(name)
    check_merged(Path(graph.uri), names, len(names))


def check_merged(root: Path, names: list[str], least: int) -> int:
    """Fail unless the first so many branches, or one more, are merged as wholes."""
    found, log = checked(root)
    people = {row["id"] for row in found["Person"]} - {"ada", "bob", "cy"}
    count = len(people)
    assert least <= count <= len(names)
    assert people == {*names[:count]}
    knows = {(row["src"], row["dst"]) for row in found["Knows"]}
    assert knows == {("ada", "bob"), *((name, "ada") for name in names[:count])}
    assert {row["dst"] for row in found["Likes"]} == {*names[:count]}
    assert len(log) == count + 2
    return count
