"""Parsing: `.gq` text to its syntax tree, and the tree as text again.

ast           the syntax tree of queries, as written: names unresolved, types unknown
value_parser  the values, predicates and orderings of `.gq` text, to their syntax trees
parser        `.gq` text to its syntax tree
foreign       what other languages write, and its form in this one
translation   a text of Cypher or SQL as the same question in this language
printer       expressions and hops of a parsed query, as the language writes them
"""
