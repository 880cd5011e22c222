"""Random syntax trees of `.gq` text: every tree the grammar can write, also ill-typed ones."""

from dataclasses import replace
from datetime import UTC

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from omnigraph.query.parsing import ast
from omnigraph.query.parsing.value_parser import AGGREGATES, RANKINGS, TEXT_FUNCTIONS
from omnigraph.schema.parsing.type_parser import TypeRef
from omnigraph.span import Span
from omnigraph.syntax.cursor import LEAST_INTEGER, MOST_INTEGER
from omnigraph.syntax.literal import Literal, Name
from tests.properties.schemas import KEYWORDS, PLAIN, TYPE_NAMES, notes, texts, value_types

SPAN = Span(0, 0)
FUNCTIONS = (*AGGREGATES, *TEXT_FUNCTIONS, *RANKINGS, "now")
# A clause that starts with one of these goes on with the predicate before it.
CONNECTORS = ("and", "or", "in", "contains", "starts_with")

words = st.sampled_from([*KEYWORDS, *PLAIN, *FUNCTIONS, "true", "false"])
names = words.map(lambda text: Name(text, SPAN))
type_names = st.sampled_from(TYPE_NAMES).map(lambda text: Name(text, SPAN))
# As a value, a bare name is none of the literals, and no function that a `(` may follow.
value_names = st.sampled_from(
    [
        each
        for each in (*KEYWORDS, *PLAIN)
        if each not in (*FUNCTIONS, *CONNECTORS, "null", "not", "is", "date", "distinct")
    ]
).map(lambda text: Name(text, SPAN))
variables = words.map(lambda text: ast.Variable(text, SPAN))
accesses = st.builds(ast.PropertyAccess, variables, names)
literals = st.one_of(
    texts,
    st.integers(LEAST_INTEGER, MOST_INTEGER),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.dates(),
    st.datetimes(timezones=st.just(UTC)).map(
        lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000, fold=0)
    ),
).map(lambda value: Literal(value, SPAN))
leaves: SearchStrategy[ast.Expr] = st.one_of(variables, accesses, literals, value_names)


def _wider(inner: SearchStrategy[ast.Expr]) -> SearchStrategy[ast.Expr]:
    items = st.lists(inner, max_size=3).map(tuple)
    some = st.lists(inner, min_size=1, max_size=3).map(tuple)
    functions = st.sampled_from(FUNCTIONS)
    return st.one_of(
        st.builds(ast.ListExpr, items, st.just(SPAN)),
        st.builds(ast.FunctionCall, functions, items, st.just(SPAN)),
        st.builds(
            ast.FunctionCall, functions, some, st.just(SPAN), distinct=st.sampled_from([True])
        ),
    )


exprs = st.recursive(leaves, _wider, max_leaves=4)


def _is_search(node: ast.Expr) -> bool:
    return isinstance(node, ast.FunctionCall) and node.function in TEXT_FUNCTIONS


searches = st.builds(
    ast.FunctionCall,
    st.sampled_from(TEXT_FUNCTIONS),
    st.lists(leaves, min_size=1, max_size=3).map(tuple),
    st.just(SPAN),
)


def _patterns() -> SearchStrategy[ast.Clause]:
    return st.one_of(bindings, traversals)


tests: SearchStrategy[ast.Predicate] = st.one_of(
    st.builds(ast.Comparison, exprs, st.sampled_from(ast.Operator), exprs, st.just(SPAN)),
    st.builds(
        ast.NullTest, exprs.filter(lambda each: not _is_search(each)), st.booleans(), st.just(SPAN)
    ),
    searches,
    st.builds(
        ast.Exists,
        st.lists(st.deferred(_patterns), min_size=1, max_size=2).map(tuple),
        st.just(SPAN),
    ),
)


def _connected(inner: SearchStrategy[ast.Predicate]) -> SearchStrategy[ast.Predicate]:
    items = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(ast.And, items),
        st.builds(ast.Or, items),
        st.builds(ast.Not, inner, st.just(SPAN)),
    )


