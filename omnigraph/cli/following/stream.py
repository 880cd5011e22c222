"""Stream: a topic of Kafka, whose messages are put together to batches.

A load takes a row once, and a topic may have many changes of one. So a batch ends before a message
of a row that it has already, which is seen when it is refused for that.
"""

import io
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.cli.following.follow import Batch, set_aside
from omnigraph.cli.following.lines import Message, blamed, first_repeated, placed_error
from omnigraph.cli.following.position import TopicPosition, find_position
from omnigraph.cli.following.reader import TopicReader
from omnigraph.cli.output import counted
from omnigraph.errors import (
    ConflictError,
    InputError,
    OmniGraphError,
    OperationReusedError,
    ViolationsError,
)
from omnigraph.frozen import dataclass
from omnigraph.versioning.names import normalize_name
from omnigraph.versioning.notes import MOST_MESSAGE_BYTES

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph
    from omnigraph.versioning.commit import Commit
    from omnigraph.write.load.keywords import LoadKeywords
    from omnigraph.write.load.loaded import Loaded

_SHOWN = 1_000


@dataclass(frozen=True, slots=True)
class FollowedBranch:
    """The branch that messages go into, made from `base` when it is not there."""

    graph: "Graph"
    name: str
    base: str

    def make(self) -> None:
        """Make the branch, unless it is there."""
        if normalize_name(self.name) not in self.graph.branches():
            self.graph.create_branch(self.name, self.base)

    def position(self, known: TopicPosition, before: str | None = None) -> TopicPosition:
        """Return how far the topic of a position was read into the branch, or before a commit."""
        log = self.graph.log(self.name, after=before)
        return find_position(log, known.cluster, known.topic)

    def has(self, commit: "Commit") -> bool:
        """Return whether a commit is in the history of the branch; versions grow along it."""
        newest = next(self.graph.log(self.name, limit=1))
        if newest.id == commit.id:
            return True
        older = (each for each in self.graph.log(self.name) if each.version <= commit.version)
        return next(older).id == commit.id


@dataclass(slots=True)
class TopicStream:
    """The messages of a topic as batches; without a folder to set bad ones aside they end it.

    `_pending` was read and not committed, `_most` is how much of it the next batch has, and `_bad`
    was set aside. `_attempt` counts operation ids that branches used which are deleted now.
    """

    reader: TopicReader
    branch: FollowedBranch
    aside: Path | None
    message: str | None
    _position: TopicPosition | None = None
    _pending: list[Message] = field(default_factory=list)
    _most: int = 0
    _bad: set[Message] = field(default_factory=set)
    _attempt: int = 0

    def batches(self) -> Iterator[Batch | None]:
        """Yield what comes after the position of the branch; None when there is no more now."""
        cluster = self.reader.connect()
        self.branch.make()
        self._position = self.branch.position(TopicPosition(cluster, self.reader.topic.name))
        self.reader.begin(self._position.offsets)
        self._most = self.reader.limits.messages
        while True:
            if not self._pending:
                self._pending = self.reader.read()
            yield self._batch() if self._pending else None

    @property
    def is_done(self) -> bool:
        """Whether all that was in the topic is committed."""
        return not self._pending and self.reader.is_done

    def keep(self, batch: Batch, loaded: "Loaded") -> int:  # noqa: ARG002 - as all sources
        """Go on behind a batch that is committed; return how many messages were loaded."""
        assert loaded.commit is not None
        if not self.branch.has(loaded.commit):
            # The same batch was committed before to a branch of this name that was deleted.
            self._attempt += 1
            return 0
        self._check_alone(before=loaded.commit.id)
        kept, self._position = len(self._good), self._after
        self._bad.difference_update(self._taken)
        del self._pending[: self._most]
        self._most = min(self._most * 2, self.reader.limits.messages)
        self._attempt = 0
        return kept

    def refuse(self, batch: Batch, failed: OmniGraphError) -> int:  # noqa: ARG002 - as all sources
        """Make a batch smaller, or set bad messages aside; return how many these were."""
        if isinstance(failed, OperationReusedError):
            self._check_alone()
            self._attempt += 1
            return 0
        if not isinstance(failed, ViolationsError):
            raise failed
        good = self._good
        repeated = first_repeated(failed)
        if repeated is not None and repeated < len(good):
            self._most = self._pending.index(good[repeated])
            return 0
        found = blamed(failed, good)
        if found is None or self.aside is None:
            raise placed_error(failed, good)
        for message, wrong in found.items():
            self._put(message, wrong, self.aside)
        return len(found)

    def close(self) -> None:
        """Close the connections to the brokers."""
        self.reader.close()

    @property
    def _taken(self) -> list[Message]:
        return self._pending[: self._most]

    @property
    def _good(self) -> list[Message]:
        return [each for each in self._taken if each not in self._bad]

    @property
    def _after(self) -> TopicPosition:
        assert self._position is not None
        read = {each.partition: each.offset + 1 for each in self._taken}
        return self._position.moved(read).within(self.reader.partitions)

    def _batch(self) -> Batch:
        lines = b"".join(each.line for each in self._good)
        return Batch(self._name(), io.BytesIO(lines), self._how)

    def _how(self) -> "LoadKeywords":
        assert self._position is not None
        about = counted(len(self._taken), "message")
        message = f"{self.message or f'{about} of {self.reader.topic.name}'}\n\n{self._after}"
        if len(message.encode()) > MOST_MESSAGE_BYTES:
            partitions = counted(len(self._after.offsets), "partition")
            raise InputError(
                f"the position in {partitions} of {self.reader.topic} is too long for the message "
                f"of a commit, which has at most {MOST_MESSAGE_BYTES:,} bytes"
            )
        operation = self._position.operation_id(normalize_name(self.branch.name), self._attempt)
        return {
            "operation_id": operation,
            "message": message,
            "always": True,
            "shown": _SHOWN,
        }

    def _name(self) -> str:
        """Return the topic with the first and last offsets of a batch, by partition."""
        ranges: dict[int, list[int]] = {}
        for each in self._taken:
            ranges.setdefault(each.partition, []).append(each.offset)
        parts = (f"{each}:{found[0]}-{found[-1]}" for each, found in sorted(ranges.items()))
        return " ".join((self.reader.topic.name, *parts))

    def _put(self, message: Message, wrong: ViolationsError, folder: Path) -> None:
        """Write a bad message into the folder, and pass over it from now on.

        This comes before the commit that counts it as read; its name makes it one file however
        often it is written.
        """
        name = f"{message.topic}-{message.partition}-{message.offset}.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(message.value or b"")
        set_aside(folder / name, wrong)
        self._bad.add(message)

    def _check_alone(self, before: str | None = None) -> None:
        """Raise ConflictError when another process read on from the same position.

        Operation ids keep it from that, but each actor has its own. So the commit before which
        there is another one had messages that this one has too.
        """
        assert self._position is not None
        if self.branch.position(self._position, before) == self._position:
            return
        message = f"another process follows {self.reader.topic} into '{self.branch.name}'"
        if before is None:
            raise ConflictError(message, hint="nothing was committed twice; let one of them go on")
        hint = f"commit {before} has messages that were committed already; revert it"
        raise ConflictError(f"{message}, as another actor", hint=hint)
