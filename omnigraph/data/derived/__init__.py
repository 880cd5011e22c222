"""Derived: what is computed from table versions, kept by version and extended by deltas.

numbering   the rows of a table, numbered; small changes keep the numbers of all other rows
column      one column of a table in memory, by the ordinals of its rows
codes       equal values get equal numbers, and combinations of them too
adjacency   where edges lead from each node, as arrays; small changes are laid over them
vocabulary  the words of a text column, which of them are like another, and where they stand
vectors     how far the vectors of a column are from another, by cosine
memory      derived state that is costly to make, kept by use within a number of bytes
disk        derived arrays in files beside a graph, so that a new process need not compute them
topology    what is made from tables to answer queries, kept in memory and beside the graph
"""