predicates = st.recursive(tests, _connected, max_leaves=5)
edge_names = st.builds(ast.EdgeName, names, st.booleans())
hops = st.builds(ast.Hops, st.integers(0, 9), st.one_of(st.none(), st.integers(0, 9)))
bindings = st.builds(
    ast.Binding, variables, type_names, st.lists(st.tuples(names, exprs), max_size=2).map(tuple)
)


def _is_traversal(clause: ast.Traversal) -> bool:
    """Tell whether the text is read as a traversal: `$a contains $b` is read as a predicate."""
    bare = len(clause.edges) == 1 and not clause.edges[0].undirected
    unmarked = clause.edge_variable is None and clause.hops == ast.Hops()
    return not (bare and unmarked and clause.edges[0].name.text in CONNECTORS)


traversals = st.builds(
    ast.Traversal,
    source=variables,
    edges=st.lists(edge_names, min_size=1, max_size=3).map(tuple),
    target=variables,
    hops=st.one_of(st.just(ast.Hops()), hops),
    edge_variable=st.one_of(st.none(), variables),
    path=st.one_of(
        st.none(),
        st.none(),
        st.builds(
            ast.PathName, variables, st.booleans(), st.one_of(st.none(), accesses), st.just(SPAN)
        ),
    ),
).filter(_is_traversal)

plain_clauses: SearchStrategy[ast.Clause] = st.one_of(
    bindings, traversals, st.builds(ast.Filter, predicates)
)


def _blocks(inner: SearchStrategy[ast.Clause]) -> SearchStrategy[ast.Clause]:
    clauses = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(ast.Negation, clauses, st.just(SPAN)),
        st.builds(ast.OptionalMatch, clauses, st.just(SPAN)),
    )


clauses = st.recursive(plain_clauses, _blocks, max_leaves=4)
bounds = st.one_of(
    st.none(), st.integers(0, MOST_INTEGER).map(lambda n: Literal(n, SPAN)), variables
)
reads = st.builds(
    ast.Read,
    match=st.lists(clauses, min_size=1, max_size=3).map(tuple),
    projections=st.lists(
        st.builds(ast.Projection, exprs, st.one_of(st.none(), names)), min_size=1, max_size=3
    ).map(tuple),
    distinct=st.booleans(),
    having=st.lists(predicates, max_size=2).map(tuple),
    order=st.lists(
        st.builds(ast.Ordering, exprs, st.one_of(st.none(), st.booleans())), max_size=2
    ).map(tuple),
    skip=bounds,
    limit=bounds,
)
plain_reads = reads.map(lambda read: replace(read, order=(), skip=None, limit=None))
unions = st.builds(
    ast.Union,
    reads=st.lists(plain_reads, min_size=2, max_size=3).map(tuple),
    keeps_all=st.booleans(),
    order=st.lists(
        st.builds(ast.Ordering, exprs, st.one_of(st.none(), st.booleans())), max_size=2
    ).map(tuple),
    skip=bounds,
    limit=bounds,
)
assignments = st.lists(st.tuples(names, exprs), min_size=1, max_size=3).map(tuple)
writes = st.one_of(
    st.builds(ast.Insert, type_names, assignments),
    st.builds(ast.Update, type_names, assignments, predicates),
)
matched = st.builds(
    ast.FromMatch,
    st.lists(clauses, min_size=1, max_size=3).map(tuple),
    st.one_of(
        st.builds(ast.Insert, type_names, assignments),
        st.builds(ast.Replace, type_names, assignments),
        st.builds(ast.SetVariable, variables, assignments),
    ),
    st.just(SPAN),
)
deletes = st.builds(ast.Delete, type_names, predicates)
mutations = st.builds(
    ast.Mutation,
    st.one_of(
        st.lists(st.one_of(writes, matched), min_size=1, max_size=3).map(tuple),
        st.lists(deletes, min_size=1, max_size=3).map(tuple),
    ),
)
params = st.builds(ast.Param, names, st.builds(TypeRef, value_types, st.booleans()))
query_trees = st.builds(
    ast.Query,
    name=names,
    params=st.lists(params, max_size=3).map(tuple),
    body=st.one_of(reads, reads, unions, mutations),
    description=st.one_of(st.none(), notes),
    instruction=st.one_of(st.none(), notes),
)
file_trees = st.lists(query_trees, max_size=2).map(lambda items: ast.QueryFile(tuple(items)))
