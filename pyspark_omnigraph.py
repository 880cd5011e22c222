"""The data source `omnigraph` where Spark looks by itself: a module named `pyspark_…`."""

from omnigraph.spark.connector import OmniGraphSource as DefaultSource

__all__ = ["DefaultSource"]
