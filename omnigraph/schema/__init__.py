"""Schema: the `.pg` language, text to catalog; pure functions on frozen values.

ast          the syntax tree of a `.pg` schema, as written
parser       `.pg` text to its syntax tree
type_parser  reads a value type, as both languages write it: `String?`, `[I64]`, `Vector(3)`,
             `enum(a, b)`
types        what a property or a parameter can hold
annotations  which there are, where each may stand, and what it says
constraints  keys, uniqueness, indexes, ranges and checks of one type
build        the syntax tree of a schema to its catalog, every static rule checked
compile      `.pg` text to catalog in one call
catalog      the checked schema, every type with its properties, constraints and identity
identity     names of types and properties that survive renames, and the ids of keyed nodes
values       turns what JSON or Python gives into the value a type holds, or says why not
json_rows    rows of a type read back from the JSON that answers hold
arrow        the Arrow schema of each node and edge table
codec        the catalog as JSON and back, and the hash of its content
printer      a catalog as canonical `.pg` text that compiles back to it
steps        what can be done to a schema that has data, as data, for people and for programs
migration    the steps from an accepted schema to a desired one, told by identities
combine      one schema with what two sides did to a common one, or all that excludes each other
"""

from omnigraph.schema.compile import compile_schema

__all__ = ["compile_schema"]
