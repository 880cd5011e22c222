"""Query: the `.gq` language, from text to plan; pure functions on frozen values.

parsing    `.gq` text to its syntax tree, and the tree as text again
check      a parsed query against the catalog; a query that passes can run as written
checking   the parts of a query against the catalog, one module for each part
resolve    resolves the names in values and predicates, and types them
functions  what can be computed from values, on which types, and the type of the result
comparing  which types an operator takes on its two sides
expr       typed expressions, which check makes of the text and the engine computes
checked    a query with every name resolved and every expression typed, not yet ordered
planning   a checked query becomes a plan, is made cheaper, and explained
plan       a query as data: a pipeline of operators that can be printed and rewritten
compile    `.gq` text to plans in one call
stored     queries under a name that others may run, and what each takes and returns
params     binds values from JSON or Python to the parameters that a query declares
layout     queries laid out in one way; nothing but white space changes
lint       checks every query of a file and reports errors and doubtful queries
editor     what an editor asks about a text of queries while it is written
"""

from omnigraph.query.compile import compile_queries, compile_query

__all__ = ["compile_queries", "compile_query"]
