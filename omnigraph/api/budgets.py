"""Budgets: what the work on a graph may take there, for all actors and for some of them."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from omnigraph.errors import Json
from omnigraph.files.yaml import Section
from omnigraph.frozen import dataclass

# The limits of a server that can be others for a graph or an actor.
SECONDS = (
    "query_seconds",
    "answer_seconds",
    "load_seconds",
    "merge_seconds",
    "export_seconds",
    "changes_seconds",
    "write_seconds",
)
BYTES = ("query_bytes", "load_bytes", "merge_bytes", "export_bytes", "changes_bytes")
_ACTORS = "actors"


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits with other values than the server has: for all actors, and by the name of an actor."""

    common: Mapping[str, float] = field(default_factory=dict)
    actors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.common or self.actors)

    def of(self, actor: str | None) -> dict[str, float]:
        """Return the limits that hold for an actor; those of the actor go before the common."""
        return {**self.common, **self.actors.get(actor or "", {})}

    def under(self, wider: "Budgets") -> "Budgets":
        """Return these budgets, completed with those of a deployment as a whole."""
        names = {**wider.actors, **self.actors}
        return Budgets(
            {**wider.common, **self.common},
            {name: {**wider.actors.get(name, {}), **self.actors.get(name, {})} for name in names},
        )

    def to_json(self) -> dict[str, Json]:
        """Return the budgets as JSON."""
        return {**self.common, _ACTORS: {name: dict(each) for name, each in self.actors.items()}}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Budgets":
        """Return the budgets that `to_json` returned as JSON."""
        common = {name: each for name, each in document.items() if name != _ACTORS}
        return cls(common, document.get(_ACTORS, {}))


NO_BUDGETS = Budgets()


def parse_budgets(section: Section, key: str) -> Budgets:
    """Read a mapping of limits, with those of single actors below `actors`."""
    if key not in section:
        return NO_BUDGETS
    inner = section.section(key, (*SECONDS, *BYTES, _ACTORS))
    actors = inner.sections(_ACTORS, (*SECONDS, *BYTES))
    return Budgets(_limits(inner), {name: _limits(each) for name, each in actors.items()})


def _limits(section: Section) -> dict[str, float]:
    seconds = {name: section.number(name) for name in SECONDS}
    sizes = {name: section.count(name) for name in BYTES}
    return {name: each for name, each in (*seconds.items(), *sizes.items()) if each is not None}
