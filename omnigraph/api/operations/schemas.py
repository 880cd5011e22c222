"""Schemas: operations that give a branch other types, or plan that."""

from typing import Any

from omnigraph.api.backend import Backend
from omnigraph.api.operation import Document, Key, Operation, Shape, ask, post
from omnigraph.api.operations.commits import CommitShape
from omnigraph.api.operations.read import catalog_at
from omnigraph.errors import Json
from omnigraph.evolve.plan import SchemaApplied, SchemaPlan
from omnigraph.policy.actions import Action
from omnigraph.span import Source
from omnigraph.versioning.commit import commit_if_named
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.unknown_outcome import unknown_outcome

_LOOK = "look at the schema of the branch before applying it again"


class SchemaPlanShape(Shape, frozen=True, kw_only=True):
    """What a schema would change on a branch, and what is in its way."""

    uri: str
    branch: str
    head: str
    supported: bool
    drops_data: bool
    step_count: int
    steps: list[dict[str, Any]]
    violation_count: int
    violations: list[dict[str, Any]]
    schema_source: str


class SchemaAppliedShape(Shape, frozen=True, kw_only=True):
    """What a schema changed."""

    uri: str
    branch: str
    supported: bool
    applied: bool
    step_count: int
    manifest_version: int | None
    commit: str | None
    steps: list[dict[str, Any]]
    plan: dict[str, Any]
    commits: dict[str, CommitShape]


class PlanSchema(Operation[SchemaPlan], frozen=True, kw_only=True):
    """Plan what a schema would change on a branch, and what is in its way."""

    endpoint = ask("/schema/plan", "plan_schema", SchemaPlanShape, "SchemaBody", errors=(404, 409))

    schema_source: str
    branch: Key = MAIN

    def answer(self, result: SchemaPlan, backend: Backend) -> dict[str, Json]:
        return {"uri": backend.uri, **result.to_json()}

    def result(self, answer: Document, backend: Backend) -> SchemaPlan:
        accepted = catalog_at(backend, answer["head"])
        return SchemaPlan.from_json(answer, accepted, Source("<schema>", self.schema_source))


class ApplySchema(Operation[SchemaApplied], frozen=True, kw_only=True):
    """Apply a schema to a branch as one commit; with `expect`, only where it stands there.

    One that drops a type, a property, a rule or an index is refused without `allow_data_loss`.
    """

    endpoint = post(
        "/schema/apply", "apply_schema", Action.SCHEMA_APPLY, SchemaAppliedShape, "ApplyBody"
    )

    schema_source: str
    branch: Key = MAIN
    message: str | None = None
    expect: str | None = None
    allow_data_loss: bool = False

    def answer(self, result: SchemaApplied, backend: Backend) -> dict[str, Json]:
        return {"uri": backend.uri, **result.to_answer()}

    def changed_branch(self, answer: Document) -> str | None:
        return self.branch

    def redacted(self, answer: dict[str, Any]) -> dict[str, Json]:
        # How many rows each step read or wrote is in the steps of both.
        hidden: dict[str, Json] = {"steps": [], "step_count": 0}
        plan = {**answer["plan"], **hidden, "head": None, "drops_data": None}
        return {**answer, **hidden, "plan": plan, "manifest_version": None, "commits": {}}

    def result(self, answer: Document, backend: Backend) -> SchemaApplied:
        if answer["plan"]["head"] is None:
            plan = SchemaPlan(
                branch=self.branch, head="", schema_source=self.schema_source, steps=()
            )
            return SchemaApplied(plan=plan, commit=commit_if_named(answer))
        done = f"the schema is applied to '{self.branch}', but what that changed cannot be told"
        with unknown_outcome(done, _LOOK):
            accepted = catalog_at(backend, answer["plan"]["head"])
        return SchemaApplied.from_json(answer, accepted, Source("<schema>", self.schema_source))


OPERATIONS = (PlanSchema, ApplySchema)
