"""Facts: facts as they are recalled, and what remembering one did."""

from collections.abc import Iterator
from datetime import date
from typing import Any

from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.schema.values import to_json_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that was said: true from `since`, and before `until` if that is known.

    `about` are the names of entities, and `sources` the titles of where it was said.
    """

    id: str
    text: str
    since: date
    until: date | None = None
    attribute: str | None = None
    value: str | None = None
    about: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the fact as JSON."""
        return {
            "id": self.id,
            "text": self.text,
            "since": to_json_value(self.since),
            "until": to_json_value(self.until),
            "attribute": self.attribute,
            "value": self.value,
            "about": [*self.about],
            "sources": [*self.sources],
        }


@dataclass(frozen=True, slots=True)
class Recalled:
    """Facts that answer a question, best first; `notes` say what could not be searched, and why."""

    facts: tuple[Fact, ...]
    commit: str
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    def to_json(self) -> dict[str, Json]:
        """Return the facts as JSON."""
        facts: list[Json] = [each.to_json() for each in self.facts]
        return {"facts": facts, "notes": [*self.notes], "commit": self.commit}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two facts that give one attribute of an entity different values at one time."""

    entity: str
    attribute: str
    one: Fact
    other: Fact

    def to_json(self) -> dict[str, Json]:
        """Return the contradiction as JSON."""
        return {
            "entity": self.entity,
            "attribute": self.attribute,
            "one": self.one.to_json(),
            "other": self.other.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What remembering a fact did; `commit` is None where all of it was known.

    `entities` and `source` are ids, and `new` those that were made with it. `ended` are the facts
    that it replaces. `twins` are pairs of entities that may be one, because they share a name.
    """

    branch: str
    fact: str
    commit: str | None
    is_new: bool
    entities: tuple[str, ...]
    source: str
    new: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    twins: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return what was done as JSON."""
        found: dict[str, Any] = {
            name: getattr(self, name) for name in ("branch", "fact", "commit", "is_new", "source")
        }
        return {
            **found,
            "entities": [*self.entities],
            "new": [*self.new],
            "ended": [*self.ended],
            "contradictions": [each.to_json() for each in self.contradictions],
            "twins": [[*each] for each in self.twins],
        }
