"""A follower that is killed anywhere and started again loses no message and repeats none."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from tests.following.broker import Broker
from tests.following.conftest import Follow
from tests.following.rows import note, texts

SECONDS = 120
# The process dies at the N-th of these moments, given as the first argument.
DOOMED = """
import os, signal, sys
from omnigraph.cli.following import follow, stream
from omnigraph.cli.following.reader import TopicReader
from omnigraph.storage import steps

left = int(sys.argv.pop(1))

def reached(_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def dying(kind, name):
    real = getattr(kind, name)
    def call(*given):
        reached(name)
        found = real(*given)
        reached(name)
        return found
    setattr(kind, name, call)

dying(stream.TopicStream, "keep")
dying(stream.TopicStream, "refuse")
dying(stream.TopicStream, "_put")
dying(TopicReader, "read")
steps.observer = reached

from omnigraph.cli.main import main
main()
"""


def killed(graph: Graph, place: str, aside: Path, at: int) -> int:
    words = ["ingest", graph.uri, "--branch", "main", "--mode", "append", "--follow", place]
    more = ["--once", "--batch-messages", "3", "--aside", str(aside)]
    command = [sys.executable, "-c", DOOMED, str(at), *words, *more]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode in (0, 1, -signal.SIGKILL), done.stderr
    return done.returncode


def offer(broker: Broker, topic: str) -> list[str]:
    """Write twelve good messages and two bad ones to two partitions; return the good texts."""
    for number in range(6):
        broker.send_rows(topic, note(f"a{number}"))
        broker.send_rows(topic, note(f"b{number}"), partition=1)
        if number in (1, 4):
            broker.send(topic, "nonsense", partition=number % 2)
    return sorted(f"{name}{number}" for name in "ab" for number in range(6))


@pytest.mark.parametrize("at", [2, pytest.param(9, marks=pytest.mark.long)])
def test_one_that_is_killed_once_goes_on_where_it_was(
    graph: Graph, broker: Broker, topic: str, follow: Follow, tmp_path: Path, at: int
) -> None:
    expected, aside = offer(broker, topic), tmp_path / "bad"

    assert killed(graph, broker.topic(topic), aside, at) == -signal.SIGKILL
    done = follow("--mode", "append", "--aside", str(aside))

    assert done.exit_code in (0, 1), done.output
    assert texts(graph) == expected
    assert len(list(aside.glob("*.jsonl"))) == 2


@pytest.mark.long
@pytest.mark.parametrize("first", range(1, 5))
def test_one_that_is_killed_again_and_again_is_done_in_the_end(
    graph: Graph, broker: Broker, topic: str, tmp_path: Path, first: int
) -> None:
    expected, aside, lives = offer(broker, topic), tmp_path / "bad", 0

    while killed(graph, broker.topic(topic), aside, first + 2 * lives) == -signal.SIGKILL:
        lives += 1
        assert texts(graph) == sorted(set(texts(graph)))
        assert lives < 40

    assert lives >= 3
    assert texts(graph) == expected
    assert len(list(aside.glob("*.jsonl"))) == 2
