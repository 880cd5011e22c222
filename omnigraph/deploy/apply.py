"""Apply: converges: graphs, schemas, then one flip of what serves.

Before the flip nothing serves that did not before; after it everything does. A crash before it
leaves graphs and schemas ahead of the revision, which the next plan sees as done.
"""

from omnigraph.api.graph import init
from omnigraph.api.graph import open as open_graph
from omnigraph.deploy.definition import Definition, graph_uri
from omnigraph.deploy.ledger import Entry, Ledger
from omnigraph.deploy.live import delete_graph
from omnigraph.deploy.plan import CREATE, DeploymentPlan, make_plan
from omnigraph.errors import (
    ApprovalNeededError,
    DeploymentMovedError,
    GraphExistsError,
    HeadMovedError,
    InputError,
    Json,
    UnsupportedMigrationError,
)
from omnigraph.frozen import dataclass
from omnigraph.storage.steps import reached
from omnigraph.versioning.unknown_outcome import unknown_outcome

APPLIED, ROLLED_BACK = "apply", "rollback"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What an apply did: the plan, and the entry that serves now.

    `kept` are graphs that were to be deleted and were written to meanwhile; they do not serve.
    """

    plan: DeploymentPlan
    entry: Entry
    is_new: bool
    kept: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return what was done as JSON."""
        return {
            **self.plan.to_json(),
            "applied": self.is_new,
            "number": self.entry.number,
            "kept": [*self.kept],
        }


def apply(
    storage: str, definition: Definition, *, actor: str | None = None, earlier: Entry | None = None
) -> Applied:
    """Make a definition serve. Raise before anything is written when part of it cannot be done.

    A rollback makes that of an `earlier` entry serve again. Of two at once, one wins, and the
    other raises DeploymentMovedError.
    """
    ledger = Ledger.at(storage)
    ledger.store.check()
    finish_removals(ledger, storage)
    plan = make_plan(ledger, storage, definition)
    if plan.is_empty:
        assert plan.base is not None
        return Applied(plan=plan, entry=plan.base, is_new=False)
    _refuse(ledger, plan, earlier)
    ledger.record(plan.revision)
    _converge(plan, actor)
    kind = APPLIED if earlier is None else ROLLED_BACK
    entry = ledger.publish(
        plan.base, plan.revision.digest, kind=kind, actor=actor, removed=plan.heads
    )
    serves = f"revision {entry.number} serves, but not all that it removes is deleted"
    with unknown_outcome(serves, "apply again to complete it"):
        kept = [
            each for each in plan.deletions if not delete_graph(storage, each, plan.heads[each])
        ]
    reached("cluster deleted")
    return Applied(plan=plan, entry=entry, is_new=True, kept=tuple(kept))


def approve(
    storage: str, definition: Definition, resource: str, digest: str, *, actor: str | None = None
) -> DeploymentPlan:
    """Note that somebody approves of a deletion or a drop, in the plan of this digest alone."""
    ledger = Ledger.at(storage)
    plan = make_plan(ledger, storage, definition)
    if plan.digest != digest:
        message = "the plan that was seen is out of date: something moved since"
        raise DeploymentMovedError(message, hint=f"look at plan {plan.digest}, then approve that")
    if resource not in plan.to_approve:
        message = f"the plan deletes and drops nothing of '{resource}': there is nothing to approve"
        raise InputError(message)
    ledger.approve(digest, resource, actor)
    return plan


def finish_removals(ledger: Ledger, storage: str) -> None:
    """Delete what an apply before this was to delete, and ended before it had."""
    base = ledger.current()
    if base is None or not base.removed:
        return
    serving = ledger.definition(base.revision).graphs
    for name, heads in base.removed.items():
        if name not in serving:
            delete_graph(storage, name, heads)


def _refuse(ledger: Ledger, plan: DeploymentPlan, earlier: Entry | None) -> None:
    if plan.blocked:
        raise UnsupportedMigrationError(plan.blocked, hint="nothing was changed")
    digest = plan.digest
    missing = [each for each in plan.to_approve if not ledger.is_approved(digest, each)]
    if missing:
        of = "" if earlier is None else f" --revision {earlier.number}"
        commands = [f"omnigraph cluster approve {each} --plan {digest}{of}" for each in missing]
        message = f"{', '.join(missing)} would lose data, and nobody approved of plan {digest}"
        hint = f"look at omnigraph cluster plan{of}, then: {'; '.join(commands)}"
        raise ApprovalNeededError(message, hint=hint)


def _converge(plan: DeploymentPlan, actor: str | None) -> None:
    """Make the graphs that are not there, and give the others their schemas."""
    for change in plan.changes:
        kind, _, name = change.resource.partition(".")
        if kind == "graph" and change.action == CREATE and name in plan.definition.graphs:
            _create(plan, name)
        elif kind == "schema":
            _migrate(plan, name, actor, allow_data_loss=change.needs_approval)


def _create(plan: DeploymentPlan, name: str) -> None:
    try:
        init(graph_uri(plan.storage, name), plan.definition.graphs[name].schema).close()
    except GraphExistsError:
        message = f"graph.{name} was made by somebody else meanwhile"
        raise DeploymentMovedError(message, hint="plan again; nothing was published") from None
    reached("cluster graph")


def _migrate(plan: DeploymentPlan, name: str, actor: str | None, *, allow_data_loss: bool) -> None:
    """Apply a schema; one that drops something, only where the graph stands as it was planned."""
    live = plan.live[name]
    message = f"cluster apply {plan.revision.digest[:12]}"
    with open_graph(live.uri, actor=actor) as graph:
        branch = graph.branch(message=message, expect=live.head if allow_data_loss else None)
        try:
            schema = plan.definition.graphs[name].schema
            branch.apply_schema(schema, allow_data_loss=allow_data_loss)
        except HeadMovedError as moved:
            hint = "plan again; nothing was published"
            raise DeploymentMovedError(moved.message, hint=hint) from None
    reached("cluster schema")
