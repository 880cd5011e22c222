"""Waiting: runs work that waits for a store, and gives up after a time limit."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from typing import TypeVar

_Found = TypeVar("_Found")


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
