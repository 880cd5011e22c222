"""Evolve: changes the schema of a branch, and its rows with it.

plan         what a schema would change on a branch, for people and programs
migrate      changes the schema of a branch by one commit, or changes nothing
constraints  checks existing rows against rules that the schema did not have before
tables       a table with the columns and indexes of another version of its type
lens         the rows of a type as another schema of the graph shows them, without writing any
align        brings the sides of a merge to one schema that has the changes of both
"""
