"""Splice: adds or removes a member of a JSON object without changing any other byte."""

import json
import re

from omnigraph.frozen import dataclass

_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_MEMBER = re.compile(rb"\s*[{,]\s*(" + _STRING + rb")\s*:(\s*)")
_FLAT = re.compile(_STRING + rb'|\[[^\[\]{}"]*\]|[^\[\]{}",\s]+')
_BRACKET = re.compile(_STRING + rb"|([\[{])|([\]}])")


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A member of an object: its name, and where key and value are in the text."""

    name: str
    key: int
    start: int
    end: int
    gap: bytes


class JsonMembers:
    """The members of an object in a text that is valid JSON, duplicates included."""

    def __init__(self, text: bytes, start: int) -> None:
        """Find the members of the object whose brace opens at `start`."""
        self._text = text
        self._start = start
        self._found: list[JsonMember] = []
        at = start
        while (key := _MEMBER.match(text, at)) is not None:
            at = _end(text, key.end())
            self._found.append(JsonMember(_name(key[1]), key.start(1), key.end(), at, key[2]))

    def named(self, name: str) -> list[JsonMember]:
        """Return the members of a name: one, unless it is missing or repeated."""
        return [each for each in self._found if each.name == name]

    def value(self, name: str) -> bytes | None:
        """Return the text of a member's value, or None when there is no such member."""
        found = self.named(name)
        return self._text[found[-1].start : found[-1].end] if found else None

    def around(self, name: str) -> tuple[bytes, bytes]:
        """Return the text before and after the value of a member; a new one is added at the end."""
        found = self.named(name)
        if found:
            return self._text[: found[-1].start], self._text[found[-1].end :]
        last = self._found[-1] if self._found else None
        at = self._start + 1 if last is None else last.end
        gap = b" " if last is None else last.gap
        comma = b"" if last is None else b"," + gap
        key = json.dumps(name, ensure_ascii=False).encode()
        return self._text[:at] + comma + key + b":" + gap, self._text[at:]

    def without(self, name: str) -> bytes:
        """Return the text without a member that exists."""
        at = next(at for at, each in enumerate(self._found) if each.name == name)
        start, end = self._found[at].key, self._found[at].end
        if at > 0:
            start = self._found[at - 1].end
        elif len(self._found) > 1:
            end = self._found[1].key
        return self._text[:start] + self._text[end:]


def _name(key: bytes) -> str:
    name: str = json.loads(key) if b"\\" in key else key[1:-1].decode()
    return name


def _end(text: bytes, at: int) -> int:
    """Return where the value ends that begins at an offset."""
    flat = _FLAT.match(text, at)
    if flat is not None:
        return flat.end()
    depth = 0
    for token in _BRACKET.finditer(text, at):
        depth += (token[1] is not None) - (token[2] is not None)
        if not depth:
            return token.end()
    raise ValueError("the text is not valid JSON")
