"""The table of words has exactly what the parsers ask for, so that nothing made from it drifts."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from omnigraph.query.editor.words import (
    CONSTANT_WORDS,
    FUNCTION_FORMS,
    OPERATOR_WORDS,
    QUERY_ANNOTATIONS,
    QUERY_WORDS,
    SCHEMA_ANNOTATIONS,
    SCHEMA_WORDS,
    TYPES,
)
from omnigraph.query.parsing import parser as query_parser
from omnigraph.query.parsing import value_parser
from omnigraph.schema import annotations
from omnigraph.schema.catalog import EDGE_ENDS
from omnigraph.schema.parsing import parser as schema_parser
from omnigraph.schema.parsing import type_parser
from omnigraph.syntax import cursor

_ASKS = ("at_word", "accept_word", "expect_word")
# Words for which the parser looks by comparing texts.
_COMPARED = {"date", "datetime", "count", "collect"}

ROOT = Path(__file__).parents[2]


def words_asked_for(module: ModuleType) -> set[str]:
    """Return the words that a parser asks for by name, also through its constants."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _ASKS:
                for argument in node.args if node.func.attr == "at_word" else node.args[:1]:
                    found |= set(_texts(argument, module))
        elif isinstance(node, ast.Compare):
            for each in (node.left, *node.comparators):
                found |= {text for text in _texts(each, module) if _is_keyword(text)}
    return found


def _texts(node: ast.expr, module: ModuleType) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Name):
        yield from _held(getattr(module, node.id, ()))
    elif isinstance(node, ast.Starred):
        yield from _texts(node.value, module)
    elif isinstance(node, ast.Tuple):
        for each in node.elts:
            yield from _texts(each, module)


def _held(value: object) -> Iterator[str]:
    if isinstance(value, tuple | set | frozenset):
        yield from (each for each in value if isinstance(each, str))


def _is_keyword(text: str) -> bool:
    known = {*QUERY_WORDS, *OPERATOR_WORDS, *CONSTANT_WORDS, *SCHEMA_WORDS}
    return text in known


def test_the_words_of_queries_are_those_that_their_parser_asks_for() -> None:
    asked = set().union(*map(words_asked_for, (query_parser, value_parser, cursor)))
    functions = set(FUNCTION_FORMS)

    missing = asked - {*QUERY_WORDS, *OPERATOR_WORDS, *CONSTANT_WORDS, *functions}
    known = {*QUERY_WORDS, *OPERATOR_WORDS, *CONSTANT_WORDS}

    assert not missing, f"add them to omnigraph/query/editor/words.py: {missing}"
    assert known - asked == set(EDGE_ENDS), "the parser does not know these"


def test_the_page_of_the_language_names_every_word_and_function() -> None:
    page = (ROOT / "docs" / "query.md").read_text()
    tables = (QUERY_WORDS, OPERATOR_WORDS, CONSTANT_WORDS, FUNCTION_FORMS, QUERY_ANNOTATIONS)

    words = {word for table in tables for word in table}

    assert {word for word in words if not re.search(rf"\b{word}\b", page)} == set()


def test_the_words_of_schemas_are_those_that_their_parser_asks_for() -> None:
    asked = words_asked_for(schema_parser) | words_asked_for(type_parser)

    assert asked - {*SCHEMA_WORDS, *CONSTANT_WORDS, *TYPES} == set()
    assert set(SCHEMA_WORDS) <= asked


def test_types_functions_and_annotations_are_all_there() -> None:
    assert set(TYPES) == {*type_parser._SCALARS, "Vector", "enum"}
    assert set(FUNCTION_FORMS) == set(value_parser._FUNCTIONS)
    assert set(SCHEMA_ANNOTATIONS) == set(annotations.PLACES)
    assert set(QUERY_ANNOTATIONS) == {"description", "instruction"}
    assert all(form.startswith(f"{name}(") for name, (form, _) in FUNCTION_FORMS.items())
    assert set(FUNCTION_FORMS) >= _COMPARED
