"""The data source `omnigraph` where Spark looks by itself: a module named `pyspark_…`."""

from omnigraph.connector.source import OmniGraphSource as DefaultSource

__all__ = ["DefaultSource"]
