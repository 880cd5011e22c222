"""Whoever uses a damaged graph gets an answer or an error of ours, and never a bare exception."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import OmniGraphError
from omnigraph.versioning.damage import Damage
from tests.maintenance.plants import PLANTS, Plant, sound_graph

READ = "query all() { match { $p: Person } return { $p.slug, $p.age } order { $p.slug } }"
FIND = 'query one() { match { $p: Person { slug: "p1" }  $p knows $q } return { $q.slug } }'
ADD = 'query add() { insert Person { slug: "new", name: "New" } }'
USES: tuple[Callable[[Graph], object], ...] = (
    lambda graph: graph.query(READ),
    lambda graph: graph.query(FIND),
    lambda graph: graph.at("draft").query(READ),
    lambda graph: list(graph.log()),
    lambda graph: list(graph.log("draft")),
    lambda graph: list(graph.diff("first", "main")),
    lambda graph: graph.runs(),
    lambda graph: graph.tags(),
    lambda graph: graph.optimize(),
    lambda graph: graph.branch("draft").mutate(ADD),
    lambda graph: graph.branch(operation_id="new").mutate(ADD),
    lambda graph: graph.create_branch("fresh", "draft"),
    lambda graph: graph.merge("draft"),
    lambda graph: graph.revert(graph.snapshot().commit.id),
    lambda graph: graph.cleanup(keep=1, confirm=True),
    lambda graph: graph.create_branch("late", "draft"),
)
# Damage that other parts of the graph refer to; the rest are long forms.
QUICK = {
    Damage.HEAD_MISSING,
    Damage.PARENT_MISSING,
    Damage.FIRST_COMMIT_MISSING,
    Damage.TABLE_SCHEMA,
    Damage.END_MISSING,
}
FORMS = [
    pytest.param(plant, id=plant.name, marks=[] if plant.kind in QUICK else [pytest.mark.long])
    for plant in PLANTS
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("sound") / "graph"
    sound_graph(root)
    yield root
    shutil.rmtree(root)


@pytest.mark.parametrize("plant", FORMS)
def test_every_use_of_a_damaged_graph_answers_or_says_what_is_wrong(
    plant: Plant, sound: Path, tmp_path: Path
) -> None:
    root = tmp_path / "graph"
    shutil.copytree(sound, root)
    plant.do(root)

    with suppress(OmniGraphError):
        graph = open_graph(root, durable=False)
        for use in USES:
            with suppress(OmniGraphError):
                use(graph)
