"""The editor colours the words of the language, and no others."""

import json

import pytest

from omnigraph.query.editor import words
from tests.studio.browsing import ROOT

WORDS = ROOT / "studio/src/rooms/query/words.json"


def test_the_words_of_the_editor_are_those_of_the_language(request: pytest.FixtureRequest) -> None:
    known = (words.QUERY_WORDS, words.OPERATOR_WORDS, words.CONSTANT_WORDS)
    expected = {
        "keywords": sorted({word for each in known for word in each}),
        "functions": sorted(words.FUNCTION_FORMS),
        "types": sorted(words.TYPES),
    }
    if request.config.getoption("--update-cases"):
        WORDS.write_text(json.dumps(expected, indent=2) + "\n")

    assert json.loads(WORDS.read_text()) == expected
