"""Evolve: the schema of a branch becomes another one, with its rows.

plan         what a schema would change on a branch, for people and for programs
migrate      the schema of a branch becomes another one by one commit, or nothing is changed
constraints  whether the rows that are there pass rules that a schema did not have before
lens         the rows of a type as another schema of the same graph shows them, without writing any
tables       a table with the columns and indexes of another version of its type
align        the sides of a merge under one schema, which has what both sides did to theirs
"""
