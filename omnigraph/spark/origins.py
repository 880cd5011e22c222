"""Origins: operations on frames that PySpark does not remember the line of.

PySpark asks the JVM a dozen times for every function of a column, only to tell in an error where it
was written. A plan is made of hundreds, and its errors name the query instead.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

_lock = threading.Lock()
# What PySpark did before, as often as somebody is without origins now.
_before: list[object] = []


@contextmanager
def without_origins() -> Iterator[None]:
    """Let PySpark note no lines meanwhile; those of other threads are not noted either."""
    from pyspark.errors import utils

    settings = cast(Any, utils)
    with _lock:
        _before.append(_before[0] if _before else settings._enable_debugging_cache)
        settings._enable_debugging_cache = False
    try:
        yield
    finally:
        with _lock:
            before = _before.pop()
            if not _before:
                settings._enable_debugging_cache = before
