"""Branch: a branch of a graph, read where it stands now; each change is one commit of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnigraph.api import operations
from omnigraph.api.backend import USUAL, Backend, CallOptions
from omnigraph.api.keywords import check_keywords
from omnigraph.api.log import Log
from omnigraph.api.texts import named_query, query_source, schema_source
from omnigraph.api.view import Place, View, filter_fields, place_of
from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.span import Source
from omnigraph.spark.deadline import TimeKeywords
from omnigraph.syntax.problems import parse_choice
from omnigraph.versioning.commit import Commit
from omnigraph.write.load.keywords import AgainKeywords, BulkKeywords, LoadKeywords
from omnigraph.write.resolved import Choice

if TYPE_CHECKING:
    from typing import Unpack

    from omnigraph.evolve.plan import SavedPlan, SchemaApplied, SchemaPlan
    from omnigraph.merge.compare.change_set import CommitChanges
    from omnigraph.merge.conflict import Resolutions, Side
    from omnigraph.merge.outcome import Merge
    from omnigraph.write.load.loaded import Loaded
    from omnigraph.write.load.sources.inputs import Data
    from omnigraph.write.receipt import Receipt
    from omnigraph.write.resolved import Resolved


# How long to wait before looking for new commits: longer while none come.
_LEAST_WAIT = 0.1
_LONGEST_WAIT = 1.0


@dataclass(slots=True)
class Looks:
    """Looks at a branch: what each finds, and after it the seconds until the next.

    Each iteration begins behind the cursor, which moves on behind what was taken or is not wanted.
    """

    cursor: str
    look: Callable[[Looks], Iterator[CommitChanges | float]]

    def __iter__(self) -> Iterator[CommitChanges | float]:
        return self.look(self)


class Branch(View):
    """A branch: reads see it where it stands now, and each change is one commit of it."""

    def __init__(
        self,
        backend: Backend,
        name: str,
        options: CallOptions = USUAL,
        *,
        message: str | None = None,
        expect: str | None = None,
    ) -> None:
        super().__init__(backend, name, options)
        self._message = message
        self._expect = expect

    @property
    def name(self) -> str:
        """The name of the branch."""
        return self.place

    @property
    def _notes(self) -> dict[str, Any]:
        return {"message": self._message, "expect": self._expect}

    def mutate(
        self,
        source: str | Path | Source,
        name: str | Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        /,
        **keywords: object,
    ) -> Receipt:
        """Run a mutation as one commit; the parameters are keywords, or a mapping, or both.

        Raises ViolationsError with everything that is wrong, and then nothing is visible.
        """
        text, query = query_source(source), named_query(name, params, keywords)
        change = operations.write.Mutate(
            query_source=text.text,
            query_name=query.name,
            params=query.params,
            branch=self.name,
            message=self._message,
            expect=self._expect,
        )
        return self._run(change, source=text)

    def resolve(
        self,
        type: str,  # noqa: A002 - the word of the command line
        *,
        into: str,
        duplicate: str,
        take: Choice | str = Choice.INTO,
        properties: Mapping[str, Choice | str] | None = None,
        aliases: str | None = None,
        dry_run: bool = False,
    ) -> Resolved:
        """Make two nodes of a type one, as one commit: `into` stays, and gets what both had.

        It gets the edges of the `duplicate`; edges that would be twins where a rule forbids them
        become one. Of properties that both have, the value of `into` is kept, or with `take` that
        of `from`, the duplicate; `properties` says so for single ones. A [String] property
        `aliases` gets the ids of both. With `dry_run` nothing is written. Raises ViolationsError
        with everything that is wrong, and then nothing is visible.
        """
        change = operations.write.Resolve(
            type=type,
            into=into,
            duplicate=duplicate,
            take=parse_choice(Choice, take).value,
            properties={
                name: parse_choice(Choice, each).value for name, each in (properties or {}).items()
            },
            aliases=aliases,
            branch=self.name,
            message=self._message,
            expect=self._expect,
            dry_run=dry_run,
        )
        return self._run(change)

    def load(
        self,
        data: Data,
        *,
        type: str | None = None,  # noqa: A002 - the word of the command line
        **how: Unpack[LoadKeywords],
    ) -> Loaded:
        """Load rows as one commit, or raise ViolationsError and change nothing.

        `data` is a path or several, JSON lines as text or a stream of them, a networkx graph, a
        frame or dicts of one `type`, or these by the names of their types. With a `type`, JSON
        lines are plain objects. The mode is `append` (the default), `merge`, `replace` or
        `overwrite`.
        """
        from omnigraph.write.load.loaded import LoadMode

        check_keywords("load", how, LoadKeywords)
        self._refuse_expect()
        rows = operations.write.Load(
            branch=self.name,
            mode=parse_choice(LoadMode, how.get("mode", LoadMode.APPEND)).value,
            message=how.get("message", self._message),
            dry_run=how.get("dry_run", False),
            always=how.get("always", False),
            data=data,
        )
        return self._backend.run(rows, self._working(how, type_name=type))

    def embed_again(self, *types: str, **how: Unpack[AgainKeywords]) -> Loaded:
        """Make all vectors of types anew, of all that have `@embed` without one, as one commit.

        They are made by the model that is chosen now, which queries and changes have to use then.
        """
        check_keywords("embed_again", how, AgainKeywords)
        self._refuse_expect()
        again = operations.write.EmbedAgain(
            branch=self.name, types=list(types) or None, message=how.get("message", self._message)
        )
        return self._backend.run(again, self._working(how))

    def merge(
        self,
        source: Place,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
        expect_source: str | None = None,
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Merge a branch or commit into this branch, as one commit with two parents.

        Raises MergeConflictsError with all conflicts, and then nothing is changed. `ours` or
        `theirs`, or `Resolutions` by type, row and property, say whose version is taken. With
        `strict` any row that both sides changed differently is a conflict. Large changes are merged
        on Spark, or in this process a part at a time; `engine` and `spark` say otherwise. With
        `expect_source` the source, and with the `expect` of this handle the branch has to stand at
        a commit, else HeadMovedError.
        """
        from omnigraph.merge.conflict import Resolutions

        check_keywords("merge", bulk, BulkKeywords)
        merge = operations.branches.MergeBranch(
            source=place_of(source),
            target=self.name,
            message=message or self._message,
            strict=strict,
            expect=self._expect,
            expect_source=expect_source,
            **Resolutions.parse(resolutions).to_json(),
        )
        return self._backend.run(merge, self._working({"actor": actor, **bulk}))

    def preview_merge(
        self,
        source: Place,
        *,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Return what a merge would do, conflicts included; nothing is written."""
        from omnigraph.merge.conflict import Resolutions

        check_keywords("preview_merge", bulk, BulkKeywords)
        merge = operations.branches.MergeBranch(
            source=place_of(source),
            target=self.name,
            strict=strict,
            preview=True,
            **Resolutions.parse(resolutions).to_json(),
        )
        return self._backend.run(merge, self._working(bulk))

    def revert(
        self,
        commit_id: str,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Undo what a commit did, as a new commit."""
        from omnigraph.merge.conflict import Resolutions

        check_keywords("revert", bulk, BulkKeywords)
        self._refuse_expect()
        revert = operations.branches.RevertCommit(
            commit=commit_id,
            branch=self.name,
            message=message or self._message,
            **Resolutions.parse(resolutions).to_json(),
        )
        return self._backend.run(revert, self._working({"actor": actor, **bulk}))

    def preview_revert(
        self,
        commit_id: str,
        *,
        resolutions: Resolutions | Side | str | None = None,
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Return what a revert would do, conflicts included; nothing is written."""
        from omnigraph.merge.conflict import Resolutions

        check_keywords("preview_revert", bulk, BulkKeywords)
        revert = operations.branches.RevertCommit(
            commit=commit_id,
            branch=self.name,
            preview=True,
            **Resolutions.parse(resolutions).to_json(),
        )
        return self._backend.run(revert, self._working(bulk))

    def plan_schema(
        self, schema: str | Path | Source, **limits: Unpack[TimeKeywords]
    ) -> SchemaPlan:
        """Return what a schema would change, and what is in its way; nothing is written."""
        check_keywords("plan_schema", limits, TimeKeywords)
        source = schema_source(schema)
        plan = operations.schemas.PlanSchema(schema_source=source.text, branch=self.name)
        return self._backend.run(plan, self._working(limits, source=source))

    def apply_schema(
        self,
        schema: str | Path | Source | SavedPlan,
        *,
        allow_data_loss: bool = False,
        **limits: Unpack[TimeKeywords],
    ) -> SchemaApplied:
        """Apply a schema, with everything that follows for the tables, as one commit.

        Raises UnsupportedMigrationError or ViolationsError with everything that is in the way,
        and then nothing is changed; so does DataLossError when the schema drops something, unless
        `allow_data_loss` is set. A plan that was saved is applied only where the branch still
        stands as it was planned, else HeadMovedError. `seconds` and `cancelled` end it before it
        publishes.
        """
        from omnigraph.evolve.plan import SavedPlan

        check_keywords("apply_schema", limits, TimeKeywords)
        expect = self._expect
        if isinstance(schema, SavedPlan):
            expect, schema = schema.head_for(self.name), schema.schema_source
        source = schema_source(schema)
        change = operations.schemas.ApplySchema(
            schema_source=source.text,
            branch=self.name,
            message=self._message,
            expect=expect,
            allow_data_loss=allow_data_loss,
        )
        return self._backend.run(change, self._working(limits, source=source))

    def log(self, *, limit: int | None = None, after: str | None = None) -> Log:
        """Return the commits, newest first; `after` goes on behind one of them."""
        if limit is not None and (not isinstance(limit, int) or limit < 0):
            raise InputError(f"a limit is a whole number, not {limit!r}")
        listed = operations.commits.ListCommits(branch=self.name, limit=limit, after=after)
        found: list[Iterator[Commit]] = [islice(self._run(listed), limit)]
        return Log(self.name, lambda: found.pop() if found else islice(self._run(listed), limit))

    def changes(
        self,
        *,
        since: str | None = None,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> Iterator[CommitChanges]:
        """Return what each commit changed, oldest first, after the one of a cursor.

        Going on from the cursor of the last one that was dealt with, none is missed.
        """
        wanted = filter_fields(kinds, types, ops)
        return self._run(operations.changes.ListChanges(branch=self.name, since=since, **wanted))

    def watch(
        self,
        *,
        since: str | None = None,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
        seconds: float | None = None,
    ) -> Iterator[CommitChanges]:
        """Return what each commit changes as it comes, oldest first, after the one of a cursor.

        It begins where the branch stands, and waits for more; with `seconds` it ends after so
        long. A view of `graph.at()` and `since` its commit give all rows, and then every change
        to them. Raises HistoryGapError when a cleanup removed what was not seen yet.
        """
        looks = self._looks(since=since, kinds=kinds, types=types, ops=ops, seconds=seconds)
        return self._watched(looks)

    def _watched(self, looks: Looks) -> Iterator[CommitChanges]:
        from omnigraph.merge.compare.change_set import CommitChanges

        cancelled = self._options.cancelled
        for each in looks:
            if isinstance(each, CommitChanges):
                yield each
            elif cancelled is None:
                time.sleep(each)
            else:
                cancelled.wait(each)

    def _looks(
        self,
        *,
        since: str | None,
        kinds: Iterable[str],
        types: Iterable[str],
        ops: Iterable[str],
        seconds: float | None,
    ) -> Looks:
        """Return looks at the branch, from a commit on or from where it stands."""
        end = None if seconds is None else time.monotonic() + seconds
        wanted = filter_fields(kinds, types, ops)
        cursor = self._backend.pin(self.name).commit_id if since is None else since
        return Looks(cursor, partial(self._looked, wanted=wanted, end=end))

    def _looked(
        self, looks: Looks, wanted: dict[str, Any], end: float | None
    ) -> Iterator[CommitChanges | float]:
        cursor, wait, cancelled = looks.cursor, _LEAST_WAIT, self._options.cancelled
        while cancelled is None or not cancelled.is_set():
            found = self._run(
                operations.changes.ListChanges(branch=self.name, since=cursor, **wanted)
            )
            for each in found:
                cursor, wait = each.cursor, _LEAST_WAIT
                if not any(wanted.values()) or each.changes.stats or each.changes.schema_steps:
                    yield each
                looks.cursor = cursor
            left = wait if end is None else end - time.monotonic()
            if left <= 0:
                return
            yield min(wait, left)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _working(self, how: Any, **more: Any) -> CallOptions:  # noqa: ANN401
        """Return the options of a change, with the keywords of a call."""
        own = {"actor": how.get("actor") or self._options.actor}
        return self._options.with_how({**how, **own, **more})

    def _refuse_expect(self) -> None:
        """Raise if `expect` is set; loads and reverts do not honour it."""
        if self._expect is not None:
            hint = "use a branch without it: graph.branch(name)"
            raise InputError("'expect' is not for loads and reverts", hint=hint)
