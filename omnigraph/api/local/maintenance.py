"""Maintenance: schemas, indexes, files and the health of a graph at hand."""

from typing import TYPE_CHECKING

from omnigraph.api.access import Access
from omnigraph.api.backend import CallOptions
from omnigraph.api.local.places import Functions, snapshot_of
from omnigraph.api.operations.maintenance import (
    BackUp,
    CheckFiles,
    CleanUp,
    GetCoverage,
    OptimizeBranch,
)
from omnigraph.api.operations.schemas import ApplySchema, PlanSchema
from omnigraph.evolve.plan import SchemaApplied, SchemaPlan
from omnigraph.maintain.reports import Checkup, Cleaned, Copied, Coverage, Optimized
from omnigraph.policy.actions import Action
from omnigraph.syntax.source import make_source
from omnigraph.versioning.history.retention import GRACE, retention
from omnigraph.versioning.notes import check_notes
from omnigraph.versioning.transact import Intent

if TYPE_CHECKING:
    from omnigraph.maintain.keywords import OptimizeKeywords


def plan_schema(access: Access, operation: PlanSchema, options: CallOptions) -> SchemaPlan:
    """Return what a schema would change on a branch, and what is in its way."""
    from omnigraph.evolve.migrate import plan_schema as plan
    from omnigraph.spark.deadline import deadline_of

    access.check(operation.branch, Action.READ)
    source = options.source or make_source(operation.schema_source, "<schema>")
    deadline = deadline_of("plan of the schema", options.seconds, options.cancelled)
    return plan(access.repository, source, operation.branch, deadline)


def apply_schema(access: Access, operation: ApplySchema, options: CallOptions) -> SchemaApplied:
    """Apply a schema to a branch, with everything that follows for its tables."""
    from omnigraph.evolve.migrate import apply_schema as apply
    from omnigraph.spark.deadline import deadline_of

    with access.expecting(operation.branch, Action.SCHEMA_APPLY, operation.expect):
        check_notes(message=operation.message, operation=options.operation_id)
        intent = Intent(
            branch=operation.branch,
            actor=access.author(options.actor),
            message=operation.message,
            expect=operation.expect,
            operation_id=options.operation_id,
        )
        source = options.source or make_source(operation.schema_source, "<schema>")
        deadline = deadline_of("change of the schema", options.seconds, options.cancelled)
        allowed = operation.allow_data_loss
        return apply(access.repository, source, intent, deadline, allow_data_loss=allowed)


def get_coverage(access: Access, operation: GetCoverage, options: CallOptions) -> list[Coverage]:
    """Return for each index how many rows are in it, and why not all."""
    from omnigraph.maintain.coverage import coverage

    return coverage(snapshot_of(access, operation.place, options))


def optimize_branch(access: Access, operation: OptimizeBranch, options: CallOptions) -> Optimized:
    """Rewrite a branch in few large files, all indexed."""
    from omnigraph.maintain.optimize import optimize, optimize_options
    from omnigraph.spark.choice import Engine
    from omnigraph.spark.progress import NO_PROGRESS

    with access.maintaining():
        how: OptimizeKeywords = {
            "indexes_only": operation.indexes_only,
            "types": operation.types or (),
            "exclude": operation.exclude or (),
            "engine": options.engine or Engine.AUTO,
            "spark": options.spark,
            "concurrency": options.concurrency,
            "actor": access.author(options.actor),
            "progress": options.progress or NO_PROGRESS,
            "seconds": options.seconds,
            "cancelled": options.cancelled,
        }
        return optimize(access.repository, operation.branch, optimize_options(how))


def clean_up(access: Access, operation: CleanUp, options: CallOptions) -> Cleaned:
    """Remove what only old commits need, or report what that would be."""
    from omnigraph.maintain.cleanup import cleanup
    from omnigraph.maintain.scope import Scope
    from omnigraph.spark.deadline import deadline_of
    from omnigraph.spark.progress import NO_PROGRESS

    with access.maintaining():
        grace = GRACE if operation.grace is None else operation.grace
        rule = retention(operation.keep, operation.older_than, grace)
        return cleanup(
            access.repository,
            rule,
            confirm=operation.confirm,
            scope=Scope.of(operation.branches, operation.types),
            progress=options.progress or NO_PROGRESS,
            deadline=deadline_of("cleanup", options.seconds, options.cancelled),
        )


def check_files(access: Access, operation: CheckFiles, options: CallOptions) -> Checkup:
    """Check everything that the graph is made of; nothing is changed."""
    from omnigraph.maintain.fsck import fsck
    from omnigraph.maintain.scope import Scope
    from omnigraph.spark.deadline import deadline_of
    from omnigraph.spark.progress import NO_PROGRESS

    with access.maintaining():
        scope = Scope.of(operation.branches, operation.types)
        deadline = deadline_of("check of the files", options.seconds, options.cancelled)
        return fsck(access.repository.store, scope, options.progress or NO_PROGRESS, deadline)


def back_up(access: Access, operation: BackUp, options: CallOptions) -> Copied:
    """Make or renew a consistent copy of the graph in another place."""
    from omnigraph.maintain.backup import BackupOptions, backup
    from omnigraph.spark.deadline import deadline_of
    from omnigraph.spark.progress import NO_PROGRESS

    access.allow(Action.ADMIN)
    how = BackupOptions(
        verify=operation.verify,
        progress=options.progress or NO_PROGRESS,
        deadline=deadline_of("backup", options.seconds, options.cancelled),
    )
    return backup(access.repository, operation.dest, how)


FUNCTIONS: Functions = {
    PlanSchema: plan_schema,
    ApplySchema: apply_schema,
    GetCoverage: get_coverage,
    OptimizeBranch: optimize_branch,
    CleanUp: clean_up,
    CheckFiles: check_files,
    BackUp: back_up,
}
