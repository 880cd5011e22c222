"""What all tests share."""

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.stores import bucket, lane, moto, seaweedfs, standin

__all__ = ["bucket", "lane", "moto", "seaweedfs", "standin"]

settings.register_profile("tests", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("tests")


# What Spark runs in is one process, so that there is one session. All other files go to whichever
# process is free.
SPARK_FOLDER = "tests/pipeline/"


class _Sharing(LoadScopeScheduling):  # type: ignore[misc]
    """Shares the tests out between processes, all tests of a file to the same one."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return SPARK_FOLDER if path.startswith(SPARK_FOLDER) else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Say which tests run in the same process, when there are several."""
    return _Sharing(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="Write what cases really give.")
