"""Manifest: the `__manifest` table: all commits, and the head of every branch."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.allocator import give_back
from omnigraph.errors import (
    BranchExistsError,
    BranchNotFoundError,
    GraphNotFoundError,
    GraphReplacedError,
    StorageError,
)
from omnigraph.storage import layout
from omnigraph.storage.failures import CommitContentionError, CommitRejectedError, LingeringError
from omnigraph.storage.fold import MANIFEST_LEVELS, WHOLE_LEVELS, Level, fragments_to_fold
from omnigraph.storage.indexes import IndexKind, IndexSpec
from omnigraph.storage.near.sending import beside
from omnigraph.storage.steps import reached
from omnigraph.storage.table import Table
from omnigraph.storage.tables import Tables
from omnigraph.syntax.problems import nearest_name
from omnigraph.versioning.commit import (
    Commit,
    commit_row_id,
)
from omnigraph.versioning.heads.head import BRANCH_KEY, GONE, Head, decode_head
from omnigraph.versioning.heads.layers import FOR_OLD_RELEASES, ColdHeads, hot_heads
from omnigraph.versioning.manifest.commit_cache import CommitCache
from omnigraph.versioning.manifest.fresh import (
    FreshCommit,
    commits_to_spill,
    decode_fresh,
    fresh_between,
    fresh_commits,
    fresh_texts,
)
from omnigraph.versioning.manifest.freshness import MANIFEST_AGE, Freshness
from omnigraph.versioning.manifest.links import Link
from omnigraph.versioning.manifest.records import (
    COMMIT_ROW,
    FORMAT,
    STAMP,
    decode_commit,
    first_commit,
    is_between,
    matching_commits,
    operation_place,
    stamp_of,
)
from omnigraph.versioning.manifest.steps import Step
from omnigraph.versioning.manifest.stretch import Stretch
from omnigraph.versioning.names import MAIN, TAG, fold, is_system, normalize_name
from omnigraph.versioning.turns.flip_turn import flip_turn

# Versions of the manifest that stay whatever their age, and how often older ones are removed.
MOST_VERSIONS, PRUNED_EVERY = 64, 256
# Heads that may be keys, which every version holds, and how often it is looked whether more are.
MOST_HOT, SPILLED_EVERY = 256, 16
_FENCE = "fence"
_RETIRED = "retired:"
_CLEANED = "cleaned"
_CLEANUP = "cleanup"
_REVOKED = "revoked/"
_BEGUN = "begun/"
_TOMBSTONE = "table_tombstone"
_LOOKED_UP = ("object_id", "location", "table_key")
_INDEXES = tuple(IndexSpec(column, IndexKind.BTREE) for column in _LOOKED_UP)
_COLUMNS = ("object_id", "metadata")
_MOST_LINKS = 4_096
_MOST_STEPS = 16_384
# What was the newest version so recently is taken for it.
_SOON = timedelta(seconds=5)


class Manifest:
    """The `__manifest` table of one graph."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._cache = CommitCache()
        self._cold = ColdHeads()
        self._freshness = Freshness()
        self._first: str | None = None
        self._known: Table | None = None
        # An operation that was looked for last, and the version in which it is not.
        self._undone: tuple[str, Table] | None = None
        self._links: dict[str, Link] = {}
        self._steps: dict[str, dict[str, Step]] = {}
        self._stretches: dict[str, tuple[Set[int], dict[str, Stretch]]] = {}
        self._forgotten = tables.forgotten

    def newest(self) -> Table:
        """Return the newest version of the manifest: one probe, and no read when it is known."""
        since = self._freshness.now()
        found = self._tables.newest(layout.MANIFEST)
        if found is None:
            hint = "init creates one from a schema"
            raise GraphNotFoundError(f"no graph at {self._tables.store.root}", hint=hint)
        self._freshness.note(found.version, since)
        if found is not self._known:
            self.check_graph(found)
        return found

    def recent(self) -> Table:
        """Return the newest version, or in a bucket the one that was the newest just now."""
        known = self._known
        if known is None or self._tables.store.is_local:
            return self.newest()
        return known if self._freshness.age(known.version) < _SOON else self.newest()

    def look_ahead(self, *, folds: bool) -> Callable[[], Table]:
        """Begin to look for the newest version, and return what waits for it.

        In a bucket, the caller does something else meanwhile. What was seen then serves to change
        heads: that is refused if one of them moved since. The manifest can be folded on the way.
        """

        def look() -> Table:
            return self.fold(self.newest()) if folds else self.newest()

        if self._tables.store.is_local:
            return look
        looking = beside(look)

        def found() -> Table:
            seen = looking.result()
            return seen if self._freshness.age(seen.version) < _SOON else look()

        return found

    def check_graph(self, at: Table) -> None:
        """Raise GraphReplacedError when the manifest belongs to another graph than before.

        Forgets the commits that were read when it may have been restored to an earlier state.
        """
        if self._forgotten != self._tables.forgotten:
            self._forgotten = self._tables.forgotten
            self._cache, self._links, self._steps = CommitCache(), {}, {}
        first = first_commit(at)
        if self._first is None:
            self._first = first
            self._tables.graph = first or self._tables.graph
        elif first != self._first:
            raise GraphReplacedError(
                f"the graph at {self._tables.store.root} was removed, and another was made there",
                hint="open it again",
            )
        self._known = at

    def heads(self, at: Table) -> dict[str, Head]:
        """Return the head of every branch by its folded name."""
        hot = {name: decode_head(text) for name, text in hot_heads(at)}
        told = {**self._cold.all(at), **hot}
        heads = {name: head for name, head in told.items() if head is not None}
        heads.setdefault(MAIN, _first_head(at))
        return heads

    def head(self, branch: str, at: Table) -> Head:
        """Return the head of one branch."""
        name = normalize_name(branch)
        found = self.twin(name, at)
        if found is not None and found.name == name:
            return found
        names = [head.name for head in self.heads(at).values()]
        near = nearest_name(name, [each for each in names if not is_system(each)])
        hint = f"did you mean '{near}'?" if near else None
        raise BranchNotFoundError(f"no branch '{name}'", hint=hint)

    def twin(self, name: str, at: Table) -> Head | None:
        """Return the head of the branch of this name, or of one that differs only in case."""
        value = at.metadata.get(BRANCH_KEY + fold(name))
        if value is not None:
            return decode_head(value)
        return _first_head(at) if fold(name) == MAIN else self._cold.find(fold(name), at)

    def refuse_twin(self, name: str, at: Table) -> None:
        """Raise BranchExistsError when a branch or tag has this name, or one too similar."""
        given = name.removeprefix(TAG)
        for what, taken in (("branch", self.twin(given, at)), ("tag", self.twin(TAG + given, at))):
            if taken is not None:
                shown = taken.name.removeprefix(TAG)
                hint = f"'{shown}' differs only in upper and lower case"
                raise BranchExistsError(
                    f"there is a {what} '{shown}' already", hint=None if shown == given else hint
                )

    def standing_at(self, commit_id: str, at: Table) -> Iterator[Head]:
        """Yield the heads of the branches that stand at a commit."""
        if BRANCH_KEY + MAIN not in at.metadata and first_commit(at) == commit_id:
            yield _first_head(at)
        for _, text in hot_heads(at):
            head = decode_head(text) if commit_id in text else None
            if head is not None and head.commit == commit_id:
                yield head
        yield from self._cold.standing_at(commit_id, at)

    def head_commit(self, branch: str, at: Table) -> Commit:
        """Return the commit at which a branch stands."""
        head = self.head(branch, at)
        return self.recorded(head.commit, at, fragment=head.fragment)

    def recorded(self, commit_id: str, at: Table, fragment: int | None = None) -> Commit:
        """Return a commit that the manifest names; raise StorageError when it is not in it."""
        found = self.commits([commit_id], at, fragment).get(commit_id)
        if found is None:
            hint = "fsck tells whether more is missing"
            raise StorageError(f"the record of commit {commit_id} is missing", hint=hint)
        return found

    def commits(
        self, ids: Iterable[str], at: Table, fragment: int | None = None
    ) -> dict[str, Commit]:
        """Return those of some commits that the manifest holds; commits never change."""
        wanted = list(ids)
        found = self._cache.get(wanted)
        fresh = fresh_texts(at) if len(found) < len(wanted) else {}
        found |= {each: decode_fresh(fresh[each]).commit for each in wanted if each in fresh}
        missing = [each for each in wanted if each not in found]
        if missing and fragment is not None:
            rows = at.fragment(fragment, _COLUMNS)
            found |= {} if rows is None else matching_commits(rows, missing)
            missing = [each for each in wanted if each not in found]
        if missing:
            where = pc.field("object_id").isin(pa.array([commit_row_id(each) for each in missing]))
            found |= matching_commits(at.scan(_COLUMNS, where), missing)
        self._cache.add(found.values())
        return found

    def known_links(self) -> dict[str, Link]:
        """Return the links that walks have read, to add more to; when they are many, none."""
        if len(self._links) > _MOST_LINKS:
            self._links = {}
        return self._links

    def known_steps(self, key: str) -> dict[str, Step]:
        """Return the steps of a table that walks have read, to add more to.

        When those of all tables are many, there are none.
        """
        if sum(map(len, self._steps.values())) > _MOST_STEPS:
            self._steps, self._stretches = {}, {}
        return self._steps.setdefault(key, {})

    def known_stretches(self, key: str, removed: Set[int]) -> dict[str, Stretch]:
        """Return the stretches of a table by their first commit, to add more to.

        They tell where versions were removed, so there are none when others were.
        """
        found = self._stretches.get(key)
        if found is None or found[0] != removed:
            found = self._stretches[key] = (removed, {})
        return found[1]

    def cached(self, ids: Iterable[str]) -> dict[str, Commit]:
        """Return those of some commits that were read before."""
        return self._cache.get(ids)

    def is_published(self, commit_id: str, at: Table) -> bool:
        """Whether a branch ever stood at a commit.

        An earlier release left records of failed attempts in the manifest, but no head points to
        them and nothing was built on them: everything names as its parent a commit that was a head
        at the time.
        """
        if self._cache.is_published(commit_id):
            return True
        fresh = fresh_commits(at)
        stood = (
            commit_id in fresh
            or any(commit_id in each.commit.parents for each in fresh.values())
            or any(self.standing_at(commit_id, at))
        )
        if not stood:
            children = at.scan(["object_id"], pc.field("table_key") == commit_row_id(commit_id))
            stood = bool(children.num_rows)
        if stood:
            self._cache.publish([commit_id])
        return stood

    def retire(self, at: Table, head: Head, time: int) -> Table:
        """Note where a branch that is about to be deleted stood, and until when."""
        row = {
            "object_id": f"{_RETIRED}{head.name}@{head.commit}",
            "object_type": _TOMBSTONE,
            "metadata": str(time),
            "table_key": commit_row_id(head.commit),
            "table_version": head.version,
            "table_branch": head.name,
        }
        return self._tables.add_rows(at, pa.Table.from_pylist([row], schema=at.schema))

    def page(self, at: Table, versions: tuple[int, int], limit: int) -> dict[str, Commit] | None:
        """Return the commits from one version to another, of all branches; None for too many.

        Whoever walks history has to keep them: there may be more than the cache holds.
        """
        fresh = fresh_between(at, versions)
        rows = at.scan_few(_COLUMNS, is_between(versions), limit - len(fresh))
        if rows is None:
            return None
        found = self._decoded(rows) | fresh
        self._cache.add(found.values())
        return found

    def _decoded(self, rows: pa.Table) -> dict[str, Commit]:
        """Return the commits of some rows; only those that are not cached are decoded."""
        names, records = rows["object_id"].to_pylist(), rows["metadata"].to_pylist()
        ids = (name.removeprefix(commit_row_id("")) for name in names)
        texts = dict(zip(ids, records, strict=True))
        found = self._cache.get(texts)
        return found | {
            each: decode_commit(text) for each, text in texts.items() if each not in found
        }

    def remember(self, commit: Commit) -> None:
        """Cache a commit to which a branch was flipped."""
        self._cache.add([commit])
        self._cache.publish([commit.id, *commit.parents])

    def operation(self, operation_id: str, actor: str | None, at: Table) -> Commit | None:
        """Return the commit that an operation of an actor led to, if it was published."""
        undone = self._undone
        if undone is not None and undone[0] == operation_id and undone[1] is at:
            return None
        where = pc.field("location") == operation_place(operation_id)
        rows = at.scan(["metadata"], where)
        fresh = (each for each in fresh_commits(at).values() if each.is_named)
        ids = {each.commit.id for each in fresh if each.commit.operation_id == operation_id}
        ids.update(rows["metadata"].to_pylist())
        if not ids:
            self._undone = (operation_id, at)
        found = self.commits(ids, at)
        own = (found[each] for each in sorted(ids) if found[each].actor == actor)
        return next((each for each in own if self.is_published(each.id, at)), None)

    def has_moved(self, names: Iterable[str], at: Table, later: Table, *, needs_old: bool) -> bool:
        """Whether one of some heads stands elsewhere in a later version.

        With `needs_old` also whether tables were cleaned up in between.
        """
        if needs_old and last_cleanup(later) != last_cleanup(at):
            return True
        return any(self.twin(each, later) != self.twin(each, at) for each in names)

    def latest(self, known: Table) -> Table:
        """Return the newest version; in a bucket, the one that is known.

        There, to look takes longer than Lance needs to read those that came since.
        """
        return self.newest() if self._tables.store.is_local else known

    def flip(
        self,
        at: Table,
        updates: Mapping[str, Head | None],
        *,
        needs_old: bool = False,
        operation: tuple[str | None, str] | None = None,
        commit: FreshCommit | None = None,
    ) -> Table:
        """Move, create or remove heads, all at once, and add the commit to which one is moved.

        Raises CommitRejectedError when one of them moved after `at`. With `needs_old` also when
        tables were cleaned up after it, because the heads need versions that no head needed
        before. With an operation, its actor and its id, also when another flip after `at` was for
        the same one.
        """
        keys = {
            BRANCH_KEY + fold(name): self._absent(name, at) if head is None else head.encoded()
            for name, head in updates.items()
        }
        if needs_old:
            keys[_CLEANED] = last_cleanup(at)
        if operation is not None:
            # Lance refuses two commits that remove the same key, even one that never existed:
            # so they exclude each other, and the manifest does not grow.
            digest = sha256(json.dumps(operation).encode()).hexdigest()
            keys[operation_place(digest)] = None
        if commit is not None:
            keys[commit.key] = commit.encoded()
            keys |= {} if stamp_of(at) >= layout.FRESH else {FOR_OLD_RELEASES: GONE}
        flipped = self._set_keys(at, keys, stamp=FORMAT if commit is None else layout.FRESH)
        # Rows that are added in between make versions, too.
        if flipped.version % PRUNED_EVERY < 2:
            self._prune(flipped)
        if flipped.version % SPILLED_EVERY < 2:
            self._spill_if_due(flipped)
        return flipped

    def _absent(self, name: str, at: Table) -> str | None:
        """Return what the key of a missing branch holds: where a layer has the name, it says so."""
        return None if self._cold.find(fold(name), at) is None else GONE

    def spill(self, at: Table) -> Table:
        """Move all heads but that of main from keys to rows; every branch stays where it is.

        Raises CommitRejectedError when one of them moved after `at`: its rows were read there.
        """
        due = self._cold.spill(at)
        written = self._tables.add_rows(at, due.rows)
        self._tables.sync_table(written)
        reached("heads written")
        spilled = self._set_keys(at, due.keys, stamp=layout.SPILLED)
        reached("heads spilled")
        self._tables.sync_table(spilled)
        return spilled

    def _spill_if_due(self, at: Table) -> None:
        """Spill when too many heads are keys.

        The flip is made, so nothing of this must make it fail; a later one tries again.
        """
        if sum(1 for _ in hot_heads(at)) > MOST_HOT:
            with suppress(StorageError, CommitRejectedError):
                self.spill(at)

    def _set_keys(self, at: Table, keys: Mapping[str, str | None], *, stamp: int = FORMAT) -> Table:
        """Set keys, and the format if it is lower than `stamp`.

        Raises CommitRejectedError when one of them, or the format, was set after `at`. Lance finds
        that out from the versions since, and these are not kept for long.
        """
        if self._freshness.age(at.version) > MANIFEST_AGE / 2:
            raise CommitRejectedError(
                "the manifest was read too long ago to know who changed it since"
            )
        since = self._freshness.now()
        newer = {STAMP: str(stamp)} if stamp > FORMAT and stamp > stamp_of(at) else {}
        with flip_turn(self._tables.store):
            made = self._tables.set_keys(at, keys, newer)
        if self._freshness.age(at.version) > MANIFEST_AGE:
            raise LingeringError(
                "the flip took so long that concurrent changes cannot be ruled out"
            )
        self._freshness.note(made.version, since)
        return made

    def _prune(self, at: Table) -> None:
        """Remove old versions of the manifest, each of which has the head of every branch.

        Memory that was freed since is given back, too. The flip is made, so a store that refuses
        this must not make it fail; the next one tries again.
        """
        with suppress(StorageError):
            self._tables.prune(at, MOST_VERSIONS, MANIFEST_AGE)
        # About every 200 commits: oftener, the arrays of queries would be cleared each time.
        give_back()

    def every_commit(self, at: Table) -> dict[str, Commit]:
        """Read all commits in the manifest, also those at which no branch ever stood."""
        rows = at.scan(["metadata"], pc.field("object_type") == COMMIT_ROW)
        commits = map(decode_commit, rows["metadata"].to_pylist())
        fresh = {each: found.commit for each, found in fresh_commits(at).items()}
        return {commit.id: commit for commit in commits} | fresh

    def retired(self, at: Table) -> dict[str, int]:
        """Return the commits at which deleted branches stood, and until when."""
        found: dict[str, int] = {}
        rows = at.scan(["object_id", "table_key", "metadata"], _is_tombstone())
        for row in rows.to_pylist():
            if row["object_id"].startswith(_RETIRED):
                commit = row["table_key"].removeprefix(commit_row_id(""))
                found[commit] = max(found.get(commit, 0), int(row["metadata"] or 0))
        return found

    def bury(self, at: Table, cleanup: str, versions: Iterable[tuple[str, int]]) -> Table:
        """Note that a cleanup is about to remove versions of tables, by table key."""
        rows = [
            {
                "object_id": _tombstone(key, version),
                "object_type": _TOMBSTONE,
                "location": f"{_CLEANUP}/{cleanup}",
                "table_key": key,
                "table_version": version,
            }
            for key, version in versions
        ]
        return self._tables.add_rows(at, pa.Table.from_pylist(rows, schema=at.schema))

    def begin_cleanup(self, at: Table, ulid: str) -> tuple[str, Table]:
        """Note that a cleanup begins, under an id that sorts after those of all others.

        Returns the id and the manifest. Raises CommitRejectedError when another cleanup was begun
        or marked after `at`: so whoever marks one knows of all others that may bury something
        under a lower id, and no two have the same.
        """
        marked = last_cleanup(at)
        last = max([marked, *_cleanups(at, _BEGUN), *_cleanups(at, _REVOKED)])
        cleanup = ulid if ulid > last else f"{last}+"
        return cleanup, self._set_keys(at, {_BEGUN + cleanup: "", _CLEANED: marked})

    def mark_cleaning(self, at: Table, cleanup: str) -> Table:
        """Note that a cleanup removes what it buried, which no head of `at` may need.

        Others that began and were not marked never will be: they are revoked. Raises
        CommitRejectedError when that happened to this one, and when after `at` another was begun or
        marked, or a head was made that needs old versions.
        """
        last = last_cleanup(at)
        if cleanup <= last or _BEGUN + cleanup not in at.metadata or self.is_revoked(at, cleanup):
            raise CommitRejectedError(f"cleanup {last} was marked before {cleanup}")
        begun = _cleanups(at, _BEGUN)
        # A release that does not note the begin of a cleanup may have begun some.
        buried = {each for each, _ in self._graves(at, None) if each > last}
        ended: dict[str, str | None] = {_BEGUN + each: None for each in begun}
        revoked = _revoking((begun | buried) - {cleanup})
        return self._set_keys(at, {**ended, **revoked, _CLEANED: cleanup})

    def revoke(self, at: Table, cleanups: Iterable[str]) -> Table:
        """Note that cleanups remove nothing of what they buried.

        Raises CommitRejectedError when a cleanup was marked after `at`: it may be one of them.
        """
        return self._set_keys(at, {**_revoking(cleanups), _CLEANED: last_cleanup(at)})

    def is_revoked(self, at: Table, cleanup: str) -> bool:
        """Whether a cleanup must not remove what it buried."""
        return _REVOKED + cleanup in at.metadata

    def buried(
        self, at: Table, versions: Iterable[tuple[str, int]] | None = None
    ) -> set[tuple[str, int]]:
        """Return those of some versions (default: all), by table key, that a cleanup removed."""
        last = last_cleanup(at)
        if not last:
            return set()
        return {version for cleanup, version in self._graves(at, versions) if cleanup <= last}

    def buried_of(self, at: Table, key: str) -> set[int]:
        """Return the versions of one table that a cleanup removed."""
        last = last_cleanup(at)
        if not last:
            return set()
        found = self._buried_where(at, _is_tombstone() & (pc.field("table_key") == key))
        return {version for cleanup, (_, version) in found if cleanup <= last}

    def cleanups_of(self, at: Table, versions: Iterable[tuple[str, int]]) -> set[str]:
        """Return the marked cleanups that buried any of some versions and were not revoked."""
        last = last_cleanup(at)
        return {cleanup for cleanup, _ in self._graves(at, versions) if cleanup <= last}

    def _graves(
        self, at: Table, versions: Iterable[tuple[str, int]] | None
    ) -> Iterator[tuple[str, tuple[str, int]]]:
        """Yield each buried version with its cleanup, unless that was revoked.

        Cleanups up to the last marked one remove them; later ones may yet.
        """
        where = _is_tombstone()
        if versions is not None:
            ids = [_tombstone(key, version) for key, version in versions]
            where = pc.field("object_id").isin(pa.array(ids, pa.utf8()))
        return self._buried_where(at, where)

    def _buried_where(
        self, at: Table, where: pc.Expression
    ) -> Iterator[tuple[str, tuple[str, int]]]:
        for row in at.scan(["location", "table_key", "table_version"], where).to_pylist():
            place, _, cleanup = (row["location"] or "").partition("/")
            if place == _CLEANUP and not self.is_revoked(at, cleanup):
                yield cleanup, (row["table_key"], row["table_version"])

    def is_cleaned(self, commit: Commit, at: Table) -> bool:
        """Whether a cleanup removed tables of a commit."""
        states = commit.tables.items()
        return bool(self.buried(at, [(key, state.version) for key, state in states]))

    def fold(self, at: Table) -> Table:
        """Spill commits into rows, and join and index the small fragments, when that is due."""
        return self._joined(self._with_few_fresh(at), MANIFEST_LEVELS)

    def compact(self, at: Table) -> Table:
        """Rewrite the manifest as one fragment; it stays as it is when a writer comes first."""
        return self._joined(at, WHOLE_LEVELS)

    def _with_few_fresh(self, at: Table) -> Table:
        """Return a version with few commits that are keys; the oldest become rows."""
        if not commits_to_spill(at):
            return at
        with flip_turn(self._tables.store):
            at = self.latest(at)  # somebody may have done it meanwhile
            due = commits_to_spill(at)
            try:
                return self._spill_commits(at, due) if due else at
            except CommitRejectedError:
                return self.newest()

    def _spill_commits(self, at: Table, due: Sequence[FreshCommit]) -> Table:
        """Make rows of commits that are keys.

        The rows are there before the keys go. After a crash in between, or when two writers do
        that at once, the rows are there twice, which no reader minds.
        """
        rows = [row for each in due for row in each.rows()]
        since = self._freshness.now()
        written = self._tables.add_rows(at, pa.Table.from_pylist(rows, at.schema))
        self._freshness.note(written.version, since)
        self._tables.sync_table(written)
        reached("commits written")
        spilled = self._set_keys(written, {each.key: None for each in due})
        reached("commits spilled")
        return spilled

    def _joined(self, at: Table, levels: tuple[Level, ...]) -> Table:
        if not fragments_to_fold(at.outline, levels):
            return at
        with flip_turn(self._tables.store):
            at, since = self.latest(at), self._freshness.now()
            try:
                joined = self._tables.fold(at, levels, _INDEXES)
            except CommitRejectedError:
                return self.newest()
            if joined.version != at.version:
                self._freshness.note(joined.version, since)
            return joined

    def settled(self, failed: StorageError | CommitContentionError) -> Table:
        """Return the newest manifest, in which the failed attempt can no longer appear.

        A request that an object store lost, or an attempt that Lance cut off, may still be under
        way. Any other commit to the manifest takes the version that it needs. An attempt that this
        process has not ended is not settled by that, and is raised again.
        """
        if isinstance(failed, LingeringError):
            raise failed
        if self._tables.store.is_local and not isinstance(failed, CommitContentionError):
            return self.newest()
        try:
            return self._tables.set_keys(self.newest(), {_FENCE: uuid4().hex})
        except CommitContentionError as crowded:
            raise StorageError(crowded.message) from crowded
        except CommitRejectedError:
            return self.newest()


def last_cleanup(at: Table) -> str:
    """Return a value that changes with every cleanup; empty when there was none."""
    return at.metadata.get(_CLEANED, "")


def _cleanups(at: Table, key: str) -> set[str]:
    """Return the cleanups that have a key: `begun/ID`, or `revoked/ID`."""
    return {each.removeprefix(key) for each in at.metadata if each.startswith(key)}


def _revoking(cleanups: Iterable[str]) -> dict[str, str | None]:
    return {_REVOKED + each: "" for each in cleanups}


def _is_tombstone() -> pc.Expression:
    return pc.field("object_type") == _TOMBSTONE


def _tombstone(key: str, version: int) -> str:
    return f"tombstone:{key}@{version}"


def _first_head(at: Table) -> Head:
    return Head(MAIN, first_commit(at), 0, 0)
