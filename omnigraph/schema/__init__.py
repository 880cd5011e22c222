"""Schema: the `.pg` language, from text to catalog; pure functions on frozen values.

parsing      `.pg` text to its syntax tree, and the same text laid out
types        the types of values that a property or a parameter can have
values       converts values from JSON or Python to their types, or says why they do not fit
annotations  which exist, where each is allowed, and what each means
constraints  keys, uniqueness, indexes, ranges and checks of one type
identity     stable identities of types and properties, and the ids of nodes with a key
build        the syntax tree of a schema to its catalog, checked against every static rule
catalog      the checked schema: every type with its properties, constraints and identity
compile      `.pg` text to catalog in one call
labels       the text by which people know a node, and its key
json_rows    rows of a type, decoded from the JSON of an answer
arrow        the Arrow schema of each node and edge table
blobs        how a table stores a Blob: a mark and its bytes, or the text that it was given as
codec        the catalog as JSON and back, and the hash of its content
printer      a catalog as canonical `.pg` text that compiles back to it
steps        the changes a schema with data can make, as values with a text and a JSON form
migration    the steps from an accepted schema to a desired one, matched by identity
combine      the three-way merge of schemas, or all conflicts between the two sides
"""

from omnigraph.schema.compile import compile_schema

__all__ = ["compile_schema"]
