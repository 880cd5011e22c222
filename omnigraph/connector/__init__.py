"""Connector: a graph as a data source of Spark, `format("omnigraph")`, to read, write and stream.

source      the data source as Spark knows it: which reader or writer its options ask for
options     the options of the data source, checked, and the graph and commit that they name
tables      the rows of one type at one commit, in partitions of whole fragments
conditions  the conditions of the option `where`, which the store decides as the language does
queries     the rows of a query at one commit, from one task
writing     rows that tasks store and one commit publishes, of a frame or of each micro-batch
feed        what each commit of a branch changed, as a stream
"""
