"""Rows: commands that bring rows into a graph, change them, and take them out.

importing  a graph from data that nobody described
data       rows from files into a branch
following  the options of `ingest --follow`, and what they start
how        what the options of `load` and `ingest` mean for a load, at hand and through a server
change     the commands `change` and `resolve`: a mutation, and two nodes that become one
export     the rows of a branch or commit, as lines or as files
blob       writes the content of one Blob property
embed      vectors for the records of a file, without a graph
"""
