"""The change feed: events with durable cursors, a baseline, and an error for what is gone."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from omnigraph import connect
from omnigraph.api.local.backend import LocalBackend
from omnigraph.api.operations.changes import WatchChanges
from omnigraph.errors import DeniedError, HistoryGapError
from omnigraph.server.feed import ChangeFeed
from tests.server.serving import ADD, POLICY, TOKENS, Served, serving

WAIT = 60.0
Event = dict[str, Any]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("feed")) as found:
        yield found


def add(served: Served, slug: str) -> str:
    commit = served.graph.mutate(ADD, slug=slug).commit
    assert commit is not None
    return commit.id


def events_of(lines: Iterator[str]) -> Iterator[Event]:
    found: Event = {}
    for line in lines:
        if not line:
            if found:
                yield found
            found = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            found[name] = json.loads(value) if name == "data" else value


def stream(served: Served, actor: str = "reader", **query: Any) -> Any:
    last = query.pop("last", None)
    headers = {"authorization": f"Bearer {TOKENS[actor]}"}
    if last is not None:
        headers["last-event-id"] = last
    url = f"http://{served.address}/changes/stream"
    return httpx.stream("GET", url, params=query, headers=headers, timeout=WAIT)


def test_a_feed_begins_with_where_the_branch_stands_and_sends_each_commit(served: Served) -> None:
    with stream(served) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        events = events_of(answer.iter_lines())
        baseline = next(events)
        assert baseline["event"] == "baseline"
        assert baseline["data"]["cursor"] == served.graph.branch().commit.id

        made = add(served, "fay")

        changes, commit = next(events), next(events)
        assert (changes["event"], changes["data"]["changes"][0]["id"]) == ("changes", "fay")
        assert "id" not in changes
        assert (commit["event"], commit["id"]) == ("commit", made)
        assert commit["data"]["commit"]["graph_commit_id"] == made


def test_the_head_of_a_feed_is_answered_at_once_on_a_connection_that_stays(
    served: Served,
) -> None:
    headers = {"authorization": f"Bearer {TOKENS['reader']}"}
    with httpx.Client(base_url=f"http://{served.address}", headers=headers, timeout=10) as client:
        for follow in ("true", "false"):
            answer = client.head("/changes/stream", params={"follow": follow})
            assert (answer.status_code, answer.content) == (200, b"")
            assert answer.headers["content-type"] == "text/event-stream"
            assert "connection" not in answer.headers
        assert client.head("/changes/stream?since=nowhere").status_code == 404


def test_a_client_that_comes_back_misses_nothing(served: Served) -> None:
    start = served.graph.branch().commit.id
    first, second = add(served, "gil"), add(served, "hue")

    with stream(served, follow="false", since=start) as answer:
        every = [each["id"] for each in events_of(answer.iter_lines()) if "id" in each]
    with stream(served, follow="false", last=first) as answer:
        rest = [each["id"] for each in events_of(answer.iter_lines()) if "id" in each]

    assert every == [first, second]
    assert rest == [second]


def test_what_is_of_no_interest_only_moves_the_cursor(served: Served) -> None:
    start = served.graph.branch().commit.id
    made = add(served, "ida")

    with stream(served, follow="false", since=start, type="Company") as answer:
        events = list(events_of(answer.iter_lines()))

    assert events == [{"id": made}]


def test_who_may_not_read_the_branch_cannot_follow_it(served: Served) -> None:
    with stream(served, actor="stranger") as answer:
        assert answer.status_code == 403


@pytest.mark.parametrize("lost", ["token", "right"])
def test_a_feed_ends_when_its_actor_loses_the_token_or_the_right_to_read(
    tmp_path: Path, lost: str
) -> None:
    with serving(tmp_path) as served, stream(served) as answer:
        events = events_of(answer.iter_lines())
        assert next(events)["event"] == "baseline"
        if lost == "token":
            left = {actor: each for actor, each in TOKENS.items() if actor != "reader"}
            (tmp_path / "tokens.json").write_text(json.dumps(left))
        else:
            policy = POLICY.replace("readers: [reader, drafter]", "readers: [drafter]")
            (tmp_path / "policy.yaml").write_text(policy)
        served.server.app.gate.reload()

        add(served, "eve")

        told = next(events)
    assert told["event"] == "error"
    assert told["data"]["code"] == ("unauthorized" if lost == "token" else "denied")


def test_a_feed_ends_in_the_middle_of_a_commit_that_may_not_be_read_any_more(
    tmp_path: Path,
) -> None:
    rows = "".join(
        json.dumps({"type": "Person", "data": {"slug": f"p{at}", "name": "p"}}) + "\n"
        for at in range(1_200)
    )
    with serving(tmp_path) as served:
        start = served.graph.branch().commit.id
        served.graph.load(rows)
        access = served.server.app.backend.access.acting_as("reader")
        feed = ChangeFeed(LocalBackend(access), WatchChanges(since=start))
        assert feed.look().startswith(b"event: changes")
        policy = POLICY.replace("readers: [reader, drafter]", "readers: [drafter]")
        (tmp_path / "policy.yaml").write_text(policy)
        served.server.app.gate.reload()

        with pytest.raises(DeniedError):
            feed.look()


def test_a_gap_is_told_as_such(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        start = served.graph.branch().commit.id
        for slug in ("a1", "a2", "a3"):
            add(served, slug)
        served.graph.optimize()
        served.graph.cleanup(keep=1, grace="0s", confirm=True)

        with stream(served, follow="false", since=start) as answer:
            assert answer.status_code == 410
            assert json.loads(answer.read())["code"] == "history_gap"
        with pytest.raises(HistoryGapError, match="a cleanup removed"):
            list(served.graph.branch().watch(since=start, seconds=0))
        with (
            connect(f"http://{served.address}", token=TOKENS["reader"]) as there,
            pytest.raises(HistoryGapError),
        ):
            list(there.branch().watch(since=start, seconds=0))


@pytest.mark.parametrize("is_remote", [False, True])
def test_watch_gives_all_rows_and_then_every_change(served: Served, is_remote: bool) -> None:
    url = f"http://{served.address}"
    graph = connect(url, token=TOKENS["owner"]) if is_remote else served.graph
    view = graph.at()
    rows = b"".join(view.export(types=["Person"])).decode()
    slugs = [f"{'far' if is_remote else 'near'}{number}" for number in range(3)]
    writing = threading.Thread(target=lambda: [add(served, slug) for slug in slugs])
    writing.start()

    seen: list[str] = []
    for each in graph.branch().watch(since=view.place, seconds=WAIT):
        seen += [change.id for change in each.changes]
        if len(seen) == len(slugs):
            break
    writing.join(WAIT)

    assert seen == slugs
    assert not any(slug in rows for slug in slugs)


def test_watch_ends_when_it_is_cancelled(served: Served) -> None:
    cancelled = threading.Event()
    threading.Timer(0.2, cancelled.set).start()

    assert list(served.graph.branch(cancelled=cancelled).watch()) == []


def test_an_actor_follows_a_bounded_number_of_branches(tmp_path: Path) -> None:
    from omnigraph.server.limits import Limits

    with serving(tmp_path, Limits(feeds=1)) as served, stream(served) as first:
        events = events_of(first.iter_lines())
        next(events)
        with stream(served) as second:
            assert second.status_code == 429
        events.close()  # type: ignore[attr-defined]


def test_a_stop_ends_feeds_at_once(tmp_path: Path) -> None:
    with serving(tmp_path) as served, stream(served) as answer:
        lines = answer.iter_lines()
        next(lines)
        served.server.should_exit = True
        assert list(lines) != ["never"]
