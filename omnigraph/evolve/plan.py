"""Plan: what a schema would change on a branch, for people and programs."""

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

from omnigraph.errors import InputError, Json, Violation
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import compile_schema
from omnigraph.schema.migration import keep_stored_order, plan_schema_migration
from omnigraph.schema.steps import (
    AddConstraint,
    Drop,
    DropConstraint,
    DropProperty,
    IndexConstraint,
    MigrationStep,
    RestoreProperty,
    RestoreType,
    UnsupportedChange,
    step_json,
)
from omnigraph.span import Source
from omnigraph.versioning.commit import Commit, commit_if_named, with_commits


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """A step with its cost: the rows that are written, and those that are checked.

    A drop hides rows, or values of that many rows, and a step that restores shows them again. A
    breaking step may stop queries or loads that worked before.
    """

    step: MigrationStep
    rows_written: int = 0
    rows_checked: int = 0
    rows_hidden: int = 0
    rows_restored: int = 0
    breaking: bool = False

    @property
    def effect(self) -> str:
        """What the step does to the rows, in words."""
        if isinstance(self.step, UnsupportedChange):
            return "not supported"
        written, checked = _rows(self.rows_written), _rows(self.rows_checked)
        parts = self._seen()
        parts += [f"writes one column of {written}"] if self.rows_written else []
        verb = "indexes" if is_index(self.step) else "checks"
        parts += [f"{verb} {checked}"] if self.rows_checked else []
        return " and ".join(parts) or "no row is read or written"

    def _seen(self) -> list[str]:
        """Return in words what queries find less or more than before."""
        if self.rows_hidden:
            what = _values if isinstance(self.step, DropProperty) else _rows
            return [f"hides {what(self.rows_hidden)} until a cleanup removes them"]
        if isinstance(self.step, RestoreType):
            return [f"shows {_rows(self.rows_restored)} again"]
        if isinstance(self.step, RestoreProperty):
            return [f"shows {_values(self.rows_restored)} again"]
        return []

    def to_json(self) -> dict[str, Json]:
        """Return the step as JSON."""
        return {
            **step_json(self.step),
            "text": str(self.step),
            "effect": self.effect,
            "rows_written": self.rows_written,
            "rows_checked": self.rows_checked,
            "rows_hidden": self.rows_hidden,
            "rows_restored": self.rows_restored,
            "breaking": self.breaking,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaPlan:
    """What a schema would change on a branch, planned on the commit at which it stands.

    `violations` are the first rows that break a new rule; with any, or with an unsupported step,
    the plan cannot be applied.
    """

    branch: str
    head: str
    schema_source: str = field(repr=False)
    steps: tuple[PlannedStep, ...]
    violations: tuple[Violation, ...] = ()
    violation_count: int = 0

    @property
    def supported(self) -> bool:
        return not self.unsupported

    @property
    def unsupported(self) -> tuple[str, ...]:
        """What cannot be done, and why."""
        steps = (each.step for each in self.steps)
        return tuple(str(step) for step in steps if isinstance(step, UnsupportedChange))

    @property
    def drops(self) -> tuple[str, ...]:
        """What goes, and what that hides; applying it has to allow that."""
        return tuple(
            f"{each.step}: {each.effect}" if each.rows_hidden else str(each.step)
            for each in self.steps
            if isinstance(each.step, Drop)
        )

    def to_json(self) -> dict[str, Json]:
        """Return the plan as JSON, from which it can be read back."""
        return {
            "branch": self.branch,
            "head": self.head,
            "supported": self.supported,
            "drops_data": bool(self.drops),
            "step_count": len(self.steps),
            "steps": [each.to_json() for each in self.steps],
            "violation_count": self.violation_count,
            "violations": [each.to_json() for each in self.violations],
            "schema_source": self.schema_source,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], accepted: Catalog, source: Source) -> Self:
        """Return the plan that `to_json` wrote for a schema; `accepted` is the schema before."""
        desired = keep_stored_order(accepted, compile_schema(source, accepted=accepted))
        steps = plan_schema_migration(accepted, desired).steps
        return cls(
            branch=document["branch"],
            head=document["head"],
            schema_source=document["schema_source"],
            steps=tuple(
                PlannedStep(
                    step=step,
                    rows_written=each["rows_written"],
                    rows_checked=each["rows_checked"],
                    rows_hidden=each.get("rows_hidden", 0),
                    rows_restored=each.get("rows_restored", 0),
                    breaking=each["breaking"],
                )
                for step, each in zip(steps, document["steps"], strict=True)
            ),
            violations=tuple(Violation.from_json(each) for each in document["violations"]),
            violation_count=document["violation_count"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPlan:
    """A plan that was stored; it is applied only while the branch stands at its commit."""

    branch: str
    head: str
    schema_source: str

    @staticmethod
    def read(text: str) -> "SavedPlan":
        """Parse the text of a plan that `SchemaPlan.to_json` wrote."""
        try:
            stored = json.loads(text)
            fields = {name: stored[name] for name in ("branch", "head", "schema_source")}
        except (ValueError, TypeError, KeyError, RecursionError):
            fields = {}
        if not fields or not all(isinstance(each, str) for each in fields.values()):
            hint = "save one with omnigraph schema plan --out"
            raise InputError("this is not a saved schema plan", hint=hint)
        return SavedPlan(**fields)

    def head_for(self, branch: str) -> str:
        """Return the commit at which the branch must stand; raises for any other branch."""
        if branch != self.branch:
            raise InputError(f"the plan was made for '{self.branch}', not for '{branch}'")
        return self.head


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaApplied:
    """What applying a schema did; without a commit the branch had it already."""

    plan: SchemaPlan
    commit: Commit | None

    @property
    def applied(self) -> bool:
        return self.commit is not None

    def to_json(self) -> dict[str, Json]:
        """Return the result as JSON."""
        return {
            "branch": self.plan.branch,
            "supported": True,
            "applied": self.applied,
            "step_count": len(self.plan.steps),
            "manifest_version": None if self.commit is None else self.commit.version,
            "commit": None if self.commit is None else self.commit.id,
            "steps": [each.to_json() for each in self.plan.steps],
        }

    def to_answer(self) -> dict[str, Json]:
        """Return the JSON from which `from_json` reads the result back."""
        return with_commits({**self.to_json(), "plan": self.plan.to_json()}, self.commit)

    @classmethod
    def from_json(cls, document: Mapping[str, Any], accepted: Catalog, source: Source) -> Self:
        """Return the result that `to_answer` wrote; `accepted` is the schema before."""
        plan = SchemaPlan.from_json(document["plan"], accepted, source)
        return cls(plan=plan, commit=commit_if_named(document))


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count:,} values"


def is_index(step: MigrationStep) -> bool:
    """Whether a step is about an index, which finds rows without any demand on them."""
    if not isinstance(step, AddConstraint | DropConstraint):
        return False
    return isinstance(step.constraint, IndexConstraint)
