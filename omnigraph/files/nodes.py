"""Nodes: a YAML text as nodes; what could take long or nothing can hold is noted on the way."""

import re
from collections.abc import Callable
from typing import cast

import yaml

_DEEPEST = 32
_TOO_LARGE = "a number is too large for an escape or a version of YAML"
# What is written as an escape, and neither a path nor anything else can hold.
_UNFIT = re.compile("[\0\ud800-\udfff]")


def compose(text: str, note: Callable[[int, str], None]) -> yaml.Node | None:
    """Return the root of a text, None if it is empty; problems are noted with their lines.

    Raises YAMLError for a text that is not YAML.
    """
    loader = _Loader(text, note)
    try:
        return loader.get_single_node()
    except (ValueError, OverflowError) as failed:
        # PyYAML makes numbers of the digits of an escape and of %YAML, and does not check them.
        mark = loader.get_mark()
        raise yaml.MarkedYAMLError(problem=_TOO_LARGE, problem_mark=mark) from failed
    finally:
        loader.dispose()


class _Loader(yaml.SafeLoader):
    """Follows no alias and goes only so deep, so that a short text takes a short time."""

    def __init__(self, text: str, note: Callable[[int, str], None]) -> None:
        super().__init__(text)
        self._note = note
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next node; one that is empty stands for an alias."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        mark = cast("yaml.Mark", event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            self._note(mark.line + 1, f"the alias '*{event.anchor}' is not allowed")
            self.get_event()  # type: ignore[no-untyped-call]
            return yaml.ScalarNode("tag:yaml.org,2002:null", "", mark, mark)
        if isinstance(event, yaml.ScalarEvent) and _UNFIT.search(event.value):
            self._note(mark.line + 1, "a text has a NUL or half of a surrogate pair in it")
        if isinstance(event, yaml.CollectionStartEvent) and self._depth == _DEEPEST:
            problem = f"the nesting is deeper than {_DEEPEST}"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node
