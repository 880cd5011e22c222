"""Writes: mutations, resolutions and loads of a graph at hand."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING

from omnigraph.api.access import Access
from omnigraph.api.backend import CallOptions
from omnigraph.api.local.places import Functions
from omnigraph.api.operation import named_or_main
from omnigraph.api.operations.write import EmbedAgain, Ingest, Load, Mutate, Resolve
from omnigraph.errors import BranchNotFoundError, HeadMovedError, InputError
from omnigraph.merge.review import reviews
from omnigraph.policy.actions import Action
from omnigraph.query.compile import AcceptedSchema, compile_cached
from omnigraph.query.params import bind_params
from omnigraph.query.plan import MutationPlan
from omnigraph.syntax.source import make_source
from omnigraph.versioning.names import new_branch_name
from omnigraph.versioning.notes import check_notes
from omnigraph.versioning.operations import find_operation
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent
from omnigraph.versioning.unknown_outcome import unknown_outcome
from omnigraph.write.load.loaded import Ingested, Loaded
from omnigraph.write.receipt import Receipt
from omnigraph.write.resolved import Choice, Resolved

if TYPE_CHECKING:
    from omnigraph.spark.runner import Runner
    from omnigraph.write.load.keywords import LoadKeywords
    from omnigraph.write.load.load import LoadTarget
    from omnigraph.write.load.options import LoadOptions
    from omnigraph.write.load.sources.splits import LoadSource


_ATTEMPTS = 5
_LOOK = "list the branches before repeating it"


def mutate(access: Access, operation: Mutate, options: CallOptions) -> Receipt:
    """Run a mutation as one commit."""
    from omnigraph.read.execution import Budget, PlanRequest
    from omnigraph.spark.deadline import deadline_of
    from omnigraph.write.mutation import publish_mutation

    if operation.snapshot is not None:
        raise InputError("a snapshot never changes", hint="name a branch")
    branch = named_or_main(operation.branch)
    access.allow(Action.CHANGE, branch)
    source = options.source or make_source(operation.query_source, "<query>")
    now = datetime.now(UTC)

    def planned(snapshot: Snapshot) -> tuple[MutationPlan, PlanRequest]:
        schema = AcceptedSchema(snapshot.commit.schema, snapshot.catalog)
        plan = compile_cached(source, schema, operation.query_name)
        if not isinstance(plan, MutationPlan):
            hint = "run it with Branch.query, or with omnigraph read"
            raise InputError(f"'{plan.name}' is a read", hint=hint)
        terms = PlanRequest(
            params=bind_params(plan, operation.params or {}),
            now=now,
            budget=options.budget or Budget(),
            environment=access.repository.store.variables,
            cancelled=options.cancelled or Event(),
            source=source,
        )
        return plan, terms

    check_notes(message=operation.message, operation=options.operation_id)
    intent = Intent(
        branch=branch,
        actor=access.author(options.actor),
        message=operation.message,
        expect=operation.expect,
        operation_id=options.operation_id,
        check=deadline_of("change", None, options.cancelled).check,
    )
    with access.expecting(branch, Action.CHANGE, operation.expect):
        return publish_mutation(access.repository, access.topology, planned, intent)


def resolve(access: Access, operation: Resolve, options: CallOptions) -> Resolved:
    """Make two nodes one, as one commit, or say what that would do."""
    from omnigraph.spark.deadline import deadline_of
    from omnigraph.write.resolve import Resolution, preview_resolution, publish_resolution

    asked = Resolution(
        type=operation.type,
        into=operation.into,
        duplicate=operation.duplicate,
        take=Choice(operation.take),
        properties={name: Choice(each) for name, each in (operation.properties or {}).items()},
        aliases=operation.aliases,
    )
    check_notes(message=operation.message, operation=options.operation_id)
    branch = named_or_main(operation.branch)
    intent = Intent(
        branch=branch,
        actor=access.author(options.actor),
        message=operation.message,
        expect=operation.expect,
        operation_id=options.operation_id,
        check=deadline_of("resolution", options.seconds, options.cancelled).check,
    )
    run = preview_resolution if operation.dry_run else publish_resolution
    with access.expecting(branch, Action.CHANGE, operation.expect):
        return run(access.repository, asked, intent)


def load(access: Access, operation: Load, options: CallOptions) -> Loaded:
    """Load rows into a branch that is there."""
    from omnigraph.write.load.load import LoadTarget
    from omnigraph.write.load.load import load as run_load

    how = _load_options(access, operation, options)
    branch = named_or_main(operation.branch)
    target = LoadTarget(branch, _pinned(access, branch, how))
    how = replace(how, shows_rows=access.shows(branch, Action.CHANGE))
    with _job(access, operation, options, target, how) as (sources, runner):
        return run_load(access.repository, target, sources, runner, how)


def embed_again(access: Access, operation: EmbedAgain, options: CallOptions) -> Loaded:
    """Load all rows of types once more without their vectors, which are made anew."""
    branch = named_or_main(operation.branch)
    for _ in range(_ATTEMPTS - 1):
        with suppress(HeadMovedError):
            return _embed_at(access, operation, access.standing(branch, Action.CHANGE), options)
    try:
        return _embed_at(access, operation, access.standing(branch, Action.CHANGE), options)
    except HeadMovedError as moved:
        if access.shows(branch, Action.CHANGE):
            raise
        # Its message would tell where the branch stands.
        raise HeadMovedError(f"'{branch}' kept moving", hint=moved.hint) from None


def _embed_at(
    access: Access, operation: EmbedAgain, snapshot: Snapshot, options: CallOptions
) -> Loaded:
    """Make the vectors of a commit anew, if its branch still stands there then."""
    from omnigraph.write.again import rows_to_embed
    from omnigraph.write.load.load import LoadTarget
    from omnigraph.write.load.load import load as run_load

    branch = named_or_main(operation.branch)
    rows = Load(
        branch=branch,
        mode="merge",
        message=operation.message or "make vectors anew",
        data=rows_to_embed(snapshot, operation.types or ()),
    )
    how = replace(
        _load_options(access, rows, options),
        embeds_again=True,
        expect=snapshot.commit.id,
        shows_rows=access.shows(branch, Action.CHANGE),
    )
    target = LoadTarget(branch, snapshot)
    with _job(access, rows, options, target, how) as (sources, runner):
        return run_load(access.repository, target, sources, runner, how)


def ingest(access: Access, operation: Ingest, options: CallOptions) -> Ingested:
    """Load rows into a branch, which is made with them when it is not there."""
    from omnigraph.write.load.ingest import ingest as run_ingest
    from omnigraph.write.load.load import LoadTarget

    how = _load_options(access, operation, options)
    branch, base = named_or_main(operation.branch), named_or_main(operation.base)
    snapshot, is_new = access.ingesting(branch, base)
    how = replace(how, shows_rows=is_new or access.shows(branch, Action.CHANGE))
    target = LoadTarget(new_branch_name(branch) if is_new else branch, snapshot, is_new, base)
    earlier = _done_before(access, how)
    if earlier is not None:
        target = replace(target, snapshot=earlier, is_new=False)
    left = reviews.left_over(access.repository, branch) if target.is_new else []
    with _job(access, operation, options, target, how) as (sources, runner):
        done = run_ingest(access.repository, target, base, sources, runner, how)
    if done.branch_created:
        with unknown_outcome(f"'{branch}' was made, but has an old review", _LOOK):
            reviews.drop(access.repository, left)
    return done


def _pinned(access: Access, branch: str, how: "LoadOptions") -> Snapshot:
    """Pin a branch for a load, or the commit that this load led to before."""
    try:
        standing = access.standing(branch, Action.CHANGE)
    except BranchNotFoundError:
        earlier = _done_before(access, how)
        if earlier is None:
            raise
        return earlier
    return _done_before(access, how) or standing


def _done_before(access: Access, how: "LoadOptions") -> Snapshot | None:
    """Pin the commit that a load led to before; its types may have other names by now."""
    if how.dry_run or how.operation_id is None:
        return None
    at = access.repository.manifest.recent()
    earlier = find_operation(access.repository, how.operation_id, how.actor, at)
    return None if earlier is None else access.repository.pin(earlier)


def _load_options(access: Access, operation: Load | Ingest, options: CallOptions) -> "LoadOptions":
    from omnigraph.spark.choice import Engine
    from omnigraph.spark.progress import NO_PROGRESS
    from omnigraph.write.load.loaded import LoadMode
    from omnigraph.write.load.options import REPORTED_VIOLATIONS, SHOWN_VIOLATIONS, options_of

    how: LoadKeywords = {
        "mode": operation.mode,
        "engine": options.engine or Engine.AUTO,
        "spark": options.spark,
        "shown": SHOWN_VIOLATIONS if options.shown is None else options.shown,
        "report": options.report,
        "reported": REPORTED_VIOLATIONS if options.reported is None else options.reported,
        "dry_run": operation.dry_run,
        "always": operation.always,
        "actor": access.author(options.actor),
        "message": operation.message,
        "operation_id": options.operation_id,
        "progress": options.progress or NO_PROGRESS,
        "seconds": options.seconds,
        "bytes": options.bytes,
        "cancelled": options.cancelled,
    }
    check_notes(message=operation.message, operation=options.operation_id)
    return options_of(how, LoadMode.APPEND)


@contextmanager
def _job(
    access: Access,
    operation: Load | Ingest,
    options: CallOptions,
    target: "LoadTarget",
    how: "LoadOptions",
) -> "Iterator[tuple[list[LoadSource], Runner]]":
    """Yield the sources of a load and who runs it; what was spooled for it is removed."""
    from omnigraph.spark.choice import FileWork, runner_for_files
    from omnigraph.write.load.sources.inputs import sources_of
    from omnigraph.write.load.sources.splits import estimate_work
    from omnigraph.write.load.sources.spool import spool

    access.repository.check_writable()
    with spool(access.repository.store, how.deadline) as spooled:
        catalog = target.snapshot.catalog
        sources = sources_of(operation.data, options.type_name, catalog, spooled)
        work = sum(map(estimate_work, sources), FileWork(0, 0))
        yield (
            sources,
            runner_for_files(
                how.engine, how.spark, work, deadline=how.deadline, progress=how.progress
            ),
        )


FUNCTIONS: Functions = {
    Mutate: mutate,
    Resolve: resolve,
    Load: load,
    Ingest: ingest,
    EmbedAgain: embed_again,
}
