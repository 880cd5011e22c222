"""Position: how far a topic was read, kept in the message of the commit that has the rows.

Rows and position become visible by one flip, so that neither is there without the other. The last
line of the message has the whole position, as `Kafka-Position: CLUSTER TOPIC 0:17 1:5`: the next
offset of each partition. So the newest commit of a topic in the log of a branch is all that has to
be found, and what a branch was made from counts as well.
"""

import json
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import field
from hashlib import sha256
from typing import Self

from omnigraph.errors import ConflictError
from omnigraph.frozen import dataclass
from omnigraph.versioning.commit import Commit

_PREFIX = "kafka:"
_LINE = re.compile(
    r"Kafka-Position: (?P<cluster>\S+) (?P<topic>\S+)(?P<offsets>(?: [0-9]{1,19}:[0-9]{1,19})*)"
)
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class TopicPosition:
    """The next offset to read of each partition of a topic, of which something was read."""

    cluster: str
    topic: str
    offsets: Mapping[int, int] = field(default_factory=dict)

    def __str__(self) -> str:
        offsets = "".join(f" {each}:{at}" for each, at in sorted(self.offsets.items()))
        return f"Kafka-Position: {self.cluster} {self.topic}{offsets}"

    @classmethod
    def parse(cls, message: str | None) -> Self | None:
        """Return the position that a message ends with, or None."""
        match = _LINE.fullmatch((message or "").rpartition("\n")[2])
        if match is None:
            return None
        pairs = (each.split(":") for each in match["offsets"].split())
        offsets = {int(partition): int(at) for partition, at in pairs}
        return cls(match["cluster"], match["topic"], offsets)

    def moved(self, offsets: Mapping[int, int]) -> Self:
        """Return the position when more was read of some partitions."""
        return type(self)(self.cluster, self.topic, {**self.offsets, **offsets})

    def within(self, partitions: Set[int]) -> Self:
        """Return the position in some partitions alone."""
        kept = {each: at for each, at in self.offsets.items() if each in partitions}
        return type(self)(self.cluster, self.topic, kept)

    def operation_id(self, branch: str, attempt: int) -> str:
        """Return the operation id of the batch that comes next in a branch.

        It is made of where the batch begins and not of where it ends: a position has one
        successor, so two processes that follow a topic into one branch cannot both go on from it.
        """
        known = [self.cluster, self.topic, branch, sorted(self.offsets.items()), attempt]
        digest = sha256(json.dumps(known).encode()).hexdigest()
        return f"{_PREFIX}{self.topic[:_LONGEST_NAME]}:{digest}"


def find_position(log: Iterable[Commit], cluster: str, topic: str) -> TopicPosition:
    """Return how far a topic was read into a branch, by the newest commit that says so.

    Raises ConflictError when that was the topic of another cluster, whose offsets say nothing.
    """
    positions = (
        TopicPosition.parse(each.message) for each in log if each.operation_id.startswith(_PREFIX)
    )
    found = next((each for each in positions if each is not None and each.topic == topic), None)
    if found is None:
        return TopicPosition(cluster, topic)
    if found.cluster != cluster:
        raise ConflictError(
            f"the branch has messages of the topic '{topic}' of the cluster {found.cluster}, "
            f"and this is the cluster {cluster}",
            hint="offsets of one mean nothing in the other; follow it into another branch",
        )
    return found
