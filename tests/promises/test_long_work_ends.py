"""Promise: long work ends when its time is over or nobody waits for it, and nothing changed."""

from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from omnigraph.api.graph import Graph
from omnigraph.errors import BudgetError, CancelledError
from omnigraph.server.limits import Limits
from omnigraph.storage import steps
from tests.sample import SCHEMA, new_graph
from tests.server.serving import serving

WIDER = SCHEMA.replace("name: String @index", 'name: String @index  mood: String @default("calm")')
UNIQUE = SCHEMA.replace("name: String @index", "name: String @index @unique")
ADD = "query add($slug: String) { insert Person { slug: $slug  name: $slug } }"


def _apply_schema(graph: Graph, seconds: float | None, cancelled: Event) -> object:
    return graph.apply_schema(WIDER, seconds=seconds, cancelled=cancelled)


def _optimize(graph: Graph, seconds: float | None, cancelled: Event) -> object:
    return graph.optimize(seconds=seconds, cancelled=cancelled)


def _publish_run(graph: Graph, seconds: float | None, cancelled: Event) -> object:
    (run,) = graph.runs()
    return graph.publish_run(run.run_id, seconds=seconds, cancelled=cancelled)


def _revert(graph: Graph, seconds: float | None, cancelled: Event) -> object:
    return graph.revert(graph.snapshot().commit.id, seconds=seconds, cancelled=cancelled)


def _mutate(graph: Graph, _: float | None, cancelled: Event) -> object:
    return graph.branch(cancelled=cancelled).mutate(ADD, slug="fay")


def _merge(graph: Graph, seconds: float | None, cancelled: Event) -> object:
    return graph.merge("side", seconds=seconds, cancelled=cancelled)


def _load(graph: Graph, seconds: float | None, cancelled: Event) -> object:
    row = '{"type": "Person", "data": {"slug": "fay", "name": "Fay"}}'
    return graph.load(row, seconds=seconds, cancelled=cancelled)


WORKS = [_apply_schema, _optimize, _publish_run, _revert, _merge, _load]
Work = Callable[[Graph, float | None, Event], object]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """A graph with several small fragments, and a run that wrote something."""
    made = new_graph(tmp_path / "graph")
    for name in ("ada", "bo", "cy"):
        made.mutate(ADD, slug=name)
    made.create_branch("side")
    made.branch("side").mutate(ADD, slug="gil")
    run = made.begin_run()
    made.branch(run.run_branch).mutate(ADD, slug="dee")
    made.mutate(ADD, slug="eve")
    return made


@pytest.mark.parametrize("work", WORKS)
def test_work_whose_time_is_over_changes_nothing(graph: Graph, work: Work) -> None:
    before = graph.snapshot().commit

    with pytest.raises(BudgetError, match="ran longer than 0 s") as late:
        work(graph, 0, Event())

    assert late.value.limit == "seconds"
    assert graph.snapshot().commit == before


@pytest.mark.parametrize("work", WORKS)
def test_work_that_is_cancelled_changes_nothing_and_can_be_repeated(
    graph: Graph, work: Work
) -> None:
    before, cancelled = graph.snapshot().commit, Event()
    cancelled.set()

    with pytest.raises(CancelledError, match="was cancelled"):
        work(graph, None, cancelled)

    assert graph.snapshot().commit == before
    work(graph, 600, Event())
    assert graph.snapshot().commit != before


@pytest.mark.parametrize(
    ("work", "step"),
    [
        (_apply_schema, "column written"),
        (_optimize, "segments built"),
        (_publish_run, "fragments written"),
        (_mutate, "fragments written"),
    ],
)
def test_work_that_is_cancelled_half_way_is_not_published(
    graph: Graph, work: Work, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, cancelled = graph.snapshot().commit, Event()
    seen: list[str] = []

    def cancel(reached: str) -> None:
        seen.append(reached)
        if reached == step:
            cancelled.set()

    monkeypatch.setattr(steps, "observer", cancel)
    with pytest.raises(CancelledError):
        work(graph, None, cancelled)

    assert step in seen
    assert "head flipped" not in seen
    assert graph.snapshot().commit == before


@pytest.mark.parametrize("work", WORKS)
def test_work_that_publishes_is_not_cancelled(
    graph: Graph, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, cancelled = graph.snapshot().commit, Event()

    def cancel(reached: str) -> None:
        if reached == "commit ready":
            cancelled.set()

    monkeypatch.setattr(steps, "observer", cancel)
    work(graph, None, cancelled)

    assert cancelled.is_set()
    assert graph.snapshot().commit != before


def test_a_plan_of_a_schema_that_reads_rows_ends_in_time(graph: Graph) -> None:
    cancelled = Event()
    cancelled.set()

    with pytest.raises(BudgetError, match="the plan of the schema ran longer than 0 s"):
        graph.plan_schema(UNIQUE, seconds=0)
    with pytest.raises(CancelledError):
        graph.plan_schema(UNIQUE, cancelled=cancelled)


def test_a_server_limits_the_time_of_each(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(threads=4, write_seconds=0.0)) as served:
        run = served.graph.begin_run()
        served.graph.branch(run.run_branch).mutate(ADD, slug="dee")
        served.graph.mutate(ADD, slug="eve")
        before = served.graph.snapshot().commit
        asked: list[tuple[str, dict[str, object]]] = [
            ("/schema/apply", {"schema_source": WIDER}),
            ("/schema/plan", {"schema_source": UNIQUE}),
            ("/optimize", {}),
            (f"/runs/{run.run_id}/publish", {}),
        ]
        for path, body in asked:
            answer = served.ask("POST", path, body)
            assert (answer.status_code, answer.json()["code"]) == (400, "budget_exceeded"), path
        assert served.graph.snapshot().commit == before
        assert served.graph.run_record(run.run_id).status == "running"
