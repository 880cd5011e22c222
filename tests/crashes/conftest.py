"""What the tests of crashes share: processes that are ready to be killed."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.crashes.nursery import Nursery


@pytest.fixture(scope="session")
def nurseries() -> Iterator[tuple[Nursery, Nursery]]:
    """One nursery for each of two cores."""
    with ExitStack() as stack:
        yield stack.enter_context(Nursery()), stack.enter_context(Nursery())


@pytest.fixture(scope="session")
def nursery(nurseries: tuple[Nursery, Nursery]) -> Nursery:
    return nurseries[0]


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder, in memory where that is possible: a kill loses nothing of a file system."""
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)
