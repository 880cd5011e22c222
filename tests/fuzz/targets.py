"""Targets: every reader of what comes from outside that is fuzzed, by name."""

from tests.fuzz.languages import LANGUAGES
from tests.fuzz.requests import REQUESTS
from tests.fuzz.rows import ROWS
from tests.fuzz.settings import SETTINGS
from tests.fuzz.stored import STORED
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {
    each.name: each for each in (*LANGUAGES, *ROWS, *SETTINGS, *REQUESTS, *STORED)
}
