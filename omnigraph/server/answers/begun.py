"""Begun: an answer that is too large to be made at once: what was made, and how to go on."""

import time
from collections.abc import Iterator
from dataclasses import field

from omnigraph.errors import BudgetError
from omnigraph.frozen import dataclass
from omnigraph.server.call import Stream, WholeAnswer

# Answers up to about this size are made before anything is sent, so that an error is an answer.
_FIRST_BYTES = 1 << 20


@dataclass(slots=True)
class Begun:
    """The first part of an answer, and the parts that are still to be made.

    Every part is counted; `next` raises BudgetError when they are too many bytes, took too long to
    make, or were not taken in time.
    """

    stream: Stream
    seconds: float
    size: int = 0
    first: bytes = b""
    _parts: Iterator[bytes] = field(init=False)
    _began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._parts = iter(self.stream.parts)

    def next(self) -> bytes | None:
        """Make the next part; None when there is none."""
        began = time.monotonic()
        part = next(self._parts, None)
        now = time.monotonic()
        self.seconds += now - began
        self.size += len(part or b"")
        budget, taken = self.stream.budget, self.stream.taken_seconds
        if self.size > budget.bytes:
            message = f"the answer is larger than {budget.bytes >> 20:,} MiB"
            raise BudgetError(message, limit="bytes", setting=self.stream.sized_by)
        if self.seconds > budget.seconds:
            message = f"the answer took longer than {budget.seconds:g} s to make"
            raise BudgetError(message, limit="seconds")
        if taken is not None and now - self._began > taken:
            message = f"the answer was not taken within {taken:g} s"
            raise BudgetError(message, limit="seconds", setting="answer_seconds")
        return part

    def close(self) -> None:
        """Close what the parts are made from."""
        close = getattr(self._parts, "close", None)
        if close is not None:
            close()


def begun(stream: Stream, since: float) -> WholeAnswer | Begun:
    """Make the first part of an answer; one that is small is whole with that."""
    found = Begun(stream, seconds=time.monotonic() - since)
    made: list[bytes] = []
    try:
        while found.size < _FIRST_BYTES:
            part = found.next()
            if part is None:
                body = b"".join(made)
                return WholeAnswer(body, stream.media_type, stream.status, stream.headers)
            made.append(part)
    except BaseException:
        found.close()
        raise
    found.first = b"".join(made)
    return found
