"""Data: values as columns, and what is derived from tables to answer queries quickly.

values         columns of typed values: converted, compared, checked and looked up
derived        what is computed from table versions, cached by version, extended after small changes
drawing        rows as a table of text, in columns that line up
graph_picture  the nodes and edges of query rows as a picture for notebooks
result         the rows of a query, as Arrow inside and in many forms outside
"""
