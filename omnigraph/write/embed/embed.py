"""Embed: writes a file of records again, with vectors added or removed."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeAlias, TypedDict, Unpack

from omnigraph.embedding import Embedder, embedder_for, with_cache
from omnigraph.errors import InputError, Json, Violation, ViolationsError
from omnigraph.frozen import dataclass
from omnigraph.spark.choice import Engine, FileWork, default_settings, runner_for_files
from omnigraph.spark.progress import NO_PROGRESS, Progress
from omnigraph.spark.runner import Runner
from omnigraph.spark.settings import SparkSettings
from omnigraph.storage.store import Store
from omnigraph.syntax.problems import parse_choice
from omnigraph.write.embed.parts import (
    CheckedPart,
    CheckTask,
    LineCounts,
    WriteTask,
    WrittenPart,
    cannot_write,
    file_changed,
)
from omnigraph.write.embed.rewrite import EmbedMode, Rewrite
from omnigraph.write.embed.row_filter import RowFilter, Select
from omnigraph.write.embed.seed import Spec, read_spec, spec_of
from omnigraph.write.filling import CacheFolder
from omnigraph.write.load.options import SHOWN_VIOLATIONS
from omnigraph.write.load.sources.files import File, files_at
from omnigraph.write.load.sources.packing import packing_of
from omnigraph.write.load.sources.splits import Format, LoadSource, Split, splits_of

FilePath: TypeAlias = str | os.PathLike[str]
Input: TypeAlias = FilePath | BinaryIO

_BUFFER = 8 << 20


class EmbedKeywords(TypedDict, total=False):
    """The keywords that `embed_file` takes."""

    mode: EmbedMode | str
    types: Sequence[str]
    select: Sequence[Select | str]
    engine: Engine | str
    spark: SparkSettings | None
    shown: int
    environment: Mapping[str, str]
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """What an offline embed did; `model` is None when none was needed."""

    input: str
    output: str
    mode: EmbedMode
    rows: int
    selected_rows: int
    embedded_rows: int
    cleaned_rows: int
    dimension: int
    model: str | None
    engine: str

    def to_json(self) -> dict[str, Json]:
        """Return the result as JSON."""
        return {
            "input": self.input,
            "output": self.output,
            "rows": self.rows,
            "selected_rows": self.selected_rows,
            "embedded_rows": self.embedded_rows,
            "cleaned_rows": self.cleaned_rows,
            "mode": str(self.mode),
            "dimension": self.dimension,
            "model": self.model,
            "engine": self.engine,
        }


def embed_file(
    input: Input,  # noqa: A002 - the word of the command line
    output: FilePath,
    spec: Spec | Mapping[str, object] | FilePath,
    **keywords: Unpack[EmbedKeywords],
) -> Embedded:
    """Write a file of records again, with the vectors that a spec asks for, or without them.

    The output appears whole or not at all. Bad lines raise ViolationsError, all at once, before any
    text is sent. Vectors that were paid for are kept beside the output until it is complete.
    """
    rewrite = _rewrite(spec, keywords)
    engine = parse_choice(Engine, keywords.get("engine", Engine.AUTO))
    target = _target(output)
    with _workshop(target) as workshop:
        source = _source(input, target, workshop)
        runner = runner_for_files(
            engine,
            keywords.get("spark") or default_settings(),
            FileWork.of_lines(source.file.size),
        )
        job = _Job(rewrite, source, splits_of([source], runner.slots), runner, keywords)
        tally = job.checked()
        embedder = job.embedder() if tally.due else None
        _join(job.written(tally, embedder, workshop), workshop, target)
    return Embedded(
        input=source.file.name,
        output=os.fspath(output),
        mode=rewrite.mode,
        rows=tally.rows,
        selected_rows=tally.selected,
        embedded_rows=tally.due,
        cleaned_rows=tally.cleaned,
        dimension=rewrite.spec.dimension,
        model=rewrite.spec.model if embedder is None else embedder.model,
        engine=runner.engine,
    )


@dataclass(frozen=True, slots=True)
class _Workshop:
    """The folder beside the output where its parts are written and its vectors are cached."""

    root: Path
    zips: bool

    @property
    def parts(self) -> Path:
        return self.root / "parts"

    @property
    def vectors(self) -> Path:
        return self.root / "vectors"

    def thrifty(self, embedder: Embedder) -> Embedder:
        """Return an embedder that takes from this folder the vectors that were paid for already."""
        store = Store(str(self.root), is_local=True)
        return with_cache(embedder, CacheFolder(store, self.vectors.name))


@contextmanager
def _workshop(target: Path) -> Iterator[_Workshop]:
    """Open the workshop of an output; after a failure only its vectors are left."""
    made = _Workshop(target.with_name(f"{target.name}.embeddings"), _is_gzip(target.name))
    try:
        made.root.mkdir(exist_ok=True)
        made.parts.mkdir(exist_ok=True)
    except OSError as failed:
        raise cannot_write(target, failed) from None
    try:
        yield made
        shutil.rmtree(made.vectors, ignore_errors=True)
    finally:
        shutil.rmtree(made.parts, ignore_errors=True)
        with suppress(OSError):  # it holds vectors
            made.root.rmdir()


@dataclass(frozen=True, slots=True)
class _Job:
    """One offline embed in progress: first all splits are checked, then all are written."""

    rewrite: Rewrite
    source: LoadSource
    splits: Sequence[Split]
    runner: Runner
    keywords: EmbedKeywords

    @property
    def progress(self) -> Progress:
        return self.keywords.get("progress", NO_PROGRESS)

    def checked(self) -> LineCounts:
        """Return the counts of the file's lines; raises ViolationsError when a line is bad."""
        self.progress.begin("reading", self.source.file.size)
        shown = max(1, self.keywords.get("shown", SHOWN_VIOLATIONS))
        parts = self.runner.map(CheckTask(self.rewrite, shown), self.splits, self.progress)
        total = sum(part.total for part in parts)
        if total:
            raise ViolationsError([*islice(self._placed(parts), shown)], total=total)
        return LineCounts.of(part.tally for part in parts)

    def embedder(self) -> Embedder:
        return embedder_for(self.rewrite.spec.model, self.keywords.get("environment", os.environ))

    def written(
        self, tally: LineCounts, embedder: Embedder | None, workshop: _Workshop
    ) -> list[WrittenPart]:
        """Write the parts of the output and return them in order."""
        cleans = self.rewrite.mode is EmbedMode.CLEAN
        self.progress.begin("cleaning" if cleans else "embedding", tally.cleaned + tally.due)
        thrifty = None if embedder is None else workshop.thrifty(embedder)
        task = WriteTask(self.rewrite, thrifty, str(workshop.parts), workshop.zips)
        parts = self.runner.map(task, self.splits, self.progress)
        if LineCounts.of(part.tally for part in parts) != tally:
            raise file_changed(self.source.file.name)
        return parts

    def _placed(self, parts: Iterable[CheckedPart]) -> Iterator[Violation]:
        """Yield the violations of all parts, each with its file and its line there."""
        before = 0
        for part in parts:
            for each in part.violations:
                yield replace(each, file=self.source.file.name, line=before + (each.line or 0))
            before += part.tally.lines


