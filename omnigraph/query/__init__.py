"""Query: the `.gq` language, text to plan; pure functions on frozen values.

ast         the syntax tree of `.gq` queries, as written: names unresolved, types unknown
parser      `.gq` text to its syntax tree
check       a parsed query against the catalog; what passes can be executed as written
patterns    checks a match block and the blocks nested in it
infer       the types of a pattern's variables and the directions of its traversals
resolve     finds what the names in values and predicates stand for, and types them
comparing   which types can stand on the two sides of an operator
statements  checks `insert`, `update` and `delete` against the catalog
checked     every name resolved, every expression typed, nothing ordered yet
expr        what check makes of the text and the engine computes
lower       a checked query to a plan, in a fixed order and without cleverness
tail        lowers what follows the match: ranking, grouping, order, limit and projection
plan        what a query does, as data: a pipeline of operators that can be printed and rewritten
rewrite     small rules that make a plan cheaper and keep its meaning
compile     `.gq` text to plans in one call
params      binds what JSON or Python gives to the parameters that a query declares
lint        checks every query of a file and reports what is wrong or doubtful
explain     a plan as text for people and as JSON for programs
printer     expressions and hops of a parsed query, as the language writes them
"""

from omnigraph.query.compile import compile_queries, compile_query

__all__ = ["compile_queries", "compile_query"]
