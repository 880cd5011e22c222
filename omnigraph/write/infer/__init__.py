"""Infer: a schema for data that nobody described, which lints and which the data fits.

tables    files, folders, frames and networkx graphs as tables by name
kinds     the type of a column, from all of its values
design    node types, keys and edges, from the values that columns share
inferred  the schema of some data, and its rows, ready to be loaded
"""
