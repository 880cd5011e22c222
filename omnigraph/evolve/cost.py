"""Cost: the rows that each step of a schema change writes, checks, hides or shows again."""

import pyarrow.compute as pc

from omnigraph.evolve.outlook import Outlook
from omnigraph.evolve.plan import PlannedStep, is_index
from omnigraph.frozen import dataclass
from omnigraph.schema.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    Drop,
    DropConstraint,
    DropInterface,
    DropProperty,
    DropType,
    IndexConstraint,
    MigrationStep,
    RenameProperty,
    RenameType,
    RestoreProperty,
    RestoreType,
)
from omnigraph.schema.types import VectorType


@dataclass(frozen=True, slots=True)
class Costs:
    """What the steps from the schema of a snapshot to another one cost."""

    outlook: Outlook

    def of(self, step: MigrationStep) -> PlannedStep:
        """Return a step with its cost."""
        match step:
            case AddProperty():
                is_filled = not step.property_type.endswith("?")
                written = self._count(step.type_name) if is_filled else 0
                return PlannedStep(step=step, rows_written=written)
            case AddConstraint():
                checked = self._count(step.type_name) if self._is_seen(step) else 0
                return PlannedStep(step=step, rows_checked=checked, breaking=not is_index(step))
            case AddType():
                checked = self.count_sources(step)
                return PlannedStep(step=step, rows_checked=checked, breaking=checked > 0)
            case RestoreType():
                shown, checked = self._count(step.name), self.count_sources(step)
                return PlannedStep(
                    step=step, rows_restored=shown, rows_checked=checked, breaking=checked > 0
                )
            case RestoreProperty():
                return self._restore(step)
            case DropType() | DropProperty() | DropConstraint() | DropInterface():
                return self._drop(step)
            case RenameType() | RenameProperty():
                return PlannedStep(step=step, breaking=True)
            case _:
                return PlannedStep(step=step)

    def count_sources(self, step: AddType | RestoreType) -> int:
        """Return how many nodes need edges of a type that is new or comes back."""
        edge = self.outlook.catalog.edges.get(step.name)
        if edge is None or edge.cardinality.minimum < 1:
            return 0
        return self._count(edge.source)

    def _drop(self, step: Drop) -> PlannedStep:
        """Return a drop with the rows that it hides, or those of which it hides a value."""
        match step:
            case DropType():
                stored = self.outlook.snapshot.catalog.stored(step.name)
                hidden = 0 if stored is None else self.outlook.count(stored)
                return PlannedStep(step=step, rows_hidden=hidden, breaking=True)
            case DropProperty():
                return PlannedStep(step=step, rows_hidden=self._values_of(step), breaking=True)
            case DropConstraint():
                return PlannedStep(step=step, breaking=is_index(step))
            case DropInterface():
                return PlannedStep(step=step, breaking=True)

    def _values_of(self, step: DropProperty) -> int:
        """Return how many rows have a value of a property that goes."""
        outlook = self.outlook
        stored = outlook.catalog.stored(step.type_name)
        if stored is None:
            return 0
        known = {**outlook.snapshot.catalog.dropped_types, **outlook.snapshot.catalog.by_identity}
        batches = outlook.batches(known[stored.identity], [step.property_name])
        return sum(len(each) - each[step.property_name].null_count for each in batches)

    def _restore(self, step: RestoreProperty) -> PlannedStep:
        """Return a step with the values that it shows again, and the rows of its column."""
        stored = self.outlook.catalog.stored(step.type_name)
        if stored is None:
            return PlannedStep(step=step)
        rows, name, shown = self.outlook.rows(stored), step.property_name, 0
        if name in rows.past:
            for batch in rows.batches([name]):
                self.outlook.deadline.check()
                was_there = rows.past[name].has(batch["id"])
                shown += pc.sum(pc.and_(was_there, batch[name].is_valid())).as_py() or 0
        is_filled = name in rows.past or not step.property_type.endswith("?")
        written = self._count(step.type_name) if is_filled else 0
        return PlannedStep(step=step, rows_written=written, rows_restored=shown)

    def _is_seen(self, step: AddConstraint) -> bool:
        """Whether a step reads rows; vector indexes are left to optimize."""
        stored, rule = self.outlook.catalog.stored(step.type_name), step.constraint
        if stored is None or not isinstance(rule, IndexConstraint):
            return True
        return not all(isinstance(stored.column(name), VectorType) for name in rule.properties)

    def _count(self, type_name: str) -> int:
        """Return how many rows a type has; an interface has none of its own."""
        stored = self.outlook.catalog.stored(type_name)
        return 0 if stored is None else self.outlook.count(stored)
