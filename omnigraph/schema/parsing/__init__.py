"""Parsing: `.pg` text to its syntax tree, and the same text laid out.

ast          the syntax tree of a schema, as written
type_parser  value types of both languages: `String?`, `[I64]`, `Vector(3)`, `enum(a, b)`
parser       `.pg` text to its syntax tree
layout       schemas laid out in one way; nothing but white space changes
"""
