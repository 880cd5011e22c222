"""Textmate: the grammars of both languages by which editors colour them."""

import json
from collections.abc import Iterable
from typing import Any

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

LANGUAGES = ("gq", "pg")


def grammar(language: str) -> dict[str, Any]:
    """Return the TextMate grammar of `gq` or `pg`."""
    is_query = language == "gq"
    return {
        "name": "OmniGraph query" if is_query else "OmniGraph schema",
        "scopeName": f"source.{language}",
        "fileTypes": [language],
        "patterns": [*_shared(language), *(_query() if is_query else _schema()), *_rest(language)],
    }


def grammar_text(language: str) -> str:
    """Return a grammar as the text of its file."""
    return json.dumps(grammar(language), indent=2, ensure_ascii=False) + "\n"


def _shared(language: str) -> list[dict[str, Any]]:
    return [
        {"name": f"comment.line.double-slash.{language}", "match": "//.*$"},
        {"name": f"comment.block.{language}", "begin": "/\\*", "end": "\\*/"},
        {
            "name": f"string.quoted.double.{language}",
            "begin": '"',
            "end": '"',
            "patterns": [{"name": f"constant.character.escape.{language}", "match": "\\\\."}],
        },
        _rule("constant.numeric", r"\b[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\b", language),
    ]


def _query() -> list[dict[str, Any]]:
    names = set(QUERY_WORDS) - {"from", "to"}
    return [
        _rule("variable.other", r"\$[A-Za-z_][A-Za-z0-9_]*", "gq"),
        _rule("entity.name.function", r"(?<=\bquery )[a-z_][A-Za-z0-9_]*(?=\s*\()", "gq"),
        _rule("storage.type.annotation", f"@{_either(QUERY_ANNOTATIONS)}", "gq"),
        _rule("variable.other.member", r"(?<=\.)[a-z_][A-Za-z0-9_]*", "gq"),
        _rule("support.function", f"{_either(FUNCTION_FORMS)}(?=\\s*\\()", "gq"),
        _rule("variable.other.property", r"\b[a-z_][A-Za-z0-9_]*(?=\s*:)", "gq"),
        _rule("constant.language", _either(CONSTANT_WORDS), "gq"),
        _rule("keyword.operator.word", _either({*OPERATOR_WORDS, "not"}), "gq"),
        _rule("keyword.control", _either(names - {"not"}), "gq"),
        _rule("support.type", _either(TYPES), "gq"),
    ]


def _schema() -> list[dict[str, Any]]:
    return [
        _rule("storage.type.annotation", f"@{_either(SCHEMA_ANNOTATIONS)}", "pg"),
        _rule("storage.type.annotation", r"@[a-z_][A-Za-z0-9_]*", "pg"),
        _rule("variable.other.property", r"\b[a-z_][A-Za-z0-9_]*(?=\s*:)", "pg"),
        _rule("keyword.declaration", _either(SCHEMA_WORDS), "pg"),
        _rule("constant.language", _either(set(CONSTANT_WORDS) - {"null"}), "pg"),
        _rule("support.type", _either(TYPES), "pg"),
    ]


def _rest(language: str) -> list[dict[str, Any]]:
    return [
        _rule("entity.name.type", r"\b[A-Z][A-Za-z0-9_]*\b", language),
        _rule("keyword.operator", r"->|<=|>=|!=|\.\.|[=<>+*/%|-]", language),
        _rule("punctuation", r"[{}()\[\]:,.?@]", language),
    ]


def _rule(scope: str, match: str, language: str) -> dict[str, Any]:
    return {"name": f"{scope}.{language}", "match": match}


def _either(words: Iterable[str]) -> str:
    """Return a pattern of whole words, the longest first, and otherwise in their order."""
    return f"\\b(?:{'|'.join(sorted(words, key=lambda word: (-len(word), word)))})\\b"
