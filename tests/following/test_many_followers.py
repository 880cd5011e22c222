"""Followers that meet, are interrupted or stand behind a server lose and repeat nothing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from omnigraph.api.graph import Graph
from omnigraph.cli.following.stream import TopicStream
from omnigraph.cli.main import omnigraph
from omnigraph.server.serve import Settings
from tests.following.broker import Broker
from tests.following.conftest import Follow
from tests.following.rows import note, texts
from tests.server.serving import started

SECONDS = 60.0


def meeting(
    broker: Broker, topic: str, follow: Follow, first: list[str], second: list[str]
) -> tuple[Result, Result]:
    """Follow a topic while another follower has just read where it begins."""
    real = TopicStream._batch
    inner: list[Result] = []

    def batch(self: TopicStream) -> object:
        with pytest.MonkeyPatch.context() as unpatched:
            unpatched.setattr(TopicStream, "_batch", real)
            if not inner:
                broker.send_rows(topic, note("later"))
                inner.append(follow(*first))
        return real(self)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TopicStream, "_batch", batch)
        outer = follow(*second)
    return inner[0], outer


def test_of_two_followers_one_goes_on(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    broker.send_rows(topic, note("a"), note("b"))

    inner, outer = meeting(broker, topic, follow, ["--mode", "append"], ["--mode", "append"])

    assert inner.exit_code == 0, inner.output
    assert outer.exit_code == 3
    assert "another process follows" in outer.stderr
    assert texts(graph) == ["a", "b", "later"]


def test_of_two_followers_as_different_actors_one_is_told_what_to_undo(
    graph: Graph, broker: Broker, topic: str, follow: Follow
) -> None:
    broker.send_rows(topic, note("a"))
    one, two = ["--mode", "append", "--as", "one"], ["--mode", "append", "--as", "two"]

    inner, outer = meeting(broker, topic, follow, one, two)

    assert inner.exit_code == 0, inner.output
    assert outer.exit_code == 3
    assert f"commit {next(graph.log()).id} has messages that were committed already" in outer.stderr


def test_ctrl_c_ends_it_and_what_it_did_is_told(graph: Graph, broker: Broker, topic: str) -> None:
    broker.send_rows(topic, note("a"))
    words = ["ingest", graph.uri, "--branch", "main", "--follow", broker.topic(topic)]
    code = "from omnigraph.cli.main import main; main()"
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", code, *words], stdout=pipe, stderr=pipe)
    try:
        end = time.monotonic() + SECONDS
        while texts(graph) != ["a"]:
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGINT)
        told, errors = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
        process.communicate()

    assert process.returncode == 0, errors
    assert told.decode().splitlines()[-1] == "ingested 1 message"
    assert errors.decode().splitlines() == ["stopped"]


def test_a_graph_behind_a_server_follows_a_topic_too(
    graph: Graph, broker: Broker, topic: str, tmp_path: Path
) -> None:
    broker.send_rows(topic, note("a"), note("b"))
    settings = Settings(uri=graph.uri, host="127.0.0.1", port=0, environment={})
    with started(settings) as server:
        place = f"http://{server.address}"
        words = ["ingest", place, "--branch", "main", "--mode", "append", "--once", "--follow"]
        first = CliRunner().invoke(omnigraph, [*words, broker.topic(topic)])
        broker.send(topic, "nonsense")
        broker.send_rows(topic, note("c"))
        bad = CliRunner().invoke(omnigraph, [*words, broker.topic(topic)])
        aside = ["--aside", str(tmp_path / "bad")]
        again = CliRunner().invoke(omnigraph, [*words, broker.topic(topic), *aside])

    assert first.exit_code == 0, first.output
    assert f"{topic} partition 0 offset 2" in bad.stderr
    assert again.stdout.splitlines()[-1] == "ingested 1 message, set 1 message aside"
    assert texts(graph) == ["a", "b", "c"]
