"""Evolve: changes the schema of a branch, and its rows with it.

plan         what a schema would change on a branch, for people and programs
migrate      changes the schema of a branch by one commit, or changes nothing
cost         the rows that each step of a schema change writes, checks, hides or shows again
constraints  checks existing rows against rules that the schema did not have before
tables       a table with the columns and indexes of another version of its type
outlook      the rows of a snapshot as another schema would have them, with what comes back
lens         the rows of a type as another schema of the graph shows them, without writing any
past         rows and values that older commits have of what the schema of a snapshot dropped
align        brings the sides of a merge to one schema that has the changes of both
"""
