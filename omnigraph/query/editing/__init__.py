"""Editing: what helps people who write queries and schemas; the texts need not parse yet.

words            every word of both languages and what it means
scope            the names of the query around a place of a text
complete         what can stand at a place of a query
complete_schema  what can stand at a place of a schema
about            what a word of a query or a schema means, and where it is declared
textmate         the grammars of both languages by which editors colour them
"""
