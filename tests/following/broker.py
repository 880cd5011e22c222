"""Broker: the broker for tests that librdkafka brings along, in a process of its own.

It speaks the protocol of Kafka over TCP, keeps at most 5 MB of each partition, and makes a topic of
four partitions for whoever first writes to it. It ends when its standard input does.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import Producer

PARTITIONS = 4
_SECONDS = 30.0


@dataclass
class Broker:
    """A broker that runs, and a client that writes to it."""

    process: "subprocess.Popen[str]"
    address: str
    producer: Producer = field(init=False)

    def __post_init__(self) -> None:
        self.producer = Producer({"bootstrap.servers": self.address, "log_level": 0})

    def topic(self, name: str) -> str:
        return f"kafka://{self.address}/{name}"

    def send(self, topic: str, *values: str | bytes | None, partition: int = 0) -> None:
        for value in values:
            self.producer.produce(topic, value, partition=partition)
        assert self.producer.flush(_SECONDS) == 0

    def send_rows(self, topic: str, *rows: Mapping[str, object], partition: int = 0) -> None:
        self.send(topic, *map(json.dumps, rows), partition=partition)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def running() -> Iterator[Broker]:
    command = [sys.executable, "-m", "tests.following.broker"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    try:
        assert process.stdout is not None
        yield Broker(process, process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate()


def _serve() -> None:
    server = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (found,) = server.list_topics(timeout=_SECONDS).brokers.values()
    sys.stdout.write(f"{found.host}:{found.port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
