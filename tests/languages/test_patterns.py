"""The two RE2 engines, that of schemas and that of Arrow, agree."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph.schema.constraints import pattern_found, pattern_problem

TEXTS = ["", "a", "abc", "ABC", "a-1", "straße", "日本", "a\nb", "x@y.z", "2024-01-31", "\t"]
PATTERNS = [
    "",
    "^a",
    "c$",
    r"^\d{4}-\d{2}-\d{2}$",
    r"\p{L}+",
    r"\pN",
    "(?i)abc",
    "[^@]+@[^@]+",
    r"\bß",
    "a.b",
    "(?s)a.b",
    r"^\s$",
    "(?P<x>a)",
]
REFUSED = ["(", "a(?=b)", r"(a)\1", "a{1001}", "[z-a]", r"\p{Nope}", "*"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_finds_the_same_texts_in_both(pattern: str) -> None:
    assert pattern_problem(pattern) is None
    by_arrow = pc.match_substring_regex(pa.array(TEXTS), pattern).to_pylist()
    assert [pattern_found(pattern, text) for text in TEXTS] == by_arrow


@pytest.mark.parametrize("pattern", REFUSED)
def test_a_pattern_is_refused_by_both(pattern: str) -> None:
    assert pattern_problem(pattern)
    with pytest.raises(pa.ArrowInvalid):
        pc.match_substring_regex(pa.array(["x"]), pattern)
