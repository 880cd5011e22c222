"""Keywords: those that `optimize`, `backup` and `restore` take."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from threading import Event

    from omnigraph.spark.choice import Engine
    from omnigraph.spark.progress import Progress
    from omnigraph.spark.settings import SparkSettings


class OptimizeKeywords(TypedDict, total=False):
    """The keywords of `optimize`."""

    indexes_only: bool
    types: Iterable[str]
    exclude: Iterable[str]
    engine: "Engine | str"
    spark: "SparkSettings | None"
    concurrency: int | None
    actor: str | None
    progress: "Progress"
    seconds: float | None
    cancelled: "Event | None"


class BackupKeywords(TypedDict, total=False):
    """The keywords of a backup and a restore."""

    verify: bool
    progress: "Progress"
    seconds: float | None
    cancelled: "Event | None"
