"""Target: one reader of what others wrote, the input made for it, and what has to be true of it."""

import json
import pickle
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from omnigraph import OmniGraphError
from omnigraph.errors import SourceError

SLOWEST = 1.0


class Broken(Exception):
    """A property that has to hold does not."""


@dataclass(frozen=True, slots=True)
class Target:
    """A name, how its inputs are made, and how one is tried."""

    name: str
    make: Callable[[Random], Any]
    run: Callable[[Any], object]

    def attempt(self, given: object) -> float:
        """Run on one input; return the seconds it took, or raise Broken."""
        start = time.process_time()
        try:
            self._try(given)
        except (Broken, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as crash:
            raise Broken(f"{type(crash).__name__}: {crash}"[:300]) from crash
        taken = time.process_time() - start
        if taken > SLOWEST:
            raise Broken(f"took {taken:.1f} s")
        return taken

    def _try(self, given: object) -> None:
        try:
            self.run(given)
        except OmniGraphError as error:
            check_error(error)


def check_error(error: OmniGraphError) -> None:
    """Raise Broken unless an error renders, encodes, pickles and points into its text."""
    if isinstance(error, SourceError):
        assert error.source is not None
        size = len(error.source.text)
        for problem in error.problems:
            if problem.span is None or not 0 <= problem.span.start <= problem.span.end <= size:
                raise Broken(f"{problem.code} has the span {problem.span} in a text of {size}")
    if not error.render():
        raise Broken("the error renders to nothing")
    document = error.to_json()
    json.dumps(document)
    again = pickle.loads(pickle.dumps(error))
    if type(again) is not type(error) or again.to_json() != document:
        raise Broken("the error does not come back from a pickle")


@cache
def scratch() -> Path:
    """Return a folder for the files of this process, which is removed when it ends."""
    folder = tempfile.TemporaryDirectory(prefix="fuzz-")
    _KEPT.append(folder)
    return Path(folder.name)


def written(name: str, data: bytes) -> Path:
    """Write a file of the folder and return its path."""
    path = scratch() / name
    path.write_bytes(data)
    return path


_KEPT: list[tempfile.TemporaryDirectory[str]] = []