def _join(parts: Iterable[WrittenPart], workshop: _Workshop, target: Path) -> None:
    whole = workshop.parts / "whole"
    try:
        with whole.open("wb") as file:
            for part in parts:
                with Path(part.path).open("rb") as data:
                    shutil.copyfileobj(data, file, _BUFFER)
                Path(part.path).unlink()
            file.flush()
            os.fsync(file.fileno())
        whole.replace(target)
    except OSError as failed:
        raise cannot_write(target, failed) from None


def _rewrite(spec: Spec | Mapping[str, object] | FilePath, keywords: EmbedKeywords) -> Rewrite:
    if isinstance(spec, str | os.PathLike):
        spec = read_spec(spec)
    elif not isinstance(spec, Spec):
        spec = spec_of(spec)
    selects = (Select.parsed(e) if isinstance(e, str) else e for e in keywords.get("select", ()))
    rows = RowFilter(frozenset(keywords.get("types", ())), tuple(selects))
    rows.check(spec.types)
    return Rewrite(
        spec, parse_choice(EmbedMode, keywords.get("mode", EmbedMode.FILL_MISSING)), rows
    )


def _target(output: FilePath) -> Path:
    """Return where the output goes, links resolved; raises for a URI or anything but a file."""
    text = os.fspath(output)
    if "://" in text:
        raise InputError(f"'{text}': the output has to be a local file, not a URI")
    target = Path(text).resolve()
    if target.exists() and not target.is_file():
        raise InputError(f"'{text}' is not a file")
    return target


def _source(given: Input, target: Path, workshop: _Workshop) -> LoadSource:
    if not isinstance(given, str | os.PathLike):
        return LoadSource(_laid_down(given, workshop), Format.JSONL)
    name = os.fspath(given)
    files = files_at([name])
    if len(files) > 1:
        raise InputError(f"'{name}' names {len(files)} files", hint="embed one at a time")
    file = files[0]
    if file.folder.is_local and target.exists() and target.samefile(file.folder.uri(file.path)):
        raise InputError(f"'{name}' is the input and the output", hint="write to another file")
    is_packed = _is_gzip(file.path) or packing_of(file.head()) is not None
    return LoadSource(file, Format.PACKED if is_packed else Format.JSONL)


def _laid_down(stream: BinaryIO, workshop: _Workshop) -> File:
    path = workshop.parts / "input"
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file, _BUFFER)
    except OSError as failed:
        raise cannot_write(path, failed) from None
    return replace(files_at([str(path)])[0], name="<stdin>")


def _is_gzip(name: str) -> bool:
    return name.lower().endswith(".gz")
