"""Progress: what long work reports while it runs."""

from typing import Protocol


class Progress(Protocol):
    """Is told the stages of long work, and how far each is."""

    def begin(self, stage: str, size: int = 0) -> None:
        """A stage begins; `size` is the number of bytes or rows it goes through, if known."""

    def advance(self, done: int, total: int) -> None:
        """`done` of `total` tasks of the stage are done."""


class _Silent:
    def begin(self, stage: str, size: int = 0) -> None:
        """Ignore it."""

    def advance(self, done: int, total: int) -> None:
        """Ignore it."""


NO_PROGRESS: Progress = _Silent()
