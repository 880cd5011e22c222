"""Branch: a branch of a graph, read where it stands now; each change is one commit of it."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from omnigraph.api.access import Access
from omnigraph.api.given import (
    change_filter,
    query_source,
    refuse_expect,
    resolutions_of,
    schema_source,
)
from omnigraph.api.view import Place, View, place_of
from omnigraph.errors import InputError
from omnigraph.evolve.migrate import apply_schema, plan_schema
from omnigraph.evolve.plan import SavedPlan, SchemaApplied, SchemaPlan
from omnigraph.merge.changes import ChangeFilter, ChangeSet, CommitChanges
from omnigraph.merge.merge import Merge, MergeHow, preview
from omnigraph.merge.merge import merge as run_merge
from omnigraph.merge.merge import revert as run_revert
from omnigraph.merge.threeway import Resolutions, Side
from omnigraph.policy.actions import Action
from omnigraph.query.compile import AcceptedSchema, compile_cached
from omnigraph.query.params import bind_params
from omnigraph.query.plan import MutationPlan
from omnigraph.read.answer import Terms
from omnigraph.read.dense import Dense
from omnigraph.read.execution import Budget
from omnigraph.span import Source
from omnigraph.versioning import history
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.mutation import Intent, Receipt
from omnigraph.write.mutation import change as run_change

if TYPE_CHECKING:
    from typing import Unpack

    from omnigraph.spark.runner import Runner
    from omnigraph.write.load.inputs import Data
    from omnigraph.write.load.load import Loaded, Target
    from omnigraph.write.load.options import BulkHow, LoadHow, LoadOptions
    from omnigraph.write.load.splits import Source as SourceFile


class Branch(View):
    """A branch: reads see it where it stands now, and each change is one commit of it."""

    def __init__(
        self,
        access: Access,
        intent: Intent,
        budget: Budget | None = None,
        cancelled: Event | None = None,
    ) -> None:
        super().__init__(access, None, budget, cancelled)
        self._intent = intent

    @property
    def name(self) -> str:
        """The name of the branch."""
        return self._intent.branch

    @property
    def place(self) -> str:
        """What is read: the branch, by its name."""
        return self.name

    def mutate(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Receipt:
        """Run a mutation as one commit; keywords are the parameters of the query.

        Raises ViolationsError with everything that is wrong, and then nothing is visible.
        """
        self._access.check(self.name, Action.CHANGE)
        now = datetime.now(UTC)

        def asked(snapshot: Snapshot) -> tuple[MutationPlan, Terms]:
            plan = _mutation_plan(source, name, snapshot)
            terms = Terms(
                params=bind_params(plan, params),
                now=now,
                budget=self._budget,
                environment=os.environ,
                cancelled=self._cancelled,
            )
            return plan, terms

        access = self._access
        return run_change(access.repository, access.topology, asked, self._intent)

    change = mutate

    def load(
        self,
        data: "Data",
        *,
        type: str | None = None,  # noqa: A002 - the word of the command line
        **how: "Unpack[LoadHow]",
    ) -> "Loaded":
        """Load rows as one commit, or raise ViolationsError and change nothing.

        `data` is a path or several, JSON lines as text or a stream of them, a frame of one
        `type`, or frames by the names of their types. The mode is `append` (the default),
        `merge` or `overwrite`.
        """
        from omnigraph.write.load.load import Target
        from omnigraph.write.load.load import load as run_load
        from omnigraph.write.load.options import LoadMode, options_of

        options = options_of(self._how(how), LoadMode.APPEND)
        target = Target(self.name, self._allowed(Action.CHANGE))
        with job(self._access, data, type, target, options) as (sources, runner):
            loaded = run_load(self._access.repository, target, sources, runner, options)
        written(self._access, target.snapshot, loaded.commit)
        return loaded

    def merge(
        self,
        source: Place,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
        **bulk: "Unpack[BulkHow]",
    ) -> Merge:
        """Merge a branch or commit into this branch, as one commit with two parents.

        Raises MergeConflictsError with all conflicts, and then nothing is changed. `ours` or
        `theirs`, or `Resolutions` by type, row and property, say whose version is taken. With
        `strict` any row that both sides changed differently is a conflict. Large changes are merged
        on Spark, or in this process a part at a time; `engine` and `spark` say otherwise.
        """
        how = self._merge_how(actor, message, resolutions, strict, bulk)
        access = self._access
        with access.merging(self.name, Action.BRANCH_MERGE):
            access.check_place(place_of(source))
            return run_merge(access.repository, access.topology, place_of(source), self.name, how)

    def preview_merge(
        self,
        source: Place,
        *,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
        **bulk: "Unpack[BulkHow]",
    ) -> Merge:
        """Give what a merge would do, conflicts included; nothing is written."""
        how = merge_how(None, None, resolutions, strict, bulk)
        self._access.check(self.name, Action.READ)
        self._access.check_place(place_of(source))
        return preview(self._access.repository, place_of(source), self.name, how)

    def revert(
        self,
        commit_id: str,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
    ) -> Merge:
        """Undo what a commit did, as a new commit."""
        how = self._merge_how(actor, message, resolutions, strict=False, bulk={})
        access = self._access
        with access.merging(self.name, Action.CHANGE):
            access.check_place(commit_id)
            return run_revert(access.repository, access.topology, commit_id, self.name, how)

    def plan_schema(self, schema: str | Path | Source) -> SchemaPlan:
        """Give what a schema would change, and what is in its way; nothing is written."""
        self._access.check(self.name, Action.READ)
        return plan_schema(self._access.repository, schema_source(schema), self.name)

    def apply_schema(self, schema: str | Path | Source | SavedPlan) -> SchemaApplied:
        """Get another schema, with everything that follows for the tables, as one commit.

        Raises UnsupportedMigrationError or ViolationsError with everything that is in the way,
        and then nothing is changed. A plan that was saved is applied only where the branch still
        stands as it was planned, else HeadMovedError.
        """
        self._access.check(self.name, Action.SCHEMA_APPLY)
        intent = self._intent
        if isinstance(schema, SavedPlan):
            intent = replace(intent, expect=schema.head_for(self.name))
            schema = schema.schema_source
        return apply_schema(self._access.repository, schema_source(schema), intent)

    def log(self, *, limit: int | None = None, after: str | None = None) -> Iterator[Commit]:
        """Give the commits, newest first; `after` goes on behind one of them."""
        self._access.check(self.name, Action.READ)
        if after is not None:
            self._access.check_place(after)
        return islice(history.log(self._access.repository, self.name, after=after), limit)

    def changes(
        self,
        *,
        since: str | None = None,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> Iterator[CommitChanges]:
        """Give what each commit changed, oldest first, after the one of a cursor.

        Going on from the cursor of the last one that was dealt with, none is missed.
        """
        self._access.check(self.name, Action.READ)
        wanted = change_filter(kinds, types, ops)
        repository = self._access.repository
        past = [] if since is None else [repository.pinned(self._access.commit(since)).catalog]
        wanted.check(self.snapshot.catalog, *past)
        return self._changes(since, wanted)

    def _changes(self, since: str | None, wanted: ChangeFilter) -> Iterator[CommitChanges]:
        repository = self._access.repository
        for commit in history.since(repository, self.name, since):
            assert commit.parent is not None
            before = repository.pinned(repository.commit(commit.parent))
            yield CommitChanges(commit, ChangeSet(before, repository.pinned(commit), wanted))

    def _allowed(self, action: Action) -> Snapshot:
        """Give the commit at which the branch stands now, if the actor may do this to it."""
        return self._access.standing(self.name, action)

    def _how(self, how: "LoadHow") -> "LoadHow":
        """Give the keywords of a load, with who makes it and why as the branch was asked for."""
        refuse_expect(self._intent.expect)
        actor = self._access.author(how.get("actor") or self._intent.actor)
        usual: LoadHow = {
            "message": self._intent.message,
            "operation_id": self._intent.operation_id,
        }
        return {**usual, **how, "actor": actor}

    def _merge_how(
        self,
        actor: str | None,
        message: str | None,
        resolutions: Resolutions | Side | str | None,
        strict: bool,
        bulk: "BulkHow",
    ) -> MergeHow:
        refuse_expect(self._intent.expect)
        who, why = actor or self._intent.actor, message or self._intent.message
        how = merge_how(self._access.author(who), why, resolutions, strict, bulk)
        return replace(how, operation_id=self._intent.operation_id)


@contextmanager
def job(
    access: Access, data: "Data", type_name: str | None, target: "Target", options: "LoadOptions"
) -> "Iterator[tuple[list[SourceFile], Runner]]":
    """Give the sources of a load and who runs it; what was laid down for it is removed."""
    from omnigraph.spark.choice import runner_for
    from omnigraph.write.load.inputs import sources_of
    from omnigraph.write.load.spool import spool

    access.repository.check_writable()
    with spool(access.repository.store) as laid:
        sources = sources_of(data, type_name, target.snapshot.catalog, laid)
        size = sum(source.file.size for source in sources)
        yield sources, runner_for(options.engine, options.spark, size)


def written(access: Access, before: Snapshot, commit: Commit | None) -> None:
    """Let the next read find what is in memory extended by a small commit."""
    if commit is not None:
        Dense(access.repository.pinned(commit), access.topology).extend(before)


def merge_how(
    actor: str | None,
    message: str | None,
    resolutions: Resolutions | Side | str | None,
    strict: bool,
    bulk: "BulkHow",
) -> MergeHow:
    """Give how a merge is done; a side or an engine that does not exist is refused."""
    from omnigraph.merge.bulk import bulk_of

    return MergeHow(
        actor=actor,
        message=message,
        resolutions=resolutions_of(resolutions),
        strict=strict,
        bulk=bulk_of(bulk),
    )


def _mutation_plan(
    source: str | Path | Source, name: str | None, snapshot: Snapshot
) -> MutationPlan:
    plan = compile_cached(
        query_source(source), AcceptedSchema(snapshot.commit.schema, snapshot.catalog), name
    )
    if not isinstance(plan, MutationPlan):
        hint = "run it with Branch.query, or with omnigraph read"
        raise InputError(f"'{plan.name}' is a read", hint=hint)
    return plan
