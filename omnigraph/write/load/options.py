"""Options: the options of a load."""

import os
from pathlib import Path

from omnigraph.errors import MOST_VIOLATIONS, InputError
from omnigraph.frozen import dataclass
from omnigraph.spark.choice import Engine, default_settings
from omnigraph.spark.deadline import Deadline, deadline_of
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.spark.settings import SparkSettings
from omnigraph.syntax.problems import parse_choice
from omnigraph.write.load.keywords import LoadKeywords
from omnigraph.write.load.loaded import LoadMode

SHOWN_VIOLATIONS = 20
REPORTED_VIOLATIONS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """How a load is done.

    `report` is a file that gets the first `reported` violations as JSON lines; an error holds
    `shown` of them. A dry run checks everything, makes no vectors and commits nothing. With
    `always` there is a commit also when no row changes, for its message and operation id. An
    `operation_id` that was used for a load before returns the commit of that time. The `deadline`
    ends a load that has not begun to publish. A load that `embeds_again` brings all rows of a type
    as they are at the commit `expect`, without their vectors, which may be of another model then.
    Who may not read the branch is not told which of its rows break a rule (`shows_rows`).
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
    always: bool = False
    expect: str | None = None
    embeds_again: bool = False
    shows_rows: bool = True

    @property
    def most_kept(self) -> int:
        """How many violations are kept, of all that are counted."""
        return self.shown if self.report is None else max(self.shown, self.reported)


def options_of(keywords: LoadKeywords, mode: LoadMode) -> LoadOptions:
    """Return the options that keywords mean; raises for an unknown mode or engine."""
    report = keywords.get("report")
    if not isinstance(report, str | os.PathLike | None):
        raise InputError(f"a report is a path, not a {type(report).__name__}")
    return LoadOptions(
        mode=parse_choice(LoadMode, keywords.get("mode", mode)),
        engine=parse_choice(Engine, keywords.get("engine", Engine.AUTO)),
        spark=keywords.get("spark") or default_settings(),
        shown=_within(keywords.get("shown", SHOWN_VIOLATIONS)),
        report=None if report is None else Path(report),
        reported=_within(keywords.get("reported", REPORTED_VIOLATIONS)),
        dry_run=keywords.get("dry_run", False),
        always=keywords.get("always", False),
        actor=keywords.get("actor"),
        message=keywords.get("message"),
        operation_id=keywords.get("operation_id"),
        progress=keywords.get("progress", NO_PROGRESS),
        deadline=deadline_of(
            "load", keywords.get("seconds"), keywords.get("cancelled"), keywords.get("bytes")
        ),
    )


def _within(violations: int) -> int:
    if not isinstance(violations, int):
        raise InputError(f"a number of violations is an int, not a {type(violations).__name__}")
    return min(max(1, violations), MOST_VIOLATIONS)
