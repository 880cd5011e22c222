"""Many calls share one pool, and a cancelled task cancels what it waits for, here and there."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from omnigraph import Branch, aio
from omnigraph.aio.calls import Calls, current_call
from omnigraph.aio.items import AsyncItems
from omnigraph.aio.transport import LoopTransport
from omnigraph.api.operations.changes import ListChanges
from omnigraph.data.derived.numbering import Numbers
from omnigraph.errors import CancelledError, HeadMovedError, InputError, UnreachableError
from omnigraph.merge import runs
from omnigraph.merge.compare.changes import entities_of
from omnigraph.merge.compare.diff import RowChanges
from omnigraph.merge.compare.row_change import Change
from omnigraph.read.operators import walk
from omnigraph.server.limits import Limits
from tests.sample import SCHEMA
from tests.server.serving import ALL, TOKENS, Served, serving

OWNER = TOKENS["owner"]
SECONDS = 60
LONG = "query q() { match { $a: Person  $a knows {1,} $b } return { count(distinct $b) as n } }"
ADD = "query q($slug: String) { insert Person { slug: $slug name: $slug } }"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    # One start at a time, and a pause for each: the walk along all of them takes many seconds.
    find_pairs = walk._ArrayWalk.find_pairs

    def paused(self: walk._ArrayWalk) -> tuple[Numbers, Numbers]:
        time.sleep(0.05)
        return find_pairs(self)

    monkeypatch.setattr(walk, "_MOST_MARKS", 1)
    monkeypatch.setattr(walk._ArrayWalk, "find_pairs", paused)
    with serving(tmp_path, Limits(threads=4, query_seconds=SECONDS)) as found:
        rows = [{"slug": f"p{number:03}", "name": "p"} for number in range(400)]
        found.graph.load(rows, type="Person")
        edges = [{"from": one["slug"], "to": other["slug"]} for one, other in pairwise(rows)]
        found.graph.load(edges, type="Knows")
        yield found


@pytest.fixture(params=["at hand", "a server"])
async def graph(request: pytest.FixtureRequest, served: Served) -> AsyncIterator[aio.Graph]:
    if request.param == "a server":
        async with aio.connect(f"http://{served.address}", token=OWNER) as found:
            yield found
        return
    async with aio.open(served.graph.uri) as found:
        yield found


async def eventually(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + SECONDS
    while not is_so():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.01)
    return True


async def test_two_hundred_reads_at_once_share_one_pool(
    graph: aio.Graph, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = []
    made = httpx.AsyncHTTPTransport.__init__

    def noted(self: httpx.AsyncHTTPTransport, *args: Any, **how: Any) -> None:
        pools.append(self)
        made(self, *args, **how)

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "__init__", noted)
    main = graph.branch()
    found = await asyncio.wait_for(
        asyncio.gather(*(main.query(ALL) for _ in range(200))), timeout=SECONDS
    )
    assert [len(each) for each in found] == [402] * 200
    assert len(pools) <= 1


async def test_the_loop_goes_on_while_a_call_is_on_its_way(graph: aio.Graph) -> None:
    asked = asyncio.create_task(graph.query(LONG))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not asked.done()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked


async def test_a_cancelled_task_cancels_its_query_on_the_server(served: Served) -> None:
    async with aio.connect(f"http://{served.address}", token=OWNER) as graph:
        asked = asyncio.create_task(graph.query(LONG))
        admission = served.server.app.admission
        assert await eventually(lambda: admission.running == 1), "the query did not begin"
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert await eventually(lambda: admission.running == 0), "the query runs on"
        assert len(await graph.query(ALL)) == 402


async def test_a_cancelled_task_cancels_its_query_at_hand(served: Served) -> None:
    async with aio.open(served.graph.uri) as graph:
        asked = asyncio.create_task(graph.query(LONG))
        await asyncio.sleep(0.3)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asked, SECONDS)
        assert len(await graph.query(ALL)) == 402


async def test_a_task_that_waits_for_its_turn_is_cancelled_at_once(served: Served) -> None:
    async with aio.open(served.graph.uri, concurrency=1) as graph:
        first = asyncio.create_task(graph.query(LONG))
        await asyncio.sleep(0.1)
        second = asyncio.create_task(graph.query(ALL))
        await asyncio.sleep(0.1)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert not first.done()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first


async def cancel_twice(task: "asyncio.Task[None]", begun: Event, goes_on: Event) -> None:
    """Cancel a task whose work has begun and does not go on yet; it ends when the work does."""
    assert await eventually(begun.is_set)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0.05)
    assert not task.done()
    goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_task_that_is_cancelled_twice_ends_after_its_work_and_leaves_no_run(
    graph: aio.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = Event(), Event()
    begin = runs.begin_run

    def slow(*given: Any, **named: Any) -> Any:
        found = begin(*given, **named)
        begun.set()
        goes_on.wait(SECONDS)
        return found

    monkeypatch.setattr(runs, "begin_run", slow)

    async def run() -> None:
        async with graph.run():
            pytest.fail("the task was cancelled before")

    await cancel_twice(asyncio.create_task(run()), begun, goes_on)
    assert [str(each.status) for each in await graph.runs()] == ["aborted"]


@pytest.mark.parametrize("fails", [False, True], ids=["done", "failing"])
async def test_a_task_that_is_cancelled_while_a_run_is_published_leaves_no_run(
    graph: aio.Graph, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = Event(), Event()
    publish = runs.publish_run

    def slow(*given: Any, **named: Any) -> Any:
        begun.set()
        goes_on.wait(SECONDS)
        if fails:
            raise InputError("it was not published")
        return publish(*given, **named)

    monkeypatch.setattr(runs, "publish_run", slow)

    async def run() -> None:
        async with graph.run() as branch:
            await branch.mutate(ADD, slug="cy")

    await cancel_twice(asyncio.create_task(run()), begun, goes_on)
    ends = {"aborted"} if fails else {"published", "aborted"}
    assert {str(each.status) for each in await graph.runs()} <= ends


async def test_a_run_whose_end_waits_for_its_turn_is_ended_all_the_same(served: Served) -> None:
    async with aio.connect(f"http://{served.address}", token=OWNER, concurrency=1) as graph:
        asked: list[asyncio.Task[Any]] = []

        async def run() -> None:
            async with graph.run():
                asked.append(asyncio.create_task(graph.query(LONG)))
                await asyncio.sleep(0)

        task = asyncio.create_task(run())
        assert await eventually(lambda: bool(asked))
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.sleep(0.1)
        assert not task.done()
        asked[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert {str(each.status) for each in await graph.runs()} <= {"published", "aborted"}


@contextmanager
def silent_server() -> Iterator[str]:
    """Take connections and never answer."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.aio.calls._SECONDS_TO_END", 0.2)


