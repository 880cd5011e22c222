"""Lines: messages of a topic as the lines of one load, and which of them violations are about."""

import json
from collections.abc import Sequence
from dataclasses import replace

from omnigraph.errors import Code, Violation, ViolationsError
from omnigraph.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a topic."""

    topic: str
    partition: int
    offset: int
    value: bytes | None

    def __str__(self) -> str:
        return f"{self.topic} partition {self.partition} offset {self.offset}"

    @property
    def line(self) -> bytes:
        """The message as one line of a load; what is no JSON object does not become one."""
        if self.value is None:
            return b"null\n"
        text = self.value.removesuffix(b"\n")
        return (_on_one_line(text) if b"\n" in text else text) + b"\n"


def _on_one_line(text: bytes) -> bytes:
    """Return JSON with other white space between its tokens; NUL keeps all else from being JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text.replace(b"\n", b"\0")
    return text.replace(b"\n", b" ")


def first_repeated(failed: ViolationsError) -> int | None:
    """Return how many messages come before the first one whose row is in the same load already."""
    lines = [
        each.line - 1
        for each in failed.violations
        if each.code is Code.REPEATED_KEY and each.line is not None and each.line > 1
    ]
    return min(lines, default=None)


def blamed(
    failed: ViolationsError, messages: Sequence[Message]
) -> dict[Message, ViolationsError] | None:
    """Return what is wrong with each bad message; None when something is about none of them."""
    found: dict[Message, list[Violation]] = {}
    for each in failed.violations:
        if each.line is None or each.line > len(messages):
            return None
        message = messages[each.line - 1]
        found.setdefault(message, []).append(placed(each, message))
    return {each: ViolationsError(wrong, total=len(wrong)) for each, wrong in found.items()}


def placed(violation: Violation, message: Message) -> Violation:
    """Return a violation that names the message and not its line in a load."""
    return replace(violation, file=str(message), line=None)


def placed_error(failed: ViolationsError, messages: Sequence[Message]) -> ViolationsError:
    """Return an error whose violations name messages, where they are about one."""
    found = [
        each if each.line is None else placed(each, messages[each.line - 1])
        for each in failed.violations
    ]
    return ViolationsError(found, total=failed.total)
