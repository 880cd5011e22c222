"""Statements: where a statement of the shell ends, and which words can come next in it."""

import re
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from omnigraph.frozen import dataclass
from omnigraph.query.editor.words import (
    CONSTANT_WORDS,
    FUNCTION_FORMS,
    OPERATOR_WORDS,
    QUERY_WORDS,
)

if TYPE_CHECKING:
    from omnigraph.schema.catalog import Catalog, EdgeType, Interface, NodeType

_SKIPPED = re.compile(r'"(?:[^"\\]|\\.)*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_QUERY = re.compile(r"\s*query\b")
_BOUND = re.compile(r"\$(\w+)\s*:\s*(\w+)")
_PROPERTY = re.compile(r"\$(\w+)\.(\w*)$")
_OF_TYPE = re.compile(r"(?::|\b(?:insert|replace|update|delete)\b)\s*(\w*)$")
_EDGE = re.compile(r"\$\w+\s+(\w*)$")
_WORD = re.compile(r"(\w*)$")
_COMMAND = re.compile(r"\s*(\.\w*)$")
_ARGUMENT = re.compile(r"\s*\.(\w+)\s+(\S*)$")
_WORDS = tuple(dict.fromkeys((*QUERY_WORDS, *OPERATOR_WORDS, *CONSTANT_WORDS, *FUNCTION_FORMS)))

# What people type without the dot; none of them begins a query.
PLAIN_COMMANDS = ("help", "quit", "exit")


def is_complete(text: str) -> bool:
    """Return whether a statement ends here.

    A command is one line. A query ends with its last brace, and what is not a whole query, but the
    body of one, ends with a semicolon.
    """
    if not text.strip() or text.lstrip().startswith(".") or text.strip() in PLAIN_COMMANDS:
        return True
    bare = _SKIPPED.sub(" ", text)
    if _QUERY.match(bare):
        return "{" in bare and bare.count("{") <= bare.count("}")
    return bare.rstrip().endswith(";")


def query_text(text: str) -> str:
    """Return a statement as a whole query."""
    bare = _SKIPPED.sub(lambda each: " " * len(each[0]), text).rstrip()
    if _QUERY.match(bare):
        return text
    body = (text[: len(bare) - 1] if bare.endswith(";") else text).strip()
    # A comment may end the last line.
    end = "\n" if "//" in body.rpartition("\n")[2] else " "
    return f"query q() {{ {body}{end}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellVocabulary:
    """The words that a shell offers: those of the language, and the names of the graph."""

    catalog: "Callable[[], Catalog]"
    commands: Iterable[str]
    arguments: "dict[str, Callable[[], Iterable[str]]]" = field(default_factory=dict)

    def next_words(self, text: str) -> tuple[str, list[str]]:
        """Return the word that was begun before the cursor, and those that it can become."""
        if found := _COMMAND.match(text):
            return _offered(found[1], (f".{name}" for name in self.commands))
        if found := _ARGUMENT.match(text):
            names = self.arguments.get(found[1])
            return _offered(found[2], () if names is None else names())
        if found := _PROPERTY.search(text):
            return _offered(found[2], self._properties(text, found[1]))
        if found := _OF_TYPE.search(text):
            catalog = self.catalog()
            return _offered(found[1], [*catalog.nodes, *catalog.interfaces, *catalog.edges])
        if found := _EDGE.search(text):
            edges = (name[:1].lower() + name[1:] for name in self.catalog().edges)
            return _offered(found[1], edges)
        found = _WORD.search(text)
        assert found is not None
        return _offered(found[1], _WORDS) if found[1] else ("", [])

    def _properties(self, text: str, variable: str) -> list[str]:
        """Return the properties of the type that a variable was given, or of all types."""
        catalog = self.catalog()
        types: dict[str, Interface | NodeType | EdgeType] = {
            **catalog.interfaces,
            **catalog.nodes,
            **catalog.edges,
        }
        bound = dict(_BOUND.findall(text)).get(variable)
        known = [types[bound]] if bound in types else list(types.values())
        return list(dict.fromkeys(name for each in known for name in ("id", *each.properties)))


def _offered(begun: str, names: Iterable[str]) -> tuple[str, list[str]]:
    return begun, [name for name in names if name.startswith(begun)]