@pytest.mark.usefixtures("impatient")
async def test_a_run_of_a_server_that_never_answers_ends_with_its_task() -> None:
    async def run(graph: aio.Graph) -> None:
        async with graph.run():
            pytest.fail("nobody began a run")

    with silent_server() as address:
        async with aio.connect(address) as graph:
            task = asyncio.create_task(run(graph))
            await asyncio.sleep(0.1)
            task.cancel()
            _, unended = await asyncio.wait([task], timeout=SECONDS)
            assert not unended
            with pytest.raises(asyncio.CancelledError):
                await task


@pytest.mark.usefixtures("impatient")
async def test_the_end_of_a_run_waits_only_so_long_for_its_turn() -> None:
    with silent_server() as address:
        async with aio.connect(address, concurrency=1) as graph:
            asked = asyncio.create_task(graph.branches())
            await asyncio.sleep(0.1)
            ending: Any = graph.run()
            ending._begun = nullcontext()
            end = asyncio.create_task(ending.__aexit__(None, None, None))
            await asyncio.sleep(0.1)
            end.cancel()
            _, unended = await asyncio.wait([end], timeout=SECONDS)
            assert not unended
            assert end.cancelled()
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked


@pytest.mark.usefixtures("impatient")
async def test_a_run_that_is_published_for_too_long_is_aborted(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = Event(), Event()

    def stuck(*_: Any, **__: Any) -> Any:
        begun.set()
        goes_on.wait(SECONDS)
        raise InputError("it was not published")

    monkeypatch.setattr(runs, "publish_run", stuck)

    async def run(graph: aio.Graph) -> None:
        async with graph.run() as branch:
            await branch.mutate(ADD, slug="cy")

    async with aio.connect(f"http://{served.address}", token=OWNER) as graph:
        task = asyncio.create_task(run(graph))
        assert await eventually(begun.is_set)
        task.cancel()
        _, unended = await asyncio.wait([task], timeout=SECONDS)
        assert not unended
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [str(each.status) for each in await graph.runs()] == ["aborted"]
        goes_on.set()


async def test_an_event_of_the_caller_cancels_as_well(served: Served) -> None:
    cancelled = Event()
    cancelled.set()
    async with aio.open(served.graph.uri) as graph:
        with pytest.raises(CancelledError, match="the query was cancelled"):
            await graph.branch(cancelled=cancelled).query(ALL)


async def test_a_timeout_of_the_caller_ends_a_read(graph: aio.Graph) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await graph.query(LONG)
    assert len(await graph.query(ALL)) == 402


async def test_a_branch_is_watched_without_a_thread_while_nothing_comes(graph: aio.Graph) -> None:
    main = graph.branch()
    head = (await main.commit).id
    watchers = [anext(main.watch(since=head)) for _ in range(40)]
    waiting = [asyncio.create_task(each) for each in watchers]
    await asyncio.sleep(0.3)
    await asyncio.wait_for(main.mutate(ADD, slug="new"), SECONDS)
    for each in await asyncio.wait_for(asyncio.gather(*waiting), SECONDS):
        assert [change.id async for change in each.changes] == ["new"]
    assert [each async for each in main.watch(seconds=0.1)] == []


@pytest.mark.parametrize("finds", [False, True])
@pytest.mark.parametrize("starts", [False, True])
async def test_a_step_of_a_watch_that_is_given_up_loses_nothing(
    served: Served, monkeypatch: pytest.MonkeyPatch, finds: bool, starts: bool
) -> None:
    looked: list[bool] = []
    run = Branch._run

    def slow(self: Branch, asked: Any, **how: Any) -> Any:
        call = current_call()
        if not isinstance(asked, ListChanges) or looked:
            return run(self, asked, **how)
        assert call is not None
        served.graph.mutate(ADD, slug="new")
        looked.append(True)
        assert call.cancelled.wait(SECONDS)
        if not finds:
            raise CancelledError("the look was cancelled")
        return run(self, asked, **how)

    async with aio.open(served.graph.uri) as graph:
        main = graph.branch()
        watch = main.watch(since=None if starts else (await main.commit).id)
        monkeypatch.setattr(Branch, "_run", slow)
        step = asyncio.create_task(anext(watch))
        assert await eventually(lambda: bool(looked))
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step

        each = await asyncio.wait_for(anext(watch), SECONDS)

        assert [change.id async for change in each.changes] == ["new"]


async def test_a_step_of_a_watch_that_is_given_up_looks_at_nothing_again(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str | None] = []
    run = Branch._run

    def noted(self: Branch, asked: Any, **how: Any) -> Any:
        if isinstance(asked, ListChanges):
            begun.append(asked.since)
        return run(self, asked, **how)

    async with aio.open(served.graph.uri) as graph:
        main = graph.branch()
        head = (await main.commit).id
        for slug in ("one", "two"):
            await main.mutate(ADD, slug=slug)
        watch = main.watch(since=head, types=["Knows"])
        monkeypatch.setattr(Branch, "_run", noted)
        for _ in range(3):
            looked = len(begun)
            step = asyncio.create_task(anext(watch))
            assert await eventually(lambda seen=looked: len(begun) > seen + 1)  # type: ignore[misc]
            step.cancel()
            with pytest.raises(asyncio.CancelledError):
                await step

    assert begun[0] == head
    assert len(begun) > 3
    assert set(begun[1:]) == {begun[1]} != {head}


async def test_watching_ends_with_its_task(graph: aio.Graph) -> None:
    async def watch() -> None:
        async for _ in graph.branch().watch():
            pytest.fail("nothing changed")

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0.3)
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(watching, SECONDS)


