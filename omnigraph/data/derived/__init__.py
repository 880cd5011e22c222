"""Derived: what is computed from table versions, cached by version and extended by deltas.

numbering     an ordinal for every row of a table, which small changes to the table leave alone
table_column  one column of a table in memory, by the ordinals of its rows
coded_column  a text column of few different values as small numbers, by ordinal
sorting       the places of rows in the order of their keys, found without a sort where they have it
codes         equal values get equal numbers, and so do combinations of them
adjacency     where edges lead from each node, as arrays, with small changes laid over them
statistics    what a planner knows of a column, and of the degrees of an adjacency
vectors       the vectors of a column as a matrix, and their cosine distances to another vector
word_index    the words of a text column, for finding the texts with a word like another
memory        derived values that are costly to make, the most recently used within a byte limit
narrow        whole numbers in as few bytes as the largest of them needs
disk          derived arrays in files beside a graph, so that a new process need not compute them
topology      everything derived from the tables of a graph, cached in memory and beside the graph
"""
