"""The pipeline: records in and out, on a real Spark."""
