"""Prompt: a way to begin some work: what it takes, and the words for it."""

from collections.abc import Mapping

from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.mcp.wording import to_line
from omnigraph.policy.actions import Action
from omnigraph.syntax.problems import suggest


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A way to begin some work: its arguments with their meanings, and the words for it."""

    name: str
    about: str
    arguments: Mapping[str, str]
    words: str
    needs: Action | None = None

    def text(self, given: Mapping[str, str]) -> str:
        """Return the words for a model; what a caller gives stands in them as quoted data."""
        unknown = sorted(set(given) - set(self.arguments))
        if unknown:
            hint = suggest(unknown[0], self.arguments)
            raise InputError(f"the prompt '{self.name}' takes no '{unknown[0]}'", hint=hint)
        missing = [each for each in self.arguments if not given.get(each)]
        if missing:
            raise InputError(f"the prompt '{self.name}' needs '{missing[0]}'")
        return self.words.format(**{name: to_line(each) for name, each in given.items()})
