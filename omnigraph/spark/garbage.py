"""Garbage: what imported modules hold is left out of what a worker collects after each task."""

import gc
import sys

_known_modules = [0]


def spare_modules() -> None:
    """Keep what modules hold from being looked through again, if any was imported since.

    A Python worker of Spark collects all garbage after every task. That took 30 of the 33 ms of an
    empty task, nearly all of them for objects of modules, which stay.
    """
    count = len(sys.modules)
    if count > _known_modules[0]:
        gc.collect()
        gc.freeze()
        _known_modules[0] = count
