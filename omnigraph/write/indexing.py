"""Indexing: builds the indexes of tables that a job wrote, segment by segment in tasks."""

from collections.abc import Sequence

from omnigraph.schema.catalog import StoredType
from omnigraph.spark.progress import Progress
from omnigraph.spark.runner import Runner
from omnigraph.storage.indexes import DueSegment, indexes_of
from omnigraph.storage.staging import (
    Segment,
    TablePlace,
    build_due,
    place_of,
    plan_indexing,
    with_segments,
)
from omnigraph.storage.table import Table


def build_indexes(
    runner: Runner, made: Sequence[tuple[StoredType, Table]], progress: Progress
) -> dict[str, Table]:
    """Fold tables and build their indexes in tasks; returns the tables by type name."""
    progress.begin("indexing")
    plans = {stored.name: plan_indexing(table, indexes_of(stored)) for stored, table in made}
    due = [(place_of(plan.table), each, name) for name, plan in plans.items() for each in plan.due]
    segments = runner.map(_build, [each[:2] for each in due], progress)
    added: dict[str, list[Segment]] = {name: [] for name in plans}
    for (_, _, name), segment in zip(due, segments, strict=True):
        added[name].append(segment)
    return {name: with_segments(plan, added[name]) for name, plan in plans.items()}


def _build(item: tuple[TablePlace, DueSegment]) -> Segment:
    return build_due(*item)
