"""Progress: what long work tells about itself while it runs."""

from typing import Protocol


class Progress(Protocol):
    """Hears of the stages of long work, and how far each is."""

    def begin(self, stage: str, size: int = 0) -> None:
        """A stage begins; `size` is the number of bytes or rows it goes through, if known."""

    def advance(self, done: int, total: int) -> None:
        """So many tasks of the stage are done."""


class _Silent:
    def begin(self, stage: str, size: int = 0) -> None:
        """Say nothing."""

    def advance(self, done: int, total: int) -> None:
        """Say nothing."""


NO_PROGRESS: Progress = _Silent()
