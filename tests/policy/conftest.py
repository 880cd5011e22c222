"""A world for each test of a policy."""

from pathlib import Path

import pytest

from tests.policy.world import World, made


@pytest.fixture(scope="session")
def first_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made(tmp_path_factory.mktemp("policy"))


@pytest.fixture
def world(first_world: World, tmp_path: Path) -> World:
    """A world that the test may change."""
    return first_world.copied(tmp_path)
