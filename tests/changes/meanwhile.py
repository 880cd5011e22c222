"""Meanwhile: lets somebody else do something at a durable step of a change."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from omnigraph.storage import steps

STAGED = "version staged"
READY = "commit ready"


@dataclass(slots=True)
class Interruptions:
    """Does things one after the other, each at the next time that a step is reached."""

    step: str
    left: list[Callable[[], object]]
    seen: list[str] = field(default_factory=list)
    _busy: bool = False

    def __call__(self, step: str) -> None:
        if self._busy:
            return
        self.seen.append(step)
        if step == self.step and self.left:
            self._busy = True
            try:
                self.left.pop(0)()
            finally:
                self._busy = False


@contextmanager
def meanwhile(*actions: Callable[[], object], step: str = STAGED) -> Iterator[Interruptions]:
    """Within the block, each action is done at the next time that a step is reached."""
    steps.observer = interruptions = Interruptions(step, list(actions))
    try:
        yield interruptions
    finally:
        steps.observer = None
    assert interruptions.left == [], "not everything was done"
