"""Read: a plan becomes rows on one pinned snapshot.

answer        runs a plan on a snapshot along the better road
road          whether a plan is answered from whole tables in memory or by looking single rows up
pushdown      the conditions of a scan that an index of its table narrows down
reader        the rows of one snapshot, numbered, with their columns and the edges between them
dense         reads whole tables once, and then answers from arrays in memory
sparse        looks single rows up by the indexes of the tables, and keeps nothing
whole_column  what is computed from a whole column, kept by the version of its table
execution     one run of a query: its parameters, instant, variables and budget
rows          the matches of a pattern so far: for each variable a column of codes, and a weight
interpreter   runs a plan on a snapshot, operator by operator, and returns Arrow
operators     one module for each step of a plan
profile       what each operator of one execution took and gave
blob          the content of one Blob property, decoded a range at a time
spark         the same plan as DataFrame operations, with the same rows in the same order
"""
