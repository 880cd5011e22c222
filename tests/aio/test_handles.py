"""The async handles have every name, parameter and promise of the blocking ones."""

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph
from omnigraph import aio
from omnigraph.api.branch import Branch
from omnigraph.api.graph import Graph
from omnigraph.api.view import View
from omnigraph.errors import InputError
from tests.aio.handles import MADE, made
from tests.api.people import QUERIES, SCHEMA, people

KINDS = [(View, aio.View), (Branch, aio.Branch), (Graph, aio.Graph)]
NAMES = [
    (blocking, other, name)
    for blocking, other in KINDS
    for name in dir(blocking)
    if not name.startswith("_")
]
OPENERS: list[tuple[Callable[..., object], Callable[..., object]]] = [
    (omnigraph.init, aio.init),
    (omnigraph.open, aio.open),
    (omnigraph.connect, aio.connect),
    (omnigraph.restore, aio.restore),
]


def test_the_handles_are_those_that_the_blocking_ones_make() -> None:
    assert MADE.read_text() == made(), "run `make docs`"


@pytest.mark.parametrize(("blocking", "other", "name"), NAMES, ids=str)
def test_every_name_is_there_with_its_parameters(blocking: type, other: type, name: str) -> None:
    one, two = getattr(blocking, name), getattr(other, name)
    assert inspect.getdoc(two) == inspect.getdoc(one)
    if isinstance(one, property):
        assert isinstance(two, property)
        return
    assert parameters(two) == parameters(one)


@pytest.mark.parametrize(("blocking", "other"), OPENERS, ids=lambda each: each.__name__)
def test_graphs_are_opened_with_the_same_parameters(
    blocking: Callable[..., object], other: Callable[..., object]
) -> None:
    own = [each for each in parameters(other) if each[0] != "concurrency"]
    assert own == parameters(blocking)


def parameters(given: Callable[..., object]) -> list[tuple[str, object, object]]:
    found = inspect.signature(given).parameters.values()
    return [(each.name, each.kind, each.default) for each in found]


async def test_a_graph_is_made_changed_read_and_closed(tmp_path: Path) -> None:
    async with aio.init(tmp_path / "g", SCHEMA, durable=False) as graph:
        main = graph.branch()
        await main.mutate(QUERIES, "add", slug="ana", age=31)
        draft = await graph.create_branch("draft")
        await draft.mutate(QUERIES, "add", slug="bo", age=41)
        changes = await graph.review(draft)
        assert [each.id async for each in changes] == ["bo"]
        assert {str(op): n for op, n in (await changes.stats)["Person"].items()}["insert"] == 1
        await main.merge(draft)
        ages = await (await graph.at()).query(QUERIES, "ages")
        assert ages.to_dicts() == [{"slug": "ana", "age": 31}, {"slug": "bo", "age": 41}]
        assert [each.id async for each in graph.log(limit=1)] == [(await main.commit).id]
        assert "draft" in await graph.report(compared={"draft": changes})
    with pytest.raises(InputError, match="was closed"):
        await main.query(QUERIES, "ages")


async def test_a_stream_is_read_batch_by_batch(tmp_path: Path) -> None:
    people(tmp_path / "g").close()
    async with aio.open(tmp_path / "g") as graph:
        stream = await graph.branch().stream(QUERIES, "ages")
        assert stream.columns == ["slug", "age"]
        assert sum([len(batch) async for batch in stream]) == 3
        again = await graph.branch().stream(QUERIES, "ages")
        assert len(await again.to_result()) == 3
        async with graph.export() as lines:
            assert (await anext(lines)).startswith(b"{")
        assert [line async for line in lines] == []


async def test_a_run_is_published_at_the_end_of_its_block_or_aborted(tmp_path: Path) -> None:
    people(tmp_path / "g").close()
    async with aio.open(tmp_path / "g") as graph:
        async with graph.run("main", message="from a run") as branch:
            await branch.mutate(QUERIES, "add", slug="dee", age=1)
        assert (await graph.branch().commit).message == "from a run"

        async def fail() -> None:
            async with graph.run("main") as branch:
                await branch.mutate(QUERIES, "add", slug="eve", age=1)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        assert len(await graph.query(QUERIES, "ages")) == 4
        assert [str(each.status) for each in await graph.runs()] == ["aborted", "published"]


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.02, 0.1])
async def test_a_run_whose_beginning_is_cancelled_is_not_left_open(
    seconds: float, tmp_path: Path
) -> None:
    people(tmp_path / "g").close()
    async with aio.open(tmp_path / "g") as graph:

        async def work() -> None:
            async with graph.run("main"):
                await asyncio.sleep(60)

        working = asyncio.create_task(work())
        await asyncio.sleep(seconds)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(working, 60)
        assert {str(each.status) for each in await graph.runs()} <= {"aborted"}


@pytest.mark.parametrize("concurrency", [0, -1, 1.5, True, None])
def test_a_concurrency_is_a_number_of_calls(concurrency: object) -> None:
    with pytest.raises(InputError, match="'concurrency'"):
        aio.connect("http://127.0.0.1:9", concurrency=concurrency)  # type: ignore[arg-type]
