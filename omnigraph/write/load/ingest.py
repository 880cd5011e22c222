"""Ingest: a load into a branch that is made with it when it is not there."""

from collections.abc import Sequence
from dataclasses import dataclass

from omnigraph.errors import Json
from omnigraph.spark.runner import Runner
from omnigraph.versioning.branches import create_branch
from omnigraph.versioning.repository import Repository
from omnigraph.write.load.load import Loaded, Target, load
from omnigraph.write.load.options import LoadOptions
from omnigraph.write.load.splits import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What an ingest did: the load, and whether it made its branch."""

    loaded: Loaded
    base_branch: str
    branch_created: bool
    actor: str | None

    def to_json(self, uri: str) -> dict[str, Json]:
        """Give the result in the stable machine form."""
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
            "actor_id": self.actor,
            "commit": commit,
        }


def ingest(
    repository: Repository,
    target: Target,
    base: str,
    sources: Sequence[Source],
    runner: Runner,
    options: LoadOptions,
) -> Ingested:
    """Load into a branch; a new one appears together with the commit, or not at all.

    A load of nothing makes the branch all the same, unless it is a dry run.
    """
    loaded = load(repository, target, sources, runner, options)
    if target.is_new and loaded.commit is None and not options.dry_run:
        create_branch(repository, target.branch, target.snapshot.commit.id)
    return Ingested(
        loaded=loaded,
        base_branch=base,
        branch_created=loaded.made_branch,
        actor=options.actor,
    )
