"""Spark: the same plan as DataFrame operations, with the same rows in the same order.

query        the rows of a read plan from Spark, as Arrow batches made while they are read
opening      a session of Spark beside the given one, configured for one question
lowering     a read plan as operations on frames of Spark, with the same rows in the same order
usage        which properties a plan reads, which variables a block shares, and what can fail
late         what only a result shows of nodes is read for the rows that a limit keeps
matches      the rows of a query so far as a frame of Spark, and what its columns hold
copies       columns of a table version in Parquet beside a graph, which Spark reads by itself
frames       the nodes and edges of a snapshot as frames of Spark
walks        nodes and paths that are several edges away, found on Spark
counting     variables that nothing reads multiply the weights of a frame's rows
computing    functions, operators and conditions over a frame, by the engine's own code in Python
expressions  what a plan computes for a row, as columns of Spark
search       texts and vectors searched by tasks of Spark, their hits joined to rows
collecting   the lists of each group, made by a task from the rows of the group
grouping     rows of a frame with the same keys become one
ordering     the rows of a frame are sorted, and the first of them are taken
sums         sums of floats on Spark that equal those of the engine, to the last bit
overflow     counts and sums of a query on Spark that do not fit 64 bits, which is an error
algorithms   components, PageRank, communities and triangles by operations on frames
packing      rows of a frame as batches of a result, each made by a task and sent as bytes
"""
