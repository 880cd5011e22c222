"""Editor: what an editor asks about queries and schemas while they are written.

diagnose         the problems of a text with their places, and what its queries take and return
words            every word of both languages and what it means
context          where in a text a position is: in which blocks, among which variables
complete         what may be written at a position of a text, also of one that does not parse
complete_schema  what may be written at a position of a schema
about            what a word of a query or a schema means, and where it is declared
textmate         the grammars of both languages by which editors colour them
"""
