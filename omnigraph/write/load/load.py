"""Load: any number of rows become one commit, or nothing."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from omnigraph.errors import InputError, UnreadableError, Violation, ViolationsError
from omnigraph.schema.catalog import StoredType
from omnigraph.schema.codec import encode_catalog
from omnigraph.spark.runner import Runner
from omnigraph.storage.staging import Piece, Place, place_of
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.publish import publish
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.writes import Made, WriteSet, stage
from omnigraph.write.filling import Vectors
from omnigraph.write.indexing import indexed
from omnigraph.write.load.checks import Hit, hits
from omnigraph.write.load.image import Image, image_of, rules_of, validated
from omnigraph.write.load.loaded import Loaded
from omnigraph.write.load.locate import lines_before, violations
from omnigraph.write.load.lookups import narrowed
from omnigraph.write.load.options import LoadOptions
from omnigraph.write.load.splits import Source, Split, splits_of
from omnigraph.write.load.stage import Stage, StagedSplit, unpacked


@dataclass(frozen=True, slots=True)
class Target:
    """Where a load goes: a branch, pinned where it stands; a new one starts at the snapshot."""

    branch: str
    snapshot: Snapshot
    is_new: bool = False


def load(
    repository: Repository,
    target: Target,
    sources: Sequence[Source],
    runner: Runner,
    options: LoadOptions,
) -> Loaded:
    """Check all rows of the sources and publish them as one commit of a branch.

    Raises ViolationsError with every violation that there is, and then nothing is visible.
    """
    repository.check_writable()
    _begin_report(options.report)
    task = _Load(repository, target, runner, options)
    splits = splits_of(sources, runner.slots)
    staged = task.staged(splits, sum(source.file.size for source in sources))
    earlier = task.earlier()
    if earlier is not None:
        return task.result(staged, earlier)
    image = task.image(staged)
    commit = None
    if image.touched:
        looked_at = task.check(image, splits, staged)
        commit = None if options.dry_run else task.publish(image, looked_at)
    return task.result(staged, commit)


@dataclass(frozen=True, slots=True)
class _Load:
    """One load on its way."""

    repository: Repository
    target: Target
    runner: Runner
    options: LoadOptions

    @property
    def catalog(self) -> str:
        return encode_catalog(self.target.snapshot.catalog)

    def staged(self, splits: Sequence[Split], size: int) -> list[StagedSplit]:
        """Read, check and write all splits; raises when a row breaks a rule by itself."""
        self.options.progress.begin("reading", size)
        vectors = Vectors.of(self.repository.store)
        task = Stage(
            catalog=self.catalog,
            places=self._places(),
            vectors=replace(vectors, blank=True) if self.options.dry_run else vectors,
            most_violations=None if self.options.report else self.options.shown,
        )
        staged = self.runner.map(task, splits, self.options.progress)
        total = sum(each.total for each in staged)
        if total:
            found = list(_placed(splits, staged))
            once = list(dict.fromkeys(found))  # what is wrong with a whole file, each split tells
            self._refuse(iter(once), total - len(found) + len(once))
        return staged

    def earlier(self) -> Commit | None:
        """Give the commit that this load led to before, when it is sent again."""
        operation, manifest = self.options.operation_id, self.repository.manifest
        if operation is None:
            return None
        found = manifest.operation(operation, self.options.actor, manifest.newest())
        if found is not None and found.request != self._request:
            raise InputError(
                f"the operation id '{operation}' was given to something else",
                hint=f"it led to commit {found.id}; give each load an id of its own",
            )
        return found

    def image(self, staged: Sequence[StagedSplit]) -> Image:
        pieces: dict[str, list[Piece]] = {}
        for split in staged:
            for name, written in split.pieces.items():
                pieces.setdefault(name, []).extend(written)
        gave_ids = frozenset(name for split in staged for name in split.given)
        return image_of(self.target.snapshot, self.options.mode, pieces, gave_ids)

    def check(
        self, image: Image, splits: Sequence[Split], staged: Sequence[StagedSplit]
    ) -> frozenset[str]:
        """Check the rules between rows; gives the tables that were only looked at."""
        rules = rules_of(image)
        names = {reading.type for rule in rules for reading in rule.readings}
        rows = sum(image.rows(name) for name in names)
        progress = self.options.progress
        progress.begin("checking", rows)
        found = hits(self.runner, rules, narrowed(image, rules), rows, progress)
        if found:
            self._explain(image, found, splits, staged)
        return validated(image, rules)

    def publish(self, image: Image, looked_at: frozenset[str]) -> Commit:
        made = [(each.stored, each.table) for each in image.touched.values()]
        tables = indexed(self.runner, made, self.options.progress)
        identities = {name: each.stored.identity for name, each in image.touched.items()}
        write_set = WriteSet(
            base=self.target.snapshot,
            writes={identities[name]: (Made(table),) for name, table in tables.items()},
            validated=looked_at,
            actor=self.options.actor,
            message=self.options.message,
            operation_id=self.options.operation_id,
            request=self._request,
            creates_branch=self.target.is_new,
        )
        self.options.progress.begin("publishing")
        return publish(self.repository, self.target.branch, stage(write_set, self.target.branch))

    def result(self, staged: Sequence[StagedSplit], commit: Commit | None) -> Loaded:
        rows: dict[str, int] = {}
        for split in staged:
            for name, count in split.rows.items():
                rows[name] = rows.get(name, 0) + count
        nodes = self.target.snapshot.catalog.nodes
        return Loaded(
            branch=self.target.branch,
            mode=self.options.mode,
            engine=self.runner.engine,
            nodes={name: count for name, count in sorted(rows.items()) if name in nodes},
            edges={name: count for name, count in sorted(rows.items()) if name not in nodes},
            commit=commit,
        )

    @property
    def _request(self) -> str:
        return f"load {self.options.mode} {self.target.branch}"

    def _places(self) -> dict[str, Place]:
        snapshot = self.target.snapshot
        types: list[StoredType] = [
            *snapshot.catalog.nodes.values(),
            *snapshot.catalog.edges.values(),
        ]
        return {each.name: place_of(snapshot.table(each.identity)) for each in types}

    def _explain(
        self,
        image: Image,
        found: Sequence[Hit],
        splits: Sequence[Split],
        staged: Sequence[StagedSplit],
    ) -> None:
        self.options.progress.begin("locating")
        explained = violations(
            self.runner, image, found, splits, staged, self.catalog, self.options.progress
        )
        order = {name: at for at, name in enumerate(dict.fromkeys(each.name for each in splits))}
        explained.sort(key=lambda each: (order.get(each.file or "", -1), each.line or 0))
        self._refuse(iter(explained), len(explained))

    def _refuse(self, found: Iterator[Violation], total: int) -> None:
        shown: list[Violation] = []
        with _reporting(self.options.report) as report:
            for violation in found:
                if len(shown) < self.options.shown:
                    shown.append(violation)
                report(violation)
        raise ViolationsError(shown, total=total)


def _placed(splits: Sequence[Split], staged: Sequence[StagedSplit]) -> Iterator[Violation]:
    """Give the violations of all splits, each with its file and its line there."""
    before = lines_before(splits, staged)
    for split, first, result in zip(splits, before, staged, strict=True):
        for violation in unpacked(result.violations):
            line = None if violation.line is None else first + violation.line + 1
            yield replace(violation, file=split.name, line=line)


def _begin_report(path: Path | None) -> None:
    """Make the report empty; whoever cannot write it learns that before anything else is done."""
    if path is not None:
        with _opened_report(path):
            pass


@contextmanager
def _reporting(path: Path | None) -> Iterator[Callable[[Violation], None]]:
    """Give what writes violations to the report, when there is one."""
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
