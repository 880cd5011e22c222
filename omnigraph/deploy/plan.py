"""Plan: what an apply would do, resource by resource, with its cost."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from omnigraph.deploy.definition import Definition, GraphDefinition
from omnigraph.deploy.ledger import Entry, Ledger
from omnigraph.deploy.live import LiveGraph, look_at
from omnigraph.deploy.revision import Revision, canonical, digest_of, encode
from omnigraph.errors import Json, OmniGraphError
from omnigraph.evolve.plan import SchemaPlan
from omnigraph.frozen import dataclass
from omnigraph.span import Source

CREATE, CHANGE, DELETE = "create", "change", "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    """What happens to one resource, such as `graph.x` or `query.x.name`.

    One that deletes a graph, or drops something from its schema, needs an approval.
    """

    resource: str
    action: str
    detail: tuple[str, ...] = ()
    steps: tuple[Mapping[str, Json], ...] = ()
    needs_approval: bool = False

    def to_json(self) -> dict[str, Json]:
        """Return the change as JSON."""
        return {
            "resource": self.resource,
            "action": self.action,
            "detail": [*self.detail],
            "steps": [dict(each) for each in self.steps],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentPlan:
    """What would be done to a deployment that stands at an entry.

    `drift` is what the live graphs have that the serving revision has not. What is `blocked`
    cannot be done, and then nothing is. The digest stands for all of it, for where all branches of
    the graphs stand that would be deleted, and for the commits of which something is dropped.
    """

    storage: str
    base: Entry | None
    definition: Definition = field(repr=False)
    revision: Revision
    changes: tuple[ResourceChange, ...] = ()
    drift: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    heads: Mapping[str, str | None] = field(default_factory=dict)
    live: Mapping[str, LiveGraph] = field(default_factory=dict, repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be done."""
        serves = self.base is not None and self.base.revision == self.revision.digest
        return serves and not self.changes

    @property
    def deletions(self) -> tuple[str, ...]:
        """The graphs that would be deleted."""
        return tuple(self.heads)

    @property
    def digest(self) -> str:
        """What stands for the plan: two with the same digest do the same to the same."""
        drops: dict[str, Json] = {
            each.resource: self.live[each.resource.partition(".")[2]].head
            for each in self.changes
            if each.needs_approval and each.action == CHANGE
        }
        return digest_of(canonical({**self._facts(), "heads": dict(self.heads), "drops": drops}))

    def to_json(self) -> dict[str, Json]:
        """Return the plan as JSON."""
        return {"plan": self.digest, **self._facts(), "needs_approval": [*self.to_approve]}

    @property
    def to_approve(self) -> tuple[str, ...]:
        """The resources of which data would be deleted or hidden."""
        return tuple(each.resource for each in self.changes if each.needs_approval)

    def _facts(self) -> dict[str, Json]:
        return {
            "storage": self.storage,
            "base": None if self.base is None else self.base.number,
            "revision": self.revision.digest,
            "changes": [each.to_json() for each in self.changes],
            "drift": [*self.drift],
            "blocked": [*self.blocked],
        }


def make_plan(ledger: Ledger, storage: str, definition: Definition) -> DeploymentPlan:
    """Return what it takes to make a definition serve; nothing is written."""
    base = ledger.current()
    before = None if base is None else json.loads(ledger.document(base.revision))
    revision = encode(definition)
    after = json.loads(revision.document)
    names = {*definition.graphs, *(before["graphs"] if before is not None else ())}
    live = {name: look_at(storage, name) for name in sorted(names)}
    planning = _Planning(before or {}, after, live, ledger)
    for name, graph in definition.graphs.items():
        planning.graph(name, graph)
    planning.removals()
    planning.definitions()
    return DeploymentPlan(
        storage=storage,
        base=base,
        definition=definition,
        revision=revision,
        changes=tuple(planning.changes),
        drift=tuple(planning.drift),
        blocked=tuple(planning.blocked),
        heads=planning.heads,
        live=live,
    )


