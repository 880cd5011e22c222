"""New fact: what is to be remembered."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import date

from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.memory.shape import FACT, MemoryShape
from omnigraph.syntax.problems import shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFact:
    """What is to be remembered.

    `about` names entities, and `aliases` says under which other names. `replaces` are facts that
    end where this one begins.
    """

    text: str
    about: Sequence[str]
    source: str
    since: date
    until: date | None = None
    attribute: str | None = None
    value: str | None = None
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    replaces: Sequence[str] = ()

    def check(self, shape: MemoryShape) -> None:
        """Raise InputError for a fact that says too little, or contradicts itself."""
        for name, text in (("text", self.text), ("source", self.source)):
            if not text.strip():
                raise InputError(f"a fact needs a {name}")
        if not self.about or not all(each.strip() for each in self.about):
            raise InputError("a fact is about at least one entity", hint="name it in `about`")
        unknown = [each for each in self.aliases if each not in self.about]
        if unknown:
            raise InputError(f"'{shorten(unknown[0])}' has aliases, but the fact is not about it")
        if self.until is not None and self.until <= self.since:
            raise InputError(f"a fact from {self.since} cannot end on {self.until}")
        if (self.attribute is None) != (self.value is None):
            raise InputError("an attribute needs a value, and a value an attribute")
        if self.attribute is not None and not shape.has_claims:
            raise InputError(f"{FACT} has no properties 'attribute' and 'value'")
