"""Loaded: what a load or an ingest did."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, Self

from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.html import html_facts, html_table, notebook_part
from omnigraph.look.words import counted
from omnigraph.versioning.commit import Commit, commit_if_named, with_commits
from omnigraph.write.counts import RowCounts, counts_document, counts_in


class LoadMode(StrEnum):
    """What a load does with existing rows."""

    APPEND = "append"
    MERGE = "merge"
    REPLACE = "replace"
    OVERWRITE = "overwrite"

    @property
    def looks_up(self) -> bool:
        """Whether records are compared with the rows of the same ids."""
        return self in (LoadMode.MERGE, LoadMode.REPLACE)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Loaded:
    """What a load did; without a commit it changed nothing.

    A load that 0.1 made and that is repeated has no `counts`. `made_branch` is true when an ingest
    created the branch.
    """

    branch: str
    mode: LoadMode
    engine: str
    nodes: dict[str, int]
    edges: dict[str, int]
    commit: Commit | None
    counts: RowCounts | None = None
    made_branch: bool = False

    def __repr__(self) -> str:
        nodes, edges = sum(self.nodes.values()), sum(self.edges.values())
        commit = None if self.commit is None else self.commit.id
        met = self.counts is not None and (self.counts.updated or self.counts.unchanged)
        counts = f" ({self.counts})" if met else ""
        about = f"{counted(nodes, 'node')}, {counted(edges, 'edge')}{counts}"
        return f"Loaded({about}, branch={self.branch!r}, commit={commit!r})"

    def _repr_html_(self) -> str:
        rows = [(name, f"{count:,}") for name, count in {**self.nodes, **self.edges}.items()]
        return notebook_part(html_facts(repr(self), (), html_table(("type", "rows"), rows)))

    def to_json(self, uri: str) -> dict[str, Json]:
        """Return the result as JSON."""
        return {
            "uri": uri,
            "branch": self.branch,
            "mode": str(self.mode),
            "engine": self.engine,
            "nodes_loaded": sum(self.nodes.values()),
            "edges_loaded": sum(self.edges.values()),
            "node_types_loaded": len(self.nodes),
            "edge_types_loaded": len(self.edges),
            **counts_document(self.counts),
            "commit": None if self.commit is None else self.commit.id,
        }

    def to_answer(self, uri: str) -> dict[str, Json]:
        """Return the JSON from which `from_json` reads the result back."""
        counts: dict[str, Json] = {"nodes": dict(self.nodes), "edges": dict(self.edges)}
        return with_commits({**self.to_json(uri), **counts}, self.commit)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the result that `to_answer` wrote."""
        return cls(
            branch=document["branch"],
            mode=LoadMode(document["mode"]),
            engine=document["engine"],
            nodes=dict(document["nodes"]),
            edges=dict(document["edges"]),
            counts=counts_in(document),
            commit=commit_if_named(document),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What an ingest did: the load, and whether it created its branch."""

    loaded: Loaded
    base_branch: str
    branch_created: bool
    actor: str | None

    def to_json(self, uri: str) -> dict[str, Json]:
        """Return the result as JSON."""
        loaded = self.loaded
        rows = {f"node:{k}": v for k, v in loaded.nodes.items()}
        rows |= {f"edge:{k}": v for k, v in loaded.edges.items()}
        commit = None if loaded.commit is None else loaded.commit.id
        return {
            "uri": uri,
            "branch": loaded.branch,
            "base_branch": self.base_branch,
            "branch_created": self.branch_created,
            "mode": str(loaded.mode),
            "engine": loaded.engine,
            "tables": [{"table_key": key, "rows_loaded": count} for key, count in rows.items()],
            **counts_document(loaded.counts),
            "actor_id": self.actor,
            "commit": commit,
        }

    def to_answer(self, uri: str) -> dict[str, Json]:
        """Return the JSON from which `from_json` reads the result back."""
        return {**self.to_json(uri), "loaded": self.loaded.to_answer(uri)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the result that `to_answer` wrote."""
        created = document["branch_created"]
        return cls(
            loaded=replace(Loaded.from_json(document["loaded"]), made_branch=created),
            base_branch=document["base_branch"],
            branch_created=created,
            actor=document["actor_id"],
        )
