"""Ingest: a load into a branch that is made with it when it is not there."""

from collections.abc import Sequence
from dataclasses import dataclass

from omnigraph.errors import BranchNotFoundError, Json
from omnigraph.spark.runner import Runner
from omnigraph.versioning.branches import create_branch
from omnigraph.versioning.names import new_branch_name
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


def target_of(repository: Repository, branch: str, base: str) -> Target:
    """Pin a branch, or where a new one of this name starts."""
    try:
        return Target(branch, repository.snapshot(branch))
    except BranchNotFoundError:
        name = new_branch_name(branch)
        return Target(name, repository.snapshot_of(base), is_new=True)


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
    created = target.is_new and not options.dry_run
    return Ingested(loaded=loaded, base_branch=base, branch_created=created, actor=options.actor)
