"""The lanes of the tests name files that are there, and leave no promise to the long one alone."""

from pathlib import Path

import pytest

from tests.lanes import LONG, QUICK

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", [*QUICK, *LONG])
def test_a_lane_names_what_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_what_is_quick_is_not_long() -> None:
    assert not any(path.startswith(QUICK) for path in LONG)


def test_every_folder_of_the_long_lane_has_tests_in_the_other_one() -> None:
    for folder in {Path(path).parent for path in LONG}:
        files = {f"{folder}/{each.name}" for each in (ROOT / folder).glob("test_*.py")}
        assert files - set(LONG), folder
