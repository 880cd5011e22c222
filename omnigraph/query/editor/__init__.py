"""Editor: what an editor asks about a text of queries while it is written.

diagnose  the problems of a text with their places, and what its queries take and return
context   where in a text a position is: in which blocks, among which variables
complete  what may be written at a position of a text, also of one that does not parse
"""
