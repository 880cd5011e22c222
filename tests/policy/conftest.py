"""A world for each test of a policy."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.policy.world import World, made, state


@pytest.fixture(scope="session")
def first_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made(tmp_path_factory.mktemp("policy"))


@pytest.fixture
def world(first_world: World, tmp_path: Path) -> World:
    """A world that the test may change."""
    return first_world.copied(tmp_path)


@pytest.fixture(scope="session")
def kept_world(first_world: World, tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world that many tests share, because nothing that they ask for is done."""
    return first_world.copied(tmp_path_factory.mktemp("kept"))


@pytest.fixture
def unchanged_world(kept_world: World) -> Iterator[World]:
    """A world that is as it was when the test has ended, and of which nothing was exported."""
    before = state(kept_world.owner())
    yield kept_world
    assert state(kept_world.owner()) == before
    assert not (kept_world.root.parent / "out").exists()
