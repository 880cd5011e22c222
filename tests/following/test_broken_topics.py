"""What is wrong with a topic, its brokers or the settings is told, and never passed over."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest
from click.testing import CliRunner, Result

from omnigraph.api.graph import Graph
from omnigraph.cli.following import reader
from omnigraph.cli.following.lines import Message
from omnigraph.cli.following.position import TopicPosition
from omnigraph.cli.following.reader import TopicLimits, TopicReader
from omnigraph.cli.following.settings import read_settings
from omnigraph.cli.following.topic import parse_topic
from omnigraph.cli.main import omnigraph
from omnigraph.errors import NotFoundError
from tests.following.broker import Broker, running
from tests.following.conftest import Follow
from tests.following.rows import commits, note, texts

SECRET = "correct-horse-battery"


@pytest.fixture
def other() -> Iterator[Broker]:
    """A broker that a test may kill."""
    with running() as found:
        yield found


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr(reader, "_ASK_SECONDS", 0.2)
    monkeypatch.setattr(reader, "_ANSWER_SECONDS", 0.2)


def test_a_topic_that_is_not_there_is_not_found(graph: Graph, follow: Follow, topic: str) -> None:
    done = follow()

    assert done.exit_code == 5
    assert f"there is no topic '{topic}'" in done.stderr
    assert commits(graph) == 1


@pytest.mark.usefixtures("impatient")
def test_brokers_that_do_not_answer_are_waited_for_only_so_long(follow: Follow) -> None:
    done = follow(to="kafka://127.0.0.1:1/events")

    assert done.exit_code == 1
    assert "error[unreachable]: no broker of kafka://127.0.0.1:1/events answered for" in done.stderr


@pytest.mark.usefixtures("impatient")
def test_a_broker_that_goes_away_ends_it_and_what_was_done_is_kept(
    graph: Graph, other: Broker, topic: str
) -> None:
    other.send_rows(topic, note("a"))
    words = ["ingest", graph.uri, "--branch", "main", "--follow", other.topic(topic)]
    real = reader.TopicReader.read

    def read(self: TopicReader) -> object:
        if texts(graph):
            other.process.kill()
        return real(self)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reader.TopicReader, "read", read)
        done = CliRunner().invoke(omnigraph, words)

    assert done.exit_code == 1
    assert "error[unreachable]" in done.stderr
    assert texts(graph) == ["a"]


def test_a_broker_that_stops_for_a_while_is_waited_for(
    graph: Graph,
    other: Broker,
    topic: str,
    follow: Follow,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other.send_rows(topic, note("a"), note("b"))
    monkeypatch.setattr(reader, "_ANSWER_SECONDS", 0.2)
    waking = Timer(1.0, other.process.send_signal, (signal.SIGCONT,))
    other.process.send_signal(signal.SIGSTOP)
    waking.start()

    done = follow("--mode", "append", to=other.topic(topic))

    waking.join()
    assert done.exit_code == 0, done.output
    assert texts(graph) == ["a", "b"]


def test_messages_that_were_deleted_unread_are_not_passed_over(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    broker.send_rows(topic, note("a"))
    follow("--mode", "append")
    broker.send(topic, *["x" * 900_000] * 9)

    done = follow("--mode", "append")

    assert done.exit_code == 5
    assert f"{topic} partition 0: the messages from offset 1 to " in done.stderr
    assert "were deleted before they were read" in done.stderr
    assert "--skip-lost" in done.stderr
    assert texts(graph) == ["a"]


def test_messages_that_are_deleted_while_it_reads_are_not_passed_over(
    broker: Broker, topic: str
) -> None:
    broker.send_rows(topic, note("a"))
    broker.send(topic, *["x" * 900_000] * 9)
    place = parse_topic(broker.topic(topic))
    reading = TopicReader(place, read_settings(None, place.brokers), TopicLimits(10, 1 << 20, 0.1))
    reading.connect()
    reading._next = {0: 0}
    reading._assign()

    with pytest.raises(NotFoundError, match="partition 0 has no offset 0 any more"):
        [reading.read() for _ in range(100)]
    reading.close()


def test_a_topic_that_is_shorter_than_what_was_read_is_refused(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    broker.send_rows(topic, note("a"))
    follow("--mode", "append")
    _note_as_read(graph, {0: 7})

    refused = follow("--mode", "append")
    skipped = follow("--mode", "append", "--skip-lost")

    assert refused.exit_code == 5
    assert "partition 0 ends at offset 1, and was read up to 7" in refused.stderr
    assert skipped.exit_code == 0, skipped.output
    assert texts(graph) == ["a", "a"], "it was said to begin with what is left"


def test_a_topic_that_has_fewer_partitions_than_it_had_is_refused(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    broker.send_rows(topic, note("a"))
    follow("--mode", "append")
    _note_as_read(graph, {9: 7})
    broker.send_rows(topic, note("b"))

    refused = follow("--mode", "append")
    skipped = follow("--mode", "append", "--skip-lost")
    broker.send_rows(topic, note("c"))
    after = follow("--mode", "append")

    assert refused.exit_code == 5
    assert "it has no partition 9 any more" in refused.stderr
    assert (skipped.exit_code, after.exit_code) == (0, 0), after.output
    assert texts(graph) == ["a", "b", "c"]


def test_a_topic_of_another_cluster_is_refused(
    graph: Graph, broker: Broker, other: Broker, topic: str, follow: Follow
) -> None:
    broker.send_rows(topic, note("a"))
    other.send_rows(topic, note("b"))
    follow("--mode", "append")

    done = follow("--mode", "append", to=other.topic(topic))

    assert done.exit_code == 3
    assert "follow it into another branch" in done.stderr
    assert texts(graph) == ["a"]


def test_partitions_that_are_new_are_read_from_their_beginning(
    broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_ASK_SECONDS", 0.0)
    for partition in range(4):
        broker.send_rows(topic, note(str(partition)), partition=partition)
    place = parse_topic(broker.topic(topic))
    settings = {**read_settings(None, place.brokers), "fetch.wait.max.ms": "20"}
    reading = TopicReader(place, settings, TopicLimits(10, 1 << 20, 0.2))
    reading.connect()
    reading.begin({})
    del reading._next[3], reading._ends[3]
    reading._assign()

    found = [*reading.read(), *reading.read()]

    assert sorted((each.partition, each.offset) for each in found) == [(n, 0) for n in range(4)]
    reading.close()


def test_brokers_that_have_just_answered_are_not_asked_again_before_the_first_message(
    broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.send_rows(topic, note("a"))
    place = parse_topic(broker.topic(topic))
    limits = TopicLimits(10, 1 << 20, 0.5)
    reading = TopicReader(place, read_settings(None, place.brokers), limits, once=True)
    reading.connect()
    reading.begin({})
    # An answer waits behind the fetch that is under way, which takes half a second.
    monkeypatch.setattr(TopicReader, "_ask", lambda _: pytest.fail("asked again"))

    found: list[Message] = []
    while not reading.is_done:
        found += reading.read()

    assert [each.offset for each in found] == [0]
    reading.close()


def test_without_the_package_it_says_what_to_install(graph: Graph) -> None:
    hidden = "import sys; sys.modules['confluent_kafka'] = None; "
    code = f"{hidden}from omnigraph.cli.main import main; main()"
    words = ["ingest", graph.uri, "--branch", "main", "--follow", "kafka://h:1/events"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, check=False)

    assert done.returncode == 1
    assert b"confluent-kafka is not installed" in done.stderr
    assert b"pip install 'omnigraph[kafka]'" in done.stderr


@pytest.mark.parametrize(
    "place",
    [
        "kafka:events",
        "kafka://broker:9092",
        "kafka://broker:9092/",
        f"kafka://me:{SECRET}@broker:9092/events",
        "kafka://broker:port/events",
        "kafka://broker:9092/a/b",
        "kafka://broker:9092/no topic",
    ],
)
def test_an_address_that_is_none_is_told_without_what_may_be_a_password(
    follow: Follow, place: str
) -> None:
    done = follow(to=place)

    assert done.exit_code == 1
    assert "expected kafka://HOST:PORT/TOPIC" in done.stderr
    assert SECRET not in done.output


def configured(follow: Follow, tmp_path: Path, *lines: str) -> Result:
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{each}\n" for each in lines))
    return follow("--kafka-config", str(file))


def test_settings_of_the_client_come_from_a_file(
    graph: Graph, broker: Broker, topic: str, follow: Follow, tmp_path: Path
) -> None:
    broker.send_rows(topic, note("a"))

    done = configured(follow, tmp_path, "# ours", "", "client.id = shop", "fetch.wait.max.ms: 50")

    assert done.exit_code == 0, done.output
    assert texts(graph) == ["a"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (SECRET, "client.properties:1: expected name=value"),
        ("auto.offset.reset=latest", "'auto.offset.reset' cannot be set"),
        ("enable.auto.commit=true", "'enable.auto.commit' cannot be set"),
        ("bootstrap.servers=b:1", "the address names the brokers already"),
        ("no.such.setting=1", "No such configuration property"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    follow: Follow, tmp_path: Path, line: str, told: str
) -> None:
    done = configured(follow, tmp_path, line)

    assert done.exit_code == 1
    assert "error[config_invalid]" in done.stderr
    assert told in done.stderr
    assert SECRET not in done.output


@pytest.mark.usefixtures("impatient")
def test_a_password_is_in_no_message(follow: Follow, tmp_path: Path) -> None:
    done = configured(
        follow,
        tmp_path,
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        "sasl.username=me",
        f"sasl.password={SECRET}",
    )

    assert done.exit_code == 1
    assert SECRET not in done.output
    assert "error[" in done.stderr


def test_a_wrong_value_that_is_a_secret_is_not_shown(follow: Follow, tmp_path: Path) -> None:
    done = configured(follow, tmp_path, f"ssl.key.password={SECRET}", f"security.protocol={SECRET}")

    assert done.exit_code == 1
    assert SECRET not in done.output


@pytest.mark.parametrize("option", ["--skip-lost", "--aside", "--kafka-config", "--batch-messages"])
def test_options_of_topics_are_refused_without_one(
    graph: Graph, tmp_path: Path, option: str
) -> None:
    value = [] if option == "--skip-lost" else ["7"]
    for source in (["--follow", str(tmp_path)], ["--data", "x.jsonl"]):
        words = ["ingest", graph.uri, "--branch", "main", *source, option, *value]
        done = CliRunner().invoke(omnigraph, words)

        assert done.exit_code == 2
        assert f"{option} is for --follow kafka://HOST:PORT/TOPIC" in done.stderr


def _note_as_read(graph: Graph, offsets: dict[int, int]) -> None:
    """Make a commit that says that more of the topic was read than there is."""
    known = TopicPosition.parse(next(graph.log()).message)
    assert known is not None
    noted = f"x\n\n{known.moved(offsets)}"
    graph.load("", operation_id="kafka:later", message=noted, always=True)
