"""Walks: nodes and paths that are several edges away, found on Spark.

hops       which nodes are within so many hops of others, found on Spark one hop at a time
held_hops  which nodes are within so many hops of others, found by tasks that hold all edges
paths      the shortest paths between nodes, found on Spark one hop at a time
"""
