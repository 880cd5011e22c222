"""Waiting: runs work that waits for a store up to a limit, and none in a forked process."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from typing import TypeVar

from omnigraph.errors import InputError

_Found = TypeVar("_Found")
# The process that used Lance first.
_first: list[int] = []


class LateError(Exception):
    """Something took longer than it was allowed to."""


def within(seconds: float, work: Callable[[], _Found]) -> _Found:
    """Return the result of a function; raises LateError when it takes longer.

    Requests to a store cannot be interrupted. So they run on a thread of their own, which is left
    behind and ends with the request it waits for: what it changes may still be changed later.
    """
    done: Future[_Found] = Future()
    context = copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(work))
        except BaseException as failed:
            done.set_exception(failed)

    threading.Thread(target=run, name="omnigraph-wait", daemon=True).start()
    ended, _ = wait([done], max(seconds, 0) if seconds < threading.TIMEOUT_MAX else None)
    if not ended:
        raise LateError
    return done.result()


def refuse_fork() -> None:
    """Note that this process uses Lance; raise InputError when it was forked from one that did.

    The threads that do Lance's work are not in a child, so that a write would wait for ever.
    """
    if not _first:
        _first.append(os.getpid())
    if _first[0] != os.getpid():
        raise InputError(
            "this process was started by fork, from one that had opened a graph",
            hint="start processes by spawn, not by fork",
        )
