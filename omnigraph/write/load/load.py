"""Load: publishes any number of rows as one commit, or nothing."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from itertools import islice
from pathlib import Path
from typing import TextIO

from omnigraph.errors import (
    MOST_VIOLATIONS,
    UnreadableError,
    Violation,
    ViolationsError,
)
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import StoredType
from omnigraph.schema.codec import encode_catalog
from omnigraph.spark.runner import Runner
from omnigraph.storage.staging import Piece, TablePlace, place_of
from omnigraph.versioning.commit import Commit, Models
from omnigraph.versioning.operations import operation_reused
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent, Proposal, transact
from omnigraph.versioning.writes import StagedVersion, WriteSet
from omnigraph.write.counts import RowCounts, add_counts
from omnigraph.write.filling import VectorFiller, join_models
from omnigraph.write.indexing import build_indexes
from omnigraph.write.load.aside import Aside, new_aside
from omnigraph.write.load.checks import (
    BrokenValues,
    count_buckets,
    find_broken_values,
)
from omnigraph.write.load.image import (
    Image,
    StagedRows,
    find_read_tables,
    find_untouched,
    image_of,
    rules_of,
)
from omnigraph.write.load.loaded import Loaded, LoadMode
from omnigraph.write.load.locate import Reading, lines_before, violations
from omnigraph.write.load.lookups import plan_check
from omnigraph.write.load.meet import Meeting
from omnigraph.write.load.options import LoadOptions
from omnigraph.write.load.replaced import ReplacedRows
from omnigraph.write.load.request import LoadRequest, content_of
from omnigraph.write.load.sources.splits import LoadSource, Split, estimate_rows, splits_of
from omnigraph.write.load.stage import Stage, StagedSplit, unpack_violations
from omnigraph.write.unseen import without_rows

# So many bytes of values, addresses or violations come back from all tasks of a job together.
_HELD_BYTES = 4 << 20
_FEWEST_SPLITS = 16


@dataclass(frozen=True, slots=True)
class LoadTarget:
    """Where a load goes: a branch, pinned at its head; a new one starts at the snapshot.

    `base` is where an ingest would start the branch.
    """

    branch: str
    snapshot: Snapshot
    is_new: bool = False
    base: str | None = None


def load(
    repository: Repository,
    target: LoadTarget,
    sources: Sequence[LoadSource],
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
        request = LoadRequest(target.branch, target.base, options.mode, content_of(sources))
    aside = new_aside(repository.store)
    task = _LoadPlanner(repository, target, runner, options, request, sources, aside)
    try:
        return _run(task)
    finally:
        aside.discard()


def _run(task: "_LoadPlanner") -> Loaded:
    repository, target, options = task.repository, task.target, task.options
    if options.dry_run:
        found = task.propose(target.snapshot).finding
        return task.result(found, None)
    done = transact(repository, task.intent, task.propose)
    if done.finding is not None:
        return task.result(done.finding, done.commit)
    assert done.commit is not None
    return task.repeated(done.commit)


@dataclass(slots=True)
class _LoadPlanner:
    """One load in progress; what was staged is used again after a lost race."""

    repository: Repository
    target: LoadTarget
    runner: Runner
    options: LoadOptions
    request: LoadRequest | None
    sources: Sequence[LoadSource]
    aside: Aside
    staged_for: tuple[object, ...] | None = None
    buckets: int = 1
    splits: list[Split] = field(default_factory=list)
    staged: list[StagedSplit] = field(default_factory=list)

    @property
    def intent(self) -> Intent:
        """The branch and the operation of the load."""
        return Intent(
            branch=self.target.branch,
            actor=self.options.actor,
            message=self.options.message,
            expect=self.options.expect,
            operation_id=self.options.operation_id,
            request=None if self.request is None else str(self.request),
            base=self.target.snapshot.commit.id if self.target.is_new else None,
            check=self.options.deadline.check,
        )

    def propose(self, snapshot: Snapshot) -> Proposal[dict[str, RowCounts]]:
        """Check all rows on a snapshot; the finding is what happens to them, by type."""
        self._stage(snapshot)
        image = self.image(snapshot)
        counts = count_by_type(self.staged)
        if not (image.touched or image.idle or self.options.always):
            return Proposal(None, counts)
        looked_at = self.check(image)
        if self.options.dry_run or not (image.touched or self.options.always):
            return Proposal(None, counts)
        return Proposal(self._write_set(image, looked_at), counts)

    def _read_by_staging(self, snapshot: Snapshot) -> tuple[object, ...]:
        """Return what staging reads of a snapshot: its schema, and rows that records meet."""
        if not self.options.mode.looks_up:
            return (snapshot.commit.schema,)
        known = count_by_type(self.staged)
        places = _places(snapshot)
        versions = [(name, place.version) for name, place in places.items() if name in known]
        return (snapshot.commit.schema, *versions)

    def _stage(self, snapshot: Snapshot) -> None:
        """Read, check and write all splits; raises when a row breaks a rule.

        After a lost race this is done again only when something that it reads has changed.
        """
        if self.staged_for is not None and self.staged_for == self._read_by_staging(snapshot):
            return
        self.splits = splits_of(self.sources, self.runner.slots)
        self.options.progress.begin("reading", sum(source.file.size for source in self.sources))
        old = sum(state.row_count for state in snapshot.commit.tables.values())
        self.buckets = count_buckets(sum(map(estimate_rows, self.sources)), old)
        vectors = VectorFiller.on(snapshot)
        if self._starts_anew:
            vectors = replace(vectors, models={})
        task = Stage(
            catalog=encode_catalog(snapshot.catalog),
            meeting=Meeting(self.options.mode, _places(snapshot)),
            aside=self.aside,
            vectors=replace(vectors, blank=True) if self.options.dry_run else vectors,
            buckets=self.buckets,
            held_bytes=self._held_bytes,
            most_violations=self.options.most_kept,
            deadline=self.options.deadline,
        )
        self.staged = self.runner.map(task, self.splits, self.options.progress, _are_hopeless)
        self.staged_for = self._read_by_staging(snapshot)
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
        made_branch, rows, counts = answer
        return replace(self._result(rows, counts, commit), made_branch=made_branch)

    def image(self, snapshot: Snapshot) -> Image:
        """Return the tables that the load would leave on a snapshot."""
        pieces: dict[str, list[Piece]] = {}
        replaced: dict[str, list[ReplacedRows]] = {}
        for split in self.staged:
            for name, written in split.pieces.items():
                pieces.setdefault(name, []).extend(written)
            for name, rows in split.replaced.items():
                replaced.setdefault(name, []).append(rows)
        gave_ids = frozenset(name for split in self.staged for name in split.given)
        counts = count_by_type(self.staged)
        idle = frozenset(name for name, count in counts.items() if count.unchanged)
        staged = StagedRows(pieces, idle, replaced, gave_ids)
        return image_of(snapshot, self.options.mode, staged, self.runner)

    def check(self, image: Image) -> frozenset[str]:
        """Check the rules between rows; returns the tables that were only read."""
        rules = rules_of(image)
        gathered = [split.keys for split in self.staged if split.keys.counts]
        check = plan_check(image, rules, gathered, self.aside, self.buckets)
        self.options.progress.begin("checking", check.rows)
        found = find_broken_values(self.runner, check, self.options.progress)
        if found:
            self._explain(image, found)
        return find_read_tables(image, rules) | find_untouched(image, image.idle)

    def _write_set(self, image: Image, looked_at: frozenset[str]) -> WriteSet:
        made = [(each.stored, each.table) for each in image.touched.values()]
        tables = build_indexes(self.runner, made, self.options.progress)
        identities = {name: each.stored.identity for name, each in image.touched.items()}
        self.options.progress.begin("publishing")
        return WriteSet(
            base=image.snapshot,
            writes={identities[name]: (StagedVersion(table),) for name, table in tables.items()},
            validated=looked_at,
            request=self._noted(),
            models={
                key: self._models(image.snapshot, name, key) for name, key in identities.items()
            },
        )

    @property
    def _held_bytes(self) -> int:
        """How much of one kind a task may carry back; what is more goes through a file."""
        return _HELD_BYTES // max(len(self.splits), _FEWEST_SPLITS)

    @property
    def _starts_anew(self) -> bool:
        """Whether no vector of a type that is loaded stays as it was."""
        return self.options.embeds_again or self.options.mode is LoadMode.OVERWRITE

    def _models(self, snapshot: Snapshot, name: str, key: str) -> Models:
        before = () if self._starts_anew else snapshot.models(key)
        return join_models(before, *(split.models.get(name, ()) for split in self.staged))

    def result(self, counts: Mapping[str, RowCounts], commit: Commit | None) -> Loaded:
        """Return the result of this load."""
        return self._result(_given(counts), add_counts(counts.values()), commit)

    def _result(
        self, rows: Mapping[str, int], counts: RowCounts | None, commit: Commit | None
    ) -> Loaded:
        schema = (self.target.snapshot.commit if commit is None else commit).schema
        nodes = self.repository.catalog(schema).nodes
        return Loaded(
            branch=self.target.branch,
            mode=self.options.mode,
            engine=self.runner.engine,
            nodes={name: count for name, count in sorted(rows.items()) if name in nodes},
            edges={name: count for name, count in sorted(rows.items()) if name not in nodes},
            counts=counts,
            commit=commit,
            made_branch=self.target.is_new and not self.options.dry_run,
        )

    def _noted(self) -> str | None:
        if self.request is None:
            return None
        counts = count_by_type(self.staged)
        total = add_counts(counts.values())
        return self.request.noted(_given(counts), total, makes_branch=self.target.is_new)

    def _explain(self, image: Image, found: Sequence[BrokenValues]) -> None:
        self.options.progress.begin("locating")
        reading = Reading(
            encode_catalog(image.snapshot.catalog),
            Meeting(self.options.mode, _places(image.snapshot)),
            self.aside,
            self._held_bytes,
            self.runner.deadline,
        )
        explained = violations(
            self.runner, image, found, self.splits, self.staged, reading, self.options.progress
        )
        names = dict.fromkeys(each.name for each in self.splits)
        order = {name: at for at, name in enumerate(names)}
        explained.sort(key=lambda each: (order.get(each.file or "", -1), each.line or 0))
        if not self.options.shows_rows:
            explained = list(without_rows(explained))
        self._refuse(explained, len(explained))

    def _refuse(self, found: Iterable[Violation], total: int) -> None:
        shown: list[Violation] = []
        with _reporting(self.options.report) as report:
            for violation in islice(found, self.options.most_kept):
                if len(shown) < self.options.shown:
                    shown.append(violation)
                report(violation)
        raise ViolationsError(shown, total=total)


def _places(snapshot: Snapshot) -> dict[str, TablePlace]:
    types: list[StoredType] = [
        *snapshot.catalog.nodes.values(),
        *snapshot.catalog.edges.values(),
    ]
    return {each.name: place_of(snapshot.table(each.identity)) for each in types}


def count_by_type(staged: Sequence[StagedSplit]) -> dict[str, RowCounts]:
    """Return what happens to the rows of each type."""
    counts: dict[str, RowCounts] = {}
    for split in staged:
        for name, count in split.counts.items():
            counts[name] = counts.get(name, RowCounts()) + count
    return counts


def _given(counts: Mapping[str, RowCounts]) -> dict[str, int]:
    """Return how many rows of each type there are in the sources."""
    return {name: each.inserted + each.updated + each.unchanged for name, each in counts.items()}


def _are_hopeless(staged: Sequence[StagedSplit]) -> bool:
    """Whether so many violations were found that looking for more is pointless."""
    return sum(each.total for each in staged) > MOST_VIOLATIONS


def _placed(splits: Sequence[Split], staged: Sequence[StagedSplit]) -> Iterator[Violation]:
    """Yield the violations of all splits that were read, each with its file and line."""
    before = lines_before(splits, staged)
    for split, first, result in zip(splits, before, staged, strict=False):
        for violation in unpack_violations(result.violations.read()):
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
    except UnicodeEncodeError:
        raise UnreadableError("cannot write the report: its name is invalid Unicode") from None
    except OSError as failed:
        reason = failed.strerror or type(failed).__name__
        raise UnreadableError(f"cannot write '{path}': {reason}") from None
