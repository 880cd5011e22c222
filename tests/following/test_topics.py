"""`ingest --follow kafka://…` takes every message once, by commits that say how far they go."""

import json
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from tests.following.broker import PARTITIONS, Broker
from tests.following.conftest import Follow
from tests.following.rows import ages, commits, note, person, texts


def test_messages_of_all_partitions_become_one_commit(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    for partition in range(PARTITIONS):
        broker.send_rows(topic, person(f"p{partition}", partition), partition=partition)
    before = commits(graph)

    done = follow()

    assert done.exit_code == 0, done.output
    assert ages(graph) == {"p0": 0, "p1": 1, "p2": 2, "p3": 3}
    assert commits(graph) == before + 1
    assert done.stdout.splitlines()[-1] == "ingested 4 messages"
    assert done.stdout.startswith(f"{topic} 0:0-0 1:0-0 2:0-0 3:0-0: loaded 4 nodes")
    newest = next(graph.log())
    assert newest.message is not None
    assert newest.message.endswith(f" {topic} 0:1 1:1 2:1 3:1")
    assert newest.operation_id.startswith(f"kafka:{topic[:100]}:")


def test_what_was_read_is_not_read_again_and_what_is_new_is(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    broker.send_rows(topic, note("a"), note("b"))
    follow("--mode", "append")
    broker.send_rows(topic, note("c"), partition=1)
    broker.send_rows(topic, note("d"))

    again = follow("--mode", "append")
    nothing = follow("--mode", "append")

    assert texts(graph) == ["a", "b", "c", "d"]
    assert again.stdout.splitlines()[-1] == "ingested 2 messages"
    assert nothing.stdout.splitlines() == ["ingested 0 messages"]


def test_changes_of_one_row_are_done_in_their_order_each_in_a_commit_of_its_own(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    broker.send_rows(topic, person("ann", 1), person("bob", 1), person("ann", 2), person("cat", 1))
    broker.send_rows(topic, person("ann", 3), person("bob", 2))
    before = commits(graph)

    done = follow()

    assert done.exit_code == 0, done.output
    assert ages(graph) == {"ann": 3, "bob": 2, "cat": 1}
    assert commits(graph) == before + 3
    assert done.stdout.splitlines()[-1] == "ingested 6 messages"


def test_messages_that_change_nothing_are_read_once_too(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    broker.send_rows(topic, person("ann", 30))
    follow()
    broker.send_rows(topic, person("ann", 30))
    follow()
    graph.branch().mutate('query q() { update Person set { age: 31 } where slug = "ann" }')

    follow()

    assert ages(graph) == {"ann": 31}, "an old message is not done again after a newer change"


@pytest.mark.parametrize(
    ("how", "made"),
    [(("--batch-messages", "2"), 3), (("--batch-bytes", "1"), 5), ((), 1)],
)
def test_the_limits_of_a_commit_are_kept(
    graph: Graph, broker: Broker, topic: str, follow: Follow, how: tuple[str, ...], made: int
) -> None:
    broker.send_rows(topic, *(note(str(each)) for each in range(5)))
    before = commits(graph)

    follow("--mode", "append", *how)

    assert commits(graph) == before + made
    assert texts(graph) == ["0", "1", "2", "3", "4"]


def test_the_branch_is_made_and_goes_on_where_the_one_was_that_it_is_made_from(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    broker.send_rows(topic, note("a"))
    follow("--mode", "append")
    broker.send_rows(topic, note("b"))

    follow("--mode", "append", branch="draft")

    assert (texts(graph), texts(graph, "draft")) == (["a"], ["a", "b"])


def test_a_branch_that_was_deleted_and_made_again_gets_all_messages_again(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    broker.send_rows(topic, note("a"), note("b"))
    follow("--mode", "append", branch="draft")
    graph.delete_branch("draft")

    same = follow("--mode", "append", branch="draft")

    assert same.exit_code == 0, same.output
    assert texts(graph, "draft") == ["a", "b"]
    graph.delete_branch("draft")

    other = follow("--mode", "append", "--batch-messages", "1", branch="draft")

    assert other.exit_code == 0, other.output
    assert texts(graph, "draft") == ["a", "b"]


def test_other_commits_and_a_cleanup_of_the_history_leave_the_position(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    broker.send_rows(topic, note("a"))
    follow("--mode", "append")
    for number in range(3):
        graph.load([{"slug": f"p{number}"}], type="Person")
    graph.optimize()
    graph.revert(next(graph.log()).id)
    cleaned = graph.cleanup(keep=1, grace="0s", confirm=True)
    assert cleaned.commits_cleaned > 0
    broker.send_rows(topic, note("b"))

    follow("--mode", "append")

    assert texts(graph) == ["a", "b"]


def test_two_topics_go_into_one_branch(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    for each in ("a", "b", "c"):
        for name in ("first", "second"):
            broker.send_rows(f"{topic}.{name}", note(f"{name} {each}"))
            follow("--mode", "append", to=broker.topic(f"{topic}.{name}"))

    assert texts(graph) == [f"{name} {each}" for name in ("first", "second") for each in "abc"]


def test_the_message_of_a_commit_is_kept_before_the_position(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    broker.send_rows(topic, note("a"))

    follow("--message", "from the shop")

    newest = next(graph.log())
    assert newest.message is not None
    assert newest.message.startswith("from the shop\n\nKafka-Position: ")


def test_values_are_lines_of_a_load(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    pretty = json.dumps(person("ann", 30), indent=2)
    broker.send(topic, pretty, "", "// a remark", json.dumps(person("bob", 40)) + "\n")

    done = follow()

    assert done.exit_code == 0, done.output
    assert ages(graph) == {"ann": 30, "bob": 40}


def test_plain_objects_have_the_type_that_is_named(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    broker.send(topic, '{"slug": "ann", "age": 30}')

    done = follow("--type", "Person")

    assert done.exit_code == 0, done.output
    assert ages(graph) == {"ann": 30}


BAD = {
    "no JSON": b"{nonsense",
    "no UTF-8": b'{"type": "Note", "data": {"text": "\xff"}}',
    "no value": None,
    "no object": b"[1]",
    "two lines": json.dumps(note("x")).encode() + b"\n" + json.dumps(note("y")).encode(),
    "a line break in a text": b'{"type": "Note", "data": {"text": "a\nb"}}',
    "no type": b'{"type": "Persn", "data": {}}',
    "a wrong value": json.dumps(person("ann", "old")).encode(),  # type: ignore[arg-type]
    "no end": b'{"edge": "Knows", "from": "ann", "to": "nobody"}',
}


@pytest.mark.parametrize("value", BAD.values(), ids=[each.replace(" ", "-") for each in BAD])
def test_a_bad_message_is_named_and_nothing_of_its_batch_is_committed(
    graph: Graph, broker: Broker, topic: str, follow: Follow, value: bytes | None
) -> None:
    broker.send_rows(topic, person("ann", 30), partition=2)
    broker.send(topic, value, partition=2)
    before = commits(graph)

    done = follow()

    assert done.exit_code == 1
    assert f"{topic} partition 2 offset 1: " in done.stderr
    assert (commits(graph), ages(graph)) == (before, {})


@pytest.mark.parametrize("value", BAD.values(), ids=[each.replace(" ", "-") for each in BAD])
def test_a_bad_message_is_set_aside_where_there_is_a_place_and_the_others_go_on(
    graph: Graph, broker: Broker, topic: str, follow: Follow, tmp_path: Path, value: bytes | None
) -> None:
    broker.send_rows(topic, person("ann", 30))
    broker.send(topic, value)
    broker.send_rows(topic, person("bob", 40))

    done = follow("--aside", str(tmp_path / "bad"))
    again = follow("--aside", str(tmp_path / "bad"))

    assert done.exit_code == 1
    assert ages(graph) == {"ann": 30, "bob": 40}
    assert done.stdout.splitlines()[-1] == "ingested 2 messages, set 1 message aside"
    kept = tmp_path / "bad" / f"{topic}-0-1.jsonl"
    assert kept.read_bytes() == (value or b"")
    wrong = json.loads(kept.with_name(f"{kept.name}.error.json").read_text())
    assert wrong["violations"][0]["file"] == f"{topic} partition 0 offset 1"
    assert again.stdout.splitlines() == ["ingested 0 messages"]


def test_messages_that_are_all_bad_are_read_once(
    graph: Graph, broker: Broker, topic: str, follow: Follow, tmp_path: Path
) -> None:
    broker.send(topic, *["nonsense"] * 3)

    first = follow("--aside", str(tmp_path / "bad"))
    again = follow("--aside", str(tmp_path / "bad"))

    assert first.stdout.splitlines() == ["ingested 0 messages, set 3 messages aside"]
    assert again.stdout.splitlines() == ["ingested 0 messages"]
