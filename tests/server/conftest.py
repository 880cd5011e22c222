"""What the tests of the server share."""

from collections.abc import Iterator

import pytest

from tests.server.serving import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Return a server with tokens and a policy; all tests of a module share it."""
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found
