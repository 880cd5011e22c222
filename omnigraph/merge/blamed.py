"""Blamed: one property, its value, and the commit that set it."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import StoredType
from omnigraph.schema.json_rows import property_from_json
from omnigraph.schema.values import to_json_value
from omnigraph.versioning.commit import Commit, commit_named, time_text, with_commits


@dataclass(frozen=True, slots=True, repr=False)
class Blamed:
    """A property, its value, and the commit that set it.

    With `or_earlier` a cleanup removed what was before the commit, so an older one may have set it.
    """

    property: str
    value: object
    commit: Commit
    or_earlier: bool = False

    def __repr__(self) -> str:
        return f"Blamed({self})"

    def __str__(self) -> str:
        who = "" if self.commit.actor is None else f" by {self.commit.actor}"
        said = "" if self.commit.message is None else f": {self.commit.message}"
        older = " or earlier" if self.or_earlier else ""
        when = time_text(self.commit.created_at)
        return f"{self.property} = {self.value!r}, {when}{older}{who} ({self.commit.id}){said}"

    def to_json(self) -> dict[str, Json]:
        return {
            "property": self.property,
            "value": to_json_value(self.value),
            "commit": self.commit.id,
            "actor_id": self.commit.actor,
            "created_at": self.commit.created_at,
            "message": self.commit.message,
            "or_earlier": self.or_earlier,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], stored: StoredType) -> Self:
        """Return one entry of `blame_json`; the stored type has the types of its values."""
        name = document["property"]
        value = property_from_json(document["value"], stored, name)
        # A server of release 0.1 does not say it: its answers always end at the commit.
        or_earlier = document.get("or_earlier", False)
        return cls(name, value, commit_named(document, "commit"), or_earlier)


def blame_json(blamed: Sequence[Blamed]) -> dict[str, Json]:
    """Return who set the properties of a row as JSON, with the commits."""
    rows: Json = [each.to_json() for each in blamed]
    return with_commits({"blame": rows}, *(each.commit for each in blamed))


def blame_from_json(document: Mapping[str, Any], stored: StoredType) -> list[Blamed]:
    """Return who set the properties of a row, as `blame_json` wrote it."""
    commits = document["commits"]
    return [Blamed.from_json({**each, "commits": commits}, stored) for each in document["blame"]]
