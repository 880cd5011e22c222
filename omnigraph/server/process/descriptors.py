"""Descriptors: how many files and sockets the process may open, and what happens at the last."""

import asyncio
import errno
import resource
import time
from collections.abc import Callable
from typing import Any

from omnigraph.server.monitoring.logs import warn

# Tables, indexes and objects that are open beside the connections.
_RESERVED = 256
_QUIET_SECONDS = 1.0
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def connections_within(wanted: int) -> int:
    """Raise the process's limit of open files as far as it goes; return how many connections fit.

    At least half of the files are left for the graph, or 256 if that is less.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = wanted + _RESERVED
    if soft == resource.RLIM_INFINITY or soft >= enough:
        return wanted
    most = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    fit = max(1, min(wanted, most - min(_RESERVED, most // 2)))
    if fit < wanted:
        warn("fewer connections than wanted", connections=fit, wanted=wanted, open_files=most)
    return fit


class Exhaustion:
    """The handler of what goes wrong in an event loop outside of any request.

    When no descriptor is left, `make_room` is called. Nothing of an exception but its kind is
    written to the log, and one line in a second at most.
    """

    def __init__(self, make_room: Callable[[], None]) -> None:
        self._make_room = make_room
        self._quiet_until = 0.0

    def __call__(self, _: asyncio.AbstractEventLoop, about: dict[str, Any]) -> None:
        failed = about.get("exception")
        reason = failed.errno if isinstance(failed, OSError) else None
        if reason in _EXHAUSTED:
            self._make_room()
        now = time.monotonic()
        if now < self._quiet_until:
            return
        self._quiet_until = now + _QUIET_SECONDS
        if reason in _EXHAUSTED:
            warn("no file descriptor left", reason=errno.errorcode.get(reason or 0))
        else:
            warn("the event loop failed", kind=type(failed).__name__, said=str(about["message"]))
