"""Ingest: a load into a branch that is created with it when it does not exist."""

from collections.abc import Sequence

from omnigraph.spark.runner import Runner
from omnigraph.versioning.branches import create_branch
from omnigraph.versioning.repository import Repository
from omnigraph.write.load.load import LoadTarget, load
from omnigraph.write.load.loaded import Ingested
from omnigraph.write.load.options import LoadOptions
from omnigraph.write.load.sources.splits import LoadSource


def ingest(
    repository: Repository,
    target: LoadTarget,
    base: str,
    sources: Sequence[LoadSource],
    runner: Runner,
    options: LoadOptions,
) -> Ingested:
    """Load into a branch; a new one appears together with the commit, or not at all.

    A load of nothing creates the branch all the same, unless it is a dry run.
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
