"""Steps: names each moment at which something became durable, so that a test can cut there."""

from collections.abc import Callable

observer: Callable[[str], None] | None = None


def reached(step: str) -> None:
    """Tell the observer, if there is one, that a durable step is done."""
    if observer is not None:
        observer(step)
