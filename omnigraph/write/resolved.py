"""Resolved: what became of two nodes that are one."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Self

from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.versioning.commit import Commit, commit_if_named, with_commits
from omnigraph.write.counts import RowCounts, counts_document, counts_in


class Choice(StrEnum):
    """Whose value is kept, where both nodes have one."""

    INTO = "into"
    FROM = "from"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What became of two nodes that are one; without a commit nothing was written.

    `properties` are those that the node `into` has other values of than before. `repointed` edges
    got an end at it instead of at the `duplicate`, and `folded` ones were joined with an edge of
    the same ends. A server hides all three, and the counts, from those who may not read the branch.
    """

    branch: str
    type: str
    into: str
    duplicate: str
    properties: tuple[str, ...] | None
    repointed: int | None
    folded: int | None
    counts: RowCounts | None
    commit: Commit | None = field(repr=False)
    actor: str | None = None

    @property
    def operation_id(self) -> str | None:
        """The id by which a repetition of the same change is recognized."""
        return None if self.commit is None else self.commit.operation_id

    def to_json(self) -> dict[str, Json]:
        """Return what was done as JSON."""
        return {
            "branch": self.branch,
            "type": self.type,
            "into": self.into,
            "from": self.duplicate,
            "properties": None if self.properties is None else list(self.properties),
            "repointed": self.repointed,
            "folded": self.folded,
            **counts_document(self.counts),
            "actor_id": self.actor,
            "commit": None if self.commit is None else self.commit.id,
            "operation_id": self.operation_id,
        }

    def to_answer(self) -> dict[str, Json]:
        """Return the JSON from which `from_json` reads it back."""
        return with_commits(self.to_json(), self.commit)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return what `to_answer` wrote."""
        properties = document["properties"]
        return cls(
            branch=document["branch"],
            type=document["type"],
            into=document["into"],
            duplicate=document["from"],
            properties=None if properties is None else tuple(properties),
            repointed=document["repointed"],
            folded=document["folded"],
            counts=counts_in(document),
            commit=commit_if_named(document),
            actor=document["actor_id"],
        )
