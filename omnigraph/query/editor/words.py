"""Words: every word of both languages and what it means, for editors, pages and completion.

Parsers ask for words where the grammar has them; a test compares what they ask for with this
table, so that nothing that is made from it can fall behind.
"""

from collections.abc import Mapping
from types import MappingProxyType

from omnigraph.query.functions import FUNCTIONS
from omnigraph.query.parsing.value_parser import (
    AGGREGATES,
    COLLECT,
    PATH_PARTS,
    RANKINGS,
    TEXT_FUNCTIONS,
)
from omnigraph.schema.types import Scalar

# What a query is made of.
QUERY_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "query": "declares a query: query name($param: Type) { … }",
        "match": "the pattern whose matches are the rows: match { $p: Person }",
        "optional": "keeps every row, with nulls where the pattern has no match: optional { … }",
        "not": "keeps the rows without a match: not { … }; or negates a condition",
        "return": "the columns of the answer: return { $p.name as name }",
        "distinct": "each row once: return distinct { … }, count(distinct …)",
        "as": "names a column: $p.name as name",
        "having": "conditions on groups: having { count > 1 }",
        "order": "sorts the rows: order { name desc }",
        "asc": "from the smallest to the largest",
        "desc": "from the largest to the smallest",
        "skip": "leaves out the first rows: skip 10",
        "limit": "at most so many rows: limit 10",
        "union": "the rows of two reads with the same columns, each once",
        "all": "repeated rows stay: union all; every shortest path: all shortest",
        "shortest": "the shortest path of a traversal: $a knows{1,5} $b as $path shortest",
        "by": "the weight of a path's edges: shortest by $e.weight",
        "insert": "adds a row, or changes what is named of one with the same key",
        "replace": "writes a whole row: what is not named is cleared",
        "update": "changes rows: update Person set { … } where …",
        "set": "the new values: set { age: 3 }",
        "delete": "removes rows: delete Person where …",
        "where": "which rows are changed",
        "from": "the node that an edge leaves",
        "to": "the node that an edge reaches",
    }
)
# What conditions are made of.
OPERATOR_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "and": "both conditions",
        "or": "one of the conditions, or both",
        "exists": "whether a pattern has a match: exists { … }",
        "is": "tests for null: is null, is not null",
        "contains": "whether a text has a part, or a list an item",
        "starts_with": "whether a text begins with another",
        "in": "whether a value is in a list",
    }
)
CONSTANT_WORDS: Mapping[str, str] = MappingProxyType(
    {"true": "a Bool", "false": "a Bool", "null": "no value; only in 'is null' and 'is not null'"}
)
# What a schema is made of.
SCHEMA_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "node": "declares a type of nodes: node Person { name: String @key }",
        "edge": "declares a type of edges: edge Knows: Person -> Person",
        "interface": "declares properties that several types of nodes share",
        "implements": "the interfaces of a type of nodes",
    }
)
QUERY_ANNOTATIONS: Mapping[str, str] = MappingProxyType(
    {
        "description": 'what the query is for: @description("…")',
        "instruction": 'how agents should use the query: @instruction("…")',
    }
)
SCHEMA_ANNOTATIONS: Mapping[str, str] = MappingProxyType(
    {
        "key": "what identifies a row: @key after a property, or @key(a, b) in the body",
        "unique": "no two rows have the same value",
        "index": "the property is looked up by an index",
        "range": "the least and greatest value: @range(age, 0..150)",
        "check": 'a pattern that values have: @check(code, "^[A-Z]+$")',
        "card": "how many edges may leave one node: @card(0..1)",
        "default": "the value of new rows that have none: @default(0)",
        "embed": 'the vector is made from a text: @embed("text")',
        "rename_from": 'the name it had before: @rename_from("Old")',
        "description": 'what it is: @description("…")',
        "instruction": 'how agents should use it: @instruction("…")',
    }
)
TYPES: Mapping[str, str] = MappingProxyType(
    {
        str(Scalar.STRING): "a text",
        str(Scalar.BLOB): "bytes, or the URI of a file that has them",
        str(Scalar.BOOL): "true or false",
        str(Scalar.I32): "a whole number of 32 bits",
        str(Scalar.I64): "a whole number of 64 bits",
        str(Scalar.U32): "a whole number of 32 bits, not negative",
        str(Scalar.U64): "a whole number of 64 bits, not negative",
        str(Scalar.F32): "a number of 32 bits with a fraction",
        str(Scalar.F64): "a number of 64 bits with a fraction",
        str(Scalar.DATE): "a day",
        str(Scalar.DATETIME): "a moment",
        "Vector": "so many numbers, by which rows are compared: Vector(384)",
        "enum": "one of some words: enum(open, closed)",
    }
)
_FORMS = {
    "count": ("count(*)", "how many rows a group has"),
    "sum": ("sum(number)", "the sum of a group"),
    "avg": ("avg(number)", "the mean of a group"),
    "min": ("min(value)", "the smallest value of a group"),
    "max": ("max(value)", "the largest value of a group"),
    "search": ("search(property, text)", "whether the words of a text occur"),
    "fuzzy": ("fuzzy(property, text, edits)", "whether words occur that are spelt nearly so"),
    "match_text": ("match_text(property, text)", "whether a phrase occurs"),
    "bm25": ("bm25(property, text)", "how well the words of a text fit, to order by"),
    "nearest": ("nearest(property, vector)", "how near a vector is, to order by"),
    "rrf": ("rrf(ranking, ranking, …)", "several rankings as one, to order by"),
    COLLECT: ("collect(value order { … } limit n)", "the values of a group as a list"),
    "nodes": ("nodes($path)", "the nodes of a path, as a list"),
    "edges": ("edges($path)", "the edges of a path, as a list"),
    "now": ("now()", "the moment at which the query runs"),
    "date": ('date("2026-01-31")', "a day"),
    "datetime": ('datetime("2026-01-31T09:00:00Z")', "a moment"),
}
_TIMES = ("now", "date", "datetime")
_NAMES = (*AGGREGATES, COLLECT, *PATH_PARTS, *TEXT_FUNCTIONS, *RANKINGS, *_TIMES)
# How each function is written, and what it returns.
FUNCTION_FORMS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        **{name: _FORMS[name] for name in _NAMES},
        **{name: (each.form, each.summary) for name, each in FUNCTIONS.items()},
    }
)
# All words with which queries are written.
KEYWORDS: Mapping[str, str] = MappingProxyType(
    {
        **QUERY_WORDS,
        **OPERATOR_WORDS,
        **CONSTANT_WORDS,
        "is null": "whether there is no value",
        "is not null": "whether there is a value",
    }
)
