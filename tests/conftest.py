"""What all tests share."""

import pytest
from hypothesis import settings

from tests.stores import bucket, lane, moto, seaweedfs, standin

__all__ = ["bucket", "lane", "moto", "seaweedfs", "standin"]

settings.register_profile("tests", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="Write what cases really give.")
