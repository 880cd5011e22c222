"""Parts: checks the splits of a file, and writes them as the parts of another."""

import gzip
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, replace
from pathlib import Path
from typing import BinaryIO, assert_never, cast
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.embedding import Embedder, EmbeddingTask
from omnigraph.errors import Code, InputError, StorageError, Violation
from omnigraph.frozen import dataclass
from omnigraph.write.embed.rewrite import BadLine, CleanedRow, DueRow, KeptLine, LineStep, Rewrite
from omnigraph.write.filling import MOST_NUMBERS
from omnigraph.write.load.sources.files import lines_of, too_long
from omnigraph.write.load.sources.records import is_utf8
from omnigraph.write.load.sources.splits import Format, Split

_BLOCK_BYTES = 8 << 20
_BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class LineCounts:
    """Counts of lines, by what happens to them."""

    lines: int = 0
    rows: int = 0
    selected: int = 0
    due: int = 0
    cleaned: int = 0

    def count(self, step: LineStep) -> None:
        """Count one more line."""
        self.lines += 1
        match step:
            case KeptLine():
                self.rows += step.is_row
                self.selected += step.is_selected
            case DueRow():
                self.rows += 1
                self.selected += 1
                self.due += 1
            case CleanedRow():
                self.rows += 1
                self.selected += 1
                self.cleaned += 1
            case BadLine():
                self.rows += 1
            case _:
                assert_never(step)

    @staticmethod
    def of(tallies: Iterable["LineCounts"]) -> "LineCounts":
        """Return the sum of several counts."""
        return LineCounts(
            *map(sum, zip(astuple(LineCounts()), *map(astuple, tallies), strict=True))
        )


@dataclass(frozen=True, slots=True)
class CheckedPart:
    """The counts of a split, its first violations with their lines, and how many there are."""

    tally: LineCounts
    violations: Sequence[Violation]
    total: int


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A written split: its path and its counts."""

    path: str
    tally: LineCounts


@dataclass(frozen=True, slots=True)
class CheckTask:
    """The task that only checks, so that no text is sent while a line of the file is bad."""

    rewrite: Rewrite
    most_violations: int

    def __call__(self, split: Split) -> CheckedPart:
        tally = LineCounts()
        found: list[Violation] = []
        total = 0
        for step in _steps(self.rewrite, split):
            tally.count(step)
            if isinstance(step, BadLine):
                total += len(step.faults)
                found += [replace(each, line=tally.lines) for each in step.faults]
                del found[self.most_violations :]
        return CheckedPart(tally, found, total)


@dataclass(frozen=True, slots=True)
class WriteTask:
    """The task that writes a split; a second run leaves another file, which nobody uses."""

    rewrite: Rewrite
    embedder: Embedder | None
    folder: str
    zips: bool

    def __call__(self, split: Split) -> WrittenPart:
        path = Path(self.folder, uuid4().hex)
        tally = LineCounts()
        with _open_part(path, self.zips) as file:
            for steps in _chunks(_steps(self.rewrite, split), self._most_due):
                file.writelines(self._lines(steps, split.name))
                for step in steps:
                    tally.count(step)
        return WrittenPart(str(path), tally)

    @property
    def _most_due(self) -> int:
        return max(1, MOST_NUMBERS // self.rewrite.spec.dimension)

    def _lines(self, steps: Sequence[LineStep], name: str) -> Iterator[bytes]:
        vectors = iter(self._vectors([step.text for step in steps if isinstance(step, DueRow)]))
        for step in steps:
            match step:
                case KeptLine(line) | CleanedRow(line):
                    yield line
                case DueRow(before, _, after):
                    yield b"".join((before, next(vectors), after))
                case BadLine():  # it was not when it was checked
                    raise file_changed(name)
                case _:
                    assert_never(step)

    def _vectors(self, texts: Sequence[str]) -> list[bytes]:
        if not texts:
            return []
        assert self.embedder is not None
        return print_vectors(
            self.embedder.embed(texts, self.rewrite.spec.dimension, EmbeddingTask.DOCUMENT)
        )


def print_vectors(vectors: npt.NDArray[np.float32]) -> list[bytes]:
    """Return each vector as JSON, every number as the shortest text of the same float."""
    numbers = pa.array(vectors.reshape(-1)).cast(pa.utf8())
    ends = np.arange(0, vectors.size + 1, vectors.shape[1], dtype=np.int32)
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(ends), numbers), ",")
    return [f"[{text}]".encode() for text in joined.to_pylist()]


def _chunks(steps: Iterable[LineStep], most_due: int) -> Iterator[list[LineStep]]:
    """Yield the steps in lists small enough to be held with all their vectors."""
    held: list[LineStep] = []
    due = size = 0
    for step in steps:
        held.append(step)
        due += isinstance(step, DueRow)
        size += _size(step)
        if due >= most_due or size >= _BLOCK_BYTES:
            yield held
            held, due, size = [], 0, 0
    if held:
        yield held


def _size(step: LineStep) -> int:
    match step:
        case KeptLine(line) | CleanedRow(line):
            return len(line)
        case DueRow(before, text, after):
            return len(before) + len(text) + len(after)
        case BadLine():
            return 0
        case _:
            assert_never(step)


def _steps(rewrite: Rewrite, split: Split) -> Iterator[LineStep]:
    file, is_packed = split.source.file, split.source.format is Format.PACKED
    with file.unpacked() if is_packed else file.open() as stream:
        if split.start:
            stream.seek(split.start)
        limit = None if is_packed else split.end - split.start
        start = _BOM if split.start == 0 else b""
        for block in lines_of(stream, _BLOCK_BYTES, limit):
            if block is None:
                yield BadLine((replace(too_long(), line=None),))
                start = b""
                continue
            is_sound = is_utf8(block)
            for line in io.BytesIO(block):
                if is_sound or is_utf8(line):
                    mark = len(start) if start and line.startswith(start) else 0
                    yield rewrite.step(line, mark)
                else:
                    yield BadLine((Violation(code=Code.RECORD_SYNTAX, reason="is not UTF-8"),))
                start = b""


@contextmanager
def _open_part(path: Path, zips: bool) -> Iterator[BinaryIO]:
    """Open a new file for writing; gzip parts, concatenated, are a gzip file again."""
    try:
        with path.open("wb") as file:
            if not zips:
                yield file
                return
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped:
                yield cast(BinaryIO, zipped)
    except OSError as failed:
        raise cannot_write(path, failed) from None


def file_changed(name: str) -> InputError:
    """Return the error that a file changed after it was checked."""
    return InputError(f"'{name}' changed while it was read; nothing was written")


def cannot_write(path: Path, failed: OSError) -> StorageError:
    """Return the error that a file cannot be written, with the reason."""
    return StorageError(f"cannot write '{path}': {failed.strerror or type(failed).__name__}")
