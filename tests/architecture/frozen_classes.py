"""Classes of a module of their own, as pickle needs them."""

from omnigraph.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Slotted:
    """A value with slots."""

    a: int
    items: list[int]


@dataclass(frozen=True)
class Open:
    """A value with a dictionary."""

    a: int
    items: list[int]
