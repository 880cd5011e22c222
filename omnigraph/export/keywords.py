"""Keywords: those that `export_to` takes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from omnigraph.export.shards import ExportFormat
    from omnigraph.spark.choice import Engine
    from omnigraph.spark.progress import Progress
    from omnigraph.spark.settings import SparkSettings


class ExportKeywords(TypedDict, total=False):
    """The keywords of `export_to`."""

    format: "ExportFormat | str"
    types: Sequence[str]
    tables: Sequence[str]
    engine: "Engine | str"
    spark: "SparkSettings | None"
    progress: "Progress"
