"""Interrupting: what else happens when an operation reaches a step."""

from collections.abc import Callable
from typing import Any

import pytest

from omnigraph.storage import steps
from omnigraph.storage.table import Table
from omnigraph.versioning.heads.head import Head
from omnigraph.versioning.manifest.manifest import Manifest


def do_at(monkeypatch: pytest.MonkeyPatch, step: str, do: Callable[[], object]) -> None:
    """Do something when a step is reached for the first time."""
    monkeypatch.setattr(steps, "observer", at_step(step, do))


def at_step(wanted: str, do: Callable[[], object]) -> Callable[[str], None]:
    """Return an observer that does something when a step is reached for the first time."""
    done: list[str] = []

    def observer(step: str) -> None:
        if step == wanted and not done:
            done.append(step)
            do()

    return observer


def die() -> None:
    """End an operation as a kill would: nothing that it does on errors is done."""
    raise KeyboardInterrupt


def before_flip(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Do something between what the next flip was made of and the flip."""
    flip = Manifest.flip
    done: list[bool] = []

    def late(self: Manifest, at: Table, updates: dict[str, Head | None], **more: Any) -> Table:
        if not done:
            done.append(True)
            do()
        return flip(self, at, updates, **more)

    monkeypatch.setattr(Manifest, "flip", late)
