"""Keywords: those that loads, merges and new vectors take for who works, and how."""

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    import os
    from threading import Event

    from omnigraph.spark.choice import Engine
    from omnigraph.spark.progress import Progress
    from omnigraph.spark.settings import SparkSettings
    from omnigraph.write.load.loaded import LoadMode


class BulkKeywords(TypedDict, total=False):
    """The keywords of a merge for its engine and for what it may take."""

    engine: "Engine | str"
    spark: "SparkSettings | None"
    progress: "Progress"
    seconds: float | None
    bytes: int | None
    cancelled: "Event | None"


class AgainKeywords(BulkKeywords, total=False):
    """The keywords of `embed_again`."""

    shown: int
    report: "str | os.PathLike[str] | None"
    reported: int
    actor: str | None
    message: str | None
    operation_id: str | None


class LoadKeywords(AgainKeywords, total=False):
    """The keywords of `load` and `ingest`."""

    mode: "LoadMode | str"
    dry_run: bool
    always: bool
