"""Algorithms: what is known of nodes by the shape of a graph, as rows by id.

asked    an algorithm, the nodes and edges that it runs on, and its settings
run      runs an algorithm on a snapshot and returns a row for each node
network  the nodes and edges of a snapshot as arrays, nodes numbered by their ids
ranking  PageRank, by iteration until the ranks settle
labels   communities by labels that neighbours pass on
joined   which nodes are joined by edges, whatever the direction
similar  for each node the nodes with the most similar neighbours
apart    runs long work in a process of its own, which can be ended at any time
worker   the process that does one piece of work of another and ends with it
native   what networkit computes, from arrays and to arrays
"""
