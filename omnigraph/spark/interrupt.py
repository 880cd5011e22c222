"""Interrupt: Ctrl-C cancels the jobs of Spark and is then a KeyboardInterrupt, as always.

PySpark's own handler asks the JVM to cancel on the connection on which the interrupted call still
waits. Py4J cannot do that: nothing is cancelled, and the tasks go on. Here another thread asks,
which has a connection of its own. And a KeyboardInterrupt inside a call of Py4J can come out as an
error of the network, so the main thread makes no long ones: it waits for a thread that does. That
thread may not have begun its job when Ctrl-C comes, so it is told that nobody waits any more.

A handler runs between any two steps of the main thread, which may hold a lock just then: one that
takes it waits for ever. Starting a thread takes one, so the thread that asks the JVM is there
already, and the handler only puts a request into a queue that is made for that.
"""

import logging
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import cache
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

Result = TypeVar("Result")
Handler: TypeAlias = Callable[[int, FrameType | None], Any] | int | None

_CANCEL_SECONDS = 5.0
# A signal that comes just before the main thread begins to wait does not wake it.
_WAIT_SECONDS = 0.2
_PY4J = logging.getLogger("py4j")
# Not empty after a Ctrl-C that came to our handler, for whoever has to tell it from an error of the
# network.
_came: list[int] = []
_asked: "SimpleQueue[tuple[SparkContext, threading.Event]]" = SimpleQueue()
_SILENT = logging.CRITICAL + 1


def interruptible(
    spark: "SparkSession", work: Callable[[], Result], gone: threading.Event
) -> Result:
    """Return what `work` returns; a Ctrl-C meanwhile is felt at once.

    Then the work goes on unheard, and `gone` is set so that it can end itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    answer: Future[Result] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as failed:
            answer.set_exception(failed)

    try:
        _started(spark, run)
        while not answer.done():
            wait((answer,), _WAIT_SECONDS)
        return answer.result()
    except BaseException:
        gone.set()
        raise


def _started(spark: "SparkSession", run: Callable[[], None]) -> None:
    """Start a thread with the tags of this one; a Ctrl-C meanwhile is a KeyboardInterrupt."""
    from py4j.protocol import Py4JError
    from pyspark import inheritable_thread_target

    _came.clear()
    try:
        inheriting = inheritable_thread_target(spark)(run)
    except Py4JError:
        if _came:
            raise KeyboardInterrupt from None
        raise
    threading.Thread(target=inheriting, daemon=True).start()


def current_handler() -> Handler:
    """Return what happens on Ctrl-C now, to be given back to `restore`."""
    return signal.getsignal(signal.SIGINT)


def cancel_on_interrupt(context: "SparkContext", before: Handler) -> None:
    """Let Ctrl-C cancel all jobs of the context, unless somebody else handles it already."""
    _quieten_py4j()
    if before is not signal.default_int_handler:
        restore(before)
        return

    process = os.getpid()
    _start_asking(process)

    def handle(number: int, frame: FrameType | None) -> None:
        _came.append(number)
        if os.getpid() == process:  # a forked child has nobody who asks, and no jobs
            answered = threading.Event()
            _asked.put((context, answered))
            answered.wait(_CANCEL_SECONDS)
        signal.default_int_handler(number, frame)

    restore(handle)


def restore(handler: Handler) -> None:
    """Let Ctrl-C do what it did before; only the main thread can say so."""
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def leave(before: Handler) -> None:
    """Undo `cancel_on_interrupt`."""
    logging.getLogger().removeFilter(_is_not_of_py4j)
    if _PY4J.level == _SILENT:
        _PY4J.setLevel(logging.NOTSET)
    restore(before)


@cache
def _start_asking(process: int) -> None:
    """Start the thread of a process that asks the JVM; once is enough for all its sessions."""
    threading.Thread(target=_ask, name=f"omnigraph-cancel-{process}", daemon=True).start()


def _ask() -> None:
    while True:
        context, answered = _asked.get()
        _cancel(context)
        answered.set()


def _cancel(context: "SparkContext") -> None:
    with suppress(Exception):  # it was stopped meanwhile, and whoever comes next is asked for too
        context.cancelAllJobs()


def _quieten_py4j() -> None:
    """Keep back the tracebacks that Py4J logs before it raises the same errors."""
    logging.getLogger().addFilter(_is_not_of_py4j)
    if _PY4J.level == logging.NOTSET:
        _PY4J.setLevel(_SILENT)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    # Py4J logs the loss of a connection under the root's name.
    return record.module != "java_gateway"
