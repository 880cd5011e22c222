"""The page is small: what the first load needs, and each room that comes later."""

import gzip
import re

import pytest

from tests.studio.browsing import BUILT, lack

MOST_FIRST = 350_000
MOST_ROOM = 350_000


@pytest.fixture
def built() -> str:
    """Return the first file of the page that is built."""
    if not BUILT.exists():
        lack("the page is not built: run `make studio`")
    return BUILT.read_text()


def test_the_first_load_is_at_most_350_kb_of_compressed_javascript(built: str) -> None:
    names = re.findall(r'(?:src|href)="/studio/(assets/[^"]+\.js)"', built)
    assert names
    sizes = [len(gzip.compress((BUILT.parent / name).read_bytes(), 9)) for name in names]
    assert sum(sizes) <= MOST_FIRST


def test_no_room_is_larger_than_the_first_load_may_be(built: str) -> None:
    for path in (BUILT.parent / "assets").glob("*.js"):
        assert len(gzip.compress(path.read_bytes(), 9)) <= MOST_ROOM, path.name


def test_nothing_of_the_page_stands_in_the_address_of_somebody_else(built: str) -> None:
    assert not re.findall(r'(?:src|href)="(?!/studio/)', built)
    assert "<style" not in built
    assert re.findall(r"<script(?![^>]*src=)", built) == []


def test_the_licences_of_what_the_page_is_made_of_are_part_of_it(built: str) -> None:
    text = (BUILT.parent / "licences.txt").read_text()
    assert {"preact", "@codemirror/view", "d3-force"} <= set(re.findall(r"(?m)^(\S+) \d", text))
