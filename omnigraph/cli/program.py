"""Program: a process that is nothing but the command line, and what it leaves out for that."""

import atexit
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from omnigraph.cli.start import INTERRUPTED


class Program:
    """Stands in the context of a command that has its process for itself."""


# Objects between two looks for rings of them. The usual 700 means fifty looks while modules are
# imported, a tenth of the time of a short command, and none of them finds anything. A read makes
# 85,000 objects that stay, and looking through half of them took 20 ms.
_BETWEEN_COLLECTIONS = 200_000
_DOCUMENTATION = "pyarrow.vendored.docscrape"


class _Absent:
    """Says to pyarrow, which looks for values of these libraries, that there are none."""

    @staticmethod
    def find_spec(fullname: str, *_: object) -> None:
        if fullname in ("pandas", "dateutil"):
            raise ModuleNotFoundError(f"the command line needs no {fullname}", name=fullname)


class _Undocumented(dict[str, list[str]]):
    """Stands for the documentation of options, in which pyarrow looks for their parameters."""

    def __init__(self, _text: str) -> None:
        super().__init__(Parameters=[])


def collect_rarely() -> None:
    """Let the garbage collector look less often than is usual."""
    gc.set_threshold(_BETWEEN_COLLECTIONS)


def import_arrow() -> None:
    """Import pyarrow without pandas, and without the documentation of its functions.

    It looks for pandas at its first array, to know a frame when it sees one. That takes a fifth of
    a second, and the command line has no frames; `to_pandas` imports pandas all the same. It also
    parses the docstrings of all options to compose those of its functions.
    """
    documentation = ModuleType(_DOCUMENTATION)
    documentation.NumpyDocString = _Undocumented  # type: ignore[attr-defined]
    sys.modules.setdefault(_DOCUMENTATION, documentation)
    finder = _Absent()
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow as pa
        import pyarrow.compute

        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
        if sys.modules[_DOCUMENTATION] is documentation:
            del sys.modules[_DOCUMENTATION]


def leave() -> None:
    """End a process that did what it should; return if a thread or Spark is still at work in it.

    Taking apart every module and object takes a fifth of the time of a short command. What was
    registered for the end of the process runs first.
    """
    others = (each for each in threading.enumerate() if each is not threading.main_thread())
    if "pyspark" in sys.modules or any(not each.daemon for each in others):
        return
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


@contextmanager
def ended_by_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process at once within the block.

    A thread that reads standard input cannot be stopped, and Python would wait for it. A handler in
    Python waits for the main thread, which sleeps on where the signal comes just before it sleeps;
    the wakeup descriptor is written to at any moment, so a thread waits for that.
    """
    before = signal.getsignal(signal.SIGINT)
    is_usual = before is signal.default_int_handler
    if not is_usual or threading.current_thread() is not threading.main_thread():
        yield
        return

    heard, tells = socket.socketpair()
    tells.settimeout(0)
    threading.Thread(target=_end_when_interrupted, args=(heard,), daemon=True).start()
    woken = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        signal.set_wakeup_fd(woken)
        tells.close()


def _end_when_interrupted(heard: socket.socket) -> None:
    """End the process when an interrupt is heard; return when nobody tells of signals any more."""
    with heard:
        while signals := heard.recv(64):
            if signal.SIGINT in signals:
                break
        else:
            return
    try:
        sys.stderr.write("interrupted\n")
        sys.stderr.flush()
    finally:  # also where nobody reads standard error any more
        atexit._run_exitfuncs()
        os._exit(INTERRUPTED)
