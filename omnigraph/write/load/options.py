"""Options: the options of a load."""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from threading import Event
from typing import TypedDict, TypeVar

from omnigraph.errors import MOST_VIOLATIONS
from omnigraph.spark.choice import Engine, default_settings
from omnigraph.spark.deadline import Deadline, deadline_of
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.spark.session import SparkSettings
from omnigraph.syntax.problems import chosen
from omnigraph.write.load.loaded import LoadMode

SHOWN_VIOLATIONS = 20
REPORTED_VIOLATIONS = 1_000

_Choice = TypeVar("_Choice", bound=StrEnum)


class LoadHow(TypedDict, total=False):
    """The keywords that `Graph.load` and `Graph.ingest` take."""

    mode: LoadMode | str
    engine: Engine | str
    spark: SparkSettings | None
    shown: int
    report: str | os.PathLike[str] | None
    reported: int
    dry_run: bool
    actor: str | None
    message: str | None
    operation_id: str | None
    progress: Progress
    seconds: float | None
    cancelled: Event | None


class BulkHow(TypedDict, total=False):
    """The keywords of a merge for its engine and its time limit."""

    engine: Engine | str
    spark: SparkSettings | None
    progress: Progress
    seconds: float | None
    cancelled: Event | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """How a load is done.

    `report` is a file that gets the first `reported` violations as JSON lines; an error holds
    `shown` of them. A dry run checks everything, makes no vectors and commits nothing. An
    `operation_id` that was used for a load before returns the commit of that time. The `deadline`
    ends a load that has not begun to publish.
    """

    mode: LoadMode
    engine: Engine
    spark: SparkSettings
    shown: int
    report: Path | None
    reported: int
    dry_run: bool
    actor: str | None
    message: str | None
    operation_id: str | None
    progress: Progress
    deadline: Deadline

    @property
    def most_kept(self) -> int:
        """How many violations are kept, of all that are counted."""
        return self.shown if self.report is None else max(self.shown, self.reported)


def options_of(how: LoadHow, mode: LoadMode) -> LoadOptions:
    """Return the options that keywords mean; raises for an unknown mode or engine."""
    report = how.get("report")
    return LoadOptions(
        mode=chosen(LoadMode, how.get("mode", mode)),
        engine=chosen(Engine, how.get("engine", Engine.AUTO)),
        spark=how.get("spark") or default_settings(),
        shown=_within(how.get("shown", SHOWN_VIOLATIONS)),
        report=None if report is None else Path(report),
        reported=_within(how.get("reported", REPORTED_VIOLATIONS)),
        dry_run=how.get("dry_run", False),
        actor=how.get("actor"),
        message=how.get("message"),
        operation_id=how.get("operation_id"),
        progress=how.get("progress", NO_PROGRESS),
        deadline=deadline_of("load", how.get("seconds"), how.get("cancelled")),
    )


def _within(violations: int) -> int:
    return min(max(1, violations), MOST_VIOLATIONS)
