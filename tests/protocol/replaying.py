"""Replaying: brings the product into the order of steps that the model found."""

from collections.abc import Callable

import pytest

from omnigraph.storage import steps
from tests.maintenance.tidying import at_step


def do_at(monkeypatch: pytest.MonkeyPatch, step: str, do: Callable[[], object]) -> None:
    """Do something when a step is reached for the first time."""
    monkeypatch.setattr(steps, "observer", at_step(step, do))
