"""What the policy was asked about is what is used, whatever a name stands for a moment later."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import combinations, count
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import OmniGraphError
from omnigraph.storage.table import Table
from tests.policy.world import READ, World

Act = Callable[[Graph], object]
LINE = '{"type": "Person", "data": {"slug": "new"}}\n'
TAG = "moving"

ACTS: dict[str, Act] = {
    "a branch": lambda g: g.create_branch("mine", TAG),
    "a tag": lambda g: g.create_tag("mine", TAG),
    "a merge": lambda g: g.merge(TAG, "lab"),
    "a preview": lambda g: g.preview_merge(TAG, "lab"),
    "an ingest": lambda g: g.ingest(LINE, branch="mine", base=TAG),
    "an ingest of nothing": lambda g: g.ingest("", branch="mine", base=TAG),
    "blame": lambda g: g.branch(TAG).blame("Person", "secret"),
}
FEW = ("a branch", "a merge", "blame")


def interrupt(graph: Graph, actions: Mapping[int, Callable[[], object]]) -> list[int]:
    """Run an action before the n-th read of the manifest; return the count of reads."""
    manifest, seen = graph.repository.manifest, [0]
    newest = manifest.newest

    def read() -> Table:
        seen[0] += 1
        actions.get(seen[0], lambda: None)()
        return newest()

    manifest.newest = read  # type: ignore[method-assign]
    return seen


def shown(graph: Graph) -> set[str]:
    """Return what can be read in all branches and tags that are open to all."""
    places = [*graph.branches(), *graph.tags()]
    known = [each for each in places if each not in ("main", "vault", "tag-vault", TAG)]
    return {str(row["p.slug"]) for each in known for row in graph.at(each).query(READ)}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in FEW else pytest.mark.long) for each in ACTS]
)
def test_a_tag_that_is_pointed_elsewhere_meanwhile_gives_nothing_that_may_not_be_read(
    name: str, world: World, tmp_path: Path
) -> None:
    for at in count(1):
        place = tmp_path / str(at)
        place.mkdir()
        copy = world.copied(place)
        owner, graph = copy.owner(), copy.graph("una")
        owner.create_tag(TAG, "open")

        def point_elsewhere(owner: Graph = owner, secret: str = copy.secret) -> None:
            owner.delete_tag(TAG)
            owner.create_tag(TAG, secret)

        seen = interrupt(graph, {at: point_elsewhere})
        answer = None
        with suppress(OmniGraphError):
            answer = ACTS[name](graph)

        assert "secret" not in repr(answer)
        assert copy.secret not in repr(getattr(answer, "theirs", None))
        assert "secret" not in shown(copy.owner())
        if seen[0] < at:
            break


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param(each, id=str(each), marks=() if number % 4 == 0 else pytest.mark.long)
        for number, each in enumerate(combinations(range(1, 7), 3))
    ],
)
def test_a_branch_that_comes_and_goes_while_rows_are_ingested_opens_no_way_to_its_base(
    moments: tuple[int, int, int], world: World
) -> None:
    owner, graph = world.owner(), world.graph("una")
    owner.create_branch("fresh", "open")
    gone, back, gone_again = moments
    interrupt(
        graph,
        {
            gone: lambda: owner.delete_branch("fresh"),
            back: lambda: owner.create_branch("fresh", "open"),
            gone_again: lambda: owner.delete_branch("fresh"),
        },
    )

    with suppress(OmniGraphError):
        graph.ingest(LINE, branch="fresh", base="vault")

    assert "secret" not in shown(world.owner())
