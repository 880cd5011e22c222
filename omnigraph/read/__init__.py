"""Read: a plan becomes rows on one pinned snapshot.

answer          runs a plan on a snapshot, along the road that costs less
planner         the order in which a pattern is matched at the least cost
road            whether a plan reads whole tables into memory or looks up single rows by index
pushdown        the conditions of a scan that an index of its table can narrow down
reader          the rows of one snapshot by ordinal, with their columns and the edges between them
dense_reader    reads whole tables once, then answers from arrays in memory
sparse_reader   looks up single rows by the indexes of their tables, and caches nothing
derived_column  what is computed from a whole column, cached by the version of its table
execution       one execution of a plan: its parameters, instant, variables and budget
interpreter     runs a plan on a snapshot, operator by operator, and returns Arrow
blocks          a pattern that makes many rows is matched some of them at a time
matches         the matches of a pattern so far: for each variable a column of codes, and a weight
operators       one module for each step of a plan
profile         what each operator of one execution cost and returned
hits            the nodes that a text may mean: by key, by words and by meaning
neighbors       the nodes around one node: how many by each edge type, and a page of them
algorithms      what is known of nodes by the shape of a graph, as rows by id
blob            the content of one Blob property, to read whole or in ranges
spark           the same plan as DataFrame operations, with the same rows in the same order
"""
