"""Pipeline: the data pipeline on Spark, through PySpark."""
