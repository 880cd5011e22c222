"""What all tests share."""

import gc
import signal
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests import lanes
from tests.stores import bucket, lane, moto, seaweedfs, standin

__all__ = ["bucket", "lane", "moto", "seaweedfs", "standin"]

settings.register_profile("tests", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("tests")

# Whoever starts the tests in the background lets all their processes ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# What is imported and collected stays to the end: looking through it for garbage, again and again,
# is two fifths of the time of collecting.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage only among what the tests themselves leave."""
    gc.freeze()
    gc.enable()


# What Spark runs in is one process, so that there is one session, and so is what a browser runs in.
# All other files go to whichever process is free, those that take long first, so that no process
# waits for another at the end.
TOGETHER = ("tests/pipeline/", "tests/studio/")
FIRST = (
    *TOGETHER,
    "tests/merging/test_histories.py",
    "tests/docs/",
    "tests/properties/",
    "tests/crashes/",
    "tests/attack/",
    "tests/promises/",
    "tests/server/",
    "tests/merging/",
    "tests/engine/",
    "tests/changes/",
    "tests/cli/",
    "tests/adapters/",
    "tests/aio/",
    "tests/maintenance/",
    "tests/parity/",
    "tests/races/",
)


class _Sharing(LoadScopeScheduling):  # type: ignore[misc]
    """Shares the tests out between processes, all tests of a file to the same one."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return next(filter(path.startswith, TOGETHER), path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Say which tests run in the same process, when there are several."""
    config.option.loadscopereorder = False
    return _Sharing(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the files of the long lane alone in the other one, which need not import them."""
    if config.getoption("markexpr") != "not long":
        return None
    return collection_path.relative_to(config.rootpath).as_posix() in lanes.LONG or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the long forms, and put the files first that take long."""
    for item in items:
        if item.nodeid.startswith(lanes.LONG):
            item.add_marker(pytest.mark.long)
    places = {prefix: place for place, prefix in enumerate(FIRST)}

    def place(item: pytest.Item) -> int:
        found = (at for prefix, at in places.items() if item.nodeid.startswith(prefix))
        return next(found, len(places))

    items.sort(key=place)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="Write what cases really give.")
