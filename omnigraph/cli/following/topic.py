"""Topic: the address of a topic of Kafka: its brokers and its name."""

import re

from omnigraph.errors import InputError
from omnigraph.frozen import dataclass

SCHEME = "kafka:"
_ADDRESS = re.compile(r"kafka://(?P<brokers>[^/@]+)/(?P<name>[A-Za-z0-9._-]{1,249})")
_BROKER = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class Topic:
    """`kafka://HOST:PORT,HOST:PORT/NAME`: the brokers to ask first, and the name."""

    brokers: str
    name: str

    def __str__(self) -> str:
        return f"kafka://{self.brokers}/{self.name}"


def parse_topic(text: str) -> Topic:
    """Return the topic that an address names; raises InputError.

    The text is not repeated in the error: who is used to other addresses may have put a password
    into it.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or not all(map(_BROKER.fullmatch, match["brokers"].split(","))):
        hint = "brokers are separated by commas; users and passwords go into --kafka-config FILE"
        raise InputError("expected kafka://HOST:PORT/TOPIC", hint=hint)
    return Topic(match["brokers"], match["name"])
