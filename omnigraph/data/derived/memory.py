"""Memory: derived values that are costly to make, the most recently used within a byte limit."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar


class Sized(Protocol):
    """A value that knows how many bytes it holds."""

    @property
    def nbytes(self) -> int:
        """The number of bytes."""


Content = TypeVar("Content", bound=Sized)
_Shared = TypeVar("_Shared")

# Values of one family that are kept, however small: every commit to a table in use adds one, and a
# process that writes for days would keep them all. To read forty branches in turn takes as long
# with 16 as with 64.
MOST_OF_FAMILY = 16
# Decisions about plans that are kept: they are small, and every query asks for its own.
MOST_DECISIONS = 512
# Values that hold others: one for each snapshot that is read by turns.
_MOST_SHARED = 4


class MemoryCache:
    """A least-recently-used cache; the value of a key never changes.

    A key belongs to a family, such as all versions of one column; `newest` finds its last value,
    and those used longest ago are dropped when there are many.
    """

    def __init__(self, most_bytes: int) -> None:
        self.losses = 0  # how often a value was dropped for want of room
        self.most_bytes = most_bytes
        self._held = 0
        self._kept: OrderedDict[Hashable, Sized] = OrderedDict()
        self._newest: dict[Hashable, Hashable] = {}
        self._families: dict[Hashable, OrderedDict[Hashable, None]] = {}
        self._family_of: dict[Hashable, Hashable] = {}
        self._shared: dict[Hashable, object] = {}
        self._lock = threading.Lock()

    def get(
        self,
        key: Hashable,
        make: Callable[[], Content],
        *,
        family: Hashable,
        most: int = MOST_OF_FAMILY,
    ) -> Content:
        """Return the value of a key, made if it is missing.

        Two threads may both make it; then both get that of who was first. At most so many values of
        its family are kept.
        """
        found = self.peek(key)
        if found is None:
            found = self._keep(key, make(), family, most)
        return found  # type: ignore[return-value]  # a key stands for one kind of thing

    def peek(self, key: Hashable) -> Sized | None:
        """Return the value of a key, or None."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                self._families[self._family_of[key]].move_to_end(key)
            return found

    def newest(self, family: Hashable) -> Sized | None:
        """Return the value of a family that was made last, or None if it was dropped."""
        with self._lock:
            key = self._newest.get(family)
            return None if key is None else self._kept.get(key)

    def share(self, key: Hashable, make: Callable[[], _Shared]) -> _Shared:
        """Return something that holds values of this cache, made if it is missing.

        A few are kept, until a value is dropped for want of room: its memory has to be freed then.
        """
        found = self._shared.get(key)
        if found is None:
            found = make()
            with self._lock:
                if len(self._shared) >= _MOST_SHARED:
                    self._shared.clear()
                self._shared[key] = found
        return found  # type: ignore[return-value]  # a key stands for one kind of thing

    def clear(self) -> None:
        """Drop every value."""
        with self._lock:
            self.losses += 1
            self._shared.clear()
            self._kept.clear()
            self._newest.clear()
            self._families.clear()
            self._family_of.clear()
            self._held = 0

    def count(self, family: Hashable) -> int:
        """Return how many values of a family are kept."""
        with self._lock:
            return len(self._families.get(family, ()))

    def _keep(self, key: Hashable, made: Sized, family: Hashable, most: int) -> Sized:
        with self._lock:
            first = self._kept.get(key)
            if first is not None:
                return first
            self._held += made.nbytes
            self._kept[key] = made
            self._newest[family] = key
            self._family_of[key] = family
            members = self._families.setdefault(family, OrderedDict())
            members[key] = None
            while len(members) > most:
                self._drop(next(iter(members)))
            while self._held > self.most_bytes and len(self._kept) > 1:
                self._drop(next(iter(self._kept)))
                self._shared.clear()
                self.losses += 1
            return made

    def _drop(self, key: Hashable) -> None:
        dropped = self._kept.pop(key, None)
        if dropped is None:
            return
        self._held -= dropped.nbytes
        family = self._family_of.pop(key)
        self._families[family].pop(key)
        if not self._families[family]:
            del self._families[family], self._newest[family]
