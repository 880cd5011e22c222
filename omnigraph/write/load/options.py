"""Options: how a load is done."""

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypedDict, TypeVar

from omnigraph.errors import InputError
from omnigraph.spark.choice import Engine, default_settings
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.spark.session import SparkSettings
from omnigraph.syntax.problems import list_names

SHOWN_VIOLATIONS = 20

_Choice = TypeVar("_Choice", bound=StrEnum)


class LoadMode(StrEnum):
    """What a load does with the rows that are there already."""

    APPEND = "append"
    MERGE = "merge"
    OVERWRITE = "overwrite"


class LoadHow(TypedDict, total=False):
    """The keywords that `Graph.load` and `Graph.ingest` take."""

    mode: LoadMode | str
    engine: Engine | str
    spark: SparkSettings | None
    shown: int
    report: str | os.PathLike[str] | None
    dry_run: bool
    actor: str | None
    message: str | None
    operation_id: str | None
    progress: Progress


class BulkHow(TypedDict, total=False):
    """The keywords with which a merge says who merges large changes."""

    engine: Engine | str
    spark: SparkSettings | None
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """How a load is done.

    `report` is a file that gets every violation as a line of JSON, `shown` how many an error
    holds. A dry run checks everything and commits nothing; it makes no vectors. An `operation_id`
    that was given to a load before leads to the commit of then.
    """

    mode: LoadMode
    engine: Engine
    spark: SparkSettings
    shown: int
    report: Path | None
    dry_run: bool
    actor: str | None
    message: str | None
    operation_id: str | None
    progress: Progress


def options_of(how: LoadHow, mode: LoadMode) -> LoadOptions:
    """Give the options that keywords mean; a mode or engine that does not exist is refused."""
    report = how.get("report")
    return LoadOptions(
        mode=chosen(LoadMode, how.get("mode", mode)),
        engine=chosen(Engine, how.get("engine", Engine.AUTO)),
        spark=how.get("spark") or default_settings(),
        shown=max(1, how.get("shown", SHOWN_VIOLATIONS)),
        report=None if report is None else Path(report),
        dry_run=how.get("dry_run", False),
        actor=how.get("actor"),
        message=how.get("message"),
        operation_id=how.get("operation_id"),
        progress=how.get("progress", NO_PROGRESS),
    )


def chosen(kind: type[_Choice], given: str) -> _Choice:
    """Give one of a few choices by its word; raises InputError that lists them."""
    try:
        return kind(given)
    except ValueError:
        word = kind.__name__
        for verb in ("Load", "Export", "Embed"):
            word = word.removeprefix(verb)
        known = list_names([each.value for each in kind])
        raise InputError(f"no {word.lower()} '{given}'", hint=f"it is one of {known}") from None
