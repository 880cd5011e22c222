"""What is true of every query: it prints and parses back, and its plan can be executed."""

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph import Source, compile_query
from omnigraph.query.compile import compile_queries
from omnigraph.query.parsing import ast
from omnigraph.query.parsing.parser import parse_queries
from omnigraph.query.plan import Expand, Plan, ReadPlan
from omnigraph.query.planning.explain import explain_json, explain_text
from omnigraph.syntax.problems import Problems
from tests.properties.plans import check_columns, check_flow
from tests.properties.printing import print_queries
from tests.properties.queries import CATALOG, mutation_trees, read_trees
from tests.properties.trees import file_trees

_PEOPLE = "$v1: Person $v1 knows $v2"


@settings(max_examples=150)
@given(file_trees)
def test_every_printed_tree_parses_back_to_itself(tree: ast.QueryFile) -> None:
    assert repr(_parsed(print_queries(tree))) == repr(tree)
    assert _parsed(print_queries(tree)) == tree


@settings(max_examples=200)
@given(st.one_of(read_trees(), read_trees(), mutation_trees()))
def test_a_well_typed_query_compiles_and_explains_itself(tree: ast.Query) -> None:
    text = print_queries(ast.QueryFile((tree,)))

    plan = compile_query(text, CATALOG)

    assert explain_text(plan)
    assert json.loads(json.dumps(explain_json(plan), allow_nan=False)) == explain_json(plan)
    assert compile_query(text, CATALOG) == plan
    assert compile_queries(text, CATALOG) == {"q": plan}


@settings(max_examples=150)
@given(st.data())
def test_the_order_of_clauses_does_not_decide_whether_a_query_compiles(
    data: st.DataObject,
) -> None:
    tree = data.draw(read_trees())
    assert isinstance(tree.body, ast.Read)
    fixed = [each for each in tree.body.match if isinstance(each, ast.OptionalMatch)]
    moved = [each for each in tree.body.match if not isinstance(each, ast.OptionalMatch)]
    shuffled = (*data.draw(st.permutations(moved)), *fixed)

    other = replace(tree, body=replace(tree.body, match=shuffled))

    assert _plan(other).params == _plan(tree).params


@settings(max_examples=300)
@given(read_trees())
def test_a_plan_reads_only_what_is_bound_and_lists_exactly_the_columns_it_reads(
    tree: ast.Query,
) -> None:
    plan = _plan(tree)

    assert isinstance(plan, ReadPlan)
    check_flow(plan)
    check_columns(plan, CATALOG)


def test_a_chain_of_traversals_that_is_only_counted_is_counted_as_a_whole() -> None:
    plan = compile_query(
        f"query q() {{ match {{ {_PEOPLE} $v2 knows $v3 }} return {{ count($v3) as n }} }}", CATALOG
    )

    assert isinstance(plan, ReadPlan)
    check_flow(plan)
    expands = [each for each in plan.operators if isinstance(each, Expand)]
    assert [each.counted for each in expands] == [True, True]


def test_the_order_of_two_traversals_without_types_does_not_decide_whether_they_compile() -> None:
    first, second = "$x worksAt $y", "$y wrote $z"
    for clauses in (f"{first} {second}", f"{second} {first}"):
        compile_query(f"query q() {{ match {{ {clauses} }} return {{ $z.title }} }}", CATALOG)


def test_an_interface_is_narrowed_by_a_traversal_wherever_it_stands() -> None:
    bindings, vague, clear = "$a: Named $b: Named", "$a worksAt $b", "$a knows $c"
    for clauses in (f"{bindings} {clear} {vague}", f"{bindings} {vague} {clear}"):
        compile_query(f"query q() {{ match {{ {clauses} }} return {{ $c.name }} }}", CATALOG)


def test_an_optional_block_may_stand_before_the_clause_that_binds_its_start() -> None:
    block = "optional { $v1 likes $x }"
    for clauses in (f"{_PEOPLE} {block}", f"{block} {_PEOPLE}"):
        compile_query(f"query q() {{ match {{ {clauses} }} return {{ $x.name }} }}", CATALOG)


def test_a_search_can_be_tested_for_null_like_any_other_expression() -> None:
    text = 'query q() { match { $d: Doc  search($d.text, "a") is not null } return { $d.title } }'

    compile_query(text, CATALOG)


def test_a_predicate_that_starts_with_the_name_and_is_printed_so_that_it_parses_back() -> None:
    text = "query q() { match { $d: Doc } return { $d.in as and } having { $d.in = 1 (and = 2) } }"

    tree = _parsed(text)

    assert _parsed(print_queries(tree)) == tree


def test_a_name_of_a_function_before_a_parenthesis_is_printed_so_that_it_parses_back() -> None:
    text = (
        "query q() { match { $d: Doc } return { $d.in as count }"
        " having { ($d.in = count) (count = 1 or count = 2) and count > 0 } }"
    )

    tree = _parsed(text)

    assert _parsed(print_queries(tree)) == tree


def _plan(tree: ast.Query) -> Plan:
    return compile_query(print_queries(ast.QueryFile((tree,))), CATALOG)


def _parsed(text: str) -> ast.QueryFile:
    problems = Problems()
    tree = parse_queries(Source("q.gq", text), problems)
    assert not problems.items, text
    return tree
