"""Data: values as columns, and what is derived from tables to answer quickly.

values   columns of typed values: converted, compared, checked and looked up
derived  what is computed from table versions, kept by version and extended by deltas
result   the rows of a query, as Arrow inside and as whatever a user needs outside
"""