async def test_errors_are_those_of_the_blocking_handles(graph: aio.Graph) -> None:
    old = (await graph.branch().commit).id
    await graph.mutate(ADD, slug="one")
    with pytest.raises(HeadMovedError):
        await graph.branch(expect=old).mutate(ADD, slug="two")
    async with aio.connect("http://127.0.0.1:9") as nowhere:
        with pytest.raises(UnreachableError):
            await nowhere.branches()


async def test_items_that_come_fast_are_read_many_at_a_time_and_keep_their_order() -> None:
    calls, threads = Calls(1), []

    def numbers() -> Iterator[int]:
        for number in range(300):
            threads.append(number)
            yield number
        raise ZeroDivisionError

    found = []
    items = AsyncItems(calls, numbers, most=100)

    async def read() -> None:
        async for each in items:
            found.append(each)
            assert len(threads) <= each + 100

    with pytest.raises(ZeroDivisionError):
        await read()
    assert found == list(range(300))
    with pytest.raises(StopAsyncIteration):
        await anext(items)


async def test_items_that_nobody_wants_any_more_do_not_fail_later() -> None:
    def numbers() -> Iterator[int]:
        yield from (1, 2)
        raise ZeroDivisionError

    items = AsyncItems(Calls(1), numbers, most=100)
    assert await anext(items) == 1
    await items.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(items)


