"""Yaml: strict YAML: no aliases, duplicate or unknown keys; every problem with its line."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from omnigraph.errors import ConfigError
from omnigraph.syntax.problems import list_names, suggest

if TYPE_CHECKING:
    from yaml.nodes import Node

_MOST_BYTES = 256 * 1024
_MOST_PROBLEMS = 20
_MOST_DIGITS = 18
_TAG = "tag:yaml.org,2002:"
_KINDS = {
    "str": "text",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "timestamp": "a date",
    "seq": "a list",
    "map": "a mapping",
    "null": "nothing",
}
_SCALARS = ("str", "int", "float", "bool")


class Section:
    """One mapping of a YAML text; fields are read by name and kind, and null means absent.

    A problem with a field is noted, and a harmless value is returned for it; `check` raises one
    error with all that was noted.
    """

    def __init__(
        self, text: "_Text", place: str, node: "Node | None", known: Sequence[str] | None
    ) -> None:
        self._text = text
        self._place = place
        self._line = 1 if node is None else node.start_mark.line + 1
        self._nodes: dict[str, Node] = {}
        self._is_mapping = True
        if node is not None and _kind(node) != "null":
            self._is_mapping = self._is(node, place, "map")
        if node is not None and _kind(node) == "map":
            self._take(node, known)

    def noted(self) -> list[tuple[int, str]]:
        """Return all problems noted so far, in the whole text, each with its line."""
        return list(self._text.problems)

    def check(self) -> None:
        """Raise ConfigError with all problems noted so far."""
        self._text.check()

    def text(self, key: str) -> str | None:
        """Return a field as text, or None."""
        node = self._field(key)
        if node is None or not self._is(node, self._path(key), "str"):
            return None
        if not node.value.strip():
            self.report(key, "is empty")
        return str(node.value)

    def required(self, key: str) -> str:
        """Return a required field as text; a missing one is noted."""
        if self._is_mapping and self._field(key) is None:
            self._text.note(self._line, f"'{self._path(key)}' is missing")
        return self.text(key) or ""

    def is_text(self, key: str) -> bool:
        """Return whether a field is text, where other kinds are allowed too."""
        node = self._field(key)
        return node is not None and _kind(node) == "str"

    def is_list(self, key: str) -> bool:
        """Return whether a field is a list, where other kinds are allowed too."""
        node = self._field(key)
        return node is not None and _kind(node) == "seq"

    def line(self, key: str | None = None) -> int:
        """Return the line of a field, or of the mapping itself."""
        node = None if key is None else self._nodes.get(key)
        return self._line if node is None else node.start_mark.line + 1

    def flag(self, key: str) -> bool | None:
        """Return a field that is true or false, or None."""
        node = self._field(key)
        if node is None or not self._is(node, self._path(key), "bool"):
            return None
        return str(node.value).lower() in ("true", "yes", "on")

    def choice(self, key: str, choices: Sequence[str]) -> str | None:
        """Return a field that is one of `choices`, or None."""
        found = self.text(key)
        if found is not None and found not in choices:
            self.report(key, f"cannot be '{found}'{_meant(found, choices)}")
        return found

    def count(self, key: str) -> int | None:
        """Return a field as a whole number of at least 1, or None."""
        node = self._field(key)
        if node is None or not self._is(node, self._path(key), "int"):
            return None
        digits = node.value.replace("_", "")
        if len(digits) > _MOST_DIGITS:
            self.report(key, f"must have at most {_MOST_DIGITS} digits")
            return None
        if not digits.isascii() or not digits.isdigit() or int(digits) < 1:
            self.report(key, f"must be a whole number of at least 1, not {node.value}")
            return None
        return int(digits)

    def number(self, key: str) -> float | None:
        """Return a field as a number of more than 0, or None."""
        node = self._field(key)
        if node is None or not self._is(node, self._path(key), "int", "float"):
            return None
        try:
            found = float(node.value)
        except ValueError:
            found = math.nan
        if not 0 < found < math.inf:
            self.report(key, f"must be a number of more than 0, not {node.value}")
            return None
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a field as a list of texts."""
        node = self._field(key)
        if node is None or not self._is(node, self._path(key), "seq"):
            return ()
        items = enumerate(node.value)
        return tuple(
            str(item.value)
            for number, item in items
            if self._is(item, f"{self._path(key)}[{number}]", "str")
        )

    def scalars(self, key: str) -> dict[str, str]:
        """Return a field that maps names to scalars, each as it is written."""
        inner = self.section(key, None)
        return {
            name: str(node.value)
            for name, node in inner._nodes.items()
            if self._is(node, inner._path(name), *_SCALARS)
        }

    def section(self, key: str, known: Sequence[str] | None) -> "Section":
        """Return a field as a mapping with these keys; None allows any."""
        return Section(self._text, self._path(key), self._field(key), known)

    def sections(self, key: str, known: Sequence[str]) -> "dict[str, Section]":
        """Return a field that maps names to mappings with these keys."""
        inner = self.section(key, None)
        return {name: inner.section(name, known) for name in inner._nodes}

    def items(self, key: str, known: Sequence[str]) -> "list[Section]":
        """Return a field that is a list of mappings with these keys."""
        node = self._field(key)
        if node is None or not self._is(node, self._path(key), "seq"):
            return []
        places = (f"{self._path(key)}[{number}]" for number in range(len(node.value)))
        pairs = zip(places, node.value, strict=True)
        return [Section(self._text, place, item, known) for place, item in pairs]

    def lists(self, key: str) -> dict[str, tuple[str, ...]]:
        """Return a field that maps names to lists of texts."""
        inner = self.section(key, None)
        return {name: inner.texts(name) for name in inner._nodes}

    def __contains__(self, key: str) -> bool:
        return self._field(key) is not None

    def note(self, message: str) -> None:
        """Note a problem with the mapping as a whole."""
        place = f"'{self._place}' " if self._place else ""
        self._text.note(self._line, f"{place}{message}")

    def report(self, key: str, message: str) -> None:
        """Note a problem with a field."""
        self._text.note(self._nodes[key].start_mark.line + 1, f"'{self._path(key)}' {message}")

    def _field(self, key: str) -> "Node | None":
        node = self._nodes.get(key)
        return None if node is None or _kind(node) == "null" else node

    def _path(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key

    def _is(self, node: "Node", place: str, *kinds: str) -> bool:
        kind = _kind(node)
        if kind in kinds:
            return True
        wanted, found = _KINDS[kinds[0]], _KINDS.get(kind, f"of the unknown kind {node.tag}")
        quoted = "; put it in quotes" if kinds[0] == "str" and kind in _SCALARS else ""
        what = f"'{place}'" if place else "the file"
        line = node.start_mark.line + 1
        self._text.note(line, f"{what} must be {wanted}, not {found}{quoted}")
        return False

    def _take(self, node: "Node", known: Sequence[str] | None) -> None:
        seen: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not self._is(key, self._path(str(key.value)), "str"):
                continue
            if key.value in seen:
                self._text.note(line, f"'{self._path(key.value)}' is repeated")
            elif known is not None and key.value not in known:
                meant = _meant(key.value, known)
                self._text.note(line, f"unknown key '{self._path(key.value)}'{meant}")
            else:
                self._nodes[key.value] = value
            seen.add(key.value)


def parse_yaml(name: str, data: bytes, known: Sequence[str]) -> Section:
    """Parse a text whose top level is a mapping; raise ConfigError if it is not valid YAML."""
    text = _Text(name)
    return Section(text, "", _root(text, data), known)


class _Text:
    """A text's name and the problems found in it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[tuple[int, str]] = []

    def note(self, line: int, message: str) -> None:
        self.problems.append((line, message))

    def check(self) -> None:
        if not self.problems:
            return
        ordered = sorted(self.problems, key=lambda problem: problem[0])
        lines = [f"{self.name}:{line}: {message}" for line, message in ordered[:_MOST_PROBLEMS]]
        if len(ordered) > _MOST_PROBLEMS:
            lines.append(f"… and {len(ordered) - _MOST_PROBLEMS} more")
        raise ConfigError("\n".join(lines))


def _root(text: _Text, data: bytes) -> "Node | None":
    import yaml

    from omnigraph.files.nodes import compose

    if len(data) > _MOST_BYTES:
        raise ConfigError(f"{text.name}: the file has more than {_MOST_BYTES:,} bytes")
    try:
        decoded = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{text.name}: the text is not UTF-8") from None
    root = None
    try:
        root = compose(decoded, text.note)
    except yaml.MarkedYAMLError as failed:
        mark = failed.problem_mark or failed.context_mark
        text.note(1 if mark is None else mark.line + 1, failed.problem or "this is not valid YAML")
    except yaml.YAMLError as failed:
        text.note(1, str(failed).splitlines()[0])
    text.check()
    return root


def _kind(node: "Node") -> str:
    return str(node.tag).removeprefix(_TAG)


def _meant(name: str, known: Iterable[str]) -> str:
    """Return a hint with the known name most like a wrong one, or with all of them."""
    names = list(known)
    expected = f"expected {list_names(names)}" if names else "the file defines none"
    return f"; {suggest(name, names) or expected}"
