"""Load: publishes any number of rows as one commit, or nothing."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TextIO

from omnigraph.errors import (
    MOST_VIOLATIONS,
    UnreadableError,
    Violation,
    ViolationsError,
)
from omnigraph.schema.catalog import StoredType
from omnigraph.schema.codec import encode_catalog
from omnigraph.spark.runner import Runner
from omnigraph.storage.staging import Piece, Place, place_of
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.operations import operation_reused
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent, Proposal, transact
from omnigraph.versioning.writes import Made, WriteSet
from omnigraph.write.filling import Vectors
from omnigraph.write.indexing import indexed
from omnigraph.write.load.checks import Hit, hits
from omnigraph.write.load.image import Image, image_of, rules_of, validated
from omnigraph.write.load.loaded import Loaded
from omnigraph.write.load.locate import lines_before, violations
from omnigraph.write.load.lookups import narrowed
from omnigraph.write.load.options import LoadOptions
from omnigraph.write.load.request import Request, content_of
from omnigraph.write.load.splits import Source, Split, splits_of
from omnigraph.write.load.stage import Stage, StagedSplit, unpacked


@dataclass(frozen=True, slots=True)
class Target:
    """Where a load goes: a branch, pinned at its head; a new one starts at the snapshot.

    `base` is where an ingest would start the branch.
    """

    branch: str
    snapshot: Snapshot
    is_new: bool = False
    base: str | None = None


def load(
    repository: Repository,
    target: Target,
    sources: Sequence[Source],
    runner: Runner,
    options: LoadOptions,
) -> Loaded:
    """Check all rows of the sources and publish them as one commit of a branch.

    Raises ViolationsError, or CancelledError or BudgetError when its deadline passes before it
    publishes, and then nothing is visible. An operation id that was used before returns the commit
    of that time, or raises OperationReusedError when other rows were loaded with it.
    """
    repository.check_writable()
    _begin_report(options.report)
    request = None
    if options.operation_id is not None:
        request = Request(target.branch, target.base, options.mode, content_of(sources))
    task = _Load(repository, target, runner, options, request, sources)
    if options.dry_run:
        rows = task.propose(target.snapshot).finding
        return task.result(rows, None)
    done = transact(repository, task.intent, task.propose)
    if done.finding is not None:
        return task.result(done.finding, done.commit)
    assert done.commit is not None
    return task.repeated(done.commit)


@dataclass(slots=True)
class _Load:
    """One load in progress; what was staged is used again after a lost race."""

    repository: Repository
    target: Target
    runner: Runner
    options: LoadOptions
    request: Request | None
    sources: Sequence[Source]
    staged_for: str | None = None
    splits: list[Split] = field(default_factory=list)
    staged: list[StagedSplit] = field(default_factory=list)

    @property
    def intent(self) -> Intent:
        """The branch and the operation of the load."""
        return Intent(
            branch=self.target.branch,
            actor=self.options.actor,
            message=self.options.message,
            operation_id=self.options.operation_id,
            request=None if self.request is None else str(self.request),
            base=self.target.snapshot.commit.id if self.target.is_new else None,
            check=self.options.deadline.check,
        )

    def propose(self, snapshot: Snapshot) -> Proposal[dict[str, int]]:
        """Check all rows on a snapshot; the finding is the number of rows by type."""
        self._stage(snapshot)
        image = self.image(snapshot)
        rows = counted(self.staged)
        if not image.touched:
            return Proposal(None, rows)
        looked_at = self.check(image)
        return Proposal(None if self.options.dry_run else self._write_set(image, looked_at), rows)

    def _stage(self, snapshot: Snapshot) -> None:
        """Read, check and write all splits, once per schema; raises when a row breaks a rule."""
        if self.staged_for == snapshot.commit.schema:
            return
        self.splits = splits_of(self.sources, self.runner.slots)
        self.options.progress.begin("reading", sum(source.file.size for source in self.sources))
        vectors = Vectors.of(self.repository.store)
        task = Stage(
            catalog=encode_catalog(snapshot.catalog),
            places=_places(snapshot),
            vectors=replace(vectors, blank=True) if self.options.dry_run else vectors,
            most_violations=self.options.most_kept,
            deadline=self.options.deadline,
        )
        self.staged = self.runner.map(task, self.splits, self.options.progress, _are_hopeless)
        self.staged_for = snapshot.commit.schema
        total = sum(each.total for each in self.staged)
        if total:
            self._refuse_staged(total)

    def _refuse_staged(self, total: int) -> None:
        # Each split reports what is wrong with the whole file; it counts once.
        kept: dict[Violation, None] = {}
        general: set[Violation] = set()
        repeats = 0
        for violation in _placed(self.splits, self.staged):
            if violation in kept or violation in general:
                repeats += 1
                continue
            if violation.line is None:
                general.add(violation)
            if len(kept) < self.options.most_kept:
                kept[violation] = None
        self._refuse(kept, total - repeats)

    def repeated(self, commit: Commit) -> Loaded:
        """Return the result of this load when it was done before."""
        answer = None if self.request is None else self.request.answered(commit.request)
        if answer is None:
            raise operation_reused(commit)
        made_branch, rows = answer
        return replace(self.result(rows, commit), made_branch=made_branch)

    def image(self, snapshot: Snapshot) -> Image:
        """Return the tables that the load would leave on a snapshot."""
        pieces: dict[str, list[Piece]] = {}
        for split in self.staged:
            for name, written in split.pieces.items():
                pieces.setdefault(name, []).extend(written)
        gave_ids = frozenset(name for split in self.staged for name in split.given)
        return image_of(snapshot, self.options.mode, pieces, gave_ids)

    def check(self, image: Image) -> frozenset[str]:
        """Check the rules between rows; returns the tables that were only read."""
        rules = rules_of(image)
        names = {reading.type for rule in rules for reading in rule.readings}
        rows = sum(image.rows(name) for name in names)
        progress = self.options.progress
        progress.begin("checking", rows)
        found = hits(self.runner, rules, narrowed(image, rules), rows, progress)
        if found:
            self._explain(image, found)
        return validated(image, rules)

    def _write_set(self, image: Image, looked_at: frozenset[str]) -> WriteSet:
        made = [(each.stored, each.table) for each in image.touched.values()]
        tables = indexed(self.runner, made, self.options.progress)
        identities = {name: each.stored.identity for name, each in image.touched.items()}
        self.options.progress.begin("publishing")
        return WriteSet(
            base=image.snapshot,
            writes={identities[name]: (Made(table),) for name, table in tables.items()},
            validated=looked_at,
            request=self._noted(),
        )

    def result(self, rows: Mapping[str, int], commit: Commit | None) -> Loaded:
        nodes = self.target.snapshot.catalog.nodes
        return Loaded(
            branch=self.target.branch,
            mode=self.options.mode,
            engine=self.runner.engine,
            nodes={name: count for name, count in sorted(rows.items()) if name in nodes},
            edges={name: count for name, count in sorted(rows.items()) if name not in nodes},
            commit=commit,
            made_branch=self.target.is_new and not self.options.dry_run,
        )

    def _noted(self) -> str | None:
        if self.request is None:
            return None
        return self.request.noted(counted(self.staged), makes_branch=self.target.is_new)

    def _explain(self, image: Image, found: Sequence[Hit]) -> None:
        self.options.progress.begin("locating")
        catalog, progress = encode_catalog(image.snapshot.catalog), self.options.progress
        explained = violations(
            self.runner, image, found, self.splits, self.staged, catalog, progress
        )
        names = dict.fromkeys(each.name for each in self.splits)
        order = {name: at for at, name in enumerate(names)}
        explained.sort(key=lambda each: (order.get(each.file or "", -1), each.line or 0))
        self._refuse(explained, len(explained))

    def _refuse(self, found: Iterable[Violation], total: int) -> None:
        shown: list[Violation] = []
        with _reporting(self.options.report) as report:
            for violation in islice(found, self.options.most_kept):
                if len(shown) < self.options.shown:
                    shown.append(violation)
                report(violation)
        raise ViolationsError(shown, total=total)


def _places(snapshot: Snapshot) -> dict[str, Place]:
    types: list[StoredType] = [
        *snapshot.catalog.nodes.values(),
        *snapshot.catalog.edges.values(),
    ]
    return {each.name: place_of(snapshot.table(each.identity)) for each in types}


def counted(staged: Sequence[StagedSplit]) -> dict[str, int]:
    """Return the number of rows read, by type."""
    rows: dict[str, int] = {}
    for split in staged:
        for name, count in split.rows.items():
            rows[name] = rows.get(name, 0) + count
    return rows


def _are_hopeless(staged: Sequence[StagedSplit]) -> bool:
    """Whether so many violations were found that looking for more is pointless."""
    return sum(each.total for each in staged) > MOST_VIOLATIONS


def _placed(splits: Sequence[Split], staged: Sequence[StagedSplit]) -> Iterator[Violation]:
    """Yield the violations of all splits that were read, each with its file and line."""
    before = lines_before(splits, staged)
    for split, first, result in zip(splits, before, staged, strict=False):
        for violation in unpacked(result.violations):
            line = None if violation.line is None else first + violation.line + 1
            yield replace(violation, file=split.name, line=line)


def _begin_report(path: Path | None) -> None:
    """Create an empty report, so that a report that cannot be written fails at once."""
    if path is not None:
        with _opened_report(path):
            pass


@contextmanager
def _reporting(path: Path | None) -> Iterator[Callable[[Violation], None]]:
    """Yield a function that writes violations to the report, if there is one."""
    if path is None:
        yield lambda _: None
        return
    with _opened_report(path) as file:
        yield lambda each: print(json.dumps(each.to_json(), ensure_ascii=False), file=file)


@contextmanager
def _opened_report(path: Path) -> Iterator[TextIO]:
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except OSError as failed:
        reason = failed.strerror or type(failed).__name__
        raise UnreadableError(f"cannot write '{path}': {reason}") from None
