"""What all tests share."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import settings

from tests.stores import bucket, lane, moto, seaweedfs, standin

__all__ = ["bucket", "lane", "moto", "seaweedfs", "standin"]

settings.register_profile("tests", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("tests")


# What Spark runs in is one process, so that there is one session; about half of the time is spent
# there, and the other half by all other tests, in a second process.
SPARK_FOLDERS = ("pipeline", "docs", "fuzz")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Name for each test the process in which it runs, when there are two."""
    for item in items:
        folder = Path(item.path).relative_to(Path(__file__).parent).parts[0]
        group = "spark" if folder in SPARK_FOLDERS else "rest"
        item.add_marker(pytest.mark.xdist_group(group))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="Write what cases really give.")
