"""Reader: a consumer of Kafka that reads on from a position, within bounds, and skips nothing.

It joins no group: it takes all partitions, from offsets that it is told, and commits none. An
offset that is not in the topic any more is an error, never a reason to go on elsewhere.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Set
from dataclasses import field
from typing import TYPE_CHECKING, TypeVar

from omnigraph.cli.following.lines import Message
from omnigraph.cli.following.settings import without_secrets
from omnigraph.cli.following.topic import Topic
from omnigraph.errors import (
    ConfigError,
    NotFoundError,
    OmniGraphError,
    RemoteError,
    UnauthorizedError,
    UnavailableError,
    UnreachableError,
    hint_install,
)
from omnigraph.frozen import dataclass

if TYPE_CHECKING:
    import confluent_kafka as kafka
    from confluent_kafka.admin._metadata import ClusterMetadata

_Found = TypeVar("_Found")

# Without an answer for so long, brokers count as gone.
_PATIENCE_SECONDS = 30.0
# So often the brokers are asked whether they are there, and for new partitions.
_ASK_SECONDS = 5.0
# A call into the client ends so soon, because Ctrl-C is not seen before.
_CALL_SECONDS = 0.2
_ANSWER_SECONDS = 1.0
_AT_A_TIME = 500
_LOG = logging.getLogger("omnigraph.kafka")
_LOG.addHandler(logging.NullHandler())
_LOST_HINT = "--skip-lost goes on with the oldest message that is left"


@dataclass(frozen=True, slots=True)
class TopicLimits:
    """How much is read for one commit: messages, bytes, and seconds since the first message."""

    messages: int
    bytes: int
    seconds: float


@dataclass(slots=True)
class TopicReader:
    """Reads the messages of all partitions of a topic, those of each in their order.

    With `once`, it does not wait for more when it has read all that was there.
    """

    topic: Topic
    settings: Mapping[str, str]
    limits: TopicLimits
    once: bool = False
    skip_lost: bool = False
    _consumer: "kafka.Consumer | None" = None
    _spare: "deque[Message]" = field(default_factory=deque)
    _next: dict[int, int] = field(default_factory=dict)
    _ends: dict[int, int] = field(default_factory=dict)
    _asked: float = 0.0
    _failing: float | None = None
    _trouble: "kafka.KafkaError | None" = None

    def connect(self) -> str:
        """Find the topic, and return the id of its cluster."""
        self._consumer = self._new_consumer()
        return self._patiently(self._ask).cluster_id or "-"

    def begin(self, offsets: Mapping[int, int]) -> None:
        """Go on from offsets; partitions that have none are read from their beginning.

        Raises NotFoundError when messages between were deleted, or the topic was made anew.
        """
        partitions = set(self._patiently(self._ask).topics[self.topic.name].partitions)
        self._asked = time.monotonic()
        gone = sorted(offsets.keys() - partitions)
        if gone and not self.skip_lost:
            raise _lost(f"{self.topic} was made anew: it has no partition {gone[0]} any more")
        for each in sorted(partitions):
            low, high = self._marks(each)
            self._next[each] = self._start(each, offsets.get(each), low, high)
            self._ends[each] = high
        self._assign()

    @property
    def partitions(self) -> Set[int]:
        """The partitions that the topic has."""
        return self._next.keys()

    @property
    def is_done(self) -> bool:
        """Whether all was read that was in the topic when this began."""
        return not self._spare and all(self._next[each] >= end for each, end in self._ends.items())

    def read(self) -> list[Message]:
        """Return the next messages, within the limits; none when none came for a moment."""
        self._look_after()
        found: list[Message] = []
        size, end = 0, None
        while True:
            while self._spare and len(found) < self.limits.messages and size < self.limits.bytes:
                found.append(self._spare.popleft())
                size += len(found[-1].value or b"")
            if found and end is None:
                end = time.monotonic() + self.limits.seconds
            left = _CALL_SECONDS if end is None else min(_CALL_SECONDS, end - time.monotonic())
            if self._spare or left <= 0 or (self.once and self.is_done):
                return found
            if not self._poll(left) and not found:
                return found

    def close(self) -> None:
        """Close the connections to the brokers."""
        if self._consumer is not None:
            self._consumer.close()

    def _new_consumer(self) -> "kafka.Consumer":
        try:
            import confluent_kafka as kafka
        except ImportError:
            raise UnavailableError(
                "the package confluent-kafka is not installed", hint=hint_install("kafka")
            ) from None
        try:
            return kafka.Consumer({**self.settings, "error_cb": self._note}, logger=_LOG)
        except (kafka.KafkaException, ValueError, TypeError) as failed:
            told = without_secrets(_told(failed), self.settings)
            raise ConfigError(f"the settings for {self.topic} are invalid: {told}") from None

    @property
    def _client(self) -> "kafka.Consumer":
        assert self._consumer is not None
        return self._consumer

    def _note(self, error: "kafka.KafkaError") -> None:
        """Remember what the client says beside what it answers."""
        self._trouble = error

    def _poll(self, seconds: float) -> bool:
        """Take what has arrived, and return whether there is a message among it."""
        import confluent_kafka as kafka

        for each in self._arrived(seconds):
            error, partition, offset = each.error(), each.partition(), each.offset()
            if error is not None and error.code() != kafka.KafkaError._PARTITION_EOF:
                self._raise_unless_passing(error, partition, offset)
                continue
            assert partition is not None
            assert offset is not None
            if error is not None:
                # Offsets before it may have no message: of transactions, or compacted away.
                self._next[partition] = max(self._next[partition], offset)
                continue
            self._spare.append(Message(self.topic.name, partition, offset, _value(each)))
            self._next[partition] = offset + 1
        return bool(self._spare)

    def _arrived(self, seconds: float) -> "list[kafka.Message]":
        """Wait for one message, and return it with those that came by then."""
        # Asked for more than one, the client waits to the end for the rest of them.
        first = self._client.consume(1, seconds)
        return first + self._client.consume(_AT_A_TIME, 0.0) if first else first

    def _raise_unless_passing(
        self, error: "kafka.KafkaError", partition: int | None, offset: int | None
    ) -> None:
        import confluent_kafka as kafka

        known = kafka.KafkaError
        gone = (known._AUTO_OFFSET_RESET, known.OFFSET_OUT_OF_RANGE, known._LOG_TRUNCATION)
        if error.code() in gone:
            raise _lost(f"{self.topic} partition {partition} has no offset {offset} any more")
        if not _is_passing(error):
            raise self._error(error)

    def _look_after(self) -> None:
        """Raise when the brokers are gone for too long, and take partitions that are new."""
        if time.monotonic() < self._asked + _ASK_SECONDS:
            return
        found = self._try(self._ask)
        self._asked = time.monotonic()
        if found is None:
            return
        new = set(found.topics[self.topic.name].partitions) - self._next.keys()
        for each in sorted(new):
            self._next[each], _ = self._marks(each)
        if new:
            self._assign()

    def _assign(self) -> None:
        import confluent_kafka as kafka

        # What was fetched before and not polled yet is dropped and fetched again.
        self._client.assign(
            [kafka.TopicPartition(self.topic.name, each, at) for each, at in self._next.items()]
        )

    def _ask(self) -> "ClusterMetadata":
        """Return what a broker knows about the topic."""
        import confluent_kafka as kafka

        found: ClusterMetadata = self._client.list_topics(self.topic.name, timeout=_ANSWER_SECONDS)
        about = found.topics[self.topic.name]
        if about.error is not None:
            raise kafka.KafkaException(about.error)
        for each in about.partitions.values():
            # Other errors of a partition are about copies of it, and it can be read.
            if each.error is not None and each.error.code() == each.error.LEADER_NOT_AVAILABLE:
                raise kafka.KafkaException(each.error)
        return found

    def _marks(self, partition: int) -> tuple[int, int]:
        """Return the first offset that a partition has, and the one behind its last."""
        import confluent_kafka as kafka

        which = kafka.TopicPartition(self.topic.name, partition)
        return self._patiently(
            lambda: self._client.get_watermark_offsets(which, timeout=_ANSWER_SECONDS)
        )

    def _start(self, partition: int, stored: int | None, low: int, high: int) -> int:
        """Return where to begin a partition, of which something was read before or not."""
        if stored is None or (self.skip_lost and not low <= stored <= high):
            return low
        if stored < low:
            raise _lost(
                f"{self.topic} partition {partition}: the messages from offset {stored} to "
                f"{low - 1} were deleted before they were read"
            )
        if stored > high:
            raise _lost(
                f"{self.topic} partition {partition} ends at offset {high}, and was read up to "
                f"{stored}: it was truncated, or made anew"
            )
        return stored

    def _patiently(self, call: Callable[[], _Found | None]) -> _Found:
        """Return an answer of the brokers; raises when there is none for too long."""
        while True:
            found = self._try(call)
            if found is not None:
                return found
            if not self._next:
                # Nothing is assigned, so this brings no message: only what `_note` is told.
                self._client.poll(_CALL_SECONDS)

    def _try(self, call: Callable[[], _Found | None]) -> _Found | None:
        """Return an answer of the brokers, or None when it may come later."""
        import confluent_kafka as kafka

        try:
            found = call()
        except kafka.KafkaException as failed:
            if not _is_passing(failed.args[0]):
                raise self._error(failed.args[0]) from None
            found = None
        if found is not None:
            self._failing, self._trouble = None, None
            return found
        now = time.monotonic()
        self._failing = self._failing or now
        if self._trouble is not None and not _is_passing(self._trouble):
            raise self._error(self._trouble)
        if now - self._failing >= _PATIENCE_SECONDS:
            raise self._gone(now - self._failing)
        return None

    def _gone(self, seconds: float) -> UnreachableError:
        told = "" if self._trouble is None else f": {self._trouble.str()}"
        return UnreachableError(
            without_secrets(
                f"no broker of {self.topic} answered for {seconds:.0f} s{told}", self.settings
            ),
            hint="what is committed is kept; start it again when they answer",
        )

    def _error(self, error: "kafka.KafkaError") -> OmniGraphError:
        """Return our error for one of Kafka that does not pass."""
        import confluent_kafka as kafka

        known = kafka.KafkaError
        told = without_secrets(f"{self.topic}: {error.str()}", self.settings)
        match error.code():
            case known.UNKNOWN_TOPIC_OR_PART | known._UNKNOWN_TOPIC | known._UNKNOWN_PARTITION:
                return NotFoundError(f"there is no topic '{self.topic.name}' at {self.topic}")
            case (
                known._AUTHENTICATION
                | known.SASL_AUTHENTICATION_FAILED
                | known.TOPIC_AUTHORIZATION_FAILED
                | known.CLUSTER_AUTHORIZATION_FAILED
            ):
                return UnauthorizedError(told, hint="--kafka-config names a file with credentials")
            case _:
                return RemoteError(told)


def _lost(message: str) -> NotFoundError:
    return NotFoundError(message, hint=_LOST_HINT)


def _is_passing(error: "kafka.KafkaError") -> bool:
    """Return whether the same may work a moment later."""
    import confluent_kafka as kafka

    known = kafka.KafkaError
    passing = (
        known._TRANSPORT,
        known._ALL_BROKERS_DOWN,
        known._TIMED_OUT,
        known._RESOLVE,
        known.LEADER_NOT_AVAILABLE,
        known.NOT_LEADER_FOR_PARTITION,
        known.REQUEST_TIMED_OUT,
        known.NETWORK_EXCEPTION,
    )
    return bool(error.retriable()) or error.code() in passing


def _told(failed: BaseException) -> str:
    """Return what an exception of the client says."""
    told = failed.args[0] if failed.args else failed
    return told.str() if hasattr(told, "str") else str(told)


def _value(message: "kafka.Message") -> bytes | None:
    value = message.value()
    return value.encode() if isinstance(value, str) else value
