"""A query stops waiting for a vector when it is cancelled or out of time; others wait on."""

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.embedding.asked import AskedTexts
from omnigraph.embedding.embedder import Vectors
from omnigraph.embedding.http import HttpEmbedder
from omnigraph.errors import BudgetError, CancelledError
from tests.embedding.conftest import Asking
from tests.embedding.providers import Provider, Reply, failed

SCHEMA = 'node Doc { slug: String @key  text: String?  vector: Vector(4)? @embed("text") }'
GIVEN = [{"slug": "a", "text": "tides", "vector": [1.0, 0.0, 0.0, 0.0]}]
NEAREST = """query near($q: String) {
  match { $d: Doc } return { $d.slug } order { nearest($d.vector, $q) } limit 1
}"""
MODEL = "openai:waiting"
SHORT = og.Budget(seconds=0.3)
# A refusal, so that whoever waits for it to the end gets another error than one who gives up.
SLOW = Reply(401, seconds=3)
BUSY = failed(429, "later", retry_after="3")


@pytest.fixture
def graph(tmp_path: Path, asking: Asking) -> og.Graph:
    once = {"NANOGRAPH_EMBED_RETRY_ATTEMPTS": "2", "OMNIGRAPH_EMBED_MODEL": MODEL}
    graph = og.init(tmp_path / "g", SCHEMA)
    graph.load(GIVEN, type="Doc")
    return og.open(tmp_path / "g", environment=asking.environment(**once))


@pytest.fixture
def embedder(asking: Asking) -> HttpEmbedder:
    return asking.embedder(MODEL)


def until(is_so: Callable[[], bool]) -> None:
    for _ in range(1000):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("it never was so")


def is_making_vectors() -> bool:
    return any(each.name == "omnigraph-embed" for each in threading.enumerate())


def cancelled_soon() -> threading.Event:
    event = threading.Event()
    threading.Timer(0.3, event.set).start()
    return event


def go_on() -> None:
    """Never give up."""


def give_up() -> None:
    raise CancelledError("the query was cancelled")


def slowly(row: list[float]) -> Reply:
    body = {"data": [{"index": 0, "embedding": row}]}
    return Reply(body=json.dumps(body).encode(), seconds=0.5)


@pytest.mark.parametrize("replies", [[SLOW], [BUSY, BUSY]], ids=["slow", "busy"])
def test_a_query_ends_within_its_budget_while_a_provider_is_waited_for(
    graph: og.Graph, provider: Provider, replies: list[Reply]
) -> None:
    provider.replies += replies
    with pytest.raises(BudgetError, match=r"the query ran longer than 0\.3 s"):
        graph.branch(budget=SHORT).query(NEAREST, q="a text that nobody has a vector of yet")


@pytest.mark.parametrize("replies", [[SLOW], [BUSY, BUSY]], ids=["slow", "busy"])
def test_a_query_ends_when_it_is_cancelled_while_a_provider_is_waited_for(
    graph: og.Graph, provider: Provider, replies: list[Reply]
) -> None:
    provider.replies += replies
    view = graph.branch(cancelled=cancelled_soon())
    with pytest.raises(CancelledError, match="the query was cancelled"):
        view.query(NEAREST, q="another text that nobody has a vector of yet")


def test_a_search_ends_when_it_is_cancelled_or_out_of_time(
    graph: og.Graph, provider: Provider
) -> None:
    provider.replies += [SLOW, SLOW]
    with pytest.raises(CancelledError, match="the search was cancelled"):
        graph.branch(cancelled=cancelled_soon()).search("what a search waits for")
    with pytest.raises(BudgetError, match=r"the search ran longer than 0\.3 s"):
        graph.branch(budget=SHORT).search("what a search waits for again")


def test_a_query_that_gives_up_leaves_the_vector_to_those_that_wait_on(
    embedder: HttpEmbedder, provider: Provider
) -> None:
    provider.replies.append(slowly([1.0, 0.0, 0.0, 0.0]))
    asked, gives_up = AskedTexts(), threading.Event()

    def ask(check: Callable[[], None]) -> Future[Vectors]:
        return threads.submit(asked.vector, embedder, "moon", 4, check)

    with ThreadPoolExecutor(2) as threads:
        first = ask(lambda: give_up() if gives_up.is_set() else None)
        until(lambda: len(provider.received) == 1)
        second = ask(go_on)
        gives_up.set()
        with pytest.raises(CancelledError):
            first.result()
        assert second.result().tolist() == [1.0, 0.0, 0.0, 0.0]
    assert len(provider.received) == 1


def test_a_text_that_is_asked_for_and_given_up_again_and_again_is_embedded_once(
    embedder: HttpEmbedder, provider: Provider
) -> None:
    provider.replies.append(slowly([1.0, 0.0, 0.0, 0.0]))
    asked = AskedTexts()
    for _ in range(5):
        with pytest.raises(CancelledError):
            asked.vector(embedder, "moon", 4, give_up)

    assert asked.vector(embedder, "moon", 4, go_on).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert len(provider.received) == 1


def test_a_provider_is_not_asked_again_for_a_vector_that_nobody_waits_for(
    asking: Asking, embedder: HttpEmbedder, provider: Provider
) -> None:
    provider.replies += [failed(429, "later", retry_after="100")]
    asked, gives_up = AskedTexts(), threading.Event()
    with ThreadPoolExecutor(1) as threads:
        asker = threads.submit(
            asked.vector, embedder, "moon", 4, lambda: give_up() if gives_up.is_set() else None
        )
        until(lambda: len(provider.received) == 1)
        gives_up.set()
        with pytest.raises(CancelledError):
            asker.result()

    until(lambda: not is_making_vectors())
    assert len(provider.received) == 1
    assert asked.vector(embedder, "moon", 4, go_on).shape == (4,)
    assert asking.pauses == []