async def test_an_export_that_nobody_finished_lets_go_of_its_connection(graph: aio.Graph) -> None:
    lines = graph.export()
    assert await anext(lines)
    del lines
    assert len(await graph.query(ALL)) == 402


def test_a_server_s_graph_belongs_to_one_event_loop_at_a_time(served: Served) -> None:
    graph = aio.connect(f"http://{served.address}", token=OWNER)

    async def read() -> int:
        return len(await graph.query(ALL))

    async def close() -> None:
        await graph.close()

    with asyncio.Runner() as one, asyncio.Runner() as other:
        assert one.run(read()) == 402
        with pytest.raises(InputError, match="another event loop"):
            other.run(read())
        one.run(close())
        with pytest.raises(InputError, match="was closed"):
            other.run(read())


def test_connections_without_a_loop_refuse_requests() -> None:
    transport = LoopTransport()
    loop = asyncio.new_event_loop()
    transport.bind(loop)
    loop.close()
    with pytest.raises(InputError, match="event loop of this graph has ended"):
        transport.handle_request(httpx.Request("GET", "http://127.0.0.1:9/"))


async def test_changes_are_read_no_further_when_the_task_that_reads_them_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = Event(), Event()
    read: list[str] = []

    def paused(rows: RowChanges) -> Iterator[Change]:
        read.append(rows.stored.name)
        begun.set()
        assert go.wait(SECONDS), "nobody went on with the changes"
        return entities_of(rows)

    monkeypatch.setattr("omnigraph.merge.compare.changes.entities_of", paused)
    async with aio.init(tmp_path / "graph", SCHEMA) as graph:
        first = (await graph.branch().commit).id
        await graph.load([{"slug": "a", "name": "a"}, {"slug": "b", "name": "b"}], type="Person")
        await graph.load([{"from": "a", "to": "b"}], type="Knows")
        changes = await graph.diff(first, "main")
        reading = asyncio.create_task(changes.to_json())
        assert await eventually(begun.is_set)
        reading.cancel()
        await asyncio.sleep(0.05)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await reading

    assert len(read) == 1
