"""Upload: local files as one stream of JSON lines for a server, and where its errors stand."""

import glob
import gzip
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from omnigraph.cli.terms import Given
from omnigraph.errors import InputError, UnreadableError, Violation, ViolationsError

_PIECE_BYTES = 1 << 20
_OTHER_KINDS = (".csv", ".parquet", ".arrow")


class Upload:
    """The files of one load; what they hold is read once, and their lines are counted."""

    def __init__(self, given: Given) -> None:
        if given.type_name is not None:
            raise InputError("a server takes JSON lines only", hint="leave --type out")
        self._stream = None if isinstance(given.data, list) else given.data
        self._paths = _paths(given.data) if isinstance(given.data, list) else []
        self._starts: list[int] = []

    def lines(self) -> Iterator[bytes]:
        """Give the bytes of all files, each from the start of a line."""
        if self._stream is not None:
            while piece := self._stream.read(_PIECE_BYTES):
                yield piece
            return
        before = 0
        for path in self._paths:
            self._starts.append(before)
            last = b"\n"
            for piece in _pieces(path):
                before += piece.count(b"\n")
                last = piece[-1:]
                yield piece
            if last != b"\n":
                before += 1
                yield b"\n"

    @contextmanager
    def placing(self, shown: int) -> Iterator[None]:
        """Let violations name the files and lines that the user knows, and at most so many."""
        try:
            yield
        except ViolationsError as refused:
            placed = [self._placed(each) for each in refused.violations[:shown]]
            raise ViolationsError(placed, total=refused.total) from None

    def _placed(self, violation: Violation) -> Violation:
        if not self._starts or violation.line is None:
            return violation
        at = bisect_right(self._starts, violation.line - 1) - 1
        line = violation.line - self._starts[at]
        return replace(violation, file=self._paths[at], line=line)


def _paths(places: list[str]) -> list[str]:
    found = [path for place in places for path in _matches(place)]
    for path in found:
        if path.removesuffix(".gz").endswith(_OTHER_KINDS):
            hint = "load it where the graph itself is"
            raise InputError(f"a server takes JSON lines only, not '{path}'", hint=hint)
    return found


def _matches(place: str) -> list[str]:
    if "://" in place:
        hint = "load it where the graph itself is"
        raise InputError(f"only local files can be sent to a server, not '{place}'", hint=hint)
    if not glob.has_magic(place) or Path(place).exists():
        return [place]
    found = sorted(glob.glob(place, recursive=True))  # noqa: PTH207 - a pattern may be absolute
    if not found:
        raise UnreadableError(f"no file matches '{place}'")
    return found


def _pieces(path: str) -> Iterator[bytes]:
    try:
        with Path(path).open("rb") as file:
            opened: IO[bytes] = file
            if path.endswith(".gz"):
                opened = gzip.GzipFile(fileobj=file)  # type: ignore[assignment]
            while piece := opened.read(_PIECE_BYTES):
                yield piece
    except (EOFError, gzip.BadGzipFile, zlib.error) as bad:
        raise UnreadableError(f"'{path}' is not sound gzip: {bad}") from None
    except OSError as failed:
        reason = failed.strerror or type(failed).__name__
        raise UnreadableError(f"cannot read '{path}': {reason}") from None
