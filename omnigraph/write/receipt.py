"""Receipt: what a change did."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from omnigraph.errors import Json
from omnigraph.versioning.commit import Commit, commit_if_named, with_commits
from omnigraph.write.counts import RowCounts, counts_document, counts_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a change did; without a commit there was nothing to change.

    A server hides the counts from those who may not read the branch. A change that 0.1 made and
    that is repeated has no `counts`.
    """

    branch: str
    query_name: str
    affected_nodes: int | None
    affected_edges: int | None
    counts: RowCounts | None
    commit: Commit | None = field(repr=False)
    actor: str | None = None

    @property
    def operation_id(self) -> str | None:
        """The id by which a repetition of the same change is recognized."""
        return None if self.commit is None else self.commit.operation_id

    def to_json(self) -> dict[str, Json]:
        """Return the receipt as JSON."""
        return {
            "branch": self.branch,
            "query_name": self.query_name,
            "affected_nodes": self.affected_nodes,
            "affected_edges": self.affected_edges,
            **counts_document(self.counts),
            "actor_id": self.actor,
            "commit": None if self.commit is None else self.commit.id,
            "operation_id": self.operation_id,
        }

    def to_answer(self) -> dict[str, Json]:
        """Return the JSON from which `from_json` reads the receipt back."""
        return with_commits(self.to_json(), self.commit)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the receipt that `to_answer` wrote."""
        return cls(
            branch=document["branch"],
            query_name=document["query_name"],
            affected_nodes=document["affected_nodes"],
            affected_edges=document["affected_edges"],
            counts=counts_in(document),
            commit=commit_if_named(document),
            actor=document["actor_id"],
        )
