"""Data: values as columns, and what is derived from tables to answer queries quickly.

values   columns of typed values: converted, compared, checked and looked up
derived  what is computed from table versions, cached by version and extended after small changes
drawing  rows as a table of text, in columns that line up
result   the rows of a query, as Arrow inside and in many forms outside
"""
