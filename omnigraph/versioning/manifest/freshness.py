"""Freshness: whether the manifest was read so recently that a guard on that version still holds.

Lance finds concurrent changes of a key in the versions that came since. Once a cleanup has removed
these, a writer that read the manifest before them would win a race that it lost long ago.
"""

import threading
from collections import OrderedDict
from datetime import timedelta

from omnigraph.storage.forward import Moment, moment, seconds_between

__all__ = ["MANIFEST_AGE", "Freshness", "Moment", "moment"]

# Nobody removes versions of the manifest that are younger.
MANIFEST_AGE = timedelta(minutes=10)
_MOST_NOTED = 1_024
# What is noted again so soon keeps its moment, so that a version seems older, never younger.
_SOON_SECONDS = 0.1


def _is_close(one: Moment, later: Moment) -> bool:
    return later[0] - one[0] < _SOON_SECONDS and 0 <= later[1] - one[1] < _SOON_SECONDS


class Freshness:
    """When each version of the manifest was last known to be the newest."""

    def __init__(self) -> None:
        self._noted: OrderedDict[int, Moment] = OrderedDict()
        self._lock = threading.Lock()

    def now(self) -> Moment:
        """Return the moment to which the next read will be dated."""
        return moment()

    def note(self, version: int, since: Moment) -> None:
        """Note that a version was the newest at a moment, or came later."""
        known = self._noted.get(version)
        if known is not None and _is_close(known, since):
            return
        with self._lock:
            self._noted[version] = max(since, self._noted.get(version, since))
            self._noted.move_to_end(version)
            while len(self._noted) > _MOST_NOTED:
                self._noted.popitem(last=False)

    def age(self, version: int) -> timedelta:
        """Return how long ago a version was the newest, by the clock that says longer."""
        now = moment()
        with self._lock:
            noted = self._noted.get(version)
        if noted is None:
            return timedelta.max
        return timedelta(seconds=seconds_between(noted, now))
