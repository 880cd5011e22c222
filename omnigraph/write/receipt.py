"""Receipt: what a change did."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Self

from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.html import html_facts, notebook_part
from omnigraph.versioning.commit import Commit, commit_if_named, with_commits
from omnigraph.write.counts import RowCounts, counts_document, counts_in


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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

    def __repr__(self) -> str:
        about = "".join(f", {name}={value!r}" for name, value in self._facts() if name != "query")
        return f"Receipt({self.query_name!r}{about})"

    def _repr_html_(self) -> str:
        return notebook_part(html_facts("Receipt", self._facts()))

    def _facts(self) -> Iterator[tuple[str, object]]:
        """Yield what there is to say about the change."""
        yield "query", self.query_name
        yield "branch", self.branch
        told = (
            ("nodes", self.affected_nodes),
            ("edges", self.affected_edges),
            ("rows", None if self.counts is None else str(self.counts)),
            ("actor", self.actor),
        )
        yield from ((name, value) for name, value in told if value is not None)
        yield "commit", None if self.commit is None else self.commit.id

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
