"""Export: the rows of a snapshot as lines, files or another graph library.

keywords  those that `export_to` takes
export    the rows of a snapshot as one sorted stream of JSON lines, or as files in a folder
sorting   any number of rows sorted by id, a bounded part of them in memory
lines     rows of a table as JSON lines, rendered column by column
shards    the rows of some fragments as one file, of JSON lines or Parquet
network   nodes and edges of a snapshot as a networkx graph
"""
