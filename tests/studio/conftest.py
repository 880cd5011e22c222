"""A browser for all tests of a process, and a served graph for those of a file."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.studio.browsing import launch
from tests.studio.scene import Scene, served


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Return a Chromium that runs."""
    with sync_playwright() as playwright:
        started = launch(playwright)
        yield started
        started.close()


@pytest.fixture(scope="module")
def scene(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Return a served graph that the tests of a file share."""
    with served(tmp_path_factory.mktemp("scene")) as scene:
        yield scene
