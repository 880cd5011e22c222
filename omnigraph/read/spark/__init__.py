"""Spark: the same plan as DataFrame operations, with the same rows in the same order.

query        the rows of a read plan from Spark, as Arrow batches that are made while they are read
estimate     about how many rows a plan makes at most, to divide the work among tasks
lowering     the plan of a read as operations on frames of Spark, with the same rows and order
needed       which properties of its variables a plan reads, and which variables a block shares
matches      the rows of a query so far as a frame of Spark, and which of its columns hold what
scans        the nodes and edges of a snapshot as frames of Spark
expressions  what the plan of a query computes for a row, as columns of Spark
hops         which nodes are within so many hops of others, found on Spark one hop at a time
tally        variables that nothing reads multiply the rows of a frame instead of being made
searching    texts and vectors searched by tasks of Spark, and what they find joined to rows
grouping     rows of a frame with the same keys become one, on Spark
sums         sums of floats on Spark that come out just as those of the engine, to the last bit
overflow     numbers of a query on Spark that do not fit their type, which is an error
packing      rows of a frame as batches of a result, each made by a task and sent as bytes
"""
