"""Indexing: builds the indexes of tables that a job wrote, segment by segment in tasks."""

from collections.abc import Sequence

from omnigraph.schema.catalog import StoredType
from omnigraph.spark.progress import Progress
from omnigraph.spark.runner import Runner
from omnigraph.storage.indexes import DueSegment, indexes_of
from omnigraph.storage.staging import Place, Segment, built, indexing, place_of, with_segments
from omnigraph.storage.table import Table

_ROWS_PER_SEGMENT = 1_000_000


def indexed(
    runner: Runner, made: Sequence[tuple[StoredType, Table]], progress: Progress
) -> dict[str, Table]:
    """Fold tables and build their indexes in tasks; returns the tables by type name."""
    progress.begin("indexing")
    plans = {
        stored.name: indexing(table, _ROWS_PER_SEGMENT, indexes_of(stored))
        for stored, table in made
    }
    due = [(place_of(plan.table), each, name) for name, plan in plans.items() for each in plan.due]
    segments = runner.map(_built, [each[:2] for each in due], progress)
    added: dict[str, list[Segment]] = {name: [] for name in plans}
    for (_, _, name), segment in zip(due, segments, strict=True):
        added[name].append(segment)
    return {name: with_segments(plan, added[name]) for name, plan in plans.items()}


def _built(item: tuple[Place, DueSegment]) -> Segment:
    return built(*item)
