"""Checking: the parts of a query against the catalog, one module for each part.

patterns    checks a match block and the blocks nested in it
infer       the types of a pattern's variables and the directions of its traversals
ordering    checks `order`, `skip` and `limit`
collecting  checks `collect`: what the items of a list are, and how they are ordered
uniting     checks a union: its reads have the same columns, by which its rows are ordered
statements  checks `insert`, `replace`, `update`, `delete` and changes of what is matched
"""