class _Planning:
    """One comparison of what serves with what is wanted and with what is there."""

    def __init__(
        self,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        live: Mapping[str, LiveGraph],
        ledger: Ledger,
    ) -> None:
        self.before, self.after, self.live, self.ledger = before, after, live, ledger
        self.changes: list[ResourceChange] = []
        self.drift: list[str] = []
        self.blocked: list[str] = []
        self.heads: dict[str, str | None] = {}

    def graph(self, name: str, definition: GraphDefinition) -> None:
        """Compare a graph that is wanted with what is there."""
        live, recorded = self.live[name], self.before.get("graphs", {}).get(name)
        if live.problem is not None:
            self.blocked.append(f"graph.{name} cannot be read: {live.problem}")
        elif not live.is_there:
            if recorded is not None:
                self.drift.append(f"graph.{name} is not there any more")
            self.changes.append(ResourceChange(resource=f"graph.{name}", action=CREATE))
        else:
            if recorded is None:
                self.drift.append(f"graph.{name} is there already, and no revision has it")
            elif self._differs(live, recorded["schema"]):
                self.drift.append(f"schema.{name} was changed by something other than an apply")
            self._schema(name, live, definition)

    def _differs(self, live: LiveGraph, recorded: Mapping[str, str]) -> bool:
        """Return whether a graph has another schema than a revision recorded for it."""
        schema = Source(recorded["file"], self.ledger.text(recorded["text"]))
        try:
            return live.differs(schema)
        except OmniGraphError:  # a schema of then that does not fit any more is another one
            return True

    def _schema(self, name: str, live: LiveGraph, definition: GraphDefinition) -> None:
        if live.schema == definition.schema.text:
            return
        try:
            plan = live.plan(definition.schema)
        except OmniGraphError as failed:
            self.blocked.append(f"schema.{name}: {failed.message}")
            return
        if not plan.steps:
            return
        self.blocked += [f"schema.{name}: {each}" for each in _obstacles(plan)]
        detail = [f"{each.step}: {each.effect}" for each in plan.steps]
        detail += ["what it drops is hidden; this needs an approval"] if plan.drops else []
        self.changes.append(
            ResourceChange(
                resource=f"schema.{name}",
                action=CHANGE,
                detail=tuple(detail),
                steps=tuple(each.to_json() for each in plan.steps),
                needs_approval=bool(plan.drops),
            )
        )

    def removals(self) -> None:
        """Find the graphs that serve and are not wanted any more."""
        for name in sorted(set(self.before.get("graphs", {})) - set(self.after["graphs"])):
            self.heads[name] = self.live[name].heads
            detail = ("its data is deleted; this needs an approval",)
            if self.live[name].problem is not None:
                self.blocked.append(f"graph.{name} cannot be read: {self.live[name].problem}")
            self.changes.append(
                ResourceChange(
                    resource=f"graph.{name}", action=DELETE, detail=detail, needs_approval=True
                )
            )

    def definitions(self) -> None:
        """Compare stored queries, policies and providers."""
        before, after = dict(_resources(self.before)), dict(_resources(self.after))
        for resource in sorted({*before, *after}):
            old, new = before.get(resource), after.get(resource)
            if old == new:
                continue
            action = CREATE if old is None else DELETE if new is None else CHANGE
            self.changes.append(ResourceChange(resource=resource, action=action))


def _resources(document: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    for graph, each in document.get("graphs", {}).items():
        for name, query in each["queries"].items():
            yield f"query.{graph}.{name}", query
        if each["embedding_provider"] is not None:
            yield f"graph.{graph}.embedding_provider", each["embedding_provider"]
        if "limits" in each:
            yield f"graph.{graph}.limits", each["limits"]
    for name, policy in document.get("policies", {}).items():
        yield f"policy.{name}", policy
    for name, provider in document.get("providers", {}).items():
        yield f"provider.{name}", provider


def _obstacles(plan: SchemaPlan) -> list[str]:
    found = list(plan.unsupported)
    if plan.violation_count:
        first = plan.violations[0].reason if plan.violations else ""
        found.append(f"{plan.violation_count:,} rows break a new rule: {first}")
    return found
