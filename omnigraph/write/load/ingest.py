"""Ingest: a load into a branch that is made with it when it is not there."""

from collections.abc import Sequence

from omnigraph.errors import BranchNotFoundError
from omnigraph.spark.runner import Runner
from omnigraph.versioning.branches import create_branch
from omnigraph.versioning.names import new_branch_name
from omnigraph.versioning.repository import Repository
from omnigraph.write.load.load import Target, load
from omnigraph.write.load.loaded import Ingested
from omnigraph.write.load.options import LoadOptions
from omnigraph.write.load.splits import Source


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
