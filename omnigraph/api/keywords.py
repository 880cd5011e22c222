"""Keywords: a call refuses those that it does not take."""

from collections.abc import Mapping

from omnigraph.syntax.problems import suggest


def check_keywords(call: str, given: Mapping[str, object], kind: type) -> None:
    """Raise TypeError, as Python does, for a keyword that is none of a typed dictionary."""
    known: frozenset[str] = getattr(kind, "__optional_keys__")  # noqa: B009 - a TypedDict has it
    for name in given:
        if name not in known:
            near = suggest(name, known)
            hint = "" if near is None else f"; {near}"
            raise TypeError(f"{call}() got an unexpected keyword argument '{name}'{hint}")
